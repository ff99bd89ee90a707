/**
 * The queue of events to send. Claims are leases: an event whose attempt is not recorded in time becomes claimable
 * again. Every receiver has a lane, and only as many events are claimed per lane as have room in it.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import { thisProcess } from '#storage/commit/columns.ts'
import type { Database } from '#storage/database.ts'
import { byOtherIndex } from '#storage/planner.ts'
import { type Columns, type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

export interface Delivery {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  readonly eventId: string
  /** The webhook endpoint that gets the event; unless given, the address of the payment or merchant. */
  readonly endpointId?: string
  readonly receiver: string
  /** The stored JSON text. */
  readonly body: string
  /** The payment's own address, else the merchant's of today, or the endpoint's; null when there is none. */
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
  /** The free places of each lane; lanes that are not listed have `laneFree`. */
  readonly lanes: readonly (Lane & { readonly free: number })[]
  readonly laneFree: number
  /** How many more messages each merchant may have under way; those that are not listed may have `merchantFree`. */
  readonly merchants: ReadonlyMap<MerchantId, number>
  readonly merchantFree: number
  /** Whether deliveries to added endpoints may wait. */
  readonly endpoints: boolean
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
  /** In the merchant's time; set with PENDING only. */
  readonly nextAt?: Date
}

export interface DeliveryStore {
  claim(claim: Claim): Promise<readonly Delivery[]>
  /** Stores attempts and the resulting state of their events in one commit. */
  record(attempts: readonly Attempt[]): Promise<void>
  /** Releases claims on events that were not sent, or sent without an answer. */
  release(deliveries: readonly Delivery[]): Promise<void>
  /** Releases all claims. Only for a gateway that is alone on the database, where they belong to dead processes. */
  releaseAll(): Promise<void>
  /** Releases the claims of these dead processes. */
  releaseOf(processes: readonly number[]): Promise<void>
  /** The waiting time of the oldest event without an attempt; 0 if there is none. */
  readLagSeconds(now: Date): Promise<number>
}

/**
 * 3 attempts, about 5 minutes: so long an event holds back later events of its payment. After that they may overtake
 * it, because they must not wait for days behind an event that its receiver cannot process.
 */
export const triesThatHoldBack = 3

/**
 * The two tables with queues: events on their way to the address of the payment or merchant, and the deliveries
 * of events to added endpoints. Both have the same columns, so both are served by the same statements.
 */
interface Queue {
  readonly name: string
  readonly table: string
  readonly attempts: string
  /** The column that identifies a receiver of the merchant; messages to one receiver share a lane. */
  readonly lane: string
  readonly key: readonly string[]
  /** The event of a row and who it is for, joined at the claim to the claimed row `r`; `joined` compares with `t`. */
  readonly joins: string
  readonly joined: string
  readonly returning: string
  /** The assignment of the last attempt's address. */
  readonly sentTo: string
}

const eventKey = ['merchant_id', 'pay_id', 'sequence']

const secretsOf = (table: string, condition: string): string =>
  `ARRAY(SELECT encode(s.sealed, 'base64') FROM ${table} s WHERE ${condition}
      AND (s.expires_at IS NULL OR s.expires_at > $1) ORDER BY s.created_at DESC) AS secrets`

const events: Queue = {
  name: 'events',
  table: 'event',
  attempts: 'event_attempt',
  lane: 'receiver',
  key: eventKey,
  joins: ', merchant m',
  joined: 'm.merchant_id = t.merchant_id',
  returning: `t.event_id AS "eventId", t.receiver, t.body::text, coalesce(t.url, m.webhook_url) AS url,
    m.webhook_kind AS kind, ${secretsOf('webhook_secret', 's.merchant_id = t.merchant_id')}`,
  sentTo: 'sent_to = coalesce(i.url, t.sent_to),',
}

