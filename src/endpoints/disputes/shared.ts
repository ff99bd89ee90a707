/** What the endpoints of disputes have in common. */
import { exampleIds } from '#endpoints/payments/follow-up.ts'
import { NotFound } from '#http/server/ports.ts'
import { type DisputeId, parseDisputeId } from '#lifecycle/dispute.ts'

export const disputeEndpoint = {
  tag: 'Disputes',
  version: '2.6.0',
  access: 'merchant',
  dialect: 'customer',
} as const

/** A text that cannot be an id of ours is not found, like an unknown id. */
export function requireDisputeId({ id }: { readonly id: string }): DisputeId {
  const disputeId = parseDisputeId(id)
  if (!disputeId) throw new NotFound()
  return disputeId
}

export const disputeExample = {
  disputeId: 'dsp_019a3f6d1e2f7a3b8c4d5e6f70819203',
  payId: exampleIds.payId,
  xId: '019a3f6ba0117d3f90415263748596a7',
  amount: { value: 2500, currency: 'EUR' },
  stage: 'CHARGEBACK',
  status: 'OPEN',
  reasonCode: '10.4',
  reasonGroup: 'FRAUD',
  evidenceDueBy: '2026-12-02T12:00:00.000Z',
  providerDisputeId: 'simd019a3f6ba0117d3f9041',
  creationDate: '2026-11-18T12:00:00.000Z',
  updatedAt: '2026-11-18T12:00:00.000Z',
  events: [{ at: '2026-11-18T12:00:00.000Z', type: 'OPENED', stage: 'CHARGEBACK', status: 'OPEN' }],
}
