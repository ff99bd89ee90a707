/** Taking money from an authorised payment. The rule is lifecycle/capture.ts, the way is follow-up.ts. */
import { type CaptureCommand, decideCapture, reserveCapture } from '#lifecycle/capture.ts'
import type { Engine } from '#operations/engine.ts'
import { type FollowUp, type FollowUpKind, performFollowUp } from '#operations/payments/follow-up.ts'

const kind: FollowUpKind<CaptureCommand> = {
  type: 'CAPTURE',
  request: 'capture',
  send: 'capture',
  decide: decideCapture,
  record: reserveCapture,
}

export const capture = (request: FollowUp<CaptureCommand>, engine: Engine) =>
  performFollowUp(kind, request, engine)
