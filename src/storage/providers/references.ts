/** Finds the payment and the operation by a reference that the provider uses. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface NamedOperation {
  readonly payId: PayId
  readonly xId: XId
}

export interface ReferenceReader {
  /** Undefined: the account has nothing of that name. */
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
