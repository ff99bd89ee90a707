/** Finds due work: timers, and operations that a dead process left without an answer. */
import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { summarizeNewRanges } from '#storage/block-ranges.ts'
import { cellLock } from '#storage/cells/address.ts'
import type { TimerKind } from '#storage/commit/change.ts'
import { thisProcess } from '#storage/commit/columns.ts'
import type { Database } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'

export interface ClaimedTimer {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly xId: XId
  readonly kind: TimerKind
  readonly attempt: number
  readonly runAt: Date
  /** The provider account of the operation, or else of the payment; null if it has none. */
  readonly account: string | null
  /**
   * The offset of the merchant's clock, read in the same statement as the time above, because moving the clock changes
   * both.
   */
  readonly clockOffsetMs: number
}

export interface Orphan {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly xId: XId
}

/** An account of a merchant at a provider; null for payments without one. */
export interface OrphanAccount {
  readonly merchantId: MerchantId
  readonly account: string | null
}

export interface TimerClaim {
  readonly now: Date
  readonly limit: number
  readonly leaseMs: number
  /** All merchants unless given. */
  readonly merchantId?: MerchantId
}

export interface WorkFinder {
  /**
   * Leases up to `limit` due timers to this process; a timer becomes claimable again when its lease expires. Only the
   * earliest of each payment: its effect may set another timer that comes before the rest.
   */
  claimTimers(options: TimerClaim): Promise<readonly ClaimedTimer[]>
  /** The time of the database's clock, which also stamps operations when they are sent. */
  now(): Promise<Date>
  /** Operations that were sent before that time and are still SENT. */
  findOrphans(options: { sentBefore: Date; limit: number }): Promise<readonly Orphan[]>
  /** The provider accounts of unanswered operations that one of these processes has sent. */
  findOrphanAccountsOf(processes: readonly number[]): Promise<readonly OrphanAccount[]>
  /** The earliest of these operations at one account. */
  findOrphansOf(
    processes: readonly number[],
    account: OrphanAccount,
    limit: number,
  ): Promise<readonly Orphan[]>
  /** Ends the leases of these processes. */
  releaseTimersOf(processes: readonly number[]): Promise<void>
  /**
   * Records the mark: every operation sent before that time is answered or has a timer, so searches need not go back
   * further.
   */
  advanceMark(until: Date): Promise<void>
  /**
   * Takes a shared claim, which is held from then on. Returns true if this process is the only gateway on the database.
   */
  claimAlone(): Promise<boolean>
  close(): Promise<void>
}

export const markName = 'orphans_found_until'

/**
 * Finds due rows once and updates them by ctid. A join with a plan made while the table was nearly empty searched them
 * again for every row of the table: some hundred timers exceeded the statement timeout (seen). For the same reason,
 * earlier timers of a payment are looked up by its id, never by their time: the added zero hides the time from its
 * index.
 */
export const claimTimersStatement = `WITH due AS MATERIALIZED (SELECT ctid AS place FROM timer d
    WHERE run_at <= $1 AND ($4::text IS NULL OR merchant_id = $4) AND (leased_until IS NULL OR leased_until <= $1)
      AND NOT EXISTS (SELECT 1 FROM timer e WHERE e.merchant_id = d.merchant_id AND e.pay_id = d.pay_id
        AND e.run_at + interval '0' < d.run_at)
    ORDER BY run_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE timer t SET leased_until = $1::timestamptz + $3 * interval '1 millisecond', leased_by = ${thisProcess}
  WHERE t.ctid = ANY (ARRAY(SELECT place FROM due))
  RETURNING t.merchant_id AS "merchantId", t.pay_id AS "payId", t.x_id AS "xId", t.kind, t.attempt, t.run_at AS "runAt",
    coalesce((SELECT o.prepared->>'account' FROM operation o
        WHERE o.merchant_id = t.merchant_id AND o.pay_id = t.pay_id AND o.x_id = t.x_id),
      (SELECT p.provider_account FROM payment p WHERE p.merchant_id = t.merchant_id AND p.pay_id = t.pay_id)) AS account,
    coalesce((SELECT m.clock_offset_ms FROM merchant m WHERE m.merchant_id = t.merchant_id), 0) AS "clockOffsetMs"`

/** Unanswered operations that one of some processes has sent, with the provider account that was asked. */
const orphansOfStatement = `SELECT o.merchant_id, o.pay_id, o.x_id, o.sent_at,
    coalesce(o.prepared->>'account', p.provider_account) AS account
  FROM operation o LEFT JOIN payment p ON p.merchant_id = o.merchant_id AND p.pay_id = o.pay_id
  WHERE o.sent_at >= $1::timestamptz AND o.process = ANY($2) AND o.state = 'SENT'`

/** An arbitrary lock number that is not used elsewhere: the letters "gate". */
const gatewayLock = 0x67617465

/** 200 ms: less than a gateway needs to start, so that a starting gateway sees the claim. */
const claimPauseMs = 200

