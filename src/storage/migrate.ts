/**
 * Migrates a database to the newest schema: plain SQL files in order, each in its own transaction, under an advisory
 * lock so that two processes may start at once. A file that was changed after it ran is an error.
 */

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { textAt } from '#domain/json.ts'
import { splitOptions } from '#storage/cells/address.ts'
import { isRefusedByPooler, poolerRefusal } from '#storage/database.ts'
import { findUnsafe, findWaits, readStatements } from '#storage/migration-rules.ts'

export class MigrationError extends Error {}

/** An arbitrary lock number that is not used elsewhere: the letters "toll". */
const lockNumber = 0x746f6c6c

/** The oldest PostgreSQL whose features the schema uses. */
const minimumServerVersion = 150_000

/** 10 s: otherwise a host that drops packets would block the start for minutes. */
const connectTimeoutMs = 10_000

/**
 * Three tries: a server that is briefly busy does not fail the start, and a missing one is reported within half a
 * minute.
 */
const connectTriesMs = [connectTimeoutMs, connectTimeoutMs, connectTimeoutMs]

const directory = new URL('../../migrations/', import.meta.url)

interface MigrateOptions {
  readonly onProgress?: (line: string) => void
  /**
   * The names of the migrations to run; all unless given. For restoring a backup of an older schema: a later release may
   * have added a migration between those of an earlier one, so the newest name does not tell which ones there were.
   */
  readonly only?: readonly string[] | undefined
  /** The connection timeout of each try; three times 10 s unless given. */
  readonly connectTriesMs?: readonly number[]
}

export const migrate = (url: string, options: MigrateOptions = {}): Promise<void> =>
  migrateAndRead(url, options, async () => undefined)

/** Then reads something on the same connection: a command is mostly waiting for connections to open. */
export async function migrateAndRead<T>(
  url: string,
  options: MigrateOptions,
  read: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connectPatiently(url, options)
  try {
    await checkServer(client)
    await takeLock(client, options.onProgress)
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migration (
      name text NOT NULL PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    const applied = await readApplied(client)
    for (const migration of await readMigrations()) {
      if (options.only?.includes(migration.name) === false) continue
      const known = applied.get(migration.name)
      if (known === undefined) {
        options.onProgress?.(`migrating: ${migration.name}`)
        await apply(client, migration)
      } else if (known !== migration.checksum) {
        throw new MigrationError(
          `the migration ${migration.name} was changed after it had run; restore the file`,
        )
      }
      applied.delete(migration.name)
    }
    // Newer migrations are fine: they only add, so that this release may serve beside a newer one during a rolling
    // upgrade.
    const [newer] = applied.keys()
    if (newer)
      options.onProgress?.(`warning: the database knows a newer schema (${newer}); upgrade this process soon`)
    return await read(client)
  } finally {
    await client.end()
  }
}

/** Retries only if the server does not answer; an error from the server is final. */
async function connectPatiently(url: string, options: MigrateOptions): Promise<pg.Client> {
  const [first = connectTimeoutMs, ...others] = options.connectTriesMs ?? connectTriesMs
  try {
    return await connectToMigrate(url, first)
  } catch (error) {
    if (others.length === 0 || textAt(error, 'message') !== silence) throw error
    options.onProgress?.('the database does not answer; trying again …')
    return connectPatiently(url, { ...options, connectTriesMs: others })
  }
}

/** pg's message for a connection timeout; the error has no code. */
const silence = 'timeout expired'

/**
 * A lock taken through a pooler in transaction mode stays with the pooler's connection after ours has ended, and every
 * later start would wait for it. So this first checks that the connection keeps the settings it was opened with.
 */
async function connectToMigrate(url: string, connectMs: number): Promise<pg.Client> {
  const { address, options: given } = splitOptions(url)
  const client = new pg.Client({
    connectionString: address,
    options: `-c tollgate.session=kept ${given}`.trimEnd(),
    connectionTimeoutMillis: connectMs,
  })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ session: string | null }>(
      "SELECT current_setting('tollgate.session', true) AS session",
    )
    if (rows[0]?.session === 'kept') return client
  } catch (error) {
    await client.end()
    throw isRefusedByPooler(error) ? new MigrationError(poolerRefusal, { cause: error }) : error
  }
  await client.end()
  throw new MigrationError(poolerRefusal)
}

/**
 * Migrations that were given another number after databases had run them. Their content is the same, so what ran under the
 * former name must not run again.
 */
const renumbered: ReadonlyMap<string, string> = new Map([
  ['0094-claims-of-one-time-cards.sql', '0087-claims-of-one-time-cards.sql'],
  ['0098-deleted-customers-by-name.sql', '0088-deleted-customers-by-name.sql'],
  ['0099-held-disputes.sql', '0089-held-disputes.sql'],
  ['0099-plans-began-on.sql', '0090-plans-began-on.sql'],
  ['0099-longer-payout-limits.sql', '0092-longer-payout-limits.sql'],
])

/** The name that a migration has in this release. */
export const currentName = (name: string): string => renumbered.get(name) ?? name

/** Takes the advisory lock, which is released when the connection ends. */
async function takeLock(client: pg.Client, onProgress: ((line: string) => void) | undefined): Promise<void> {
  const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
    lockNumber,
  ])
  if (rows[0]?.held) return
  onProgress?.('waiting for another process that migrates this database …')
  await client.query('SELECT pg_advisory_lock($1)', [lockNumber])
}

export interface PendingMigration {
  readonly name: string
  /**
   * The statements that would harm a process of the previous release; empty if it may run while that release serves.
   */
  readonly unsafe: readonly string[]
  /** The tables that cannot be written to while it runs. */
  readonly waits: readonly string[]
}

/** Lists the migrations that `migrate` would run on this database. Changes nothing. */
export async function listPending(url: string): Promise<readonly PendingMigration[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ known: boolean }>(
      "SELECT to_regclass('schema_migration') IS NOT NULL AS known",
    )
    const applied = rows[0]?.known ? await readApplied(client) : new Map<string, string>()
    const pending = (await readMigrations()).filter(({ name }) => !applied.has(name))
    // No release serves an empty database yet.
    const isEmpty = applied.size === 0
    return pending.map(({ name, sql }) => ({
      name,
      unsafe: isEmpty ? [] : findUnsafe(sql),
      waits: isEmpty ? [] : findWaits(sql),
    }))
  } finally {
    await client.end()
  }
}

/** The names of all migrations of this release, in their order. */
export const listMigrations = async (): Promise<readonly string[]> =>
  (await readdir(directory)).filter(name => name.endsWith('.sql')).sort()

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

async function readMigrations(): Promise<readonly Migration[]> {
  return Promise.all(
    (await listMigrations()).map(async name => {
      const sql = await readFile(new URL(name, directory), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function readApplied(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'SELECT name, checksum FROM schema_migration',
  )
  return new Map(rows.map(row => [currentName(row.name), row.checksum]))
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    // One statement per query, because Citus accepts only one.
    for (const statement of readStatements(migration.sql)) await client.query(statement)
    await client.query('INSERT INTO schema_migration (name, checksum) VALUES ($1, $2)', [
      migration.name,
      migration.checksum,
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw new MigrationError(`the migration ${migration.name} failed: ${textAt(error, 'message')}`, {
      cause: error,
    })
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string; server_version: string }>(
    "SELECT current_setting('server_version_num') AS server_version_num, current_setting('server_version') AS server_version",
  )
  if (Number(rows[0]?.server_version_num) < minimumServerVersion) {
    throw new MigrationError(`PostgreSQL ${rows[0]?.server_version} is too old; Tollgate needs 15 or newer`)
  }
}
