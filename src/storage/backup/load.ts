/** Fills an empty database from the lines of a backup, atomically. */

import { createHash } from 'node:crypto'
import pg from 'pg'
import { memberOf, textAt } from '#domain/json.ts'
import type { Header } from '#storage/backup/dump.ts'
import { BackupError, listTables, type Table } from '#storage/backup/tables.ts'
import { readSourcesBy } from '#storage/cells/create-cell.ts'
import { currentName, listMigrations, migrate } from '#storage/migrate.ts'
import { rootSecretName } from '#storage/vault/vault-store.ts'

/** 500 rows are about half a megabyte in one statement. */
const rowsAtOnce = 500

export interface Loaded {
  readonly environment: string
  readonly rows: number
}

export interface LoadOptions {
  readonly onProgress?: (line: string) => void
  /**
   * Called with the installation's values from the backup of cell 0 before anything is committed; throws to refuse it.
   */
  readonly admit?: (installation: ReadonlyMap<string, string>) => Promise<void>
}

/** Finds the address for a cell's rows. `sources`: the database of each cell, according to the rows of cell 0. */
export type UrlOf = (cell: number, sources: ReadonlyMap<number, number>) => Promise<string>

/** A cell whose rows are in an open transaction. */
interface Filled extends Loaded {
  readonly cell: number
  readonly url: string
  readonly client: pg.Client
}

/** Loads cell by cell, in the order of the backup. Nothing is committed before the rows of all cells are loaded. */
export async function loadDatabase(
  urlOf: UrlOf,
  lines: AsyncIterable<string>,
  options: LoadOptions = {},
): Promise<Loaded> {
  const source = lines[Symbol.asyncIterator]()
  const clients: pg.Client[] = []
  const filled: Filled[] = []
  try {
    for (let first = await source.next(); !first.done || filled.length === 0; first = await source.next()) {
      const sources = clients[0] ? await readSourcesBy(clients[0]) : new Map<number, number>()
      const section = { source, first: first.done ? '' : first.value, sources, filled }
      filled.push(await fillCell(urlOf, section, { ...options, onClient: client => clients.push(client) }))
    }
    // Cell 0 last, because it holds the directory: a load that is killed here must not look complete.
    for (const { client } of filled.toReversed()) await client.query('COMMIT')
  } finally {
    for (const client of clients) await client.end()
  }
  for (const { url } of filled) await migrate(url, { onProgress: options.onProgress })
  const rows = filled.reduce((sum, cell) => sum + cell.rows, 0)
  return { environment: filled[0]?.environment ?? '', rows }
}

interface Section {
  readonly source: AsyncIterator<string>
  /** The cell's header line, which has already been read. */
  readonly first: string
  readonly sources: ReadonlyMap<number, number>
  /** The cells of the sections before. */
  readonly filled: readonly Filled[]
}

async function fillCell(
  urlOf: UrlOf,
  { source, first, sources, filled }: Section,
  { onProgress = () => {}, admit, onClient }: LoadOptions & { onClient: (client: pg.Client) => void },
): Promise<Filled> {
  const header = readHeader(first)
  await refuseNewer(header)
  const number = header.cell ?? 0
  // Its rows would wait for ever for the open transaction with those of the first.
  if (filled.some(({ cell }) => cell === number))
    throw new BackupError('the file holds more than one backup: restore one that holds a single one')
  const url = await urlOf(number, sources)
  await refuseFilled(url, header)
  // Creates the schema of the time of the backup; newer migrations run after the rows are loaded.
  await migrate(url, { onProgress, only: header.migrations })
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  onClient(client)
  await client.connect()
  await client.query('BEGIN')
  // This transaction stays open until the other cells are filled.
  await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
  const rows = await fill(client, source, first)
  if (header.cell === undefined) await admit?.(await readInstallation(client))
  return { environment: header.environment, rows, cell: number, url, client }
}

function readHeader(line: string): Header {
  const header = parse(line)
  if (!isHeader(header)) {
    throw new BackupError('this is not a backup of Tollgate, or of a version that this one does not know')
  }
  return { ...header, migrations: header.migrations.map(currentName) }
}

