/** Events as their merchant sees them, found and listed. How they are delivered is in deliveries.ts. */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Database } from '#storage/database.ts'

export type EventStatus = 'PENDING' | 'DELIVERED' | 'FAILED'

export interface StoredAttempt {
  readonly at: Date
  readonly status?: number
  readonly durationMs: number
  readonly answer: string
}

export interface StoredEvent {
  readonly id: string
  readonly payId: PayId
  readonly sequence: number
  readonly status: EventStatus
  /** Where it goes, or where it went last. */
  readonly url?: string
  /** The address that the payment named. */
  readonly ownUrl?: string
  readonly createdAt: Date
  readonly body: unknown
  readonly attempts: readonly StoredAttempt[]
}

export interface EventFilter {
  readonly payId?: PayId
  readonly status?: EventStatus
}

export interface EventStore {
  find(merchantId: MerchantId, eventId: string): Promise<StoredEvent | undefined>
  /** The newest first, and how many there are in all. */
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
  createdAt: Date
  body: unknown
  attempts: { at: string; status: number | null; durationMs: number; answer: string }[]
}

const selection = `e.event_id AS id, e.pay_id AS "payId", e.sequence, e.status, e.created_at AS "createdAt", e.body,
  e.url AS "ownUrl",
  coalesce(e.url, CASE e.status WHEN 'PENDING' THEN m.webhook_url ELSE e.sent_to END) AS url,
  coalesce((SELECT json_agg(json_build_object('at', a.at, 'status', a.status, 'durationMs', a.duration_ms,
      'answer', a.answer) ORDER BY a.number)
    FROM event_attempt a WHERE a.merchant_id = e.merchant_id AND a.pay_id = e.pay_id AND a.sequence = e.sequence),
    '[]') AS attempts`

const joined = 'FROM event e JOIN merchant m ON m.merchant_id = e.merchant_id'

const filtered = `e.merchant_id = $1 AND ($2::uuid IS NULL OR e.pay_id = $2) AND ($3::text IS NULL OR e.status = $3)`

const toEvent = ({ url, ownUrl, attempts, ...row }: EventRow): StoredEvent => ({
  ...row,
  ...(url === null ? {} : { url }),
  ...(ownUrl === null ? {} : { ownUrl }),
  attempts: attempts.map(({ at, status, durationMs, answer }) => ({
    at: new Date(at),
    ...(status === null ? {} : { status }),
    durationMs,
    answer,
  })),
})

export function createEventStore({ readers }: Database): EventStore {
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
      const [{ rows: counted }, { rows }] = await Promise.all([
        readers.query<{ total: number }>(`SELECT count(*) AS total FROM event e WHERE ${filtered}`, filter),
        // An id begins with its time, so the newest is the last of the index.
        readers.query<EventRow>(
          `SELECT ${selection} ${joined} WHERE ${filtered} ORDER BY e.event_id DESC LIMIT $4 OFFSET $5`,
          [...filter, limit, offset],
        ),
      ])
      return { total: counted[0]?.total ?? 0, events: rows.map(toEvent) }
    },
  }
}
