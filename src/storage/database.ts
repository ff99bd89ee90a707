/**
 * Connections to PostgreSQL: pools that write batches, look up rows by key, and read. Also reads the server's durability settings,
 * because no payment may be acknowledged before its commit is durable.
 */

import pg from 'pg'
import { textAt } from '#domain/json.ts'
import { createBreaker, DatabaseSilent } from '#storage/breaker.ts'
import { splitOptions } from '#storage/cells/address.ts'
import { createListTurns, type ListTurns } from '#storage/list-turns.ts'
import { batchSettings, readerSettings } from '#storage/planner.ts'

export interface Database {
  readonly url: string
  readonly writers: pg.Pool
  readonly readers: pg.Pool
  /** For lists of merchants, which read on the same connections. */
  readonly lists: ListTurns
  /** The pool for gathered look-ups, whose plans are made once. Long lists, which read on other connections, never delay them. */
  readonly lookUps: pg.Pool
  /** The pool for webhook deliveries, so that they never occupy a writer connection. */
  readonly deliverers: pg.Pool
  /**
   * Reads whole tables on a connection of its own, for up to ten minutes. On the pools such a statement would count as
   * a database that does not answer, and requests would fail.
   */
  readWhole<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Ends the whole reads under way, which throw then. */
  endWholeReads(): void
  /** Throws if the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

/**
 * 4: enough to keep PostgreSQL busy on two cores while batches overlap; more only adds context switches (measured).
 */
export const writerConnections = 4

/** 4: reads are short, and more connections would only wait for the same two cores. */
const readerConnections = 4

/** 2: so many queries of look-ups run at once (see gather.ts). */
const lookUpConnections = 2

/** 2: one claims while the other records. */
const delivererConnections = 2

/**
 * 6 s: a database that does not answer (dropped packets, a frozen server) counts as lost after this time. Including the
 * 6 s of retries of a commit under way, every request is answered within 15 s, even on a busy machine.
 */
const defaultSilenceMs = 6_000

/** 5 s: a server that accepts no connection within this time also counts as lost. */
const connectMs = 5_000

/** 10 s: far longer than any of our statements, far shorter than clients wait. */
const statementMs = 10_000

const limitsWith = (timeoutMs: number): string =>
  `-c statement_timeout=${timeoutMs} -c lock_timeout=5000 -c idle_in_transaction_session_timeout=10000`

const limits = limitsWith(statementMs)

/** A read that takes too long is cancelled after 5 s, because after 6 s the database would count as silent for all merchants. */
const readShare = 5 / 6

/** 10 minutes: enough for a comparison of tens of millions of rows. */
const wholeReadMs = 600_000

export interface DatabaseOptions {
  /** The timeout of a statement, after which the database counts as silent; 6 s unless given. */
  readonly silenceMs?: number
  /** The number of this process (see processes/presence.ts); none for commands. */
  readonly process?: number
}

export function openDatabase(
  url: string,
  onError: (error: Error) => void,
  { silenceMs = defaultSilenceMs, process }: DatabaseOptions = {},
): Database {
  const owner = process === undefined ? '' : ` -c tollgate.process=${process}`
  let closing = false
  const breaker = createBreaker(url)
  const { address, options: given } = splitOptions(url)
  const pool = (max: number, options: string): pg.Pool => {
    const created = new pg.Pool({
      connectionString: address,
      max,
      options: `${options}${owner} ${given}`.trimEnd(),
      types: { getTypeParser },
      application_name: 'tollgate',
      // A caller with a longer timeout for statements waits as long for a connection.
      connectionTimeoutMillis: silenceMs > defaultSilenceMs ? silenceMs : connectMs,
      query_timeout: silenceMs,
      idleTimeoutMillis: 60_000,
    })
    breaker.guard(created)
    // A connection that is checked out of the pool has no error listener: its user gets the error from the failed
    // statement. Without a listener, the error event would crash the process.
    created.on('connect', client => client.on('error', () => {}))
    // The pool emits errors of idle connections.
    created.on('error', error => {
      // A connection that breaks while the pool is closing is expected.
      if (!closing) onError(error)
    })
    return created
  }
  const wholeReads = createWholeReads(address, given)
  const writers = pool(writerConnections, `${batchSettings} ${limits}`)
  const readMs = Math.min(Math.round(silenceMs * readShare), statementMs)
  const readers = pool(readerConnections, `${readerSettings} ${limitsWith(readMs)}`)
  const lookUps = pool(lookUpConnections, `${batchSettings} ${limits}`)
  const deliverers = pool(delivererConnections, `${batchSettings} ${limits}`)
  return {
    url,
    writers,
    readers,
    lists: createListTurns(() => lookUps.query('SELECT 1')),
    lookUps,
    deliverers,
    readWhole: wholeReads.read,
    endWholeReads: wholeReads.end,
    async ping() {
      await readers.query('SELECT 1')
    },
    async close() {
      closing = true
      breaker.close()
      wholeReads.end()
      await Promise.all([writers, readers, lookUps, deliverers].map(pool => pool.end()))
    },
  }
}

interface WholeReads {
  readonly read: Database['readWhole']
  readonly end: Database['endWholeReads']
}

function createWholeReads(address: string, given: string): WholeReads {
  const running = new Set<(error: Error) => void>()
  const options = `${readerSettings} -c statement_timeout=${wholeReadMs} ${given}`.trimEnd()
  return {
    async read<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const client = new pg.Client({
        connectionString: address,
        options,
        types: { getTypeParser },
        application_name: 'tollgate',
        connectionTimeoutMillis: connectMs,
        query_timeout: wholeReadMs,
        keepAlive: true,
      })
      // The running statement throws the error; without a listener the error event would also crash the process.
      client.on('error', () => {})
      // A client that is ended while it connects leaves its caller without an answer.
      const { promise: ended, reject: end } = Promise.withResolvers<never>()
      running.add(end)
      try {
        await Promise.race([client.connect(), ended])
        return (await Promise.race([client.query<Row>(text, [...values]), ended])).rows
      } finally {
        running.delete(end)
        await Promise.race([client.end(), ended]).catch(() => {})
      }
    },
    end() {
      for (const end of running) end(new Error('Connection terminated, because the read was ended'))
    },
  }
}

