/**
 * This process among the others on the database: it has a number, sends heartbeats, receives notifications about
 * changed merchants, and finds dead processes. All this uses a connection of its own, so that a busy pool can never
 * make a living process look dead.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import {
  announce,
  deadAfterMs,
  lastAnnouncement,
  readAnnouncement,
  waitUntilAcknowledged,
} from '#storage/processes/announcements.ts'
import { type ClockDifference, compareClocks } from '#storage/processes/clock-difference.ts'

export interface Presence {
  /** The number under which this process sends operations and leases timers. */
  readonly process: number
  /**
   * False if the last heartbeat is so old that other processes may have taken over: a process that wakes up after a
   * pause must not send operations that it recorded before.
   */
  isAlive(): boolean
  /**
   * False if this process may have missed the last announcement: its last heartbeat is too old, or it has not acted on
   * the announcement yet.
   */
  isCurrent(): boolean
  /** How often a heartbeat was so late that other processes may have taken over before it. */
  countInterruptions(): number
  /** Sends a heartbeat at once. After a slow start, operations sent next must not look like those of a dead process. */
  refresh(): Promise<void>
  /** The number of other live processes, as of the last heartbeat. */
  others(): number
  /**
   * Called by the parent of processes that have ended: their work may be taken over before their heartbeats are too
   * old.
   */
  declareDead(processes: readonly number[]): Promise<void>
  /** Processes that have ended or whose heartbeat has stopped, and whose work has not been taken over yet. */
  findDead(): Promise<readonly number[]>
  /** Deletes dead processes whose work is settled. */
  forget(dead: readonly number[]): Promise<void>
  /** Makes every process, this one first, read the shared data again. Resolves when all have acknowledged it. */
  announce(): Promise<void>
  /** Records that this process has ended normally. */
  close(): Promise<void>
}

export interface PresenceOptions {
  readonly onError: (error: unknown) => void
  /** A merchant or its keys were changed. */
  readonly onMerchantChange: (merchantId: string) => void
  /** Called for an announcement: reads the shared data again. The sender waits for it. */
  readonly onAnnouncement?: () => Promise<void>
  /** Called with every heartbeat: the difference between the clocks of this process and of the database. */
  readonly onClock?: (difference: ClockDifference) => void
  readonly beatMs?: number
  /** The time without a heartbeat after which `isAlive` is false, a little before others take over. */
  readonly aliveForMs?: number
}

/** 1 s: six heartbeats fit into the time after which a process counts as dead. */
const defaultBeatMs = 1_000

/** 300 ms: the pause after a failed heartbeat. */
const retryMs = 300

/** 5.5 s: this process stops sending 1.5 s before others may take over. */
const defaultAliveForMs = 5_500

/** 2.5 s: after a heartbeat that hangs on a broken connection there is time for one on another connection. */
const statementTimeoutMs = 2_500

/** 10 s: connections are slow while a machine starts a database and several processes at once. */
const connectTimeoutMs = 10_000

type Ask = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>

interface Connection {
  readonly ask: Ask
  close(): Promise<void>
}

/** Closes a failed connection without waiting, because it may hang for ever. */
function abandon(client: pg.Client): void {
  void client.end().catch(() => {})
}

/** A connection that is reopened after a failure. */
function openConnection(
  url: string,
  on: {
    readonly error: (error: unknown) => void
    readonly notification: (channel: string, payload: string) => void
  },
): Connection {
  let client: pg.Client | undefined
  let closed = false

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({
      connectionString: url,
      application_name: 'tollgate presence',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: statementTimeoutMs,
      keepAlive: true,
    })
    fresh.on('error', error => {
      if (client === fresh) client = undefined
      if (!closed) on.error(error)
    })
    fresh.on('notification', ({ channel, payload = '' }) => on.notification(channel, payload))
    await fresh.connect()
    try {
      await fresh.query('LISTEN tollgate_merchant')
      await fresh.query('LISTEN tollgate_announcement')
    } catch (error) {
      abandon(fresh)
      throw error
    }
    return fresh
  }

  async function askNow<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    if (closed) throw new Error('the connection of this process was closed')
    client ??= await connect()
    const asked = client
    try {
      return (await asked.query<Row>(text, values)).rows
    } catch (error) {
      // A connection that has failed may hang for ever, so the next statement opens a new one.
      if (client === asked) client = undefined
      abandon(asked)
      throw error
    }
  }

  // Heartbeats and announcements may query at the same time, but a connection runs one statement at a time.
  let last: Promise<unknown> = Promise.resolve()
  return {
    ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
      const answer = last.then(() => askNow<Row>(text, values))
      last = answer.catch(() => undefined)
      return answer
    },
    async close() {
      closed = true
      await client?.end().catch(on.error)
    },
  }
}

