/** A new payment and the merchant's velocity limits: whether it may be tried, and when. */
import type { Merchant } from '#domain/merchant.ts'
import type { Payment, PaymentKind } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { triedBy } from '#operations/payments/velocity.ts'

interface Trial {
  readonly kind?: PaymentKind
  readonly merchant: Merchant
  /** With a turn where the gateway charges the plan by itself. */
  readonly plan?: { readonly turn?: unknown }
}

/** Several tries of one card at once must not all be sent before the first of them is declined and counted. */
export const inTurn = <T>(
  { kind, merchant, plan }: Trial,
  payment: Payment,
  { velocity }: Engine,
  work: () => Promise<T>,
): Promise<T> =>
  kind === 'CREDIT' || plan?.turn || payment.integrationType === 'HOSTED'
    ? work()
    : velocity.inTurn(merchant, triedBy(payment), work)

/** A card or an address with too many declines is refused without a provider call; scheduled charges have their own pace. */
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