export interface Durability {
  readonly durable: boolean
  /** Settings that could lose an acknowledged payment, as `name = value`. */
  readonly weak: readonly string[]
  /** A standby is connected, but commits do not wait for it: a failover may lose the last acknowledged payments. */
  readonly unguardedStandby: boolean
}

const durabilitySettings = [
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'synchronous_standby_names',
] as const

/**
 * Uses functions, because the views of settings and standbys read all settings and connections, which takes
 * milliseconds.
 */
const durabilityStatement = `SELECT ${durabilitySettings.map(name => `current_setting('${name}') AS ${name}`).join(', ')},
  EXISTS (SELECT 1 FROM pg_stat_get_wal_senders()) AS "hasStandby"`

type DurabilityRow = Readonly<Record<(typeof durabilitySettings)[number], string>> & {
  readonly hasStandby: boolean
}

export async function readDurability(database: Database): Promise<Durability> {
  const { rows } = await database.writers.query<DurabilityRow>(durabilityStatement)
  const [row] = rows
  if (!row) throw new Error('the database did not tell its settings')
  // `local`: the commit waits only for this server's disk, although a synchronous standby is configured.
  const weak = durabilitySettings
    .filter(name => row[name] === 'off' || (name === 'synchronous_commit' && row[name] === 'local'))
    .map(name => `${name} = ${row[name]}`)
  const isGuarded = row.synchronous_standby_names !== ''
  return { durable: weak.length === 0, weak, unguardedStandby: row.hasStandby && !isGuarded }
}

