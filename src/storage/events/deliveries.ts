/**
 * The queue of events that wait to be sent. Claims are leases: what is not recorded in time comes back. Every receiver
 * has a lane of its own, and of each lane only so many are claimed as it can take.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import type { Database } from '#storage/database.ts'

export interface Delivery {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  readonly eventId: string
  readonly receiver: string
  /** The stored JSON text. */
  readonly body: string
  /** The payment's own address, else the merchant's of today; null when there is none. */
  readonly url: string | null
  readonly kind: WebhookKind
  readonly dueAt: Date
  readonly tries: number
  readonly round: number
  readonly clockOffsetMs: number
  /** Sealed, in base64, the newest first. */
  readonly secrets: readonly string[]
}

export interface Lane {
  readonly merchantId: MerchantId
  readonly receiver: string
}

export interface Claim {
  readonly now: Date
  readonly leaseMs: number
  readonly limit: number
  /** How many more each lane can take; one that is not named takes `laneFree`. */
  readonly lanes: readonly (Lane & { readonly free: number })[]
  readonly laneFree: number
  /** All merchants unless given. */
  readonly merchantId?: MerchantId
}

export interface Attempt {
  readonly delivery: Delivery
  /** In the merchant's time. */
  readonly at: Date
  readonly status: number | undefined
  readonly durationMs: number
  readonly answer: string
  readonly verdict: 'PENDING' | 'DELIVERED' | 'FAILED'
  /** In the merchant's time; with PENDING only. */
  readonly nextAt?: Date
}

export interface DeliveryStore {
  claim(claim: Claim): Promise<readonly Delivery[]>
  /** Writes attempts and what they make of their events, all in one commit. */
  record(attempts: readonly Attempt[]): Promise<void>
  /** Gives back what was claimed and never sent, or sent without hearing. */
  release(deliveries: readonly Delivery[]): Promise<void>
  /** For the only gateway on the database: whatever is leased was leased by a dead one. */
  releaseAll(): Promise<void>
  /** How long the oldest event waits that has never been tried; 0 when there is none. */
  readLagSeconds(now: Date): Promise<number>
}

/**
 * 3 attempts, which is about 5 minutes: so long an event holds back the later ones of its payment. After that they pass:
 * news must not wait for days behind a message that its receiver cannot digest.
 */
export const triesThatHoldBack = 3

/** True of an event `e` that must wait for an earlier one of its payment. A replay waits for nobody. */
export const isHeldBack = `e.round = 0 AND EXISTS (SELECT 1 FROM event f WHERE f.merchant_id = e.merchant_id
  AND f.pay_id = e.pay_id AND f.sequence < e.sequence AND f.status = 'PENDING' AND f.round = 0
  AND f.tries < ${triesThatHoldBack})`

const isFree = (table: string): string => `(${table}.leased_until IS NULL OR ${table}.leased_until <= $1)`

/** Walks from lane to lane along the index, whatever number of events waits in each; the oldest claims come first. */
const claimStatement = `WITH RECURSIVE lane AS (
    (SELECT merchant_id, receiver FROM event WHERE due_at IS NOT NULL AND ($6::text IS NULL OR merchant_id = $6)
      ORDER BY merchant_id, receiver LIMIT 1)
    UNION ALL
    SELECT n.merchant_id, n.receiver FROM lane l CROSS JOIN LATERAL (SELECT merchant_id, receiver FROM event
      WHERE due_at IS NOT NULL AND (merchant_id, receiver) > (l.merchant_id, l.receiver)
        AND ($6::text IS NULL OR merchant_id = $6)
      ORDER BY merchant_id, receiver LIMIT 1) n
  ), known AS MATERIALIZED (
    SELECT * FROM json_to_recordset($3::json) AS k(merchant_id text, receiver text, free integer)
  ), ready AS MATERIALIZED (
    SELECT d.* FROM lane l CROSS JOIN LATERAL (
      SELECT e.merchant_id, e.pay_id, e.sequence, e.due_at FROM event e
      WHERE e.merchant_id = l.merchant_id AND e.receiver = l.receiver AND e.due_at <= $1 AND ${isFree('e')}
        AND NOT (${isHeldBack})
      ORDER BY e.due_at LIMIT coalesce((SELECT k.free FROM known k WHERE k.merchant_id = l.merchant_id
        AND k.receiver = l.receiver), $4)) d
    ORDER BY d.due_at LIMIT $5
  ), mine AS MATERIALIZED (
    SELECT t.merchant_id, t.pay_id, t.sequence FROM ready r JOIN event t USING (merchant_id, pay_id, sequence)
    WHERE t.due_at <= $1 AND ${isFree('t')} FOR UPDATE OF t SKIP LOCKED)
  UPDATE event t SET leased_until = $1::timestamptz + $2 * interval '1 millisecond' FROM mine r, merchant m
  WHERE t.merchant_id = r.merchant_id AND t.pay_id = r.pay_id AND t.sequence = r.sequence
    AND m.merchant_id = t.merchant_id
  RETURNING t.merchant_id AS "merchantId", t.pay_id AS "payId", t.sequence, t.event_id AS "eventId", t.receiver,
    t.body::text, coalesce(t.url, m.webhook_url) AS url, m.webhook_kind AS kind, t.due_at AS "dueAt", t.tries, t.round,
    m.clock_offset_ms AS "clockOffsetMs",
    ARRAY(SELECT encode(s.sealed, 'base64') FROM webhook_secret s WHERE s.merchant_id = t.merchant_id
      AND (s.expires_at IS NULL OR s.expires_at > $1) ORDER BY s.created_at DESC) AS secrets`

