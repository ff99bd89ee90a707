/** The keys of one-time cards. Each can be taken once; expired ones are removed. */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface OneTimeKey {
  readonly keyVersion: number
  readonly sealed: Buffer
}

/** A key that was taken, with the two moments that end it. */
export interface TakenKey extends OneTimeKey {
  readonly expiresAt: Date
  readonly madeAt: Date
}

export interface OneTimeKeyStore {
  /** `tokenId`: 32 hex digits. `expiresAt` is by the merchant's clock. */
  insert(
    merchantId: MerchantId,
    key: OneTimeKey & { readonly tokenId: string; readonly expiresAt: Date },
  ): Promise<void>
  /** Deletes and returns the key; undefined if it was taken, is another merchant's, or has expired by either clock. */
  take(merchantId: MerchantId, tokenId: string, now: Date): Promise<TakenKey | undefined>
  /** Puts a taken key back as it was. */
  giveBack(merchantId: MerchantId, tokenId: string, taken: TakenKey): Promise<void>
  /** Deletes expired keys. Returns how many. */
  reap(): Promise<number>
}

interface TakenRow {
  readonly key_version: number
  readonly sealed_key: Buffer
  readonly expires_at: Date
  readonly made_at: Date
  readonly valid: boolean
}

/** 15 minutes, as the contract says. Also enforced in real time. */
const livesFor = `interval '15 minutes'`

export function createOneTimeKeyStore({ writers }: Pick<Database, 'writers'>): OneTimeKeyStore {
  return {
    async insert(merchantId, { tokenId, keyVersion, sealed, expiresAt }) {
      await writers.query({
        name: 'one-time-key-insert',
        text: `INSERT INTO one_time_key (merchant_id, token_id, key_version, sealed_key, expires_at)
               VALUES ($1, $2, $3, $4, $5)`,
        values: [merchantId, tokenId, keyVersion, sealed, expiresAt],
      })
    },
    async take(merchantId, tokenId, now) {
      const taken = await writers.query<TakenRow>({
        name: 'one-time-key-take',
        // Compared outside of RETURNING, where Citus accepts no now().
        text: `WITH taken AS (DELETE FROM one_time_key WHERE merchant_id = $1 AND token_id = $2
                 RETURNING key_version, sealed_key, expires_at, made_at)
               SELECT key_version, sealed_key, expires_at, made_at,
                 expires_at > $3 AND made_at > now() - ${livesFor} AS valid FROM taken`,
        values: [merchantId, tokenId, now],
      })
      const row = taken.rows[0]
      if (row?.valid !== true) return undefined
      const { key_version: keyVersion, sealed_key: sealed, expires_at: expiresAt, made_at: madeAt } = row
      return { keyVersion, sealed, expiresAt, madeAt }
    },
    async giveBack(merchantId, tokenId, { keyVersion, sealed, expiresAt, madeAt }) {
      await writers.query({
        name: 'one-time-key-give-back',
        text: `INSERT INTO one_time_key (merchant_id, token_id, key_version, sealed_key, expires_at, made_at)
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
        values: [merchantId, tokenId, keyVersion, sealed, expiresAt, madeAt],
      })
    },
    async reap() {
      const gone = await writers.query(`DELETE FROM one_time_key WHERE made_at <= now() - ${livesFor}`)
      return gone.rowCount ?? 0
    },
  }
}
