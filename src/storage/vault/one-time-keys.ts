/** The keys of one-time cards. Each can be used once; expired ones are removed. */
import type { MerchantId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export interface OneTimeKey {
  readonly keyVersion: number
  readonly sealed: Buffer
}

interface Claimed {
  readonly tokenId: string
  /** 32 hex digits that name the request which uses the key: equal for requests of which only one can pay. */
  readonly claim: string
}

export interface OneTimeKeyStore {
  /** `tokenId`: 32 hex digits. `expiresAt` is by the merchant's clock. */
  insert(
    merchantId: MerchantId,
    key: OneTimeKey & { readonly tokenId: string; readonly expiresAt: Date },
  ): Promise<void>
  /**
   * Returns the key and keeps it for this claim; undefined if another claim has it, if it was used, is another
   * merchant's, or has expired by either clock.
   */
  claim(merchantId: MerchantId, claimed: Claimed, now: Date): Promise<OneTimeKey | undefined>
  /** Deletes the key, also if it was given back meanwhile by another request of the same claim. */
  useUp(merchantId: MerchantId, tokenId: string): Promise<void>
  /** Frees a claimed key. */
  giveBack(merchantId: MerchantId, claimed: Claimed): Promise<void>
  /** Deletes expired keys. Returns how many. */
  reap(): Promise<number>
}

/** 15 minutes, as the contract says. Also enforced in real time. */
const livesFor = `interval '15 minutes'`

export function createOneTimeKeyStore({ writers }: Pick<Database, 'writers'>): OneTimeKeyStore {
  const useUp: OneTimeKeyStore['useUp'] = async (merchantId, tokenId) => {
    await writers.query({
      name: 'one-time-key-use-up',
      text: 'DELETE FROM one_time_key WHERE merchant_id = $1 AND token_id = $2',
      values: [merchantId, tokenId],
    })
  }
  return {
    async insert(merchantId, { tokenId, keyVersion, sealed, expiresAt }) {
      await writers.query({
        name: 'one-time-key-insert',
        text: `INSERT INTO one_time_key (merchant_id, token_id, key_version, sealed_key, expires_at)
               VALUES ($1, $2, $3, $4, $5)`,
        values: [merchantId, tokenId, keyVersion, sealed, expiresAt],
      })
    },
    async claim(merchantId, { tokenId, claim }, now) {
      const claimed = await writers.query<{ key_version: number; sealed_key: Buffer; valid: boolean }>({
        name: 'one-time-key-claim',
        // Compared outside of RETURNING, where Citus accepts no now().
        text: `WITH claimed AS (UPDATE one_time_key SET claim = $4
                 WHERE merchant_id = $1 AND token_id = $2 AND (claim IS NULL OR claim = $4)
                 RETURNING key_version, sealed_key, expires_at, made_at)
               SELECT key_version, sealed_key, expires_at > $3 AND made_at > now() - ${livesFor} AS valid FROM claimed`,
        values: [merchantId, tokenId, now, claim],
      })
      const row = claimed.rows[0]
      if (row?.valid === true) return { keyVersion: row.key_version, sealed: row.sealed_key }
      if (row) await useUp(merchantId, tokenId)
      return undefined
    },
    useUp,
    async giveBack(merchantId, { tokenId, claim }) {
      await writers.query({
        name: 'one-time-key-give-back',
        text: 'UPDATE one_time_key SET claim = NULL WHERE merchant_id = $1 AND token_id = $2 AND claim = $3',
        values: [merchantId, tokenId, claim],
      })
    },
    async reap() {
      const gone = await writers.query(`DELETE FROM one_time_key WHERE made_at <= now() - ${livesFor}`)
      return gone.rowCount ?? 0
    },
  }
}
