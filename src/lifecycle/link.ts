/** The state of a payment link, which follows from its payment. */
import { isInTime } from '#lifecycle/attempt.ts'
import { lastOperation, type Payment } from '#lifecycle/payment.ts'

export type LinkState = 'ACTIVE' | 'COMPLETED' | 'EXPIRED' | 'CANCELLED'

export function linkState(payment: Payment, now: Date): LinkState {
  switch (payment.status) {
    case 'AUTHORIZE_REQUEST':
      // Its timer may not have run yet.
      return isInTime(payment, now) ? 'ACTIVE' : 'EXPIRED'
    case 'PENDING':
      return 'ACTIVE'
    case 'FAILED':
      return /070[34]$/.test(lastOperation(payment).responseCode) ? 'CANCELLED' : 'EXPIRED'
    default:
      return 'COMPLETED'
  }
}