const deliveries: Queue = {
  name: 'endpoint_deliveries',
  table: 'event_delivery',
  attempts: 'event_delivery_attempt',
  lane: 'endpoint_id',
  key: [...eventKey, 'endpoint_id'],
  // A commit that was under way while its endpoint was removed may have written it: claimed without an address, it fails.
  joins: `LEFT JOIN webhook_endpoint w ON w.merchant_id = r.merchant_id AND w.endpoint_id = r.endpoint_id,
    merchant m, event v`,
  joined: `m.merchant_id = t.merchant_id AND v.merchant_id = t.merchant_id AND v.pay_id = t.pay_id
    AND v.sequence = t.sequence`,
  returning: `v.event_id AS "eventId", t.endpoint_id AS receiver, t.endpoint_id AS "endpointId", v.body::text, w.url,
    coalesce(w.kind, m.webhook_kind) AS kind,
    ${secretsOf('webhook_endpoint_secret', 's.merchant_id = t.merchant_id AND s.endpoint_id = t.endpoint_id')}`,
  sentTo: 'url = coalesce(i.url, t.url),',
}

/** The condition that a row `e` must wait for an earlier one of its payment and receiver. A replay does not wait. */
const heldBackIn = ({ table, lane }: Queue): string =>
  `e.round = 0 AND EXISTS (SELECT 1 FROM ${table} f WHERE f.merchant_id = e.merchant_id
  AND f.pay_id = e.pay_id AND f.sequence < e.sequence AND f.status = 'PENDING' AND f.round = 0
  AND f.tries < ${triesThatHoldBack}${table === events.table ? '' : ` AND f.${lane} = e.${lane}`})`

/** Select the rows of a merchant ($1) that are due by a time ($2) and not held back. */
export const dueDeliveries = [events, deliveries].map(
  queue =>
    `SELECT 1 FROM ${queue.table} e WHERE merchant_id = $1 AND due_at <= $2 AND NOT (${heldBackIn(queue)})`,
)

const isFree = (table: string): string => `(${table}.leased_until IS NULL OR ${table}.leased_until <= $1)`

/**
 * Goes from lane to lane along the index, so that its cost does not depend on how many rows wait in each lane. Every
 * merchant's first message comes before the second one of any other.
 */
const claimStatement = (queue: Queue): string => {
  const { table, lane, key, joins, joined, returning } = queue
  const names = key.join(', ')
  return `WITH RECURSIVE lane AS (
    (SELECT merchant_id, ${lane} AS receiver FROM ${table} WHERE due_at IS NOT NULL AND ($6::text IS NULL OR merchant_id = $6)
      ORDER BY merchant_id, ${lane} LIMIT 1)
    UNION ALL
    SELECT n.merchant_id, n.receiver FROM lane l CROSS JOIN LATERAL (SELECT merchant_id, ${lane} AS receiver FROM ${table}
      WHERE due_at IS NOT NULL AND (merchant_id, ${lane}) > (l.merchant_id, l.receiver)
        AND ($6::text IS NULL OR merchant_id = $6)
      ORDER BY merchant_id, ${lane} LIMIT 1) n
  ), place AS MATERIALIZED (
    SELECT l.*, coalesce(($3::jsonb ->> (l.merchant_id || ' ' || l.receiver))::integer, $4) AS free,
      coalesce(($7::jsonb ->> l.merchant_id)::integer, $8) AS merchant_free FROM lane l
  ), ready AS MATERIALIZED (
    SELECT r.* FROM (
      SELECT d.*, p.merchant_free, row_number() OVER (PARTITION BY d.merchant_id ORDER BY d.due_at) AS number
      FROM place p CROSS JOIN LATERAL (
        SELECT ${key.map(name => `e.${name}`).join(', ')}, e.due_at FROM ${table} e
        WHERE e.merchant_id = p.merchant_id AND e.${lane} = p.receiver AND e.due_at <= $1 AND ${isFree('e')}
          AND NOT (${heldBackIn(queue)})
        ORDER BY e.due_at LIMIT least(p.free, p.merchant_free)) d) r
    WHERE r.number <= r.merchant_free ORDER BY r.number, r.due_at LIMIT $5
  ), mine AS MATERIALIZED (
    SELECT ${key.map(name => `t.${name}`).join(', ')} FROM ready r JOIN ${table} t USING (${names})
    WHERE t.due_at <= $1 AND ${isFree('t')} FOR UPDATE OF t SKIP LOCKED)
  UPDATE ${table} t SET leased_until = $1::timestamptz + $2 * interval '1 millisecond', leased_by = ${thisProcess}
    FROM mine r ${joins}
  WHERE ${key.map(name => `t.${name} = r.${name}`).join(' AND ')} AND ${joined}
  RETURNING t.merchant_id AS "merchantId", t.pay_id AS "payId", t.sequence, t.due_at AS "dueAt", t.tries, t.round,
    m.clock_offset_ms AS "clockOffsetMs", ${returning}`
}

