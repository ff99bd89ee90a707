/** Finds and lists events as their merchant sees them; deliveries.ts delivers them. */

import type { EventType } from '#domain/event-types.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { JsonObject } from '#domain/json.ts'
import type { Database } from '#storage/database.ts'
import { lookUp } from '#storage/planner.ts'

export type EventStatus = 'PENDING' | 'DELIVERED' | 'FAILED'

export interface StoredAttempt {
  /** The webhook endpoint of the attempt; unless given, the address of the payment or merchant. */
  readonly endpointId?: string
  readonly at: Date
  readonly status?: number
  readonly durationMs: number
  readonly answer: string
}

export interface StoredEvent {
  readonly id: string
  readonly payId: PayId
  readonly sequence: number
  /** The combined status of all its receivers. */
  readonly status: EventStatus
  readonly type?: EventType
  /** The address to which it is sent, or was sent last. */
  readonly url?: string
  /** The address that the payment named. */
  readonly ownUrl?: string
  /** Whether it is for the address of the payment or merchant, too, and not for endpoints alone. */
  readonly owed: boolean
  readonly createdAt: Date
  readonly body: JsonObject
  readonly attempts: readonly StoredAttempt[]
  /** Its deliveries to webhook endpoints. */
  readonly deliveries: readonly StoredDelivery[]
}

export interface StoredDelivery {
  readonly endpointId: string
  readonly url: string
  readonly status: EventStatus
}

export interface EventFilter {
  readonly payId?: PayId
  readonly status?: EventStatus
}

export interface EventStore {
  find(merchantId: MerchantId, eventId: string): Promise<StoredEvent | undefined>
  /** A page, the newest first, and the total. */
  list(
    merchantId: MerchantId,
    filter: EventFilter,
    range: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly total: number; readonly events: readonly StoredEvent[] }>
}

interface EventRow {
  id: string
  payId: PayId
  sequence: number
  status: EventStatus
  url: string | null
  ownUrl: string | null
  owed: boolean
  createdAt: Date
  body: JsonObject
  type: EventType | null
  attempts: {
    endpointId: string | null
    at: string
    status: number | null
    durationMs: number
    answer: string
  }[]
  deliveries: StoredDelivery[]
}

const ofEvent = (table: string): string =>
  `${table}.merchant_id = e.merchant_id AND ${table}.pay_id = e.pay_id AND ${table}.sequence = e.sequence`

const someDelivery = (status: EventStatus): string =>
  `EXISTS ${lookUp(`SELECT 1 FROM event_delivery d WHERE ${ofEvent('d')} AND d.status = '${status}'`)}`

/** PENDING while a delivery is outstanding; FAILED if one delivery has failed for good. */
const overall = `CASE WHEN e.status = 'PENDING' OR ${someDelivery('PENDING')} THEN 'PENDING'
  WHEN e.status = 'FAILED' OR ${someDelivery('FAILED')} THEN 'FAILED' ELSE 'DELIVERED' END`

const selection = `e.event_id AS id, e.pay_id AS "payId", e.sequence, ${overall} AS status, e.type,
  e.created_at AS "createdAt", e.body, e.url AS "ownUrl", e.owed,
  CASE WHEN e.owed THEN coalesce(e.url, CASE WHEN e.status = 'PENDING' THEN m.webhook_url ELSE e.sent_to END) END AS url,
  coalesce((SELECT json_agg(json_build_object('endpointId', a.endpoint_id, 'at', a.at, 'status', a.status,
      'durationMs', a.duration_ms, 'answer', a.answer) ORDER BY a.at, a.number)
    FROM (SELECT NULL AS endpoint_id, at, status, duration_ms, answer, number FROM event_attempt o WHERE ${ofEvent('o')}
      UNION ALL SELECT endpoint_id, at, status, duration_ms, answer, number FROM event_delivery_attempt x
        WHERE ${ofEvent('x')}) a), '[]') AS attempts,
  coalesce((SELECT json_agg(json_build_object('endpointId', d.endpoint_id, 'url', d.url, 'status', d.status)
    ORDER BY d.endpoint_id) FROM event_delivery d WHERE ${ofEvent('d')}), '[]') AS deliveries`

const joined = 'FROM event e JOIN merchant m ON m.merchant_id = e.merchant_id'

const filtered = `e.merchant_id = $1 AND ($2::uuid IS NULL OR e.pay_id = $2) AND ($3::text IS NULL OR ${overall} = $3)`

const toEvent = ({ url, ownUrl, type, attempts, ...row }: EventRow): StoredEvent => ({
  ...row,
  ...(type === null ? {} : { type }),
  ...(url === null ? {} : { url }),
  ...(ownUrl === null ? {} : { ownUrl }),
  attempts: attempts.map(({ endpointId, at, status, durationMs, answer }) => ({
    ...(endpointId === null ? {} : { endpointId }),
    at: new Date(at),
    ...(status === null ? {} : { status }),
    durationMs,
    answer,
  })),
})

export function createEventStore({ readers, lists }: Database): EventStore {
  return {
    async find(merchantId, eventId) {
      const { rows } = await readers.query<EventRow>({
        name: 'event_by_id',
        text: `SELECT ${selection} ${joined} WHERE e.merchant_id = $1 AND e.event_id = $2`,
        values: [merchantId, eventId],
      })
      return rows[0] && toEvent(rows[0])
    },

    async list(merchantId, { payId, status }, { offset, limit }) {
      const filter = [merchantId, payId, status]
      const count = `SELECT count(*) AS total FROM event e WHERE ${filtered}`
      // An id begins with its time, so the newest is the last of the index.
      const page = `SELECT ${selection} ${joined} WHERE ${filtered} ORDER BY e.event_id DESC LIMIT $4 OFFSET $5`
      return lists.run(merchantId, async () => {
        const { rows: counted } = await readers.query<{ total: number }>(count, filter)
        const { rows } = await readers.query<EventRow>(page, [...filter, limit, offset])
        return { total: counted[0]?.total ?? 0, events: rows.map(toEvent) }
      })
    },
  }
}
