/**
 * Writes a whole database as lines of JSON, from one snapshot, while the gateway keeps serving. PostgreSQL itself
 * writes and reads the values, so that no amount or time is converted to a JavaScript number.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { BackupError, listTables, type Table } from '#storage/backup/tables.ts'

export interface Header {
  readonly tollgateBackup: 1
  readonly environment: string
  /** The migrations that made the schema, in their order. */
  readonly migrations: readonly string[]
  /** The cell whose rows follow; none for cell 0. */
  readonly cell?: number
}

export interface Dumped {
  readonly table: string
  readonly rows: number
}

/** 1,000 rows are about a megabyte: flat memory, few round trips. */
const rowsAtOnce = 1_000

/** 10 s: a frozen database accepts connections but never answers, and a nightly backup must not wait for it for ever. */
const connectTimeoutMs = 10_000

/** 10 min: a statement may wait for the lock of a migration; one that takes longer has no server any more. */
const answerTimeoutMs = 600_000

/** Yields the header, then each table's name and its rows, then an end line that proves that the dump is complete. */
export async function* dumpDatabase(
  { url, number }: { readonly url: string; readonly number: number },
  onTable: (dumped: Dumped) => void = () => {},
  {
    connectMs = connectTimeoutMs,
    answerMs = answerTimeoutMs,
  }: { readonly connectMs?: number; readonly answerMs?: number } = {},
): AsyncGenerator<string> {
  // Keepalive notices a machine that falls silent later, but not a frozen database, whose machine still answers.
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
  })
  client.on('error', () => {})
  await client.connect()
  const hash = createHash('sha256')
  const sign = (line: string): string => {
    hash.update(`${line}\n`)
    return line
  }
  let total = 0
  try {
    // One snapshot for all tables: no payment without its operations, no event without its payment.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const header = await readHeader(client)
    yield sign(JSON.stringify(number === 0 ? header : { ...header, cell: number }))
    for (const table of await listTables(client)) {
      yield sign(JSON.stringify({ table: table.name }))
      let rows = 0
      for await (const line of readRows(client, table)) {
        rows += 1
        yield sign(line)
      }
      total += rows
      onTable({ table: table.name, rows })
    }
    yield JSON.stringify({ rows: total, sha256: hash.digest('hex') })
  } finally {
    await client.end()
  }
}

async function readHeader(client: pg.Client): Promise<Header> {
  const made = await client.query<{ made: boolean }>(
    "SELECT to_regclass('schema_migration') IS NOT NULL AND to_regclass('installation') IS NOT NULL AS made",
  )
  if (!made.rows[0]?.made)
    throw new BackupError('the database holds nothing of Tollgate: there is nothing to copy')
  const migrations = await client.query<{ name: string }>('SELECT name FROM schema_migration ORDER BY name')
  const environment = await client.query<{ value: string }>(
    "SELECT value FROM installation WHERE name = 'environment'",
  )
  return {
    tollgateBackup: 1,
    environment: environment.rows[0]?.value ?? 'test',
    migrations: migrations.rows.map(({ name }) => name),
  }
}

async function* readRows(client: pg.Client, { name, columns }: Table): AsyncGenerator<string> {
  // A line break in stored JSON is white space: inside strings it is always escaped.
  await client.query(`DECLARE dump NO SCROLL CURSOR FOR
    SELECT replace(row_to_json(r)::text, E'\n', ' ') AS line FROM (SELECT ${columns} FROM ${name}) r`)
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM dump`)
    for (const { line } of rows) yield line
    if (rows.length < rowsAtOnce) break
  }
  await client.query('CLOSE dump')
}
