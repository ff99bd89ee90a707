/** Raising an authorisation. The rule is lifecycle/incremental.ts, the way is follow-up.ts. */
import { decideIncremental, type IncrementalCommand, recordIncremental } from '#lifecycle/incremental.ts'
import type { Engine } from '#operations/engine.ts'
import { type FollowUp, type FollowUpKind, performFollowUp } from '#operations/payments/follow-up.ts'

const kind: FollowUpKind<IncrementalCommand> = {
  type: 'INCREMENTAL',
  request: 'incremental',
  send: 'increment',
  decide: decideIncremental,
  record: recordIncremental,
}

export const increment = (request: FollowUp<IncrementalCommand>, engine: Engine) =>
  performFollowUp(kind, request, engine)
