/** The SQL for a new or changed dispute, which is written together with its payment. */
import type { Dispute } from '#lifecycle/dispute.ts'
import type { BatchRow } from '#storage/commit/columns.ts'
import type { Columns } from '#storage/recordset.ts'

const disputeKey = [
  ['merchant_id', 'text'],
  ['dispute_id', 'text'],
] as const

const disputeState = [
  ['amount', 'bigint'],
  ['currency', 'text'],
  ['stage', 'text'],
  ['status', 'text'],
  ['reason_code', 'text'],
  ['reason_group', 'text'],
  ['evidence_due_by', 'timestamptz'],
  ['kept', 'json'],
  ['events', 'json'],
  ['updated_at', 'timestamptz'],
] as const

const disputeBirth = [
  ['pay_id', 'uuid'],
  ['x_id', 'uuid'],
  ['provider_dispute_id', 'text'],
  ['created_at', 'timestamptz'],
] as const

const names = (columns: Columns): string => columns.map(([name]) => name).join(', ')

export const disputeParts = {
  dispute: {
    columns: [...disputeKey, ...disputeState, ...disputeBirth] as const,
    write: (
      columns: Columns,
    ) => `INSERT INTO dispute (${names(columns)}) SELECT ${names(columns)} FROM dispute_in
      WHERE c NOT IN (SELECT c FROM refused)
      ON CONFLICT (merchant_id, dispute_id)
      DO UPDATE SET ${disputeState.map(([name]) => `${name} = excluded.${name}`).join(', ')}`,
  },
} satisfies Record<string, { columns: Columns; write: (columns: Columns) => string }>

export const fromDispute = (
  dispute: Dispute,
  c: number,
): BatchRow<(typeof disputeParts)['dispute']['columns']> => ({
  c,
  merchant_id: dispute.merchantId,
  dispute_id: dispute.disputeId,
  amount: dispute.amount.value,
  currency: dispute.amount.currency,
  stage: dispute.stage,
  status: dispute.status,
  reason_code: dispute.reasonCode,
  reason_group: dispute.reasonGroup,
  evidence_due_by: dispute.evidenceDueBy,
  kept: dispute.kept,
  events: dispute.events,
  updated_at: dispute.updatedAt,
  pay_id: dispute.payId,
  x_id: dispute.xId,
  provider_dispute_id: dispute.providerDisputeId,
  created_at: dispute.createdAt,
})