/** Runs `beat` repeatedly until stopped. */
function startBeating(beat: () => Promise<void>, beatMs: number, onError: (error: unknown) => void) {
  const stopped = new AbortController()
  const { signal } = stopped
  let pauseMs = beatMs
  const beating = (async () => {
    while (!signal.aborted) {
      await delay(pauseMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        await beat()
        pauseMs = beatMs
      } catch (error) {
        onError(error)
        // Retry soon: without a heartbeat nothing may be sent to providers.
        pauseMs = Math.min(retryMs, beatMs)
      }
    }
  })()
  return async (): Promise<void> => {
    stopped.abort()
    await beating
  }
}

/**
 * Writes a heartbeat. Returns the number of other live processes, the last announcement and the time; no row if ours is
 * gone.
 */
const beatStatement = `UPDATE gateway_process SET seen_at = now() WHERE process = $1
  RETURNING (SELECT count(*)::integer FROM gateway_process o
    WHERE o.process <> $1 AND o.seen_at > now() - $2 * interval '1 millisecond') AS others,
    ${lastAnnouncement}::integer AS last, seen_at AS now`

async function writeBeat(
  ask: Ask,
  process: number,
  onClock: PresenceOptions['onClock'],
): Promise<{ readonly others: number; readonly last: number } | undefined> {
  const askedAt = Date.now()
  const [found] = await ask<{ others: number; last: number; now: Date }>(beatStatement, [
    process,
    deadAfterMs,
  ])
  if (found) onClock?.(compareClocks({ askedAt, answeredAt: Date.now(), databaseAt: found.now.getTime() }))
  return found
}

interface Moment {
  readonly monotonicMs: number
  readonly timeOfDayMs: number
}

const readMoment = (): Moment => ({ monotonicMs: performance.now(), timeOfDayMs: Date.now() })

/**
 * The time since a moment by the clock that shows more: the monotonic clock stands still while the machine is
 * suspended, and the time of day may be set back. If the time of day is set forward, the process only waits for its
 * next heartbeat.
 */
const msSince = ({ monotonicMs, timeOfDayMs }: Moment): number =>
  Math.max(performance.now() - monotonicMs, Date.now() - timeOfDayMs)

/** Keeps track of this process's own heartbeats. */
function createPulse(aliveForMs: number): Pick<Presence, 'isAlive' | 'countInterruptions'> & {
  /** The number of the last announcement, as of the last heartbeat. */
  lastAnnounced(): number
  /** `found`: the result of the heartbeat; undefined if others had deleted the row of this process. */
  beat(begunAt: Moment, found: { readonly last: number } | undefined): void
} {
  let beatAt = readMoment()
  let last = 0
  let interruptions = 0
  return {
    isAlive: () => msSince(beatAt) < aliveForMs,
    countInterruptions: () => interruptions,
    lastAnnounced: () => last,
    beat(begunAt, found) {
      last = found?.last ?? last
      // Other processes judge by the time at which the database wrote the heartbeat, which is now at the latest.
      if (!found || msSince(beatAt) >= aliveForMs) interruptions += 1
      beatAt = begunAt
    },
  }
}

interface Hearing {
  /**
   * Acts on an announcement and acknowledges it. One may arrive during another, and twice: by notification and by
   * heartbeat. The next heartbeat repeats what has failed, because the sender waits for the acknowledgement.
   */
  acknowledge(number: number | undefined): Promise<void>
  /** The last announcement that this process has acted on. */
  heard(): number
}

