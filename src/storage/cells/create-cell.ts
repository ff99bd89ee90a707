/** Creates the schema of a cell and copies the data that all cells share. Repeating it changes nothing. */
import pg from 'pg'
import { cellName, inCell } from '#storage/cells/address.ts'
import { migrate } from '#storage/migrate.ts'
import { type Ask, announce, deadAfterMs, waitUntilAcknowledged } from '#storage/processes/announcements.ts'

/** 10 s: otherwise a host that drops packets would block the start for minutes. */
const connectTimeoutMs = 10_000

/** The schema belongs to another cell or installation; the message is a sentence for the operator. */
export class CellFault extends Error {}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate cells',
  })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** An arbitrary lock number that is not used elsewhere: the letters "cell". */
const preparing = 0x63656c6c

/** Holds an advisory lock, so that one process at a time creates cells. */
export const whilePreparing = (url: string, work: () => Promise<void>): Promise<void> =>
  withClient(url, async client => {
    await client.query('SELECT pg_advisory_lock($1)', [preparing])
    await work()
  })

/**
 * Values that are equal in every cell of an installation: the environment, and the root secret from which keys are
 * derived.
 */
const common = ['environment', 'root_secret']

export interface NewCell {
  readonly number: number
  /** The address of the database, without a schema. */
  readonly baseUrl: string
  /** Whether two stored root secrets belong to the same installation, even if only one of them has been rotated. */
  readonly isSameRoot: (a: string, b: string) => Promise<boolean>
  /**
   * Gives the cell the root secrets of cell 0, with everything in it that depends on them: a change of them was cut off
   * before it reached the cell.
   */
  readonly followRoot: (url: string) => Promise<void>
}

export async function createCell(
  home: string,
  { number, baseUrl, isSameRoot, followRoot }: NewCell,
  onProgress: (line: string) => void,
): Promise<void> {
  const name = cellName(number)
  const url = await createSchema(baseUrl, number)
  await migrate(url, { onProgress })
  const follow = () => followRoot(url)
  await withClient(home, from => withClient(url, to => copyCommon({ from, to, name, isSameRoot, follow })))
}

/** Returns the address of the cell. */
export async function createSchema(baseUrl: string, number: number): Promise<string> {
  // A role that may not create schemas is fine if the schema already exists.
  await withClient(baseUrl, async client => {
    const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [cellName(number)])
    if (rows.length === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${cellName(number)}`)
  })
  return inCell(baseUrl, number)
}

/** The addresses of an installation's cells, from the directory in its cell 0. */
export const readSources = (home: string): Promise<ReadonlyMap<number, number>> =>
  withClient(home, readSourcesBy)

/** The same on the caller's connection, within its transaction. */
export async function readSourcesBy(client: pg.Client): Promise<ReadonlyMap<number, number>> {
  // An older schema has no cells, and an empty database has no tables at all.
  const known = await client.query<{ known: boolean }>("SELECT to_regclass('cell') IS NOT NULL AS known")
  if (!known.rows[0]?.known) return new Map()
  const { rows } = await client.query<{ cell: number; source: number }>('SELECT cell, source FROM cell')
  return new Map(rows.map(({ cell, source }) => [cell, source]))
}

/** When each merchant was placed, or last took a step of a move. */
export const readPlacings = (home: string): Promise<ReadonlyMap<string, string>> =>
  withClient(home, async client => {
    const { rows } = await client.query<{ merchant: string; changed: string }>(
      'SELECT merchant_id AS merchant, changed_at::text AS changed FROM merchant_cell',
    )
    return new Map(rows.map(({ merchant, changed }) => [merchant, changed]))
  })

interface Copying {
  readonly from: pg.Client
  readonly to: pg.Client
  readonly name: string
  readonly isSameRoot: NewCell['isSameRoot']
  readonly follow: () => Promise<void>
}

async function copyCommon({ from, to, name, isSameRoot, follow }: Copying): Promise<void> {
  const { rows } = await from.query<{ name: string; value: string }>(
    'SELECT name, value FROM installation WHERE name = ANY($1)',
    [common],
  )
  for (const fact of [...rows, { name: 'cell', value: name }]) {
    await to.query('INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      fact.name,
      fact.value,
    ])
    const found = await to.query<{ value: string }>('SELECT value FROM installation WHERE name = $1', [
      fact.name,
    ])
    const value = found.rows[0]?.value ?? ''
    if (value === fact.value) continue
    if (fact.name === 'root_secret' && (await isSameRoot(fact.value, value))) {
      await follow()
      continue
    }
    throw new CellFault(
      fact.name === 'cell'
        ? `the schema of ${name} is that of ${value}: the addresses in TOLLGATE_CELL_URLS must keep their order`
        : `the schema of ${name} belongs to another installation: its ${fact.name.replace('_', ' ')} is another one`,
    )
  }
  for (const table of ['bin_range', 'exchange_rate']) await copyReference({ from, to }, table)
}

/** 2,000 rows: a few hundred kilobytes. */
const rowsAtOnce = 2_000

/** Copies the reference data that all merchants use; later imports go to every cell. */
async function copyReference({ from, to }: Pick<Copying, 'from' | 'to'>, table: string): Promise<void> {
  const { rows: there } = await to.query(`SELECT 1 FROM ${table} LIMIT 1`)
  if (there.length > 0) return
  await from.query('BEGIN')
  await to.query('BEGIN')
  await from.query(
    `DECLARE reference NO SCROLL CURSOR FOR SELECT row_to_json(r)::text AS line FROM ${table} r`,
  )
  for (;;) {
    const { rows } = await from.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM reference`)
    if (rows.length === 0) break
    await to.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`, [
      `[${rows.map(({ line }) => line).join(',')}]`,
    ])
  }
  await to.query('COMMIT')
  await from.query('COMMIT')
}

/** Whether a live gateway uses this database, judged by its last heartbeat. */
export const isServed = (url: string): Promise<boolean> =>
  withClient(url, async client => {
    const known = await client.query<{ known: boolean }>(
      "SELECT to_regclass('gateway_process') IS NOT NULL AS known",
    )
    if (!known.rows[0]?.known) return false
    const { rows } = await client.query(
      "SELECT 1 FROM gateway_process WHERE seen_at > now() - $1 * interval '1 millisecond' LIMIT 1",
      [deadAfterMs],
    )
    return rows.length > 0
  })

/** Makes every live process read the cells again. Resolves when all have acknowledged it. */
export const announceToAll = (home: string): Promise<boolean> =>
  withClient(home, async client => {
    const ask: Ask = async <Row extends object>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows
    return waitUntilAcknowledged(ask, await announce(ask))
  })

export interface CellCounts {
  readonly merchants: number
  readonly payments: number
}

export const countCell = (url: string): Promise<CellCounts> =>
  withClient(url, async client => {
    const { rows } = await client.query<CellCounts>(
      `SELECT (SELECT count(*)::integer FROM merchant) AS merchants, (SELECT count(*)::integer FROM payment) AS payments`,
    )
    return rows[0] ?? { merchants: 0, payments: 0 }
  })
