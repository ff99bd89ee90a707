/** Reads one page of a merchant's payments, the newest first, with the cursor of the next page. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import {
  type CursorScope,
  type Place,
  type PlaceForm,
  readCursor,
  writeCursor,
} from '#operations/finding/cursor.ts'
import type {
  PaymentFilter,
  PaymentPlace,
  PaymentQuestion,
  PaymentSummary,
} from '#storage/payments/finding.ts'

export interface PaymentListRequest {
  readonly merchant: Merchant
  readonly filter: PaymentFilter
  readonly limit: number
  readonly cursor?: string
  /** What the cursor is bound to besides the merchant: the list, and the filters as they were sent. */
  readonly scope: Pick<CursorScope, 'list' | 'filters'>
}

/** The cursor belongs to another merchant or other filters; the caller adds the name of the field. */
export class ForeignCursor extends Error {}

const wrongCursor = 'is not a cursor of this list with these filters; take nextCursor of the page before'

export async function listPayments(
  request: PaymentListRequest,
  { finder }: Pick<Engine, 'finder'>,
): Promise<{ readonly payments: readonly Payment[]; readonly nextCursor?: string }> {
  return readPage(request, question => finder.find(question))
}

/** The same page with only the fields that the console's list shows. */
export async function listPaymentSummaries(
  request: PaymentListRequest,
  { finder }: Pick<Engine, 'finder'>,
): Promise<{ readonly payments: readonly PaymentSummary[]; readonly nextCursor?: string }> {
  return readPage(request, question => finder.summarize(question))
}

async function readPage<Found extends PaymentPlace>(
  { merchant, filter, limit, cursor, scope }: PaymentListRequest,
  find: (question: PaymentQuestion) => Promise<readonly Found[]>,
): Promise<{ readonly payments: readonly Found[]; readonly nextCursor?: string }> {
  const { merchantId } = merchant
  const bound = { ...scope, merchantId }
  const place = cursor === undefined ? undefined : checkCursor(bound, cursor, ['moment', 'payId'])
  // The cursor's form was checked: the second part is a payId.
  const after = place && { createdAt: new Date(Number(place[0])), payId: String(place[1]) as PayId }
  // One row more than requested shows whether there is a next page.
  const found = await find({ merchantId, filter, after, limit: limit + 1 })
  const payments = found.slice(0, limit)
  const last = payments.at(-1)
  return found.length > limit && last
    ? { payments, nextCursor: cursorAfter({ merchant, scope }, last) }
    : { payments }
}

/** The cursor of the page that follows this payment. */
export const cursorAfter = (
  { merchant: { merchantId }, scope }: Pick<PaymentListRequest, 'merchant' | 'scope'>,
  { createdAt, payId }: PaymentPlace,
): string => writeCursor({ ...scope, merchantId }, [createdAt.getTime(), payId])

export const checkCursor = (scope: CursorScope, cursor: string, form: PlaceForm): Place => {
  const place = readCursor(scope, cursor, form)
  if (!place) throw new ForeignCursor(wrongCursor)
  return place
}
