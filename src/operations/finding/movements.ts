/** The book of movements as the API shows it: pages of items, or the whole range as streamed CSV. */

import type { MerchantId } from '#domain/ids.ts'
import { toDecimalText } from '#domain/money/currencies.ts'
import { type CursorScope, writeCursor } from '#operations/finding/cursor.ts'
import { checkCursor } from '#operations/finding/list-payments.ts'
import type {
  Movement,
  MovementPlace,
  MovementQuestion,
  MovementReader,
  RawMovement,
  RawPlace,
} from '#storage/payments/movements.ts'

const toMovementItem = (movement: Movement) => ({
  xId: movement.xId,
  payId: movement.payId,
  transId: movement.transId,
  ...(movement.refNr === null ? {} : { refNr: movement.refNr }),
  type: movement.type,
  status: movement.state,
  amount: { value: movement.amount, currency: movement.currency },
  paymentMethodType: movement.method,
  responseCode: movement.responseCode,
  creationDate: movement.createdAt.toISOString(),
  settledDate: movement.settledAt.toISOString(),
  ...providerOf(movement),
})

function providerOf(movement: Movement) {
  const account = accountOf(movement)
  const { transactionId } = movement
  return account === null
    ? {}
    : { provider: { account, ...(transactionId === null ? {} : { transactionId }) } }
}

/** Merchants without provider accounts are served by the simulator, so their movements name it. */
const accountOf = ({
  providerAccount,
  transactionId,
}: Pick<Movement, 'providerAccount' | 'transactionId'>): string | null =>
  providerAccount ?? (transactionId === null ? null : 'simulator')

export async function listMovements(
  question: Omit<MovementQuestion, 'after'>,
  { cursor, scope }: { cursor?: string; scope: Pick<CursorScope, 'list' | 'filters'> },
  reader: MovementReader,
) {
  const bound = { ...scope, merchantId: question.merchantId }
  const after =
    cursor === undefined ? undefined : toPlace(checkCursor(bound, cursor, ['moment', 'payId', 'count']))
  const found = await reader.read({ ...question, after, limit: question.limit + 1 })
  const shown = found.slice(0, question.limit)
  const last = shown.at(-1)
  const nextCursor =
    found.length > question.limit && last
      ? writeCursor(bound, [last.settledAt.getTime(), last.payId, last.sequence])
      : undefined
  return { data: shown.map(toMovementItem), nextCursor }
}

/** Converts the parts of a cursor. Its form was checked, so the second part is a payId. */
const toPlace = ([settledAt, payId, sequence]: readonly (string | number)[]): MovementPlace => ({
  settledAt: new Date(Number(settledAt)),
  payId: String(payId) as MovementPlace['payId'],
  sequence: Number(sequence),
})

export const csvHeader =
  'xId,payId,transId,refNr,type,status,value,amount,currency,paymentMethodType,responseCode,creationDate,settledDate,' +
  'providerAccount,providerTransactionId\r\n'

/** 2,000 rows are half a megabyte. Two pages are in memory at a time; planning a page costs a tenth of reading it. */
const csvPage = 2_000

/** The movements as CSV, read page by page as fast as the client takes them. */
export async function* streamMovements(
  question: Omit<MovementQuestion, 'after' | 'limit'> & { readonly merchantId: MerchantId },
  reader: MovementReader,
): AsyncGenerator<string> {
  // A payment has fewer operations than a page.
  if (question.payId !== undefined) {
    for (const movement of await reader.read({ ...question, limit: csvPage })) yield toCsvRow(toRaw(movement))
    return
  }
  const read = (after?: RawPlace) => reader.readMany({ ...question, after, limit: csvPage })
  let page = await read()
  while (page.length > 0) {
    const last = page.at(-1)
    // The database reads the next page while this one is written and sent.
    const next = page.length < csvPage || !last ? undefined : read(rawPlaceOf(last))
    // If the client disconnects in between, the next page is no longer needed, and neither is its error.
    next?.catch(() => undefined)
    yield toCsv(page)
    page = (await next) ?? []
  }
}

/**
 * Reads the first page before anything is sent, so that a client gets a 503 while the database is unavailable, and not
 * a file that breaks off after its header.
 */
export async function beginMovements(
  ...asked: Parameters<typeof streamMovements>
): Promise<AsyncIterable<string>> {
  const pieces = streamMovements(...asked)
  const first = await pieces.next()
  return first.done ? pieces : continueAfter(first.value, pieces)
}

async function* continueAfter(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

const rawPlaceOf = ([, payId, , , , , , , , , , settledAt, , , sequence]: RawMovement): RawPlace => ({
  settledAt: `${settledAt}Z`,
  payId,
  sequence,
})

const toRaw = (movement: Movement): RawMovement => [
  movement.xId,
  movement.payId,
  movement.transId,
  movement.refNr,
  movement.type,
  movement.state,
  String(movement.amount),
  movement.currency,
  movement.method,
  movement.responseCode,
  movement.createdAt.toISOString(),
  movement.settledAt.toISOString(),
  movement.providerAccount,
  movement.transactionId,
  String(movement.sequence),
]

function toCsv(page: readonly RawMovement[]): string {
  let text = ''
  for (const movement of page) text += toCsvRow(movement)
  return text
}

/** Only values chosen by merchants and providers need escaping; the rest is ids, words and numbers. */
function toCsvRow(movement: RawMovement): string {
  const [xId, payId, transId, refNr, type, state, amount, currency, method, responseCode] = movement
  const [, , , , , , , , , , createdAt, settledAt, providerAccount, transactionId] = movement
  const account = accountOf({ providerAccount, transactionId })
  return `${toId(xId)},${toId(payId)},${toCsvCell(transId)},${toCsvCell(refNr)},${type},${state},${amount},${toDecimalText(amount, currency)},${currency},${method},${responseCode},${toInstant(createdAt)},${toInstant(settledAt)},${toCsvCell(account)},${toCsvCell(transactionId)}\r\n`
}

/** Removes the dashes that PostgreSQL writes into a uuid. */
const toId = (text: string): string =>
  text.length === 36
    ? text.slice(0, 8) + text.slice(9, 13) + text.slice(14, 18) + text.slice(19, 23) + text.slice(24)
    : text

/** Turns `2026-11-15 12:00:00.01` into `2026-11-15T12:00:00.010Z`: PostgreSQL leaves out trailing zeros. */
const toInstant = (text: string): string =>
  text.endsWith('Z')
    ? text
    : `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, 23).padEnd(3, '0')}Z`

/**
 * Spreadsheets take a cell that begins like this for a formula, in some languages also with the signs of double width; a
 * leading apostrophe makes it text.
 */
const formulaStart = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

function toCsvCell(text: string | null): string {
  if (text === null) return ''
  const harmless = formulaStart.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
