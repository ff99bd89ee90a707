/**
 * Capture, refund, reversal and increment as data: the steps are the same for all (follow-up.ts), and the rules are in
 * lifecycle/.
 */
import { type CaptureCommand, decideCapture, reserveCapture } from '#lifecycle/capture.ts'
import type { FollowUpCommand } from '#lifecycle/follow-up.ts'
import { decideIncremental, type IncrementalCommand, recordIncremental } from '#lifecycle/incremental.ts'
import { isLapsed, openAmount, type Payment } from '#lifecycle/payment.ts'
import { decideRefund, type RefundCommand, reserveRefund } from '#lifecycle/refund.ts'
import { decideReversal, reserveReversal } from '#lifecycle/reversal.ts'
import { dueDelayedCapture } from '#lifecycle/settle.ts'
import type { Engine } from '#operations/engine.ts'
import { type DerivedFollowUp, type FollowUpKind, performFollowUp } from '#operations/payments/follow-up.ts'
import type { DueTimer } from '#operations/timer.ts'

const perform =
  <Command extends FollowUpCommand>(kind: FollowUpKind<Command>) =>
  (request: DerivedFollowUp<Command>, engine: Engine) =>
    performFollowUp(kind, request, engine)

/** Takes money from an authorised payment. */
export const capture = perform<CaptureCommand>({
  type: 'CAPTURE',
  request: 'capture',
  send: 'capture',
  decide: decideCapture,
  record: reserveCapture,
})

/** Gives back captured money. */
export const refund = perform<RefundCommand>({
  type: 'REFUND',
  request: 'refund',
  send: 'refund',
  decide: decideRefund,
  record: reserveRefund,
})

/** Gives back an authorisation, wholly or in part. */
export const reverse = perform<FollowUpCommand>({
  type: 'REVERSAL',
  request: 'reversal',
  send: 'reverse',
  decide: decideReversal,
  record: reserveReversal,
})

/** Raises an authorisation. */
export const increment = perform<IncrementalCommand>({
  type: 'INCREMENTAL',
  request: 'incremental',
  send: 'increment',
  decide: decideIncremental,
  record: recordIncremental,
})

/**
 * The delayed automatic capture, some hours after the approval. Takes the amount that is still open; does nothing if
 * the merchant has captured, closed or reversed the payment in the meantime. However late it runs, it is judged by the
 * time for which it was scheduled: the authorisation lives until then.
 */
export async function captureDelayed(
  { timer, merchant, dueAt, at }: DueTimer,
  engine: Engine,
): Promise<void> {
  const judgedAt = (payment: Payment): Date => dueDelayedCapture(payment) ?? dueAt
  const takeRest = (payment: Payment): CaptureCommand | undefined => {
    const { transId, refNr, amount, closedForCapture } = payment
    const value = openAmount(payment)
    if (value === 0 || closedForCapture || isLapsed(payment, judgedAt(payment))) return undefined
    return { transId, refNr, amount: { value, currency: amount.currency }, details: {} }
  }
  const command = takeRest
  await capture({ merchant, payId: timer.payId, command, at, judgedAt, unattended: true, timer }, engine)
}
