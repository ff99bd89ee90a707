/** API keys: hashes only, with their scopes, expiry and last use. */
import type { PoolClient } from 'pg'
import type { LiveKey, Scope } from '#domain/api-key.ts'
import { scopes as allScopes } from '#domain/api-key.ts'
import { type Database, inTransaction } from '#storage/database.ts'

export interface NewKey {
  readonly merchantId: string
  readonly keyId: string
  readonly keyHash: string
  readonly pepper: number
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly allowFrom: readonly string[]
  readonly expiresAt?: Date
}

export interface ListedKey {
  readonly keyId: string
  /** Undefined for the key that was created with the merchant, or the one that replaced it by rotation. */
  readonly name?: string
  readonly scopes: readonly Scope[]
  readonly allowFrom: readonly string[]
  readonly createdAt: Date
  readonly expiresAt?: Date
  readonly lastUsedAt?: Date
  readonly lastUsedFrom?: string
}

export interface KeyUse {
  readonly merchantId: string
  readonly keyId: string
  readonly address: string
  /** The client's address; for IPv6 its /64 network. */
  readonly network: string
  readonly at: Date
}

export interface ApiKeyStore {
  /** Undefined when there is no such merchant. */
  insert(key: NewKey): Promise<{ readonly createdAt: Date } | undefined>
  /** Keys that are not revoked, the oldest first; undefined if there is no such merchant. */
  list(merchantId: string): Promise<readonly ListedKey[] | undefined>
  /** Returns undefined if there is no such key, or it was already revoked. */
  revoke(keyId: string): Promise<(ListedKey & { readonly merchantId: string }) | undefined>
  /** Adds an unnamed key, and lets the other unnamed keys expire after the overlap. */
  rotate(rotation: {
    merchantId: string
    keyId: string
    keyHash: string
    pepper: number
    overlapHours: number
  }): Promise<boolean>
  /** Updates when the keys were last used, and returns the uses from addresses that are new for their key. */
  recordUses(uses: readonly KeyUse[]): Promise<readonly KeyUse[]>
}

/** Selects the live keys as JSON in one column, so that a merchant and its keys are one row. */
export const liveKeysColumn = `(SELECT coalesce(json_agg(json_build_object('key_id', replace(k.key_id::text, '-', ''),
    'key_hash', k.key_hash, 'bound', k.bound, 'pepper', k.pepper, 'scopes', k.scopes, 'allow_from', k.allow_from,
    'expires_at', k.expires_at)), '[]') FROM api_key k WHERE k.merchant_id = m.merchant_id AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now())) AS keys`

export interface LiveKeyRow {
  readonly key_id: string
  readonly key_hash: string
  readonly bound: boolean
  readonly pepper: number
  readonly scopes: Scope[] | null
  readonly allow_from: string[] | null
  readonly expires_at: string | Date | null
}

export const toLiveKey = (row: LiveKeyRow): LiveKey => ({
  keyId: row.key_id,
  keyHash: row.key_hash,
  bound: row.bound,
  pepper: row.pepper,
  scopes: row.scopes ?? allScopes,
  allowFrom: row.allow_from ?? [],
  expiresAtMs: row.expires_at === null ? undefined : new Date(row.expires_at).getTime(),
})

interface ListedRow {
  readonly merchant_id: string
  readonly key_id: string
  readonly name: string | null
  readonly scopes: Scope[] | null
  readonly allow_from: string[] | null
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
  readonly last_used_from: string | null
}

const listed =
  'merchant_id, key_id, name, scopes, allow_from, created_at, expires_at, last_used_at, last_used_from'

const toListed = (row: ListedRow): ListedKey => ({
  keyId: row.key_id,
  ...(row.name === null ? {} : { name: row.name }),
  scopes: row.scopes ?? allScopes,
  allowFrom: row.allow_from ?? [],
  createdAt: row.created_at,
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
  ...(row.last_used_from === null ? {} : { lastUsedFrom: row.last_used_from }),
})

/**
 * Rotations of one merchant's keys or secrets take turns: the next statement then sees what the previous rotation has added, and
 * lets it end. Of two that run side by side, neither would end what the other adds.
 */
export async function lockMerchant(client: PoolClient, merchantId: string): Promise<void> {
  await client.query('SELECT FROM merchant WHERE merchant_id = $1 FOR NO KEY UPDATE', [merchantId])
}

