/** Stores declines of cards and addresses, and payouts, for velocity limits that all processes share. */

import { firstPayId, type MerchantId } from '#domain/ids.ts'
import { addDuration } from '#domain/time/duration.ts'
import type { DeclineLimit, PayoutLimit } from '#domain/velocity.ts'
import { type Database, inTransaction } from '#storage/database.ts'

export type VelocityKind = 'CARD' | 'ADDRESS'

export interface Subject {
  readonly merchantId: MerchantId
  readonly kind: VelocityKind
  /** The card's keyed fingerprint, or the address. */
  readonly subject: string
}

export interface Block extends Subject {
  /** In the merchant's time; undefined if it is not blocked. */
  readonly blockedUntil: Date | undefined
}

export interface VelocityStore {
  /** Counts a decline. If the limit is reached, returns the time until which payments are refused. */
  countDecline(subject: Subject, limit: DeclineLimit, at: Date): Promise<Date | undefined>
  /** Blocks that changed since that real time, or all that have not expired, and the time to pass next. */
  readChanges(since: Date | undefined): Promise<{ readonly blocks: readonly Block[]; readonly until: Date }>
  /** Returns false, and writes nothing, if the payout would exceed the limit. */
  reservePayout(payout: {
    readonly merchantId: MerchantId
    readonly payoutId: string
    readonly amount: number
    readonly limit: PayoutLimit
    readonly at: Date
  }): Promise<boolean>
  releasePayout(merchantId: MerchantId, payoutId: string): Promise<void>
  /** Deletes rows that no limit needs any more, and those of payouts that were never made. */
  reap(): Promise<void>
}

interface BlockRow {
  readonly merchant_id: MerchantId
  readonly kind: VelocityKind
  readonly subject: string
  readonly blocked_until: Date | null
}

/** 5 s: a row is dated when its transaction begins but visible only when it ends; ours are far shorter. */
const overlap = "interval '5 seconds'"

const dayMs = 86_400_000

/** 32 days: longer than the longest window that a limit may have. */
const keptForMs = 32 * dayMs

/** 1 h: the payment is stored milliseconds after its payout is counted, or seconds if the database was lost meanwhile. */
const storedWithinMs = dayMs / 24

/** 2 days: after a long standstill, older payouts that were never made stay counted. */
const orphanedWithinMs = 2 * dayMs

/**
 * 10,000 per round: with a round every ten minutes, that deletes more than a million a day. Earlier releases kept the
 * payouts of years: a statement that deletes them all takes longer than the 6 s after which the database counts as lost.
 */
const reapedAtOnce = 10_000

/** Keeps the newest declines within the limit's window, and finds the time until which they block the subject. */
function applyLimit(declines: readonly Date[], { count, window }: DeclineLimit, at: Date) {
  const endOf = (decline: Date): number => addDuration(decline.getTime(), window) ?? 0
  const kept = declines
    .filter(decline => endOf(decline) > at.getTime())
    .toSorted((a, b) => a.getTime() - b.getTime())
    .slice(-count)
  const [first] = kept
  return { kept, blockedUntil: first && kept.length === count ? new Date(endOf(first)) : undefined }
}

