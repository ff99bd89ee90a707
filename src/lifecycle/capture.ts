/** Decides whether a payment may be captured, and reserves the amount while the provider has not answered. */
import { add } from '#domain/money/money.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import {
  captureCeiling,
  committed,
  isLapsed,
  isUnanswered,
  lacksAuthorization,
  lacksOutcome,
  type Operation,
  openAmount,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'

export interface CaptureCommand extends FollowUpCommand {
  readonly manual?: { readonly currentSequence?: number; readonly total?: number; readonly final?: boolean }
  /** This is the last capture: no other may follow, even if an amount stays open. */
  readonly closes?: boolean
  /** Releases the amount that this capture leaves open. Refused if it leaves nothing open. */
  readonly releasesRest?: boolean
}

/**
 * 50: more partial captures than any acquirer we know settles, and few enough to load with every read of the payment.
 */
export const maximumCaptures = 50

/** Checks go from general to specific; the first one that fails is the reason of the refusal. */
export function decideCapture(payment: Payment, command: CaptureCommand, now: Date): Decision {
  const { method, status, sums } = payment
  if (!method.operations.includes('capture')) return refuse('METHOD_LACKS_OPERATION')
  if (lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  if (lacksAuthorization(payment)) return refuse('NOT_AUTHORIZED')
  if (isLapsed(payment, now)) return refuse('EXPIRED')
  if (status === 'REVERSED') return refuse('ALREADY_REVERSED')
  // An unanswered capture counts as made, so that a repeated request cannot collect twice.
  if (add(sums.captured, sums.capturing) >= captureCeiling(payment)) return refuse('ALREADY_CAPTURED')
  if (isClosed(payment)) return refuse('CLOSED_FOR_CAPTURE')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  if (!sequenceFits(payment, command)) return refuse('SEQUENCE')
  if (add(committed(payment), command.amount.value) > captureCeiling(payment))
    return refuse('ABOVE_OPEN_AMOUNT')
  if (!methodAllowsPart(payment, command)) return refuse('METHOD_LACKS_OPERATION')
  if (command.releasesRest && command.amount.value >= openAmount(payment)) return refuse('ABOVE_OPEN_AMOUNT')
  return accept
}

/** The payment with the amount of the capture reserved, as it is stored before the provider is called. */
export function reserveCapture(payment: Payment, command: CaptureCommand, recording: Recording): Payment {
  const { manual, closes } = command
  // An increment without an answer may have raised what is open at the provider.
  const isPart = command.amount.value < openAmount(payment) || payment.operations.some(isUnansweredIncrement)
  const releasesRest = command.releasesRest || (isPart && payment.method.partialCaptureReleasesRest)
  const operation = toOperation('CAPTURE', command, recording, { manual, closes, releasesRest })
  const capturing = add(payment.sums.capturing, command.amount.value)
  return withOperation({ ...payment, sums: { ...payment.sums, capturing } }, operation, recording.now)
}

const isUnansweredIncrement = (operation: Operation): boolean =>
  operation.type === 'INCREMENTAL' && isUnanswered(operation)

/** Captures that were made or, while they have no answer, may have been made. */
const captures = (payment: Payment): readonly Operation[] =>
  payment.operations.filter(operation => operation.type === 'CAPTURE' && operation.state !== 'FAILED')

/** Whether the final capture was made, or may have been: while its outcome is unknown, no other may follow. */
function isClosed(payment: Payment): boolean {
  const { closedForCapture, method, sums } = payment
  if (closedForCapture || captures(payment).length >= maximumCaptures) return true
  // Even if the method allows captures above the authorised amount, reaching that amount closes the payment.
  const reached = add(sums.captured, sums.capturing) >= sums.authorized
  return (reached && method.capturePercentMax !== undefined) || captures(payment).some(endsCapturing)
}

/** Whether this capture releases the rest, because it asked for that or because its provider did so by itself. */
export const releasesRest = ({ details, prepared }: Operation): boolean =>
  details.releasesRest === true || prepared.restReleased === true

/** Whether no other capture may follow this one. */
export const endsCapturing = (capture: Operation): boolean =>
  capture.details.manual?.final === true || capture.details.closes === true || releasesRest(capture)

/** Partial captures, and a second capture, need a method that allows them. */
function methodAllowsPart(payment: Payment, { amount }: CaptureCommand): boolean {
  const { operations } = payment.method
  if (amount.value < openAmount(payment) && !operations.includes('partial_capture')) return false
  return captures(payment).length === 0 || operations.includes('multi_capture')
}

/** A sequence number is used once and must not exceed the total, which may have been given with an earlier capture. */
function sequenceFits(payment: Payment, command: CaptureCommand): boolean {
  const current = command.manual?.currentSequence
  if (current === undefined) return true
  const total =
    command.manual?.total ?? captures(payment).findLast(c => c.details.manual?.total)?.details.manual?.total
  if (total !== undefined && current > total) return false
  return !captures(payment).some(capture => capture.details.manual?.currentSequence === current)
}
