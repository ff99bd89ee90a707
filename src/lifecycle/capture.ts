/** When an authorised payment may be captured, and what it looks like while the capture is under way. */
import { add } from '#domain/money/money.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import {
  captureCeiling,
  committed,
  isLapsed,
  lacksAuthorization,
  lacksOutcome,
  type Operation,
  openAmount,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'

export interface CaptureCommand extends FollowUpCommand {
  readonly manual?: { readonly currentSequence?: number; readonly total?: number; readonly final?: boolean }
  /** Ends the capturing with this one: nothing more will be taken, whatever is open. */
  readonly closes?: boolean
  /** Gives back what this capture leaves open; an error when it leaves nothing. */
  readonly releasesRest?: boolean
}

/** 50: more partial captures than any acquirer we know settles, few enough to load with the payment every time. */
export const maximumCaptures = 50

/** From general to specific; the first reason that applies is the answer. */
export function decideCapture(payment: Payment, command: CaptureCommand, now: Date): Decision {
  const { method, status, sums } = payment
  if (!method.operations.includes('capture')) return refuse('METHOD_LACKS_OPERATION')
  if (lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  if (lacksAuthorization(payment)) return refuse('NOT_AUTHORIZED')
  if (isLapsed(payment, now)) return refuse('EXPIRED')
  if (status === 'REVERSED') return refuse('ALREADY_REVERSED')
  // A capture without an answer counts as taken: asking twice must never collect twice.
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

/** The payment with the capture reserved: what is recorded before the provider is called. */
export function reserveCapture(payment: Payment, command: CaptureCommand, recording: Recording): Payment {
  const { manual, closes } = command
  const isPart = command.amount.value < openAmount(payment)
  const releasesRest = command.releasesRest || (isPart && payment.method.partialCaptureReleasesRest)
  const operation = toOperation('CAPTURE', command, recording, { manual, closes, releasesRest })
  const capturing = add(payment.sums.capturing, command.amount.value)
  return withOperation({ ...payment, sums: { ...payment.sums, capturing } }, operation, recording.now)
}

/** Captures that happened or may have happened. */
const captures = (payment: Payment): readonly Operation[] =>
  payment.operations.filter(operation => operation.type === 'CAPTURE' && operation.state !== 'FAILED')

/** The final capture was made, or may have been: while its outcome is unknown, no other may follow. */
function isClosed(payment: Payment): boolean {
  const { closedForCapture, method, sums } = payment
  if (closedForCapture || captures(payment).length >= maximumCaptures) return true
  // Where more than the authorised amount may be captured, reaching it closes the payment all the same.
  const reached = add(sums.captured, sums.capturing) >= sums.authorized
  return (reached && method.capturePercentMax !== undefined) || captures(payment).some(endsCapturing)
}

/** Whether the merchant declared this capture to be the last. */
export const endsCapturing = ({ details: { manual, closes, releasesRest } }: Operation): boolean =>
  manual?.final === true || closes === true || releasesRest === true

/** A partial capture, or a second one, only where the method's row allows it. */
function methodAllowsPart(payment: Payment, { amount }: CaptureCommand): boolean {
  const { operations } = payment.method
  if (amount.value < openAmount(payment) && !operations.includes('partial_capture')) return false
  return captures(payment).length === 0 || operations.includes('multi_capture')
}

/** Each sequence number is used once and is at most the total, whether the total is given now or was given before. */
function sequenceFits(payment: Payment, command: CaptureCommand): boolean {
  const current = command.manual?.currentSequence
  if (current === undefined) return true
  const total =
    command.manual?.total ?? captures(payment).findLast(c => c.details.manual?.total)?.details.manual?.total
  if (total !== undefined && current > total) return false
  return !captures(payment).some(capture => capture.details.manual?.currentSequence === current)
}