export function createVelocityStore({ readers, writers }: Database): VelocityStore {
  return {
    // Two plain statements, because Citus accepts neither a subquery nor an interval in ON CONFLICT.
    countDecline: ({ merchantId, kind, subject }, limit, at) =>
      inTransaction(writers, async client => {
        const { rows } = await client.query<{ declines: readonly Date[] }>(
          // Locks the row, whether it is new or known.
          `INSERT INTO velocity (merchant_id, kind, subject, declines) VALUES ($1, $2, $3, '{}')
           ON CONFLICT (merchant_id, kind, subject) DO UPDATE SET subject = excluded.subject RETURNING declines`,
          [merchantId, kind, subject],
        )
        const { kept, blockedUntil } = applyLimit([...(rows[0]?.declines ?? []), at], limit, at)
        await client.query(
          `UPDATE velocity SET declines = $4::timestamptz[], blocked_until = $5, changed_at = now()
           WHERE merchant_id = $1 AND kind = $2 AND subject = $3`,
          [merchantId, kind, subject, kept, blockedUntil],
        )
        return blockedUntil
      }),

    // No merchant's clock is behind real time, so a block that is over by real time is over for every merchant.
    async readChanges(since) {
      const { rows } = await readers.query<BlockRow & { until: Date }>(
        `SELECT now() - ${overlap} AS until, v.merchant_id, v.kind, v.subject, v.blocked_until
         FROM (SELECT 1) one LEFT JOIN velocity v ON CASE WHEN $1::timestamptz IS NULL THEN v.blocked_until > now()
           ELSE v.changed_at >= $1 END`,
        [since],
      )
      return {
        until: rows[0]?.until ?? new Date(0),
        blocks: rows
          .filter(row => row.merchant_id !== null)
          .map(row => ({
            merchantId: row.merchant_id,
            kind: row.kind,
            subject: row.subject,
            blockedUntil: row.blocked_until ?? undefined,
          })),
      }
    },

    reservePayout: ({ merchantId, payoutId, amount, limit, at }) =>
      inTransaction(writers, async client => {
        const { currency, value } = limit.amount
        // Serialises payouts of a merchant and currency, so that two cannot both use the same remaining amount.
        await client.query("SELECT pg_advisory_xact_lock(hashtextextended('payout ' || $1 || $2, 0))", [
          merchantId,
          currency,
        ])
        const { rows } = await client.query<{ fits: boolean }>(
          `SELECT $3::bigint + coalesce(sum(amount), 0) <= $4::bigint AS fits FROM payout
           WHERE merchant_id = $1 AND currency = $2 AND paid_at > $5::timestamptz - $6::interval`,
          [merchantId, currency, amount, value, at, limit.window],
        )
        if (!rows[0]?.fits) return false
        await client.query(
          'INSERT INTO payout (merchant_id, payout_id, currency, amount, paid_at) VALUES ($1, $2, $3, $4, $5)',
          [merchantId, payoutId, currency, amount, at],
        )
        return true
      }),

    async releasePayout(merchantId, payoutId) {
      await writers.query('DELETE FROM payout WHERE merchant_id = $1 AND payout_id = $2', [
        merchantId,
        payoutId,
      ])
    },

    reap: () => reap({ readers, writers }),
  }
}

async function reap({ readers, writers }: Pick<Database, 'readers' | 'writers'>): Promise<void> {
  await writers.query("DELETE FROM velocity WHERE changed_at < now() - $1 * interval '1 millisecond'", [
    keptForMs,
  ])
  const nowMs = Date.now()
  // Ids begin with real time, and no merchant's clock is behind it: a row this old is old for every limit.
  const { rows } = await readers.query<{ merchant_id: string; ids: readonly string[] }>(
    `SELECT merchant_id, array_agg(payout_id::text) AS ids FROM (
       SELECT merchant_id, payout_id FROM payout o
       WHERE payout_id < $1 OR payout_id >= $2 AND payout_id < $3 AND NOT EXISTS (
         SELECT 1 FROM payment p WHERE p.merchant_id = o.merchant_id AND p.pay_id = o.payout_id
           AND p.status <> 'FAILED')
       LIMIT $4) old
     GROUP BY merchant_id`,
    [...[keptForMs, orphanedWithinMs, storedWithinMs].map(ageMs => firstPayId(nowMs - ageMs)), reapedAtOnce],
  )
  for (const { merchant_id, ids } of rows)
    await writers.query('DELETE FROM payout WHERE merchant_id = $1 AND payout_id = ANY ($2::uuid[])', [
      merchant_id,
      ids,
    ])
}

/** Counts the known declines again after the limit has changed. */
export async function applyDeclineLimit(
  { writers }: Pick<Database, 'writers'>,
  merchantId: string,
  { kind, limit }: { readonly kind: VelocityKind; readonly limit: DeclineLimit },
): Promise<void> {
  await writers.query(
    `WITH counted AS MATERIALIZED (SELECT subject, CASE WHEN cardinality(declines) >= $3
         THEN declines[cardinality(declines) - $3 + 1] + $4::interval END AS blocked_until
       FROM velocity WHERE merchant_id = $1 AND kind = $2 ORDER BY subject FOR UPDATE)
     UPDATE velocity v SET changed_at = now(), blocked_until = counted.blocked_until
     FROM counted WHERE v.merchant_id = $1 AND v.kind = $2 AND v.subject = counted.subject`,
    [merchantId, kind, limit.count, limit.window],
  )
}
