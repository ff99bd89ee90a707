/** Merchants with their settings and live API keys (hashes only), and their sealed webhook secrets. */
import type { LiveKey } from '#domain/api-key.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant, Theme, WebhookKind } from '#domain/merchant.ts'
import { noLimit, parseDeclineLimit, parsePayoutLimits } from '#domain/velocity.ts'
import { type LiveKeyRow, liveKeysColumn, lockMerchant, toLiveKey } from '#storage/api-keys.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { applyDeclineLimit } from '#storage/velocity.ts'

export interface MerchantSettings {
  readonly name?: string
  readonly disabled?: boolean
  readonly webhookKind?: WebhookKind
  /** Null removes the address. */
  readonly webhookUrl?: string | null
  readonly requestsPerSecond?: number
  /** Null resets it to the whole catalogue. */
  readonly methods?: readonly string[] | null
  /** Changes the given parts of the look; null removes one. */
  readonly theme?: { readonly [Part in keyof Theme]?: Theme[Part] | null } | null
  readonly frameOrigins?: readonly string[] | null
  readonly dcc?: boolean
  readonly paidLate?: 'keep' | 'return'
  /** In the form of the command line. Null resets it to the environment's default; `none` is no limit. */
  readonly declinesPerCard?: string | null
  readonly declinesPerAddress?: string | null
  readonly payoutLimit?: string | null
  /** Null: personal data is kept for ever. */
  readonly personalDataFor?: string | null
}

export interface NewMerchant {
  readonly merchantId: MerchantId
  readonly name: string
  readonly keyId: string
  readonly keyHash: string
  readonly pepper: number
  readonly secretId: string
  readonly sealedSecret: Buffer
}

export interface MerchantStore {
  insert(merchant: NewMerchant): Promise<void>
  find(merchantId: string): Promise<{ merchant: Merchant; keys: readonly LiveKey[] } | undefined>
  findByKeyId(keyId: string): Promise<readonly MerchantKey[]>
  findByKeyHash(keyHash: string): Promise<readonly MerchantKey[]>
  /** All merchants, the oldest first; with an id only that one, if it exists. */
  list(merchantId?: string): Promise<readonly (Merchant & { readonly createdAt: Date })[]>
  /** The merchant before and after this change alone. Undefined: there is no such merchant. */
  update(
    merchantId: string,
    settings: MerchantSettings,
  ): Promise<{ readonly before: Merchant; readonly after: Merchant } | undefined>
  /** Adds a signing secret and lets the others expire after the overlap. */
  rotateSecret(rotation: {
    merchantId: string
    secretId: string
    sealed: Buffer
    overlapHours: number
  }): Promise<boolean>
}

export interface MerchantKey {
  readonly merchant: Merchant
  readonly key: LiveKey
}

interface MerchantRow {
  merchant_id: MerchantId
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
  declines_per_card: string | null
  declines_per_address: string | null
  payout_limit: string | null
  personal_data_for: string | null
  paid_late: 'keep' | 'return' | null
  created_at: Date
}

const columns =
  'm.merchant_id, m.name, m.disabled, m.webhook_kind, m.webhook_url, m.requests_per_second, m.clock_offset_ms, ' +
  'm.methods, m.theme, m.frame_origins, m.dcc, m.declines_per_card, m.declines_per_address, m.payout_limit, ' +
  'm.personal_data_for, m.paid_late, m.created_at'

const toDeclineLimit = (text: string | null) =>
  text === null ? undefined : text === noLimit ? noLimit : parseDeclineLimit(text)

const toMerchant = (row: MerchantRow): Merchant => ({
  merchantId: row.merchant_id,
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
  declinesPerCard: toDeclineLimit(row.declines_per_card),
  declinesPerAddress: toDeclineLimit(row.declines_per_address),
  payoutLimits: row.payout_limit === null ? undefined : parsePayoutLimits(row.payout_limit),
  personalDataFor: row.personal_data_for ?? undefined,
  paidLate: row.paid_late ?? undefined,
})

const withKey = `SELECT ${columns}, k.key_id, k.key_hash, k.bound, k.pepper, k.scopes, k.allow_from, k.expires_at
  FROM merchant m JOIN api_key k ON k.merchant_id = m.merchant_id
  WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`

const toMerchantKey = (row: MerchantRow & LiveKeyRow): MerchantKey => ({
  merchant: toMerchant(row),
  key: toLiveKey(row),
})

