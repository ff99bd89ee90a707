/** Rows of the vault: wrapped data keys and sealed cards. Seals and opens nothing. */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'
import { gatherLookUps, wantedRows, wantedValues } from '#storage/gather.ts'
import { byOtherIndex, lookUp } from '#storage/planner.ts'

/** The row of `installation` that holds the id of the master key in use, a colon, and the root secret. */
export const rootSecretName = 'root_secret'

export interface WrappedKey {
  readonly keyVersion: number
  readonly wrapped: Buffer
  readonly masterKeyId: string
}

export interface SealedCard {
  readonly cardId: string
  readonly keyVersion: number
  /** Null once the card was destroyed. */
  readonly sealed: Buffer | null
  readonly expiryDate: string | null
}

export interface VaultStore {
  findKeys(merchantId: MerchantId): Promise<readonly WrappedKey[]>
  /** The master key in use. */
  findMasterKeyId(): Promise<string>
  /**
   * Keeps the first key if two processes create a merchant's first key at once, and refuses a key that is wrapped with
   * a master key no longer in use. Callers read again to see which key is stored.
   */
  insertKey(merchantId: MerchantId, key: WrappedKey): Promise<void>
  findCard(merchantId: MerchantId, pseudoNumber: string): Promise<SealedCard | undefined>
  findCardById(merchantId: MerchantId, cardId: string): Promise<SealedCard | undefined>
}

export function createVaultStore(database: Database): VaultStore {
  const { readers, lookUps, writers } = database
  const lookUpCard = gatherLookUps<SealedCard & { readonly merchantId: MerchantId }>(
    async wanted => {
      const { rows } = await lookUps.query<SealedCard & { readonly merchantId: MerchantId }>({
        name: 'vault_cards_by_id',
        text: `SELECT v.merchant_id AS "merchantId", v.card_id AS "cardId", v.key_version AS "keyVersion", v.sealed,
                 v.expiry_date AS "expiryDate"
               FROM ${wantedRows} CROSS JOIN LATERAL ${lookUp(`SELECT * FROM vault_card v
                 WHERE v.merchant_id = w.merchant_id AND v.card_id = w.id`)} v`,
        values: wantedValues(wanted),
      })
      return rows
    },
    ({ merchantId, cardId: id }) => ({ merchantId, id }),
  )
  return {
    async findKeys(merchantId) {
      const { rows } = await readers.query<WrappedKey>(
        `SELECT key_version AS "keyVersion", wrapped, master_key_id AS "masterKeyId"
         FROM vault_key WHERE merchant_id = $1 ORDER BY key_version`,
        [merchantId],
      )
      return rows
    },
    async findMasterKeyId() {
      const { rows } = await writers.query<{ id: string }>(
        `SELECT split_part(value, ':', 1) AS id FROM installation WHERE name = $1`,
        [rootSecretName],
      )
      if (!rows[0]) throw new Error('the table installation holds no root secret; restore it from a backup')
      return rows[0].id
    },
    async insertKey(merchantId, key) {
      await writers.query(
        // The row lock serialises this with a change of the master key, so that the change misses no key.
        `WITH root AS MATERIALIZED (SELECT value FROM installation WHERE name = $5 FOR SHARE)
         INSERT INTO vault_key (merchant_id, key_version, wrapped, master_key_id)
         SELECT $1, $2::integer, $3::bytea, $4 FROM root
         WHERE split_part(root.value, ':', 1) = $4 ON CONFLICT DO NOTHING`,
        [merchantId, key.keyVersion, key.wrapped, key.masterKeyId, rootSecretName],
      )
    },
    async findCard(merchantId, pseudoNumber) {
      const { rows } = await readers.query<SealedCard>({
        name: 'vault_card_by_pseudo_number',
        text: `SELECT card_id AS "cardId", key_version AS "keyVersion", sealed, expiry_date AS "expiryDate"
               FROM vault_card WHERE ${byOtherIndex('merchant_id')} = $1 AND pseudo_number = $2 AND delete_after_use_at IS NULL`,
        values: [merchantId, pseudoNumber],
      })
      return rows[0]
    },
    findCardById: (merchantId, cardId) => lookUpCard({ merchantId, id: cardId }),
  }
}
