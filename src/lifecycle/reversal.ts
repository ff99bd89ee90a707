/**
 * Decides whether an authorisation may be reversed, wholly or in part, and reserves the amount meanwhile. Also decides
 * whether a payment that still waits for its customer or confirm may be cancelled.
 */
import { add } from '#domain/money/money.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import {
  awaitsCustomer,
  isClosedLate,
  isLapsed,
  lacksAuthorization,
  lacksOutcome,
  lacksTotal,
  openAmount,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'
import { receivedValue } from '#lifecycle/receive.ts'

export function decideReversal(payment: Payment, command: FollowUpCommand, now: Date): Decision {
  const { method, status, sums } = payment
  if (!method.operations.includes('reverse')) return refuse('METHOD_LACKS_OPERATION')
  if (lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  if (lacksAuthorization(payment)) return refuse('NOT_AUTHORIZED')
  if (isLapsed(payment, now)) return refuse('EXPIRED')
  if (status === 'REVERSED' && !isClosedLate(payment)) return refuse('ALREADY_REVERSED')
  // Money that was captured, or may have been, can only be refunded.
  if (add(sums.captured, sums.capturing) > 0) return refuse('ALREADY_CAPTURED')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  if (command.amount.value > openAmount(payment)) return refuse('ABOVE_OPEN_AMOUNT')
  if (method.reversesWholeOnly && command.amount.value < openAmount(payment))
    return refuse('METHOD_LACKS_OPERATION')
  // A reversal of the whole rest sends no total that another change could overwrite.
  if (lacksTotal(payment) && command.amount.value < openAmount(payment)) return refuse('OUTCOME_OUTSTANDING')
  return accept
}

/** Reserves the amount: it can neither be captured nor reversed again. */
export function reserveReversal(payment: Payment, command: FollowUpCommand, recording: Recording): Payment {
  const reversing = add(payment.sums.reversing, command.amount.value)
  const operation = toOperation('REVERSAL', command, recording)
  return withOperation({ ...payment, sums: { ...payment.sums, reversing } }, operation, recording.now)
}

/**
 * Only a payment that waits for its customer or for the merchant's confirm can be cancelled. A try that is at the
 * provider, that its customer left open there, or whose answer was lost may still be approved, so it must be settled
 * first. A partly received transfer waits for its customer alone: no provider decides about it.
 */
export function decideCancellation(payment: Payment): Decision {
  const isSent = payment.operations.some(({ state }) => state === 'SENT')
  const isPartPaid = awaitsCustomer(payment) && receivedValue(payment) !== undefined
  if (isSent || (payment.status === 'PENDING' && !isPartPaid)) return refuse('OUTCOME_OUTSTANDING')
  return payment.status === 'AUTHORIZE_REQUEST' || isPartPaid ? accept : refuse('NOT_OPEN')
}