const isHeader = (value: unknown): value is Header =>
  memberOf(value, 'tollgateBackup') === 1 && Array.isArray(memberOf(value, 'migrations'))

/** Refuses the backup of a newer release: data in columns that this release lacks would be dropped silently. */
async function refuseNewer({ migrations }: Header): Promise<void> {
  const known = new Set(await listMigrations())
  const newer = migrations.find(name => !known.has(name))
  if (newer !== undefined)
    throw new BackupError(
      `the backup is of a newer release, whose schema has ${newer}: restore it with that release, or a newer one`,
    )
}

/**
 * Refuses a database that is not empty. A load that was refused or interrupted leaves empty tables behind; they may be
 * filled, unless their schema is newer than this backup, because the migrations in between ran without its rows.
 */
async function refuseFilled(url: string, { migrations }: Header): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ made: boolean }>(
      "SELECT to_regclass('merchant') IS NOT NULL AND to_regclass('installation') IS NOT NULL AS made",
    )
    if (!rows[0]?.made) return
    const { rows: found } = await client.query<{ filled: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM merchant) OR EXISTS (SELECT 1 FROM installation WHERE name = $1)
         OR EXISTS (SELECT 1 FROM schema_migration WHERE name <> ALL($2)) AS filled`,
      [rootSecretName, migrations],
    )
    if (!found[0]?.filled) return
    throw new BackupError('the database is not empty; restore into a new data folder or an empty database')
  } finally {
    await client.end()
  }
}

async function readInstallation(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; value: string }>('SELECT name, value FROM installation')
  return new Map(rows.map(({ name, value }) => [name, value]))
}

async function fill(client: pg.Client, source: AsyncIterator<string>, firstLine: string): Promise<number> {
  const listed = await listTables(client)
  // Delete the few rows that migrations insert, because the backup has them too.
  for (const { name } of listed.toReversed()) await client.query(`DELETE FROM ${name}`)
  const tables = new Map(listed.map(table => [table.name, table]))
  const hash = createHash('sha256').update(`${firstLine}\n`)
  let table: Table | undefined
  let waiting: string[] = []
  let total = 0
  const flush = async (): Promise<void> => {
    if (table && waiting.length > 0) await insert(client, table, waiting)
    total += waiting.length
    waiting = []
  }
  for (;;) {
    const { done, value: line } = await source.next()
    if (done) throw new BackupError('the backup is cut off: its last line is missing')
    const end = readEnd(line)
    if (end) {
      await flush()
      if (end.sha256 !== hash.digest('hex') || end.rows !== total)
        throw new BackupError('the backup was changed or damaged: its checksum does not match')
      return total
    }
    hash.update(`${line}\n`)
    const name = readTable(line)
    if (name === undefined) waiting.push(line)
    if (name !== undefined || waiting.length === rowsAtOnce) await flush()
    if (name === undefined) continue
    table = tables.get(name)
    if (!table)
      throw new BackupError(
        `the backup holds the table ${name}, which this version does not know: restore it with the version that made it, or a newer one`,
      )
  }
}

async function insert(client: pg.Client, { name, columns }: Table, rows: readonly string[]): Promise<void> {
  await client.query(
    `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1::json)`,
    [`[${rows.join(',')}]`],
  )
}

/** Returns the table's name if the line is the heading of a table. Only short lines are parsed. */
const readTable = (line: string): string | undefined =>
  line.startsWith('{"table":') && line.length < 100 ? (textAt(parse(line), 'table') ?? '') : undefined

function readEnd(line: string): { readonly rows: number; readonly sha256: string } | undefined {
  const [, rows, sha256] = /^\{"rows":(\d+),"sha256":"([0-9a-f]{64})"\}$/.exec(line) ?? []
  return rows === undefined || sha256 === undefined ? undefined : { rows: Number(rows), sha256 }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new BackupError('the backup holds a line that is not JSON', { cause: error })
  }
}
