/** The book of movements as the API shows it: pages of items, or the whole range as CSV that is written while it is read. */

import { toDecimalText } from '#domain/currencies.ts'
import type { MerchantId } from '#domain/ids.ts'
import { type CursorScope, writeCursor } from '#operations/finding/cursor.ts'
import { checkCursor } from '#operations/finding/list-payments.ts'
import type {
  Movement,
  MovementPlace,
  MovementQuestion,
  MovementReader,
} from '#storage/payments/movements.ts'

export const toMovementItem = (movement: Movement) => ({
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

/** Merchants without accounts are served by the simulator, which nobody had to open an account with. */
const accountOf = ({ providerAccount, transactionId }: Movement): string | null =>
  providerAccount ?? (transactionId === null ? null : 'simulator')

const placeOf = ({ settledAt, payId, sequence }: Movement): MovementPlace => ({ settledAt, payId, sequence })

export async function listMovements(
  question: Omit<MovementQuestion, 'after'>,
  { cursor, scope }: { cursor?: string; scope: Pick<CursorScope, 'list' | 'filters'> },
  reader: MovementReader,
) {
  const bound = { ...scope, merchantId: question.merchantId }
  const after = cursor === undefined ? undefined : toPlace(checkCursor(bound, cursor))
  const found = await reader.read({ ...question, after, limit: question.limit + 1 })
  const shown = found.slice(0, question.limit)
  const last = shown.at(-1)
  const nextCursor =
    found.length > question.limit && last
      ? writeCursor(bound, [last.settledAt.getTime(), last.payId, last.sequence])
      : undefined
  return { data: shown.map(toMovementItem), nextCursor }
}

const toPlace = ([settledAt, payId, sequence]: readonly (string | number)[]): MovementPlace => ({
  settledAt: new Date(Number(settledAt)),
  payId: String(payId) as MovementPlace['payId'],
  sequence: Number(sequence),
})

export const csvHeader =
  'xId,payId,transId,refNr,type,status,value,amount,currency,paymentMethodType,responseCode,creationDate,settledDate,' +
  'providerAccount,providerTransactionId\r\n'

/** 1,000 rows are a quarter of a megabyte: two such pages are in memory, and what they leave behind is collected young. */
const csvPage = 1_000

/** Row after row, as long as the client reads. */
export async function* streamMovements(
  question: Omit<MovementQuestion, 'after' | 'limit'> & { readonly merchantId: MerchantId },
  reader: MovementReader,
): AsyncGenerator<string> {
  const { payId } = question
  const read = (after?: MovementPlace): Promise<readonly Movement[]> =>
    payId === undefined
      ? reader.readMany({ ...question, after, limit: csvPage })
      : reader.read({ ...question, after, limit: csvPage })
  let page = await read()
  while (page.length > 0) {
    const last = page.at(-1)
    // The database is at the next page while this one is written and sent.
    const next = page.length < csvPage || !last ? undefined : read(placeOf(last))
    // A client that disconnects in between leaves a page of the export that is no longer needed.
    next?.catch(() => undefined)
    yield toCsv(page)
    page = (await next) ?? []
  }
}

function toCsv(page: readonly Movement[]): string {
  let text = ''
  for (const movement of page) text += toCsvRow(movement)
  return text
}

/** Only what merchants and providers chose can hold anything that needs care; the rest is ids, words and numbers. */
function toCsvRow(movement: Movement): string {
  const { xId, payId, transId, refNr, type, state, amount, currency, method, responseCode } = movement
  const { createdAt, settledAt, transactionId } = movement
  return `${xId},${payId},${toCsvCell(transId)},${toCsvCell(refNr ?? '')},${type},${state},${amount},${toDecimalText(amount, currency)},${currency},${method},${responseCode},${createdAt.toISOString()},${settledAt.toISOString()},${toCsvCell(accountOf(movement) ?? '')},${toCsvCell(transactionId ?? '')}\r\n`
}

/** A spreadsheet takes what begins like this for a formula; an apostrophe makes it text. */
const formulaStart = /^[=+\-@\t\r]/

function toCsvCell(text: string): string {
  const harmless = formulaStart.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
