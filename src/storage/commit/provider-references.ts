/** The references by which a provider may name an operation: ours and its own id. Written with the operation. */

import type { OperationWrite } from '#storage/commit/change.ts'
import type { BatchRow } from '#storage/commit/columns.ts'

export const referenceColumns = [
  ['merchant_id', 'text'],
  ['provider_account', 'text'],
  ['reference', 'text'],
  ['pay_id', 'uuid'],
  ['x_id', 'uuid'],
] as const

/** 255: the longest id of a provider that is kept; a longer one is found by our reference. */
const longestReference = 255

/** Empty for payments that no provider account was called for. */
export function fromReferences(
  { payment, operation }: OperationWrite,
  c: number,
): readonly BatchRow<typeof referenceColumns>[] {
  const account = operation.prepared.account ?? payment.provider?.account
  if (account === undefined) return []
  const { xId, details, provider } = operation
  return [xId, details.captureXId, provider?.transactionId]
    .filter(reference => reference !== undefined && reference.length <= longestReference)
    .map(reference => ({
      c,
      merchant_id: payment.merchantId,
      provider_account: account,
      reference,
      pay_id: payment.payId,
      x_id: reference === details.captureXId ? details.captureXId : xId,
    }))
}

/** Writing a name again changes nothing; one row per name, so that a batch cannot conflict with itself. */
export const writeReferences = (): string =>
  `INSERT INTO provider_reference (merchant_id, provider_account, reference, pay_id, x_id)
   SELECT DISTINCT ON (merchant_id, provider_account, reference) merchant_id, provider_account, reference, pay_id, x_id
   FROM provider_reference_in WHERE c NOT IN (SELECT c FROM refused)
   ORDER BY merchant_id, provider_account, reference
   ON CONFLICT (merchant_id, provider_account, reference) DO NOTHING`