/**
 * Whoever writes several events at once, and waits for others to do so, locks them in this order first: two that wait for
 * each other would both lose. Claims wait for nobody.
 */
export const lockOrder = 'ORDER BY t.merchant_id, t.pay_id, t.sequence FOR UPDATE OF t'

const key = 't.merchant_id = i.merchant_id AND t.pay_id = i.pay_id AND t.sequence = i.sequence'

/**
 * An attempt of a round that a replay has ended, or of an event that another process has brought to its end meanwhile, is
 * written down and decides nothing; but a receiver that took the event took it.
 */
const decides = `t.round = i.round AND (t.status = 'PENDING' OR i.verdict = 'DELIVERED')`

/** The next time becomes real time here, by the offset of this moment: the test clock may have moved since the claim. */
const recordStatement = `WITH i AS MATERIALIZED (SELECT * FROM json_to_recordset($1::json) AS r(merchant_id text, pay_id uuid,
      sequence integer, round integer, at timestamptz, status smallint, duration_ms integer, answer text, verdict text,
      next_at timestamptz, url text)),
  locked AS MATERIALIZED (SELECT t.event_id FROM i JOIN event t ON ${key} ${lockOrder}),
  written AS (UPDATE event t SET attempts = t.attempts + 1, sent_to = coalesce(i.url, t.sent_to),
      leased_until = CASE WHEN t.round = i.round THEN NULL ELSE t.leased_until END,
      tries = CASE WHEN t.round = i.round THEN t.tries + 1 ELSE t.tries END,
      status = CASE WHEN ${decides} THEN i.verdict ELSE t.status END,
      due_at = CASE WHEN ${decides} THEN i.next_at - (SELECT clock_offset_ms FROM merchant m
        WHERE m.merchant_id = i.merchant_id) * interval '1 millisecond' ELSE t.due_at END
    FROM i WHERE ${key} AND (SELECT count(*) FROM locked) > 0
    RETURNING t.merchant_id, t.pay_id, t.sequence, t.attempts, i.at, i.status, i.duration_ms, i.answer)
  INSERT INTO event_attempt (merchant_id, pay_id, sequence, number, at, status, duration_ms, answer)
    SELECT * FROM written`

export function createDeliveryStore({ deliverers }: Database): DeliveryStore {
  return {
    async claim({ now, leaseMs, limit, lanes, laneFree, merchantId }) {
      const known = lanes.map(({ merchantId: merchant_id, receiver, free }) => ({
        merchant_id,
        receiver,
        free,
      }))
      const { rows } = await deliverers.query<Delivery>({
        name: 'claim_deliveries',
        text: claimStatement,
        values: [now, leaseMs, JSON.stringify(known), laneFree, limit, merchantId],
      })
      return rows
    },

    async record(attempts) {
      const values = [JSON.stringify(attempts.map(toRow))]
      await deliverers.query({ name: 'record_attempts', text: recordStatement, values })
    },

    async release(deliveries) {
      await deliverers.query({
        name: 'release_deliveries',
        text: `WITH i AS MATERIALIZED (SELECT * FROM json_to_recordset($1::json)
            AS r(merchant_id text, pay_id uuid, sequence integer)),
          locked AS MATERIALIZED (SELECT t.event_id FROM i JOIN event t ON ${key} ${lockOrder})
          UPDATE event t SET leased_until = NULL FROM i WHERE ${key} AND (SELECT count(*) FROM locked) > 0`,
        values: [JSON.stringify(deliveries.map(toKey))],
      })
    },

    async releaseAll() {
      await deliverers.query(
        `WITH locked AS MATERIALIZED (SELECT t.event_id FROM event t
            WHERE t.due_at IS NOT NULL AND t.leased_until IS NOT NULL ${lockOrder})
         UPDATE event SET leased_until = NULL
         WHERE due_at IS NOT NULL AND leased_until IS NOT NULL AND (SELECT count(*) FROM locked) > 0`,
      )
    },

    async readLagSeconds(now) {
      const { rows } = await deliverers.query<{ oldest: Date | null }>(
        'SELECT min(due_at) AS oldest FROM event WHERE due_at <= $1 AND attempts = 0',
        [now],
      )
      const oldest = rows[0]?.oldest
      return oldest ? (now.getTime() - oldest.getTime()) / 1_000 : 0
    },
  }
}

const toKey = ({ merchantId, payId, sequence }: Delivery) => ({
  merchant_id: merchantId,
  pay_id: payId,
  sequence,
})

const toRow = ({ delivery, at, status, durationMs, answer, verdict, nextAt }: Attempt) => ({
  ...toKey(delivery),
  round: delivery.round,
  at,
  status,
  duration_ms: durationMs,
  answer,
  verdict,
  next_at: nextAt,
  url: delivery.url,
})
