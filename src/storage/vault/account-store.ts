/** Rows of the vault: sealed bank accounts. Seals and opens nothing. */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface SealedAccount {
  readonly accountId: string
  readonly pseudoNumber: string
  readonly keyVersion: number
  /** Null once the account was destroyed. */
  readonly sealed: Buffer | null
}

export interface AccountStore {
  findAccount(merchantId: MerchantId, pseudoNumber: string): Promise<SealedAccount | undefined>
  findAccountById(merchantId: MerchantId, accountId: string): Promise<SealedAccount | undefined>
}

const columns =
  'account_id AS "accountId", pseudo_number AS "pseudoNumber", key_version AS "keyVersion", sealed'

export function createAccountStore({ readers }: Database): AccountStore {
  return {
    async findAccount(merchantId, pseudoNumber) {
      const { rows } = await readers.query<SealedAccount>({
        name: 'vault_account_by_pseudo_number',
        text: `SELECT ${columns} FROM vault_account WHERE merchant_id = $1 AND pseudo_number = $2
                 AND delete_after_use_at IS NULL`,
        values: [merchantId, pseudoNumber],
      })
      return rows[0]
    },
    async findAccountById(merchantId, accountId) {
      const { rows } = await readers.query<SealedAccount>({
        name: 'vault_account_by_id',
        text: `SELECT ${columns} FROM vault_account WHERE merchant_id = $1 AND account_id = $2`,
        values: [merchantId, accountId],
      })
      return rows[0]
    },
  }
}
