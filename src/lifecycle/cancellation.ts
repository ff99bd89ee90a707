/** When the merchant may end a payment that is not paid yet. */
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { awaitsCustomer, type Payment } from '#lifecycle/payment.ts'

/**
 * Open is what waits for its customer or for the merchant's confirm. A try that is at the provider at this moment, or
 * whose answer was lost, may have been approved: it is not cut off.
 */
export function decideCancellation(payment: Payment): Decision {
  const isSent = payment.operations.some(({ state }) => state === 'SENT')
  if (isSent || (payment.status === 'PENDING' && !awaitsCustomer(payment)))
    return refuse('OUTCOME_OUTSTANDING')
  return payment.status === 'AUTHORIZE_REQUEST' || awaitsCustomer(payment) ? accept : refuse('NOT_OPEN')
}