/** How many connections the server accepts from roles without privileges. */
export async function readConnectionsMax(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ most: number }>(
    "SELECT current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS most",
  )
  return rows[0]?.most ?? 0
}

/**
 * Detects a pooler that shares server connections between transactions and so loses session settings and advisory
 * locks, on which the gateway relies: a connection then lacks our settings. pgBouncer passes them on in no mode, so its
 * session mode is refused too: it cannot be told apart, and without its settings a connection would work in the schema
 * of another cell.
 */
export async function hasSessionSettings(database: Database, process: number): Promise<boolean> {
  const { rows } = await database.writers.query<{ process: string | null; scans: string }>(
    "SELECT current_setting('tollgate.process', true) AS process, current_setting('enable_seqscan') AS scans",
  )
  return rows[0]?.process === String(process) && rows[0].scans === 'off'
}

export const poolerRefusal =
  'a pooler stands before the database and does not pass on the settings of our connections, as pgBouncer in transaction ' +
  'mode and in session mode; connect to PostgreSQL directly, or through a proxy that leaves connections as they are, ' +
  'such as HAProxy'

/** pgBouncer's error for connection settings that it does not pass on. */
export const isRefusedByPooler = (error: unknown): boolean =>
  error instanceof Error && /unsupported startup parameter/.test(error.message)

const int8 = 20
const uuid = 2950

/** Parses bigint to a number (our amounts are far below 2^53) and uuid to 32 hex digits, as in the API. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === int8) return parseInt8
  if (oid === uuid) return stripDashes
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text')
}

function parseInt8(value: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new Error(`the database returned ${value}, which is too large to be exact as a number (2^53)`)
  return number
}

const stripDashes = (value: string): string => value.replaceAll('-', '')

/** Whether the database did not answer or closed the connection, so that the statement itself is not at fault. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = textAt(error, 'code') ?? ''
  return error instanceof DatabaseSilent || lostCodes.test(code) || lostMessages.test(error.message)
}

/** 57014 and 55P03: the server gave the statement up because it, or a lock it needed, took too long. */
export const isOverdue = (error: unknown): boolean => /^(57014|55P03)$/.test(textAt(error, 'code') ?? '')

/** Whether no connection was made, so that the server has certainly not seen the statement. */
export function isNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const isUnconnected =
    /^(57P03|ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN)$/.test(textAt(error, 'code') ?? '') ||
    /timeout exceeded when trying to connect|due to connection timeout/.test(error.message)
  return error instanceof DatabaseSilent || isUnconnected
}

/**
 * 25006: an old primary after a failover, which is read-only now. 57P05 and 25P03: the server closed a session that was
 * idle for too long. CIINF: Citus was moving the cell to another node and rolled the statement back. ERR_STREAM: the
 * socket broke just before the statement was sent.
 */
const lostCodes =
  /^(08|57P0[1-35]|25P03|53300|25006|CIINF|ECONN|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_STREAM)/

/**
 * The last three: this process is stopping and has closed its connections, or a standby cancelled the query in favour
 * of its primary.
 */
const lostMessages =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|after calling end on the pool|conflict with recovery/

/**
 * The constraint that a statement violated. On Citus it is a constraint of a shard, whose name ends in the shard's
 * number; if a worker node reported it, the coordinator passes on only its message, in any language.
 */
export function constraintOf(error: unknown): string | undefined {
  const message = textAt(error, 'message') ?? ''
  const named = textAt(error, 'constraint') ?? /\b[a-z][a-z0-9_]*_\d{6,}\b/.exec(message)?.[0]
  return named?.replace(/_\d{6,}$/, '')
}

/** Runs work in a transaction. */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((rollbackError: Error) => {
      // A connection that cannot even roll back must not be reused.
      broken = rollbackError
    })
    throw error
  } finally {
    client.release(broken)
  }
}
