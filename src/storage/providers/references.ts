/** Finding the payment that a provider speaks of, by any name under which the provider knows it. */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface ReferenceFinder {
  /** The first of these names that is known decides. */
  findPayment(
    merchantId: MerchantId,
    accountId: string,
    references: readonly string[],
  ): Promise<PayId | undefined>
}

export const createReferenceFinder = ({ readers }: Pick<Database, 'readers'>): ReferenceFinder => ({
  async findPayment(merchantId, accountId, references) {
    const { rows } = await readers.query<{ reference: string; payId: PayId }>(
      `SELECT reference, pay_id AS "payId" FROM provider_reference
       WHERE merchant_id = $1 AND provider_account_id = $2 AND reference = ANY($3)`,
      [merchantId, accountId, references],
    )
    const found = new Map(rows.map(({ reference, payId }) => [reference, payId]))
    return references.map(reference => found.get(reference)).find(payId => payId !== undefined)
  },
})
