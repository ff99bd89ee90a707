/** Giving back captured money. The rule is lifecycle/refund.ts, the way is follow-up.ts. */
import { decideRefund, type RefundCommand, reserveRefund } from '#lifecycle/refund.ts'
import type { Engine } from '#operations/engine.ts'
import { type FollowUp, type FollowUpKind, performFollowUp } from '#operations/payments/follow-up.ts'

const kind: FollowUpKind<RefundCommand> = {
  type: 'REFUND',
  request: 'refund',
  send: 'refund',
  decide: decideRefund,
  record: reserveRefund,
}

export const refund = (request: FollowUp<RefundCommand>, engine: Engine) =>
  performFollowUp(kind, request, engine)