function createHearing(from: {
  readonly process: number
  readonly heard: number
  readonly ask: Ask
  readonly onAnnouncement: () => Promise<void>
}): Hearing {
  const { process, ask, onAnnouncement } = from
  let heard = from.heard
  let acknowledged = heard
  return {
    async acknowledge(number) {
      if (number === undefined || number <= acknowledged) return
      if (number > heard) await onAnnouncement()
      heard = Math.max(heard, number)
      await ask('UPDATE gateway_process SET heard = greatest(heard, $2) WHERE process = $1', [
        process,
        number,
      ])
      acknowledged = Math.max(acknowledged, number)
    },
    heard: () => heard,
  }
}

export async function openPresence(url: string, options: PresenceOptions): Promise<Presence> {
  const { onError, onMerchantChange, onAnnouncement = async () => {}, onClock } = options
  const { beatMs = defaultBeatMs, aliveForMs = defaultAliveForMs } = options
  const pulse = createPulse(aliveForMs)
  // Until the first heartbeat, assume that there is another process.
  let others = 1
  let schema = ''
  let hearing: Hearing | undefined
  const { ask, close } = openConnection(url, {
    error: onError,
    notification(channel, payload) {
      if (channel === 'tollgate_merchant') onMerchantChange(payload)
      else void hearing?.acknowledge(readAnnouncement(payload, schema)).catch(onError)
    },
  })
  const [row] = await ask<{ process: number; schema: string; heard: number }>(
    `WITH last AS MATERIALIZED (SELECT ${lastAnnouncement} AS heard),
       born AS (INSERT INTO gateway_process (heard) SELECT heard FROM last RETURNING process, heard)
     SELECT process, current_schema() AS schema, heard::integer AS heard FROM born`,
  )
  if (!row) throw new Error('the database gave this process no number')
  const { process } = row
  ;({ schema } = row)
  hearing = createHearing({ process, heard: row.heard, ask, onAnnouncement })
  const { acknowledge, heard } = hearing

  async function beat(): Promise<void> {
    const begunAt = readMoment()
    const found = await writeBeat(ask, process, onClock)
    others = found?.others ?? others
    // Others have declared this process dead, taken over its work and deleted its row.
    if (!found)
      await ask('INSERT INTO gateway_process (process, heard) OVERRIDING SYSTEM VALUE VALUES ($1, $2)', [
        process,
        heard(),
      ])
    pulse.beat(begunAt, found)
    // A notification is lost if its connection fails, so the heartbeat checks too. It does not wait for the
    // acknowledgement.
    void acknowledge(found?.last).catch(onError)
  }

  const stopBeating = startBeating(beat, beatMs, onError)
  return {
    process,
    refresh: beat,
    others: () => others,
    isAlive: pulse.isAlive,
    isCurrent: () => pulse.isAlive() && pulse.lastAnnounced() <= heard(),
    countInterruptions: pulse.countInterruptions,
    ...removalOf(process, ask),
    async announce() {
      const number = await announce(ask)
      await acknowledge(number)
      await waitUntilAcknowledged(ask, number, process)
    },
    async close() {
      await stopBeating()
      await ask(`UPDATE gateway_process SET seen_at = '-infinity' WHERE process = $1`, [process]).catch(
        onError,
      )
      await close()
    },
  }
}

/** 2 s: the last statement of a process may still be running after the process has ended. */
const lastStatementMs = 2_000

/** Finds dead processes, and deletes them once their work is settled. */
const removalOf = (process: number, ask: Ask): Pick<Presence, 'declareDead' | 'findDead' | 'forget'> => ({
  async declareDead(processes) {
    await ask(
      `UPDATE gateway_process SET seen_at = least(seen_at, now() - $2 * interval '1 millisecond')
       WHERE process = ANY($1)`,
      [processes, deadAfterMs - lastStatementMs],
    )
  },
  async findDead() {
    const rows = await ask<{ process: number }>(
      `SELECT process FROM gateway_process WHERE seen_at < now() - $1 * interval '1 millisecond' AND process <> $2`,
      [deadAfterMs, process],
    )
    return rows.map(dead => dead.process)
  },
  async forget(dead) {
    await ask(
      `DELETE FROM gateway_process WHERE process = ANY($1) AND seen_at < now() - $2 * interval '1 millisecond'`,
      [dead, deadAfterMs],
    )
  },
})
