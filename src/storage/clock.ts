/**
 * Moves a merchant's test clock: one commit changes its offset and the real times of its timers, deliveries and
 * secrets.
 */
import type { MerchantId, XId } from '#domain/ids.ts'
import { thisProcess } from '#storage/commit/columns.ts'
import type { Database } from '#storage/database.ts'
import { dueDeliveries, lockOrder } from '#storage/events/deliveries.ts'
import { byOtherIndex } from '#storage/planner.ts'
import { deadAfterMs } from '#storage/processes/announcements.ts'

export interface ClockStore {
  /** Moves the clock forward. Concurrent calls add up. */
  advance(merchantId: MerchantId, byMs: number): Promise<void>
  /** Sets the offset to real time, never back. Of concurrent calls the largest offset wins. */
  setOffset(merchantId: MerchantId, offsetMs: number): Promise<void>
  /** The number of due days of the merchant's active plans before that instant. */
  countCharges(merchantId: MerchantId, until: Date): Promise<number>
  /**
   * Counts the merchant's timers and deliveries that are due by that real time, up to the limit; `first`: the first
   * timer's time.
   */
  countDue(
    merchantId: MerchantId,
    until: Date,
    limit: number,
  ): Promise<{ readonly count: number; readonly first: Date | null }>
  /** Whether a timer or an event of the merchant is due, leased or not. */
  hasDue(merchantId: MerchantId, now: Date): Promise<boolean>
  /**
   * Operations of the merchant that other live processes have sent and that are not answered yet. What a timer sends has
   * no timer any more.
   */
  listSentElsewhere(merchantId: MerchantId): Promise<readonly XId[]>
}

/** 2 min: longer than three sends of 20 s and both commits. */
const sentForSeconds = 120

/**
 * Computes the distance with the merchant's row locked, because a concurrent call may have moved the clock since the
 * caller read it.
 */
const moveStatement = (way: string): string => {
  const ahead = `(SELECT ms FROM way) * interval '1 millisecond'`
  return `WITH way AS MATERIALIZED (SELECT ${way} AS ms FROM merchant WHERE merchant_id = $1 FOR UPDATE),
      moved AS (UPDATE timer SET run_at = run_at - ${ahead} WHERE ${byOtherIndex('merchant_id')} = $1),
      locked AS MATERIALIZED (SELECT t.event_id FROM event t
        WHERE t.merchant_id = $1 AND t.due_at IS NOT NULL ${lockOrder}),
      events AS (UPDATE event SET due_at = due_at - ${ahead}
        WHERE merchant_id = $1 AND due_at IS NOT NULL AND (SELECT count(*) FROM locked) > 0),
      locked_too AS MATERIALIZED (SELECT t.endpoint_id FROM event_delivery t
        WHERE t.merchant_id = $1 AND t.due_at IS NOT NULL ${lockOrder}),
      deliveries AS (UPDATE event_delivery SET due_at = due_at - ${ahead}
        WHERE merchant_id = $1 AND due_at IS NOT NULL AND (SELECT count(*) FROM locked_too) > 0),
      endpoint_secrets AS (UPDATE webhook_endpoint_secret SET expires_at = expires_at - ${ahead}
        WHERE merchant_id = $1 AND expires_at IS NOT NULL),
      secrets AS (UPDATE webhook_secret SET expires_at = expires_at - ${ahead}
        WHERE merchant_id = $1 AND expires_at IS NOT NULL)
    UPDATE merchant SET clock_offset_ms = clock_offset_ms + (SELECT ms FROM way) WHERE merchant_id = $1`
}

const byStatement = moveStatement('$2::bigint')
const toStatement = moveStatement('greatest($2::bigint - clock_offset_ms, 0)')

export function createClockStore({ writers }: Database): ClockStore {
  return {
    async advance(merchantId, byMs) {
      await writers.query(byStatement, [merchantId, byMs])
    },
    async setOffset(merchantId, offsetMs) {
      await writers.query(toStatement, [merchantId, offsetMs])
    },
    async countCharges(merchantId, until) {
      const { rows } = await writers.query<{ charges: number }>(
        `SELECT coalesce(sum(greatest(0,
             (least($2::timestamptz::date, (recurring->>'expiryDate')::date) - next_payment_date) /
             CASE recurring->>'frequency' WHEN 'DAILY' THEN 1 WHEN 'WEEKLY' THEN 7 WHEN 'MONTHLY' THEN 28 ELSE 365 END)), 0)::int AS charges
         FROM payment_plan WHERE ${byOtherIndex('merchant_id')} = $1 AND status = 'ACTIVE'
           AND next_payment_date IS NOT NULL AND recurring->>'autoCharge' = 'true'`,
        [merchantId, until],
      )
      return rows[0]?.charges ?? 0
    },
    async countDue(merchantId, until, limit) {
      const { rows } = await writers.query<{ count: number; first: Date | null }>(
        `SELECT count(*)::int AS count,
           (SELECT min(run_at) FROM timer WHERE ${byOtherIndex('merchant_id')} = $1) AS first
         FROM (SELECT 1 FROM timer WHERE ${byOtherIndex('merchant_id')} = $1 AND run_at <= $2
           UNION ALL ${dueDeliveries.join(' UNION ALL ')} LIMIT $3) due`,
        [merchantId, until, limit],
      )
      return rows[0] ?? { count: 0, first: null }
    },
    async hasDue(merchantId, now) {
      const { rows } = await writers.query(
        `SELECT 1 FROM timer WHERE ${byOtherIndex('merchant_id')} = $1 AND run_at <= $2
         UNION ALL ${dueDeliveries.join(' UNION ALL ')} LIMIT 1`,
        [merchantId, now],
      )
      return rows.length > 0
    },
    async listSentElsewhere(merchantId) {
      const { rows } = await writers.query<{ xId: XId }>(
        `SELECT x_id AS "xId" FROM operation
         WHERE sent_at > now() - $2 * interval '1 second' AND ${byOtherIndex('merchant_id')} = $1 AND state = 'SENT'
           AND process <> ${thisProcess} AND process IN (SELECT process FROM gateway_process
             WHERE seen_at > now() - $3 * interval '1 millisecond')`,
        [merchantId, sentForSeconds, deadAfterMs],
      )
      return rows.map(({ xId }) => xId)
    },
  }
}
