/**
 * The references by which a provider's notice or a person may name an operation: our own, the provider's ids, and the
 * reference of a transfer or voucher that the customer was shown.
 */

import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { OperationWrite } from '#storage/commit/change.ts'
import type { BatchRow } from '#storage/commit/columns.ts'
import type { Database } from '#storage/database.ts'

export const referenceColumns = [
  ['merchant_id', 'text'],
  ['provider_account', 'text'],
  ['reference', 'text'],
  ['pay_id', 'uuid'],
  ['x_id', 'uuid'],
] as const

/** 255: the longest provider id that is stored. An operation with a longer one is found by our reference only. */
const longestReference = 255

/** The reference that a customer was shown, without the blanks and marks that make it readable, in upper case. */
export const plainReference = (shown: string): string => shown.replace(/[^\p{L}\p{N}]/gu, '').toUpperCase()

/** Returns no rows for payments without a provider account. */
export function fromReferences(
  { payment, operation }: OperationWrite,
  c: number,
): readonly BatchRow<typeof referenceColumns>[] {
  const account = operation.prepared.account ?? payment.provider?.account
  if (account === undefined) return []
  const { xId, details, provider } = operation
  const { action } = provider ?? {}
  const shown = action?.type === 'instructions' ? action.instructions.reference : undefined
  return [xId, details.captureXId, provider?.transactionId, shown && plainReference(shown)]
    .filter(reference => reference !== undefined && reference !== '' && reference.length <= longestReference)
    .map(reference => ({
      c,
      merchant_id: payment.merchantId,
      provider_account: account,
      reference,
      pay_id: payment.payId,
      x_id: reference === details.captureXId ? details.captureXId : xId,
    }))
}

/** Writing a reference again changes nothing. DISTINCT, because a batch must not conflict with itself. */
export const writeReferences = (): string =>
  `INSERT INTO provider_reference (merchant_id, provider_account, reference, pay_id, x_id)
   SELECT DISTINCT ON (merchant_id, provider_account, reference) merchant_id, provider_account, reference, pay_id, x_id
   FROM provider_reference_in WHERE c NOT IN (SELECT c FROM refused)
   ORDER BY merchant_id, provider_account, reference
   ON CONFLICT (merchant_id, provider_account, reference) DO NOTHING`

export interface NamedOperation {
  readonly payId: PayId
  readonly xId: XId
}

export interface ReferenceReader {
  /** Returns undefined if the account has no such reference. */
  find(merchantId: MerchantId, account: string, reference: string): Promise<NamedOperation | undefined>
}

const statement = {
  name: 'provider_reference',
  text: `SELECT pay_id, x_id FROM provider_reference
    WHERE merchant_id = $1 AND provider_account = $2 AND reference = $3`,
}

export function createReferenceReader(database: Database): ReferenceReader {
  return {
    async find(merchantId, account, reference) {
      const values = [merchantId, account, reference]
      const { rows } = await database.readers.query<{ pay_id: PayId; x_id: XId }>({ ...statement, values })
      const [row] = rows
      return row && { payId: row.pay_id, xId: row.x_id }
    },
  }
}
