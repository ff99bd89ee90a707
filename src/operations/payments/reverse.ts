/** Giving back an authorisation, wholly or in part. The rule is lifecycle/reversal.ts, the way is follow-up.ts. */
import type { FollowUpCommand } from '#lifecycle/follow-up.ts'
import { decideReversal, reserveReversal } from '#lifecycle/reversal.ts'
import type { Engine } from '#operations/engine.ts'
import { type FollowUp, type FollowUpKind, performFollowUp } from '#operations/payments/follow-up.ts'

const kind: FollowUpKind<FollowUpCommand> = {
  type: 'REVERSAL',
  request: 'reversal',
  send: 'reverse',
  decide: decideReversal,
  record: reserveReversal,
}

export const reverse = (request: FollowUp<FollowUpCommand>, engine: Engine) =>
  performFollowUp(kind, request, engine)
