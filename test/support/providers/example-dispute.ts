/** A dispute as connectors learn of it. */
import type { DisputeFacts } from '#connectors/contract.ts'

/** A chargeback of 10 euros for fraud that the merchant can still answer. */
export const openDispute = (providerDisputeId: string): DisputeFacts => ({
  providerDisputeId,
  stage: 'CHARGEBACK',
  status: 'OPEN',
  amount: { value: 1000, currency: 'EUR' },
  reasonCode: '10.4',
  reasonGroup: 'FRAUD',
})
