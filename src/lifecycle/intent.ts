/** Rules about payment intents, which a shop's server prepares and its app confirms. */
import type { IntentId, MerchantId, PayId } from '#domain/ids.ts'
import { maximumTries } from '#lifecycle/attempt.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { cancelRequest, type Ending } from '#lifecycle/expiry.ts'
import type { Payment, PaymentStatus } from '#lifecycle/payment.ts'
import type { IntegrationType, Method } from '#methods/rows.ts'
import type { CreateIntent } from '#schemas/payment-intent.ts'

export interface Intent {
  readonly merchantId: MerchantId
  readonly intentId: IntentId
  readonly request: CreateIntent
  readonly expiresAt: Date
  readonly createdAt: Date
  /** When the merchant cancelled it. */
  readonly cancelledAt?: Date
  /** Declines over all payments made from the intent. */
  readonly declines: number
  /** How often a confirmation named a stored card or account of another customer. */
  readonly refusedTries?: number
  /** How many payments were made from it. */
  readonly payments?: number
  /** The last payment made from it, and its current status. */
  readonly payment?: { readonly payId: PayId; readonly status: PaymentStatus }
}

/** 24 hours, the default lifetime of the API contract. */
const lifetimeMs = 24 * 60 * 60 * 1000

export const intentEnd = (now: Date): Date => new Date(now.getTime() + lifetimeMs)

/**
 * 50: customers who turn back, or whose payments never reach a provider, may try again, but an app must not flood the
 * merchant's records and webhooks with abandoned payments.
 */
export const maximumPayments = 50

/** Stolen cards are tested through apps as well as on hosted pages, so the same limit of declines applies. */
const isUsedUp = ({ declines, refusedTries = 0, payments = 0 }: Intent): boolean =>
  declines + refusedTries >= maximumTries || payments >= maximumPayments

/**
 * A failed payment leaves the intent open. Any other payment blocks it, above all one with an unknown outcome: a second
 * payment could take the money twice.
 */
export function decideIntentConfirm(intent: Intent, now: Date): Decision {
  const { payment, expiresAt, cancelledAt } = intent
  if (cancelledAt !== undefined) return refuse('CONFIRM_NOT_EXPECTED')
  if (payment && payment.status !== 'FAILED') return refuse('CONFIRM_NOT_EXPECTED')
  if (expiresAt.getTime() <= now.getTime()) return refuse('EXPIRED')
  return isUsedUp(intent) ? refuse('CONFIRM_NOT_EXPECTED') : accept
}

export type IntentState = 'OPEN' | 'PROCESSING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'

/** A payment that waits for its customer or provider makes the intent PROCESSING; a failed one leaves it open. */
export function intentState(intent: Intent, now: Date): IntentState {
  const { payment, expiresAt, cancelledAt } = intent
  if (cancelledAt !== undefined) return 'CANCELLED'
  if (payment && payment.status !== 'FAILED')
    return payment.status === 'AUTHORIZE_REQUEST' || payment.status === 'PENDING' ? 'PROCESSING' : 'SUCCEEDED'
  if (expiresAt.getTime() <= now.getTime()) return 'EXPIRED'
  return isUsedUp(intent) ? 'FAILED' : 'OPEN'
}

/** How the customer wants to pay now. */
export interface NextWay {
  readonly method: Method
  readonly integrationType: IntegrationType
}

/**
 * Cancels the payment that blocks the intent, so that the customer can pay in another way. Undefined if the payment
 * must stay: it may end only while it waits on a hosted page and every provider called so far has declined, because
 * then no provider can still approve it. Asking for the same page again is not another way to pay.
 */
export function giveWay(payment: Payment, next: NextWay, ending: Ending): Payment | undefined {
  const isOurs = payment.integrationType === 'HOSTED' && payment.status === 'AUTHORIZE_REQUEST'
  const isOther = next.integrationType !== 'HOSTED' || next.method !== payment.method
  const isAsked = payment.operations.some(
    ({ state, prepared }) =>
      state !== 'FAILED' && (state !== 'AUTHORIZE_REQUEST' || prepared.step !== undefined),
  )
  return isOurs && isOther && !isAsked ? cancelRequest(payment, ending) : undefined
}

/** The intent that a payment was made from. */
export const intentOf = ({ own }: Payment): IntentId | undefined => own.paymentIntentId
