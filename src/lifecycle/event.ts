/**
 * Events sent to the merchant: what happened, to which operation, and the state of the payment. They hold no card data.
 */
import type { EventType } from '#domain/event-types.ts'
import type { XId } from '#domain/ids.ts'
import { describe, isDecline } from '#domain/response-codes.ts'
import { maximumTries } from '#lifecycle/attempt.ts'
import { intentOf, maximumPayments } from '#lifecycle/intent.ts'
import { findOperation, lastOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { beginsPlan } from '#lifecycle/plans/plan.ts'
import { undecided } from '#methods/method.ts'

export interface PaymentEvent {
  readonly sequence: number
  readonly xId: XId
  readonly type: EventType
  readonly body: Readonly<Record<string, unknown>>
}

/** The type of an event and the operation that it reports. */
export interface EventSubject {
  readonly type: EventType
  /** The operation that the event's top-level fields describe. */
  readonly xId: XId
  /**
   * Absent if no operation caused the event. The event of a lapse carries the lapsed amount here, not the authorised
   * one.
   */
  readonly operation?: Operation
  /** Members that only this type has, such as disputeId or dueDate. */
  readonly members?: Readonly<Record<string, unknown>>
}

/**
 * Numbers the event within its payment. Event and number are stored in the same commit as the change that they report.
 */
export function raiseEvent(
  payment: Payment,
  { type, xId, operation, members }: EventSubject,
): { readonly payment: Payment; readonly event: PaymentEvent } {
  const sequence = payment.eventSequence + 1
  const { responseCode } = findOperation(payment, xId) ?? lastOperation(payment)
  const body = {
    type,
    payId: payment.payId,
    merchantId: payment.merchantId,
    transId: payment.transId,
    refNr: payment.refNr,
    status: payment.status,
    responseCode,
    responseDescription: describe(responseCode).description,
    amount: { ...payment.amount, ...shownSums(payment) },
    operation: operation && describeOperation(payment, operation),
    // No method is shown if the customer never chose one.
    paymentMethods: payment.method === undecided ? [] : [{ type: payment.method.type }],
    metadata: payment.details.metadata,
    paymentPlanId: payment.planId,
    paymentIntentId: intentOf(payment),
    linkId: payment.own.linkId,
    ...members,
    creationDate: payment.createdAt.toISOString(),
    sequence,
    xId,
  }
  return { payment: { ...payment, eventSequence: sequence }, event: { sequence, xId, type, body } }
}

/** The payment's sums as records and events show them. */
export const shownSums = ({ sums }: Pick<Payment, 'sums'>) => ({
  authorizedValue: sums.authorized,
  capturedValue: sums.captured,
  refundedValue: sums.refunded,
  reversedValue: sums.reversed,
  returnedValue: sums.returned,
  disputedValue: sums.disputed,
})

/** The provider's own reason code for a return or a refused operation. Most providers send none. */
export function reasonCodeOf({ provider }: Operation): string | undefined {
  const reason = provider?.fields?.reasonCode
  return typeof reason === 'string' ? reason : undefined
}

const describeOperation = (payment: Payment, operation: Operation) => ({
  xId: operation.xId,
  type: operation.type,
  status: operation.state === 'SENT' ? 'PENDING' : operation.state,
  amount: { value: operation.amount, currency: payment.amount.currency },
  responseCode: operation.responseCode,
  responseDescription: describe(operation.responseCode).description,
  reasonCode: reasonCodeOf(operation),
})

/** The event about the outcome of one operation; `now` decides whether an intent is still open. */
export function resultSubject(payment: Payment, xId: XId, now: Date): EventSubject {
  const operation = findOperation(payment, xId) ?? lastOperation(payment)
  const failed = operation.state === 'FAILED'
  switch (operation.type) {
    case 'AUTHORIZATION':
    case 'CONFIRM':
      return approvalSubject(payment, operation, now)
    case 'INCREMENTAL':
      // Increments have no event type of their own: whether approved or declined, the payment stays authorised for its
      // sums.
      return { type: 'payment.authorized', xId, operation }
    case 'CAPTURE':
      return { type: failed ? 'capture.failed' : captureType(payment, operation), xId, operation }
    case 'REVERSAL': {
      const whole = payment.status === 'REVERSED'
      return {
        type: failed ? 'reversal.failed' : whole ? 'payment.reversed' : 'reversal.succeeded',
        xId,
        operation,
      }
    }
    case 'REFUND':
    case 'CREDIT':
      return { type: failed ? 'refund.failed' : 'refund.succeeded', xId, operation }
    case 'RETURN':
      return { type: 'debit.returned', xId, operation }
  }
}

/**
 * The events about one result. An approval whose AUTOMATIC capture was declined has two: the authorisation and the
 * failed capture.
 */
export const resultSubjects = (payment: Payment, xId: XId, now: Date): readonly EventSubject[] => [
  resultSubject(payment, xId, now),
  ...declinedCaptureSubjects(payment, xId, now),
]

/** The events about an approval that arrived after the payment had ended. */
export const paidLateSubjects = (payment: Payment, xId: XId, now: Date): readonly EventSubject[] => [
  { type: 'payment.paid_late', xId, operation: findOperation(payment, xId) },
  ...declinedCaptureSubjects(payment, xId, now),
]

function declinedCaptureSubjects(payment: Payment, xId: XId, now: Date): readonly EventSubject[] {
  const approving = findOperation(payment, xId)
  const capture = approving && automaticCapture(payment, approving)
  return capture?.state === 'FAILED' ? [resultSubject(payment, capture.xId, now)] : []
}

/** The event for a payment that was cancelled or timed out. */
export const endingSubject = (payment: Payment, now: Date): EventSubject =>
  resultSubject(payment, lastOperation(payment).xId, now)

/** The event for a lapsed authorisation; `xId` is the reference that it carries. */
export function lapseSubject(before: Payment, after: Payment, xId: XId): EventSubject {
  const approved = after.operations.findLast(
    ({ type, state }) => type === 'AUTHORIZATION' && state !== 'FAILED',
  )
  const operation = approved ?? findOperation(after, xId) ?? lastOperation(after)
  const amount = after.sums.reversed - before.sums.reversed
  return { type: 'payment.lapsed', xId, operation: { ...operation, amount } }
}

function approvalSubject(payment: Payment, operation: Operation, now: Date): EventSubject {
  const { xId } = operation
  const isCharge = payment.planId !== undefined && !beginsPlan(payment.details)
  if (operation.state === 'FAILED') {
    const ended = isIntentOpen(payment, now) ? 'intent.attempt_failed' : 'payment.failed'
    return { type: isCharge ? 'plan.charge_failed' : ended, xId, operation }
  }
  const capture = automaticCapture(payment, operation)
  const captured = capture?.state === 'OK' ? capture : undefined
  const approved = captured ? 'payment.captured' : 'payment.authorized'
  return { type: isCharge ? 'plan.charged' : approved, xId, operation: captured ?? operation }
}

/** The capture that was made in the same provider call as this authorisation or confirm. */
const automaticCapture = (payment: Payment, { details }: Operation): Operation | undefined =>
  payment.operations.find(({ type, xId }) => type === 'CAPTURE' && xId === details.captureXId)

/**
 * The result of an automatic capture may arrive later than the approval; its event is payment.captured all the same.
 */
const captureType = (payment: Payment, capture: Operation): EventType =>
  payment.operations.some(({ details }) => details.captureXId === capture.xId)
    ? 'payment.captured'
    : 'capture.succeeded'

function isIntentOpen(payment: Payment, now: Date): boolean {
  const terms = payment.own.intentTerms
  if (!terms) return false
  const declined = payment.operations.filter(
    ({ state, responseCode }) => state === 'FAILED' && isDecline(responseCode),
  ).length
  const { expiresAt, declines, payments = 0 } = terms
  return (
    now.getTime() < Date.parse(expiresAt) && declines + declined < maximumTries && payments < maximumPayments
  )
}

/**
 * The app confirms an intent, so the shop's server does not see the answer: events are sent even for results that the
 * app got at once. Later requests, such as captures, come from the server, which gets the answers itself.
 */
export const alwaysHasEvent = (payment: Payment, { type }: Operation): boolean =>
  intentOf(payment) !== undefined && (type === 'AUTHORIZATION' || type === 'CONFIRM')

/** Sample values of the members that only this event type has, for sample events and examples. */
export function sampleMembers(type: EventType): Readonly<Record<string, string>> {
  if (type.startsWith('dispute.')) return { disputeId: 'dsp_019a3f6b2c4d7e8f9012a3b4c5d6e7f8' }
  if (type !== 'debit.announced') return {}
  return { mandateId: 'MANDATE-1001', creditorId: 'DE98ZZZ09999999999', dueDate: '2026-11-20' }
}
