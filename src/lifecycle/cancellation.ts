/** When the merchant may end a payment that is not paid yet. */
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { awaitsCustomer, type Payment } from '#lifecycle/payment.ts'

/**
 * Only a payment that waits for its customer or for the merchant's confirm can be cancelled. A try that is at the provider,
 * or whose answer was lost, may have been approved, so it must be settled first.
 */
export function decideCancellation(payment: Payment): Decision {
  const isSent = payment.operations.some(({ state }) => state === 'SENT')
  if (isSent || (payment.status === 'PENDING' && !awaitsCustomer(payment)))
    return refuse('OUTCOME_OUTSTANDING')
  return payment.status === 'AUTHORIZE_REQUEST' || awaitsCustomer(payment) ? accept : refuse('NOT_OPEN')
}
