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

function providerOf({ providerAccount, transactionId }: Movement) {
  if (transactionId === null && providerAccount === null) return {}
  return {
    provider: {
      ...(providerAccount === null ? {} : { account: providerAccount }),
      ...(transactionId === null ? {} : { transactionId }),
    },
  }
}

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

/** 2,000 rows are half a megabyte: few round trips, and never more than that in memory. */
const csvPage = 2_000

/** Row after row, as long as the client reads. */
export async function* streamMovements(
  question: Omit<MovementQuestion, 'after' | 'limit'> & { readonly merchantId: MerchantId },
  reader: MovementReader,
): AsyncGenerator<string> {
  let after: MovementPlace | undefined
  for (;;) {
    const page: readonly Movement[] = await reader.read({ ...question, after, limit: csvPage })
    if (page.length > 0) yield page.map(toCsvRow).join('')
    const last = page.at(-1)
    if (page.length < csvPage || !last) return
    after = placeOf(last)
  }
}

const toCsvRow = (movement: Movement): string =>
  `${[
    movement.xId,
    movement.payId,
    movement.transId,
    movement.refNr ?? '',
    movement.type,
    movement.state,
    String(movement.amount),
    toDecimalText(movement.amount, movement.currency),
    movement.currency,
    movement.method,
    movement.responseCode,
    movement.createdAt.toISOString(),
    movement.settledAt.toISOString(),
    movement.providerAccount ?? '',
    movement.transactionId ?? '',
  ]
    .map(toCsvCell)
    .join(',')}\r\n`

/** A spreadsheet takes what begins like this for a formula; an apostrophe makes it text. */
const formulaStart = /^[=+\-@\t\r]/

function toCsvCell(text: string): string {
  const harmless = formulaStart.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
