/** Webhook endpoints of merchants, with their sealed secrets. Every change renews the installation's mark. */
import type { EventType } from '#domain/event-types.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import { endpointsName } from '#storage/commit/event-parts.ts'
import { type Database, inTransaction } from '#storage/database.ts'

export interface WebhookEndpoint {
  readonly merchantId: MerchantId
  readonly endpointId: string
  readonly url: string
  /** All types unless given. */
  readonly types?: readonly EventType[]
  readonly kind: WebhookKind
  readonly createdAt: Date
}

export interface EndpointSecret {
  readonly secretId: string
  readonly sealed: Buffer
}

export interface EndpointStore {
  /** Returns false if there is no such merchant. */
  insert(endpoint: Omit<WebhookEndpoint, 'createdAt'>, secret: EndpointSecret): Promise<boolean>
  /** The oldest first; of one merchant, or of all. */
  list(merchantId?: string): Promise<readonly WebhookEndpoint[]>
  /** Pending deliveries to the endpoint fail. Returns false if there is no such endpoint. */
  remove(endpointId: string): Promise<boolean>
  /** The other secrets expire after the overlap. Returns false if there is no such endpoint. */
  rotateSecret(
    endpointId: string,
    secret: EndpointSecret & { readonly overlapHours: number },
  ): Promise<boolean>
  /** A mark that every change renews. */
  readMark(): Promise<string>
  /** All endpoints, the mark that shows whether they have changed since, and whether deliveries to any wait. */
  readAll(): Promise<{
    readonly mark: string
    readonly endpoints: readonly WebhookEndpoint[]
    readonly deliveriesWait: boolean
  }>
}

interface EndpointRow {
  merchant_id: MerchantId
  endpoint_id: string
  url: string
  types: EventType[] | null
  kind: WebhookKind
  created_at: Date
}

const toEndpoint = (row: EndpointRow): WebhookEndpoint => ({
  merchantId: row.merchant_id,
  endpointId: row.endpoint_id,
  url: row.url,
  ...(row.types === null ? {} : { types: row.types }),
  kind: row.kind,
  createdAt: row.created_at,
})

const selection = 'SELECT merchant_id, endpoint_id, url, types, kind, created_at FROM webhook_endpoint'

/** Renews the mark if the CTE `changed` has rows. */
const renewMark = (changed: string): string =>
  `INSERT INTO installation (name, value) SELECT '${endpointsName}', gen_random_uuid()::text FROM ${changed} LIMIT 1
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`

export function createEndpointStore({ readers, writers }: Database): EndpointStore {
  return {
    async insert({ merchantId, endpointId, url, types, kind }, { secretId, sealed }) {
      const { rowCount } = await writers.query(
        `WITH m AS MATERIALIZED (SELECT merchant_id FROM merchant WHERE merchant_id = $1),
           added AS (INSERT INTO webhook_endpoint (merchant_id, endpoint_id, url, types, kind)
             SELECT merchant_id, $2, $3, $4, $5 FROM m RETURNING merchant_id),
           secret AS (INSERT INTO webhook_endpoint_secret (merchant_id, endpoint_id, secret_id, sealed)
             SELECT merchant_id, $2, $6, $7 FROM added)
         ${renewMark('added')}`,
        [merchantId, endpointId, url, types ?? null, kind, secretId, sealed],
      )
      return rowCount === 1
    },

    async list(merchantId) {
      const { rows } = await readers.query<EndpointRow>(
        `${selection} WHERE $1::text IS NULL OR merchant_id = $1 ORDER BY created_at, endpoint_id`,
        [merchantId],
      )
      return rows.map(toEndpoint)
    },

    async remove(endpointId) {
      const { rowCount } = await writers.query(
        `WITH gone AS (DELETE FROM webhook_endpoint WHERE endpoint_id = $1 RETURNING merchant_id),
           failed AS (UPDATE event_delivery d SET status = 'FAILED', due_at = NULL, leased_until = NULL FROM gone
             WHERE d.merchant_id = gone.merchant_id AND d.endpoint_id = $1 AND d.due_at IS NOT NULL)
         ${renewMark('gone')}`,
        [endpointId],
      )
      return rowCount === 1
    },

    rotateSecret: (endpointId, { secretId, sealed, overlapHours }) =>
      inTransaction(writers, async client => {
        // Rotations take turns, so that each one ends the secret that the previous one has added.
        await client.query('SELECT FROM webhook_endpoint WHERE endpoint_id = $1 FOR NO KEY UPDATE', [
          endpointId,
        ])
        const { rowCount } = await client.query(
          `WITH e AS (SELECT merchant_id, endpoint_id FROM webhook_endpoint WHERE endpoint_id = $1),
           ending AS (UPDATE webhook_endpoint_secret s
             SET expires_at = least(s.expires_at, now() + $4 * interval '1 hour') FROM e
             WHERE s.merchant_id = e.merchant_id AND s.endpoint_id = e.endpoint_id)
         INSERT INTO webhook_endpoint_secret (merchant_id, endpoint_id, secret_id, sealed)
           SELECT merchant_id, endpoint_id, $2, $3 FROM e`,
          [endpointId, secretId, sealed, overlapHours],
        )
        return rowCount === 1
      }),

    async readMark() {
      const { rows } = await readers.query<{ value: string }>({
        name: 'endpoints_mark',
        text: `SELECT value FROM installation WHERE name = '${endpointsName}'`,
      })
      return rows[0]?.value ?? ''
    },

    async readAll() {
      const { rows } = await readers.query<{
        mark: string | null
        endpoints: EndpointRow[]
        deliveries_wait: boolean
      }>(
        `SELECT (SELECT value FROM installation WHERE name = '${endpointsName}') AS mark,
           coalesce((SELECT json_agg(e) FROM (${selection}) e), '[]') AS endpoints,
           EXISTS (SELECT 1 FROM event_delivery WHERE due_at IS NOT NULL) AS deliveries_wait`,
      )
      const [found] = rows
      return {
        mark: found?.mark ?? '',
        endpoints: (found?.endpoints ?? []).map(toEndpoint),
        deliveriesWait: found?.deliveries_wait === true,
      }
    },
  }
}
