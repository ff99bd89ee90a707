/** Checks before a new payment whether the order has been paid or a payment of it is under way. Read-only. */
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import { orderPaid, orderPending, orderSeveral, success } from '#domain/response-codes.ts'
import { type Clock, merchantNow } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import type { PaymentOfOrder } from '#storage/payments/duplicates.ts'

export interface DuplicateSearch {
  readonly merchant: Merchant
  readonly order: { readonly merchantReference?: string; readonly invoiceId?: string }
  readonly amount: Money
  readonly lookbackHours: number
}

export interface Duplicates {
  readonly responseCode: string
  readonly payments: readonly PaymentOfOrder[]
}

const hourMs = 60 * 60 * 1000

export async function findDuplicates(
  { merchant, order, amount, lookbackHours }: DuplicateSearch,
  { duplicates, clock }: Pick<LookUps, 'duplicates'> & { readonly clock: Clock },
): Promise<Duplicates> {
  const since = new Date(merchantNow(clock, merchant).getTime() - lookbackHours * hourMs)
  const payments = await duplicates.find({ merchantId: merchant.merchantId, ...order, amount, since })
  return { responseCode: judge(payments), payments }
}

function judge([first, second]: readonly PaymentOfOrder[]): string {
  if (!first) return success
  if (second) return orderSeveral
  return first.status === 'AUTHORIZE_REQUEST' || first.status === 'PENDING' ? orderPending : orderPaid
}