/**
 * The order in which statements lock several rows, so that two of them cannot deadlock. Claims skip locked rows
 * instead.
 */
export const lockOrder = `ORDER BY ${byOtherIndex('t.merchant_id')}, t.pay_id, t.sequence FOR UPDATE OF t`

const sameRow = ({ key }: Queue): string => key.map(name => `t.${name} = i.${name}`).join(' AND ')

/**
 * Whether an attempt decides the state of its event. An attempt of a round that a replay has ended, or of an event that
 * another process has finished, is only stored; but an event that a receiver has accepted always counts as delivered.
 */
const decides = `t.round = i.round AND (t.status = 'PENDING' OR i.verdict = 'DELIVERED')`

const keyColumns = [
  ['merchant_id', 'text'],
  ['pay_id', 'uuid'],
  ['sequence', 'integer'],
  ['endpoint_id', 'text'],
] as const

const attemptColumns = [
  ...keyColumns,
  ['round', 'integer'],
  ['at', 'timestamptz'],
  ['status', 'smallint'],
  ['duration_ms', 'integer'],
  ['answer', 'text'],
  ['verdict', 'text'],
  ['next_at', 'timestamptz'],
  ['url', 'text'],
] as const

const given = (columns: Columns): string => `i AS MATERIALIZED (SELECT * FROM ${recordset('$1', columns)})`

/** Converts the next time to real time by the current offset, because the test clock may have moved since the claim. */
const recordStatement = (queue: Queue): string => {
  const { table, attempts, key, sentTo } = queue
  return `WITH ${given(attemptColumns)},
  locked AS MATERIALIZED (SELECT t.merchant_id FROM i JOIN ${table} t ON ${sameRow(queue)} ${lockOrder}),
  timed AS MATERIALIZED (SELECT i.*, i.next_at - (SELECT clock_offset_ms FROM merchant m
    WHERE m.merchant_id = i.merchant_id) * interval '1 millisecond' AS next_due_at FROM i),
  written AS (UPDATE ${table} t SET attempts = t.attempts + 1, ${sentTo}
      leased_until = CASE WHEN t.round = i.round THEN NULL ELSE t.leased_until END,
      tries = CASE WHEN t.round = i.round THEN t.tries + 1 ELSE t.tries END,
      status = CASE WHEN ${decides} THEN i.verdict ELSE t.status END,
      due_at = CASE WHEN ${decides} THEN i.next_due_at ELSE t.due_at END
    FROM timed i WHERE ${sameRow(queue)} AND (SELECT count(*) FROM locked) > 0
    RETURNING ${key.map(name => `t.${name}`).join(', ')}, t.attempts, i.at, i.status, i.duration_ms, i.answer)
  INSERT INTO ${attempts} (${key.join(', ')}, number, at, status, duration_ms, answer) SELECT * FROM written`
}

const releaseStatement = (queue: Queue): string =>
  `WITH ${given(keyColumns)},
    locked AS MATERIALIZED (SELECT t.merchant_id FROM i JOIN ${queue.table} t ON ${sameRow(queue)} ${lockOrder})
  UPDATE ${queue.table} t SET leased_until = NULL FROM i WHERE ${sameRow(queue)} AND (SELECT count(*) FROM locked) > 0`

const releaseAllStatement = ({ table }: Queue): string =>
  `WITH locked AS MATERIALIZED (SELECT t.merchant_id FROM ${table} t
      WHERE t.due_at IS NOT NULL AND t.leased_until IS NOT NULL ${lockOrder})
   UPDATE ${table} SET leased_until = NULL
   WHERE due_at IS NOT NULL AND leased_until IS NOT NULL AND (SELECT count(*) FROM locked) > 0`