export function createApiKeyStore({ readers, writers }: Database): ApiKeyStore {
  return {
    async insert({ merchantId, keyId, keyHash, pepper, name, scopes, allowFrom, expiresAt }) {
      const { rows } = await writers.query<{ created_at: Date }>(
        `WITH m AS MATERIALIZED (SELECT merchant_id FROM merchant WHERE merchant_id = $1)
         INSERT INTO api_key (merchant_id, key_id, key_hash, bound, name, scopes, allow_from, expires_at, pepper)
         SELECT merchant_id, $2, $3, true, $4, $5, $6, $7, $8 FROM m RETURNING created_at`,
        [
          merchantId,
          keyId,
          keyHash,
          name,
          scopes,
          allowFrom.length === 0 ? null : allowFrom,
          expiresAt,
          pepper,
        ],
      )
      return rows[0] && { createdAt: rows[0].created_at }
    },

    async list(merchantId) {
      const { rows: merchants } = await readers.query('SELECT 1 FROM merchant WHERE merchant_id = $1', [
        merchantId,
      ])
      if (merchants.length === 0) return undefined
      const { rows } = await readers.query<ListedRow>(
        `SELECT ${listed} FROM api_key WHERE merchant_id = $1 AND revoked_at IS NULL ORDER BY created_at, key_id`,
        [merchantId],
      )
      return rows.map(toListed)
    },

    async revoke(keyId) {
      const { rows } = await writers.query<ListedRow>(
        // Sets the expiry too, which is announced to all processes at once.
        `UPDATE api_key SET revoked_at = now(), expires_at = least(expires_at, now()) WHERE key_id = $1 AND revoked_at IS NULL RETURNING ${listed}`,
        [keyId],
      )
      return rows[0] && { merchantId: rows[0].merchant_id, ...toListed(rows[0]) }
    },

    rotate: ({ merchantId, keyId, keyHash, pepper, overlapHours }) =>
      inTransaction(writers, async client => {
        await lockMerchant(client, merchantId)
        const { rowCount } = await client.query(
          `WITH m AS (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
              ending AS (UPDATE api_key k SET expires_at = least(k.expires_at, now() + $4 * interval '1 hour')
                         FROM m WHERE k.merchant_id = m.merchant_id AND k.name IS NULL)
         INSERT INTO api_key (merchant_id, key_id, key_hash, bound, pepper) SELECT merchant_id, $2, $3, true, $5 FROM m`,
          [merchantId, keyId, keyHash, overlapHours, pepper],
        )
        return rowCount === 1
      }),

    recordUses: uses => recordUses({ writers }, uses),
  }
}

async function recordUses(
  { writers }: Pick<Database, 'writers'>,
  uses: readonly KeyUse[],
): Promise<readonly KeyUse[]> {
  if (uses.length === 0) return []
  const values = [
    uses.map(use => use.merchantId),
    uses.map(use => use.keyId),
    uses.map(use => use.address),
    uses.map(use => use.at),
  ]
  // Skip a key that another process is updating at this moment: the time it writes is as good as ours.
  await writers.query(
    `WITH used AS (SELECT DISTINCT ON (key_id) * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::timestamptz[])
           AS u (merchant_id, key_id, address, at) ORDER BY key_id, at DESC),
       free AS (SELECT k.merchant_id, k.key_id FROM api_key k JOIN used u USING (merchant_id, key_id)
         FOR NO KEY UPDATE OF k SKIP LOCKED)
     UPDATE api_key k SET last_used_at = greatest(k.last_used_at, u.at),
       last_used_from = CASE WHEN k.last_used_at > u.at THEN k.last_used_from ELSE u.address END
     FROM used u JOIN free f USING (merchant_id, key_id)
     WHERE k.merchant_id = u.merchant_id AND k.key_id = u.key_id`,
    values,
  )
  const [merchantIds, keyIds] = values
  const { rows } = await writers.query<{ key_id: string; address: string }>(
    `INSERT INTO api_key_address (merchant_id, key_id, address)
     SELECT DISTINCT merchant_id, key_id, address FROM unnest($1::text[], $2::uuid[], $3::text[])
       AS u (merchant_id, key_id, address) ORDER BY merchant_id, key_id, address
     ON CONFLICT DO NOTHING RETURNING key_id, address`,
    [merchantIds, keyIds, uses.map(use => use.network)],
  )
  return rows.flatMap(row => {
    const use = uses.find(({ keyId, network }) => keyId === row.key_id && network === row.address)
    return use ? [use] : []
  })
}