export function createMerchantStore({ readers, writers }: Database): MerchantStore {
  return {
    async insert({ merchantId, name, keyId, keyHash, pepper, secretId, sealedSecret }) {
      await writers.query(
        `WITH m AS (INSERT INTO merchant (merchant_id, name) VALUES ($1, $2)),
              k AS (INSERT INTO api_key (merchant_id, key_id, key_hash, bound, pepper)
                VALUES ($1, $3, $4, true, $7))
         INSERT INTO webhook_secret (merchant_id, secret_id, sealed) VALUES ($1, $5, $6)`,
        [merchantId, name, keyId, keyHash, secretId, sealedSecret, pepper],
      )
    },

    async find(merchantId) {
      const { rows } = await readers.query<MerchantRow & { keys: LiveKeyRow[] }>({
        name: 'merchant_with_keys',
        text: `SELECT ${columns}, ${liveKeysColumn} FROM merchant m WHERE m.merchant_id = $1`,
        values: [merchantId],
      })
      return rows[0] && { merchant: toMerchant(rows[0]), keys: rows[0].keys.map(toLiveKey) }
    },

    async findByKeyId(keyId) {
      const { rows } = await readers.query<MerchantRow & LiveKeyRow>({
        name: 'merchant_by_key_id',
        text: `${withKey} AND k.key_id = $1`,
        values: [keyId],
      })
      return rows.map(toMerchantKey)
    },

    async findByKeyHash(keyHash) {
      const { rows } = await readers.query<MerchantRow & LiveKeyRow>({
        name: 'merchant_by_key_hash',
        text: `${withKey} AND k.key_hash = $1`,
        values: [keyHash],
      })
      return rows.map(toMerchantKey)
    },

    async list(merchantId) {
      const { rows } = await readers.query<MerchantRow>(
        `SELECT ${columns} FROM merchant m WHERE $1::text IS NULL OR m.merchant_id = $1
         ORDER BY m.created_at, m.merchant_id`,
        [merchantId],
      )
      return rows.map(row => ({ ...toMerchant(row), createdAt: row.created_at }))
    },

    update: (merchantId, settings) => updateMerchant(writers, merchantId, settings),

    rotateSecret: ({ merchantId, secretId, sealed, overlapHours }) =>
      inTransaction(writers, async client => {
        await lockMerchant(client, merchantId)
        const { rowCount } = await client.query(
          `WITH m AS (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
              ending AS (UPDATE webhook_secret s SET expires_at = least(s.expires_at, now() + $4 * interval '1 hour')
                         FROM m WHERE s.merchant_id = m.merchant_id)
         INSERT INTO webhook_secret (merchant_id, secret_id, sealed) SELECT merchant_id, $2, $3 FROM m`,
          [merchantId, secretId, sealed, overlapHours],
        )
        return rowCount === 1
      }),
  }
}

/** The lock makes changes take turns, so that each names as changed what it has changed itself. */
const updateStatement = `WITH was AS MATERIALIZED (SELECT * FROM merchant WHERE merchant_id = $1 FOR NO KEY UPDATE),
  now AS (UPDATE merchant m SET name = coalesce($2, m.name), disabled = coalesce($3, m.disabled),
    webhook_kind = coalesce($4, m.webhook_kind), webhook_url = CASE WHEN $5 THEN $6 ELSE m.webhook_url END,
    requests_per_second = coalesce($7, m.requests_per_second),
    methods = CASE WHEN $8 THEN $9::text[] ELSE m.methods END,
    theme = CASE WHEN NOT $10 THEN NULL WHEN $11::jsonb = '{}' THEN m.theme
      ELSE nullif(jsonb_strip_nulls(coalesce(m.theme::jsonb, '{}') || $11::jsonb), '{}')::json END,
    frame_origins = CASE WHEN $12 THEN $13::text[] ELSE m.frame_origins END, dcc = coalesce($14, m.dcc),
    declines_per_card = CASE WHEN $15 THEN $16 ELSE m.declines_per_card END,
    declines_per_address = CASE WHEN $17 THEN $18 ELSE m.declines_per_address END,
    payout_limit = CASE WHEN $19 THEN $20 ELSE m.payout_limit END,
    personal_data_for = CASE WHEN $21 THEN $22 ELSE m.personal_data_for END,
    paid_late = coalesce($23, m.paid_late)
  FROM was WHERE m.merchant_id = was.merchant_id RETURNING m.*)
  SELECT 'before' AS state, ${columns} FROM was m UNION ALL SELECT 'after', ${columns} FROM now m`

async function updateMerchant(
  writers: Database['writers'],
  merchantId: Parameters<MerchantStore['update']>[0],
  settings: Parameters<MerchantStore['update']>[1],
): ReturnType<MerchantStore['update']> {
  const { rows } = await writers.query<MerchantRow & { state: 'before' | 'after' }>(updateStatement, [
    merchantId,
    settings.name,
    settings.disabled,
    settings.webhookKind,
    settings.webhookUrl !== undefined,
    settings.webhookUrl,
    settings.requestsPerSecond,
    settings.methods !== undefined,
    settings.methods,
    settings.theme !== null,
    JSON.stringify(settings.theme ?? {}),
    settings.frameOrigins !== undefined,
    settings.frameOrigins,
    settings.dcc,
    settings.declinesPerCard !== undefined,
    settings.declinesPerCard,
    settings.declinesPerAddress !== undefined,
    settings.declinesPerAddress,
    settings.payoutLimit !== undefined,
    settings.payoutLimit,
    settings.personalDataFor !== undefined,
    settings.personalDataFor,
    settings.paidLate,
  ])
  for (const [kind, text] of [
    ['CARD', settings.declinesPerCard],
    ['ADDRESS', settings.declinesPerAddress],
  ] as const) {
    const limit = text ? parseDeclineLimit(text) : undefined
    if (limit) await applyDeclineLimit({ writers }, merchantId, { kind, limit })
  }
  const [before, after] = ['before', 'after'].map(name => rows.find(({ state }) => state === name))
  return before && after && { before: toMerchant(before), after: toMerchant(after) }
}
