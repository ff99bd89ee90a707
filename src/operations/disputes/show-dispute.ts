/** A dispute as the wire shows it. */
import type { Dispute } from '#lifecycle/dispute.ts'

export const showDispute = (dispute: Dispute) => ({
  disputeId: dispute.disputeId,
  payId: dispute.payId,
  xId: dispute.xId,
  amount: dispute.amount,
  stage: dispute.stage,
  status: dispute.status,
  reasonCode: dispute.reasonCode,
  reasonGroup: dispute.reasonGroup,
  evidenceDueBy: dispute.evidenceDueBy?.toISOString(),
  providerDisputeId: dispute.providerDisputeId,
  creationDate: dispute.createdAt.toISOString(),
  updatedAt: dispute.updatedAt.toISOString(),
  events: dispute.events,
})
