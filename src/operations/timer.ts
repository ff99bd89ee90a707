/** Timers are stored in real time; their effects happen in the merchant's time. */
import type { Merchant } from '#domain/merchant.ts'
import { approvingOperation, openAmount, type Payment } from '#lifecycle/payment.ts'
import { dueDelayedCapture } from '#lifecycle/settle.ts'
import type { Timer, TimerKey } from '#storage/commit/change.ts'

export type { TimerKey }

/** A timer that is due. */
export interface DueTimer {
  readonly timer: TimerKey & { readonly attempt: number }
  readonly merchant: Merchant
  /** The merchant's time for which the timer was set: decides what is due. */
  readonly dueAt: Date
  /** The merchant's time with which its effects are dated: see effectTime. */
  readonly at: Date
}

/**
 * Converts the merchant's time to real time: their clock is ahead by its offset, so the timer runs that much earlier.
 */
export const timerAt = (key: TimerKey, merchantTime: Date, merchant: Merchant, attempt = 0): Timer => ({
  ...key,
  runAt: new Date(merchantTime.getTime() - merchant.clockOffsetMs),
  attempt,
  clockOffsetMs: merchant.clockOffsetMs,
})

/**
 * The expiry timer of a payment that waits for its customer. Its key is the payment's first operation, so that there is
 * only one.
 */
export function expiryTimer(payment: Payment, merchant: Merchant): readonly Timer[] {
  const [first] = payment.operations
  if (!payment.expiresAt || !first) return []
  const { merchantId, payId } = payment
  return [timerAt({ merchantId, payId, xId: first.xId, kind: 'EXPIRE' }, payment.expiresAt, merchant)]
}

/**
 * The timers of the delayed capture and the lapse. They are set again whenever the open amount grows, by an approval or
 * a failed operation, even if the authorisation's end has already passed.
 */
export function approvalTimers(before: Payment, after: Payment, merchant: Merchant): readonly Timer[] {
  if (openAmount(after) <= openAmount(before)) return []
  const key = { merchantId: after.merchantId, payId: after.payId, xId: approvingOperation(after).xId }
  const captureAt = dueDelayedCapture(after)
  const end = after.authorizationExpiresAt
  return [
    ...(captureAt ? [timerAt({ ...key, kind: 'CAPTURE' }, captureAt, merchant)] : []),
    ...(end ? [timerAt({ ...key, kind: 'LAPSE' }, end, merchant)] : []),
  ]
}
