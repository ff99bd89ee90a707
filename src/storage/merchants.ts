/** Merchants, their API keys (hashes only) and their sealed webhook secrets. */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant, Theme, WebhookKind } from '#domain/merchant.ts'
import type { Database } from '#storage/database.ts'

export interface MerchantSettings {
  readonly name?: string
  readonly disabled?: boolean
  readonly webhookKind?: WebhookKind
  /** Null takes the address away. */
  readonly webhookUrl?: string | null
  readonly requestsPerSecond?: number
  /** Null: back to the whole catalogue. */
  readonly methods?: readonly string[] | null
  readonly theme?: Theme | null
  readonly frameOrigins?: readonly string[] | null
  readonly dcc?: boolean
}

export interface NewMerchant {
  readonly merchantId: MerchantId
  readonly name: string
  readonly keyId: string
  readonly keyHash: string
  readonly secretId: string
  readonly sealedSecret: Buffer
}

export interface MerchantStore {
  insert(merchant: NewMerchant): Promise<void>
  find(merchantId: string): Promise<{ merchant: Merchant; keyHashes: readonly string[] } | undefined>
  findByKeyHash(keyHash: string): Promise<Merchant | undefined>
  list(): Promise<readonly (Merchant & { readonly createdAt: Date })[]>
  /** Returns false when there is no such merchant. */
  update(merchantId: string, settings: MerchantSettings): Promise<boolean>
  /** Adds a key and lets the others end after the overlap. Returns false when there is no such merchant. */
  rotateKey(rotation: {
    merchantId: string
    keyId: string
    keyHash: string
    overlapHours: number
  }): Promise<boolean>
  /** Adds a signing secret and lets the others end after the overlap. */
  rotateSecret(rotation: {
    merchantId: string
    secretId: string
    sealed: Buffer
    overlapHours: number
  }): Promise<boolean>
}

interface MerchantRow {
  merchant_id: string
  name: string
  disabled: boolean
  webhook_kind: WebhookKind
  webhook_url: string | null
  requests_per_second: number
  clock_offset_ms: number
  methods: string[] | null
  theme: Theme | null
  frame_origins: string[] | null
  dcc: boolean
  created_at: Date
}

const columns =
  'm.merchant_id, m.name, m.disabled, m.webhook_kind, m.webhook_url, m.requests_per_second, m.clock_offset_ms, ' +
  'm.methods, m.theme, m.frame_origins, m.dcc, m.created_at'

const toMerchant = (row: MerchantRow): Merchant => ({
  merchantId: row.merchant_id as MerchantId,
  name: row.name,
  disabled: row.disabled,
  webhookKind: row.webhook_kind,
  webhookUrl: row.webhook_url ?? undefined,
  requestsPerSecond: row.requests_per_second,
  clockOffsetMs: row.clock_offset_ms,
  methods: row.methods ?? undefined,
  theme: row.theme ?? undefined,
  frameOrigins: row.frame_origins ?? undefined,
  dcc: row.dcc,
})

export function createMerchantStore({ readers, writers }: Database): MerchantStore {
  return {
    async insert({ merchantId, name, keyId, keyHash, secretId, sealedSecret }) {
      await writers.query(
        `WITH m AS (INSERT INTO merchant (merchant_id, name) VALUES ($1, $2)),
              k AS (INSERT INTO api_key (merchant_id, key_id, key_hash) VALUES ($1, $3, $4))
         INSERT INTO webhook_secret (merchant_id, secret_id, sealed) VALUES ($1, $5, $6)`,
        [merchantId, name, keyId, keyHash, secretId, sealedSecret],
      )
    },

    async find(merchantId) {
      const { rows } = await readers.query<MerchantRow & { key_hashes: string[] }>({
        name: 'merchant_with_keys',
        text: `SELECT ${columns}, ARRAY(SELECT key_hash FROM api_key k WHERE k.merchant_id = m.merchant_id
                 AND (k.expires_at IS NULL OR k.expires_at > now())) AS key_hashes
               FROM merchant m WHERE m.merchant_id = $1`,
        values: [merchantId],
      })
      return rows[0] && { merchant: toMerchant(rows[0]), keyHashes: rows[0].key_hashes }
    },

    async findByKeyHash(keyHash) {
      const { rows } = await readers.query<MerchantRow>({
        name: 'merchant_by_key_hash',
        text: `SELECT ${columns} FROM merchant m JOIN api_key k ON k.merchant_id = m.merchant_id
               WHERE k.key_hash = $1 AND (k.expires_at IS NULL OR k.expires_at > now())`,
        values: [keyHash],
      })
      return rows[0] && toMerchant(rows[0])
    },

    async list() {
      const { rows } = await readers.query<MerchantRow>(
        `SELECT ${columns} FROM merchant m ORDER BY m.created_at, m.merchant_id`,
      )
      return rows.map(row => ({ ...toMerchant(row), createdAt: row.created_at }))
    },

    async update(merchantId, settings) {
      const { rowCount } = await writers.query(
        `UPDATE merchant SET name = coalesce($2, name), disabled = coalesce($3, disabled),
           webhook_kind = coalesce($4, webhook_kind), webhook_url = CASE WHEN $5 THEN $6 ELSE webhook_url END,
           requests_per_second = coalesce($7, requests_per_second),
           methods = CASE WHEN $8 THEN $9::text[] ELSE methods END, theme = CASE WHEN $10 THEN $11::json ELSE theme END,
           frame_origins = CASE WHEN $12 THEN $13::text[] ELSE frame_origins END, dcc = coalesce($14, dcc)
         WHERE merchant_id = $1`,
        [
          merchantId,
          settings.name,
          settings.disabled,
          settings.webhookKind,
          settings.webhookUrl !== undefined,
          settings.webhookUrl,
          settings.requestsPerSecond,
          settings.methods !== undefined,
          settings.methods,
          settings.theme !== undefined,
          settings.theme ? JSON.stringify(settings.theme) : null,
          settings.frameOrigins !== undefined,
          settings.frameOrigins,
          settings.dcc,
        ],
      )
      return rowCount === 1
    },

    async rotateKey({ merchantId, keyId, keyHash, overlapHours }) {
      const { rowCount } = await writers.query(
        `WITH m AS (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
              ending AS (UPDATE api_key k SET expires_at = least(k.expires_at, now() + $4 * interval '1 hour')
                         FROM m WHERE k.merchant_id = m.merchant_id)
         INSERT INTO api_key (merchant_id, key_id, key_hash) SELECT merchant_id, $2, $3 FROM m`,
        [merchantId, keyId, keyHash, overlapHours],
      )
      return rowCount === 1
    },

    async rotateSecret({ merchantId, secretId, sealed, overlapHours }) {
      const { rowCount } = await writers.query(
        `WITH m AS (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
              ending AS (UPDATE webhook_secret s SET expires_at = least(s.expires_at, now() + $4 * interval '1 hour')
                         FROM m WHERE s.merchant_id = m.merchant_id)
         INSERT INTO webhook_secret (merchant_id, secret_id, sealed) SELECT merchant_id, $2, $3 FROM m`,
        [merchantId, secretId, sealed, overlapHours],
      )
      return rowCount === 1
    },
  }
}
