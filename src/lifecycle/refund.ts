/** Decides whether captured money may be refunded and from which capture, and reserves the amount meanwhile. */
import type { XId } from '#domain/ids.ts'
import { add } from '#domain/money/money.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import {
  isClosedLate,
  lacksOutcome,
  type Operation,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'

export interface RefundCommand extends FollowUpCommand {
  /** The provider's id of the capture to refund. Defaults to the last capture. */
  readonly captureTransactionId?: string
  /** Our id of the capture to refund, if the gateway chose it. */
  readonly capture?: XId
}

export function decideRefund(payment: Payment, command: RefundCommand): Decision {
  const { method, status, sums } = payment
  if (!method.operations.includes('refund')) return refuse('METHOD_LACKS_OPERATION')
  if (lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  const isOver = status !== 'OK' && !isClosedLate(payment)
  if (isOver || payment.kind !== 'PAYMENT' || sums.captured === 0) return refuse('ABOVE_REFUNDABLE_AMOUNT')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  const capture = findRefundedCapture(payment, command)
  if (!capture) return refuse('ABOVE_REFUNDABLE_AMOUNT')
  // An unanswered refund may have been paid out, so it counts until it is known to have failed.
  const gone = add(add(sums.refunded, sums.refunding), sums.returned)
  // Disputed money may be taken back by the dispute; refunding it as well would pay the customer twice.
  if (sums.disputed > 0 && add(add(gone, sums.disputed), command.amount.value) > sums.captured)
    return refuse('DISPUTED')
  if (add(gone, command.amount.value) > sums.captured) {
    return refuse('ABOVE_REFUNDABLE_AMOUNT')
  }
  if (command.amount.value > restOf(payment, capture)) return refuse('ABOVE_REFUNDABLE_AMOUNT')
  if (command.amount.value < restOf(payment, capture) && !method.operations.includes('partial_refund')) {
    return refuse('METHOD_LACKS_OPERATION')
  }
  return accept
}

export function reserveRefund(payment: Payment, command: RefundCommand, recording: Recording): Payment {
  const refunding = add(payment.sums.refunding, command.amount.value)
  const capture = findRefundedCapture(payment, command)
  if (!capture) throw new Error(`payment ${payment.payId} has no capture to refund`)
  const operation = toOperation('REFUND', command, recording, { refundOf: capture.xId })
  return withOperation({ ...payment, sums: { ...payment.sums, refunding } }, operation, recording.now)
}

/**
 * The named capture, or the last one. Only a capture that is known to have succeeded can be refunded. A provider may have
 * one id for all captures of a payment; then it is the last of them that has the amount left.
 */
export function findRefundedCapture(
  payment: Payment,
  { captureTransactionId, capture, amount }: RefundCommand,
): Operation | undefined {
  const captured = payment.operations.filter(({ type, state }) => type === 'CAPTURE' && state === 'OK')
  if (capture !== undefined) return captured.find(({ xId }) => xId === capture)
  if (captureTransactionId === undefined) return captured.at(-1)
  const named = captured.filter(({ provider }) => provider?.transactionId === captureTransactionId)
  return named.findLast(one => restOf(payment, one) >= amount.value) ?? named.at(-1)
}

/** What is left of a capture after its refunds and returns, including refunds that have no answer yet. */
export function restOf(payment: Payment, capture: Operation): number {
  const given = payment.operations
    .filter(
      ({ type, state, details }) =>
        (type === 'REFUND' || type === 'RETURN') && state !== 'FAILED' && details.refundOf === capture.xId,
    )
    .reduce((sum, { amount }) => add(sum, amount), 0)
  return capture.amount - given
}
