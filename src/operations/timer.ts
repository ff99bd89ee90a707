/** Timers are kept in real time; what they stand for happens in the merchant's. */
import type { Merchant } from '#domain/merchant.ts'
import { approvingOperation, openAmount, type Payment } from '#lifecycle/payment.ts'
import { dueDelayedCapture } from '#lifecycle/settle.ts'
import type { Timer } from '#storage/commit/change.ts'

export type TimerKey = Omit<Timer, 'runAt' | 'attempt'>

/** A timer whose time has come. */
export interface DueTimer {
  readonly timer: TimerKey & { readonly attempt: number }
  readonly merchant: Merchant
  /** The merchant's time for which it was set: what happens now happens as of then. */
  readonly at: Date
}

/** The merchant's clock is ahead of real time by its offset, so the timer is due that much earlier. */
export const timerAt = (key: TimerKey, merchantTime: Date, merchant: Merchant, attempt = 0): Timer => ({
  ...key,
  runAt: new Date(merchantTime.getTime() - merchant.clockOffsetMs),
  attempt,
})

/** The end of the customer's patience, under the payment's first operation so that there is one of it. */
export function expiryTimer(payment: Payment, merchant: Merchant): readonly Timer[] {
  const [first] = payment.operations
  if (!payment.expiresAt || !first) return []
  const { merchantId, payId } = payment
  return [timerAt({ merchantId, payId, xId: first.xId, kind: 'EXPIRE' }, payment.expiresAt, merchant)]
}

/** More is open than before: approved, or free again after a failure. Whenever that is, even past its end, it must lapse. */
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