export function createWorkFinder(database: Database): WorkFinder {
  const installation = createInstallation(database)
  const readMark = async (): Promise<string> => (await installation.read(markName)) ?? '-infinity'
  const claim = createGatewayClaim(database)
  return {
    async claimTimers({ now, limit, leaseMs, merchantId }) {
      const { rows } = await database.writers.query<ClaimedTimer>({
        name: 'claim_timers',
        text: claimTimersStatement,
        values: [now, limit, leaseMs, merchantId],
      })
      return rows
    },

    async now() {
      const { rows } = await database.writers.query<{ now: Date }>('SELECT now()')
      if (!rows[0]) throw new Error('the database returned no time when asked for it')
      return rows[0].now
    },

    async findOrphans({ sentBefore, limit }) {
      await summarizeNewRanges(database.readers, 'operation_by_sent_at')
      const { rows } = await database.readers.query<Orphan>(
        `SELECT merchant_id AS "merchantId", pay_id AS "payId", x_id AS "xId" FROM operation
         WHERE sent_at >= $1::timestamptz AND sent_at < $2 AND state = 'SENT' ORDER BY sent_at LIMIT $3`,
        [await readMark(), sentBefore, limit],
      )
      return rows
    },

    async findOrphanAccountsOf(processes) {
      const { rows } = await database.readers.query<OrphanAccount>(
        `SELECT DISTINCT merchant_id AS "merchantId", account FROM (${orphansOfStatement}) found`,
        [await readMark(), processes],
      )
      return rows
    },

    async findOrphansOf(processes, { merchantId, account }, limit) {
      const { rows } = await database.readers.query<Orphan>(
        `SELECT merchant_id AS "merchantId", pay_id AS "payId", x_id AS "xId" FROM (${orphansOfStatement}) found
         WHERE merchant_id = $3 AND account IS NOT DISTINCT FROM $4 ORDER BY sent_at LIMIT $5`,
        [await readMark(), processes, merchantId, account, limit],
      )
      return rows
    },

    async releaseTimersOf(processes) {
      await database.writers.query(
        // Only due timers are ever leased, so the index on run_at finds them. The minute allows for clock differences.
        `UPDATE timer SET leased_until = NULL, leased_by = NULL
         WHERE run_at <= now() + interval '1 minute' AND leased_by = ANY($1) AND leased_until IS NOT NULL`,
        [processes],
      )
    },

    async advanceMark(until) {
      // ISO 8601 texts sort by time. The mark of an earlier release has a space instead of the T, so on the same day it
      // sorts as older, and the search goes back a few hours once.
      await database.writers.query(
        `INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name)
         DO UPDATE SET value = excluded.value WHERE installation.value COLLATE "C" < excluded.value`,
        [markName, until.toISOString()],
      )
    },

    claimAlone: claim.claimAlone,
    close: claim.close,
  }
}

/** Takes the lock of the gateways alone, if no other one has it. */
async function tryAlone(client: PoolClient): Promise<boolean> {
  try {
    const { rows } = await client.query<{ alone: boolean }>(
      `SELECT pg_try_advisory_lock(${cellLock('$1')}) AS alone`,
      [gatewayLock],
    )
    return rows[0]?.alone === true
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * The claim of the gateways on this database: an advisory lock that they share, each for as long as its connection
 * lives. A gateway that starts and finds no claim knows that it is alone.
 */
function createGatewayClaim(database: Database): Pick<WorkFinder, 'claimAlone' | 'close'> {
  let presence: PoolClient | undefined
  let closed = false

  async function hold(client: PoolClient): Promise<void> {
    let given = false
    let lost: Error | undefined
    const giveBack = (error?: unknown): void => {
      // The pool drops a connection that is released with an error, or with true.
      if (!given) client.release(error instanceof Error ? error : error !== undefined)
      given = true
    }
    // A connection that is checked out of the pool has no error listener; without one, its error would crash the
    // process. The error may be emitted twice, by the socket and by the protocol; the second one is ignored.
    client.on('error', error => {
      if (lost) return
      lost = error
      // close() has released it, so the pool listens again.
      if (closed && presence !== client) return
      giveBack(error)
      database.readers.emit('error', error, client)
      if (presence !== client) return
      presence = undefined
      void holdAgain()
    })
    try {
      await client.query(`SELECT pg_advisory_lock_shared(${cellLock('$1')})`, [gatewayLock])
    } catch (error) {
      giveBack(error)
      throw error
    }
    // The answer and the end of the connection may arrive in one packet; then the claim is already lost.
    if (lost) throw lost
    if (closed) giveBack()
    else presence = client
  }

  /** Takes the claim again after its connection was lost. Without a claim, a new gateway would take over our work. */
  async function holdAgain(): Promise<void> {
    while (!closed && presence === undefined) {
      try {
        const client = await database.readers.connect()
        if (closed) client.release()
        else await hold(client)
      } catch (error) {
        database.readers.emit('error', error)
        await delay(claimPauseMs)
      }
    }
  }

  return {
    async claimAlone() {
      const client = await database.readers.connect()
      const alone = await tryAlone(client)
      // Take the shared lock before releasing the exclusive one, so that no other gateway can get in between.
      await hold(client)
      if (alone) await client.query(`SELECT pg_advisory_unlock(${cellLock('$1')})`, [gatewayLock])
      return alone
    },

    async close() {
      closed = true
      presence?.release()
      presence = undefined
    },
  }
}