/** Releases the claims of dead processes, so that others can send these events at once. */
const releaseOfStatement = ({ table }: Queue): string =>
  `WITH locked AS MATERIALIZED (SELECT t.merchant_id FROM ${table} t
      WHERE t.due_at IS NOT NULL AND t.leased_until IS NOT NULL AND t.leased_by = ANY($1) ${lockOrder})
   UPDATE ${table} SET leased_until = NULL, leased_by = NULL
   WHERE due_at IS NOT NULL AND leased_by = ANY($1) AND (SELECT count(*) FROM locked) > 0`

type KeyRow = RowOf<typeof keyColumns>

/** A statement for each of the two tables, and its rows. */
interface Writing<C extends Columns> {
  readonly name: string
  readonly columns: C
  readonly text: (queue: Queue) => string
}

const recording = { name: 'record', columns: attemptColumns, text: recordStatement }
const releasing = { name: 'release', columns: keyColumns, text: releaseStatement }

export function createDeliveryStore({ deliverers }: Database): DeliveryStore {
  async function claimFrom(queue: Queue, claim: Claim) {
    const { now, leaseMs, limit, lanes, laneFree, merchants, merchantFree, merchantId } = claim
    // Looked up by name: with a join, thousands of lanes would be compared with as many others.
    const known = lanes.map(({ merchantId, receiver, free }) => [`${merchantId} ${receiver}`, free])
    const { rows } = await deliverers.query<Delivery>({
      name: `claim_${queue.name}`,
      text: claimStatement(queue),
      values: [
        ...[now, leaseMs, JSON.stringify(Object.fromEntries(known)), laneFree, limit, merchantId],
        ...[JSON.stringify(Object.fromEntries(merchants)), merchantFree],
      ],
    })
    return rows
  }

  /** Runs one statement for each of the two tables with rows among these. */
  async function write<C extends Columns>(
    { name, columns, text }: Writing<C>,
    rows: readonly (RowOf<C> & KeyRow)[],
  ): Promise<void> {
    for (const queue of [events, deliveries]) {
      const mine = rows.filter(({ endpoint_id }) => (endpoint_id !== undefined) === (queue === deliveries))
      if (mine.length === 0) continue
      const values = [toRecordset(columns, mine)]
      await deliverers.query({ name: `${name}_${queue.name}`, text: text(queue), values })
    }
  }

  return {
    async claim(claim) {
      const owed = await claimFrom(events, claim)
      if (!claim.endpoints || owed.length >= claim.limit) return owed
      const merchants = new Map(claim.merchants)
      for (const { merchantId } of owed)
        merchants.set(merchantId, (merchants.get(merchantId) ?? claim.merchantFree) - 1)
      const limit = claim.limit - owed.length
      return [...owed, ...(await claimFrom(deliveries, { ...claim, limit, merchants }))]
    },

    record: attempts => write(recording, attempts.map(toRow)),

    release: claimed => write(releasing, claimed.map(toKey)),

    async releaseAll() {
      for (const queue of [events, deliveries]) await deliverers.query(releaseAllStatement(queue))
    },

    async releaseOf(processes) {
      for (const queue of [events, deliveries]) await deliverers.query(releaseOfStatement(queue), [processes])
    },

    async readLagSeconds(now) {
      const { rows } = await deliverers.query<{ oldest: Date | null }>(
        `SELECT least((SELECT min(due_at) FROM event WHERE due_at <= $1 AND attempts = 0),
           (SELECT min(due_at) FROM event_delivery WHERE due_at <= $1 AND attempts = 0)) AS oldest`,
        [now],
      )
      const oldest = rows[0]?.oldest
      return oldest ? (now.getTime() - oldest.getTime()) / 1_000 : 0
    },
  }
}

const toKey = ({ merchantId, payId, sequence, endpointId }: Delivery): KeyRow => ({
  merchant_id: merchantId,
  pay_id: payId,
  sequence,
  endpoint_id: endpointId,
})

const toRow = (attempt: Attempt): RowOf<typeof attemptColumns> => {
  const { delivery, at, status, durationMs, answer, verdict, nextAt } = attempt
  return {
    ...toKey(delivery),
    round: delivery.round,
    at,
    status,
    duration_ms: durationMs,
    answer,
    verdict,
    next_at: nextAt,
    url: delivery.url ?? undefined,
  }
}
