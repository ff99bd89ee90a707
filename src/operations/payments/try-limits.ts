/** Applies the merchant's velocity limits to a new payment. */
import type { Merchant } from '#domain/merchant.ts'
import type { Payment, PaymentKind } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { triedBy } from '#operations/payments/velocity.ts'

interface Trial {
  readonly kind?: PaymentKind
  readonly merchant: Merchant
  /** With a turn if the gateway charges the plan automatically. */
  readonly plan?: { readonly turn?: unknown }
}

/**
 * Limits concurrent tries of a card, so that they are not all sent before the first of them is declined and counted.
 */
export const inTurn = <T>(
  { kind, merchant, plan }: Trial,
  payment: Payment,
  { velocity }: Engine,
  work: () => Promise<T>,
): Promise<T> =>
  kind === 'CREDIT' || plan?.turn || payment.integrationType === 'HOSTED'
    ? work()
    : velocity.inTurn(merchant, triedBy(payment), work)

/**
 * Whether the payment is refused without a provider call. Automatic charges of plans are exempt: dunning limits them.
 */
export async function exceedsLimit(
  { kind, merchant, plan }: Trial,
  payment: Payment,
  { velocity }: Engine,
): Promise<boolean> {
  const { payId: payoutId, amount, createdAt: now, integrationType } = payment
  if (kind === 'CREDIT') return !(await velocity.reservePayout(merchant, { payoutId, amount, now }))
  if (plan?.turn || integrationType === 'HOSTED') return false
  return velocity.blocks(merchant, triedBy(payment), now)
}

/**
 * A payout that failed no longer counts towards the merchant's limit, no matter what failed it. Never throws, because
 * the failure is already stored.
 */
export async function releaseFailedPayout(
  merchant: Merchant,
  { kind, status, payId }: Payment,
  { velocity, onAlarm }: Engine,
): Promise<void> {
  if (kind !== 'CREDIT' || status !== 'FAILED') return
  try {
    await velocity.releasePayout(merchant, payId)
  } catch (error) {
    const message = "a failed payout could not be released from the merchant's limit"
    onAlarm({ code: 'DECLINE_NOT_COUNTED', message, payId, error })
  }
}
