/**
 * What a commit writes about providers: disputes, and the references by which notices find their payment. Only payments
 * of provider accounts have any, so nothing of this is on the way of the others.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Dispute } from '#lifecycle/dispute.ts'
import type { OperationWrite } from '#storage/commit/change.ts'
import type { Columns } from '#storage/commit/columns.ts'

/** A name under which the provider of an account knows something of a payment: our reference or its own id. */
export interface ProviderReference {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly reference: string
  readonly payId: PayId
}

const disputeKey: Columns = [
  ['merchant_id', 'text'],
  ['dispute_id', 'text'],
]

const disputeState: Columns = [
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
]

const disputeBirth: Columns = [
  ['pay_id', 'uuid'],
  ['x_id', 'uuid'],
  ['provider_dispute_id', 'text'],
  ['created_at', 'timestamptz'],
]

const names = (columns: Columns): string => columns.map(([name]) => name).join(', ')

export const providerParts = {
  dispute: {
    columns: [...disputeKey, ...disputeState, ...disputeBirth],
    write: (
      columns: Columns,
    ) => `INSERT INTO dispute (${names(columns)}) SELECT ${names(columns)} FROM dispute_in
      WHERE c NOT IN (SELECT c FROM refused)
      ON CONFLICT (merchant_id, dispute_id)
      DO UPDATE SET ${disputeState.map(([name]) => `${name} = excluded.${name}`).join(', ')}`,
  },
  reference: {
    columns: [
      ['merchant_id', 'text'],
      ['provider_account_id', 'text'],
      ['reference', 'text'],
      ['pay_id', 'uuid'],
    ] as Columns,
    // Each is written once: what a provider has named a payment by never names another.
    write: (columns: Columns) => `INSERT INTO provider_reference (${names(columns)})
      SELECT DISTINCT ON (merchant_id, provider_account_id, reference) ${names(columns)} FROM reference_in
      WHERE c NOT IN (SELECT c FROM refused) ORDER BY merchant_id, provider_account_id, reference
      ON CONFLICT DO NOTHING`,
  },
} satisfies Record<string, { columns: Columns; write: (columns: Columns) => string }>

export const fromDispute = (dispute: Dispute, c: number) => ({
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

export const fromReference = (reference: ProviderReference, c: number) => ({
  c,
  merchant_id: reference.merchantId,
  provider_account_id: reference.accountId,
  reference: reference.reference,
  pay_id: reference.payId,
})

/** 255: the column's width. A provider's id that is longer cannot be looked for. */
const referenceMax = 255

const none: readonly ProviderReference[] = []

/** Our references of an operation, and the provider's id of it once that is known. */
export function referencesOf({ payment, operation }: OperationWrite): readonly ProviderReference[] {
  const accountId = operation.prepared.account ?? payment.provider?.account
  if (accountId === undefined) return none
  const { merchantId, payId } = payment
  const names = [operation.xId, operation.details.captureXId, operation.provider?.transactionId]
  return names.flatMap(reference =>
    reference === undefined || reference === '' || reference.length > referenceMax
      ? []
      : [{ merchantId, accountId, reference, payId }],
  )
}
