/** A payment intent as the rules see it: what a shop has prepared for its app, and whether that may still be confirmed. */
import type { IntentId, MerchantId, PayId } from '#domain/ids.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import type { Payment, PaymentStatus } from '#lifecycle/payment.ts'
import type { CreateIntent } from '#schemas/payment-intent.ts'

export interface Intent {
  readonly merchantId: MerchantId
  readonly intentId: IntentId
  readonly request: CreateIntent
  readonly expiresAt: Date
  readonly createdAt: Date
  /** The last payment made from it, as it stands. */
  readonly payment?: { readonly payId: PayId; readonly status: PaymentStatus }
}

/** 24 hours unless the shop says otherwise: the contract's own lifetime. */
const lifetimeMs = 24 * 60 * 60 * 1000

export const intentEnd = (now: Date): Date => new Date(now.getTime() + lifetimeMs)

/**
 * A payment that failed leaves the intent open. Any other holds it, above all one whose outcome is not known: a second
 * payment beside it could take the money twice.
 */
export function decideIntentConfirm({ payment, expiresAt }: Intent, now: Date): Decision {
  if (payment && payment.status !== 'FAILED') return refuse('CONFIRM_NOT_EXPECTED')
  if (expiresAt.getTime() <= now.getTime()) return refuse('EXPIRED')
  return accept
}

/** The intent that a payment was made from; it is kept with the fields of the request. */
export function intentOf({ details }: Payment): IntentId | undefined {
  const { paymentIntentId } = details as { paymentIntentId?: IntentId }
  return paymentIntentId
}
