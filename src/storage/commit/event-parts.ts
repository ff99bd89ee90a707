/**
 * The SQL for events: the event itself, its deliveries to all webhook endpoints that want its type, and replays. The
 * endpoints are read from their table, so that an outdated cache cannot miss one.
 */
import { paymentKey } from '#storage/commit/columns.ts'

/** The row of `installation` that changes with every added or removed endpoint. */
export const endpointsName = 'webhook_endpoints'

/** The row number of the endpoints' mark in the result; no change has this number. */
export const endpointsRow = -1

const accepted = 'i.c NOT IN (SELECT c FROM refused)'

const sameEvent = 't.merchant_id = i.merchant_id AND t.pay_id = i.pay_id AND t.sequence = i.sequence'

/** An event is due at once: this converts its time from the merchant's time to real time. */
const dueAt = `i.created_at - coalesce((SELECT clock_offset_ms FROM merchant m WHERE m.merchant_id = i.merchant_id), 0)
  * interval '1 millisecond'`

/**
 * Whether the event must be sent to its own address. If not, it is written as delivered; so is an event without an
 * address if the merchant has webhook endpoints, which get it.
 */
const isOwed = `i.owed AND (i.url IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM webhook_endpoint w WHERE w.merchant_id = i.merchant_id)
  OR EXISTS (SELECT 1 FROM merchant m WHERE m.merchant_id = i.merchant_id AND m.webhook_url IS NOT NULL))`

const eventColumns = [
  ...paymentKey,
  ['sequence', 'integer'],
  ['event_id', 'uuid'],
  ['x_id', 'uuid'],
  ['type', 'text'],
  ['owed', 'boolean'],
  ['body', 'json'],
  ['url', 'text'],
  ['created_at', 'timestamptz'],
] as const

const eventNames = eventColumns.map(([name]) => name)
const eventValues = eventNames.map(name => (name === 'owed' ? 'o.owed' : `i.${name}`))

const readyEvents = `event_ready AS MATERIALIZED (SELECT ${eventValues.join(', ')},
      CASE WHEN o.owed THEN 'PENDING' ELSE 'DELIVERED' END AS status, CASE WHEN o.owed THEN ${dueAt} END AS due_at
    FROM event_in i CROSS JOIN LATERAL (SELECT ${isOwed} AS owed) o WHERE ${accepted})`

const insertEvents = (): string =>
  `INSERT INTO event (${eventNames.join(', ')}, status, due_at)
    SELECT ${eventNames.join(', ')}, status, due_at FROM event_ready`

const deliveryNames = 'merchant_id, pay_id, sequence, endpoint_id, url, due_at'

const readyDeliveries = `event_delivery_ready AS MATERIALIZED (
    SELECT i.merchant_id, i.pay_id, i.sequence, w.endpoint_id, w.url, ${dueAt} AS due_at
    FROM event_in i JOIN webhook_endpoint w ON w.merchant_id = i.merchant_id
      AND (w.types IS NULL OR i.type = ANY (w.types))
    WHERE ${accepted})`

const fanOutEvents = (): string =>
  `INSERT INTO event_delivery (${deliveryNames}) SELECT ${deliveryNames} FROM event_delivery_ready`

/**
 * Begins a new round; an attempt of the old round that is still under way no longer decides anything. An event that was
 * not owed to its own address is not sent there by a replay either.
 */
const replayEvents = (): string =>
  `UPDATE event t SET status = 'PENDING', due_at = i.due_at, leased_until = NULL, tries = 0, round = t.round + 1
    FROM replay_in i WHERE ${sameEvent} AND t.owed AND i.endpoint_id IS NULL AND ${accepted}`

/**
 * Replays go to all current endpoints that subscribe to the type, or to the named one, even if it has received the
 * event.
 */
const readyReplays = `replay_ready AS MATERIALIZED (
    SELECT i.merchant_id, i.pay_id, i.sequence, w.endpoint_id, w.url, i.due_at
    FROM replay_in i JOIN event t ON ${sameEvent} JOIN webhook_endpoint w ON w.merchant_id = i.merchant_id
      AND CASE WHEN i.endpoint_id IS NULL THEN w.types IS NULL OR t.type = ANY (w.types)
        ELSE w.endpoint_id = i.endpoint_id END
    WHERE ${accepted})`

const replayDeliveries = (): string =>
  `INSERT INTO event_delivery AS d (${deliveryNames}) SELECT ${deliveryNames} FROM replay_ready
  ON CONFLICT (merchant_id, pay_id, sequence, endpoint_id) DO UPDATE
    SET status = 'PENDING', due_at = excluded.due_at, leased_until = NULL, tries = 0, round = d.round + 1,
      url = excluded.url`

export const eventParts = {
  event: {
    columns: eventColumns,
    ready: [readyEvents, readyDeliveries],
    write: insertEvents,
    also: fanOutEvents,
  },
  replay: {
    columns: [
      ...paymentKey,
      ['sequence', 'integer'],
      ['endpoint_id', 'text'],
      ['due_at', 'timestamptz'],
    ] as const,
    ready: [readyReplays],
    write: replayEvents,
    also: replayDeliveries,
  },
}
