/**
 * Copies all rows of a merchant from one cell to another. The rows are locked in the old cell from the first read until
 * they are deleted there, so that a row cannot be changed after it was copied.
 */
import type pg from 'pg'
import { listTables, type Table } from '#storage/backup/tables.ts'
import { withClient } from '#storage/cells/create-cell.ts'
import { markName } from '#storage/payments/unanswered.ts'
import type { Ask } from '#storage/processes/announcements.ts'

/** 500 rows are about half a megabyte in one statement. */
const rowsAtOnce = 500

/** The directory stays in cell 0. */
const notMoved = ['merchant_cell']

/** A row was added during the copy, so the copy must be repeated. */
export class MovedMeanwhile extends Error {}

/** Runs work under an advisory lock. Undefined: another mover holds it. The lock ends with the connection. */
export const withMoveLock = <T>(
  url: string,
  merchantId: string,
  work: (ask: Ask) => Promise<T>,
): Promise<T | undefined> =>
  withClient(url, async client => {
    const ask: Ask = async <Row extends object>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows
    const [row] = await ask<{ held: boolean }>(
      "SELECT pg_try_advisory_lock(hashtextextended('move ' || $1, 0)) AS held",
      [merchantId],
    )
    return row?.held ? work(ask) : undefined
  })

/** The two open transactions of a move, in the order in which the mover ends them. */
export interface OpenMove {
  readonly rows: number
  /** Makes the copy permanent. */
  commitCopy(): Promise<void>
  /** Deletes the old rows for this transaction only. Throws MovedMeanwhile if one of them was not copied. */
  deleteOld(): Promise<void>
  commitDeletion(): Promise<void>
}

/** Undefined: the merchant is not in the old cell. Uncommitted work is rolled back when `work` ends. */
export const withOpenMove = <T>(
  { from, to, merchantId }: { readonly from: string; readonly to: string; readonly merchantId: string },
  work: (move: OpenMove) => Promise<T>,
): Promise<T | undefined> =>
  withClient(from, old =>
    withClient(to, async fresh => {
      // Closing the connections rolls back.
      if (!(await lockMerchant(old, merchantId))) return undefined
      const copied = await copyMerchant(old, fresh, merchantId)
      return work({
        rows: [...copied.values()].reduce((sum, count) => sum + count, 0),
        commitCopy: async () => void (await fresh.query('COMMIT')),
        async deleteOld() {
          const deleted = await deleteRows(old, await listMerchantTables(old), merchantId)
          for (const [name, count] of deleted) {
            if (count !== copied.get(name)) throw new MovedMeanwhile(`rows were added to ${name}`)
          }
        },
        commitDeletion: async () => void (await old.query('COMMIT')),
      })
    }),
  )

export const deleteMerchantRows = (url: string, merchantId: string): Promise<void> =>
  withClient(url, async client => {
    await client.query('BEGIN')
    await deleteRows(client, await listMerchantTables(client), merchantId)
    await client.query('COMMIT')
  })

/** The tables with a column merchant_id, ordered so that foreign keys hold while they are filled. */
async function listMerchantTables(client: pg.Client): Promise<readonly Table[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.columns
     WHERE table_schema = current_schema() AND column_name = 'merchant_id'`,
  )
  const names = new Set(rows.map(({ name }) => name))
  // Includes the keys of one-time cards, which backups omit: their customers may be paying at this moment.
  return (await listTables(client, notMoved)).filter(({ name }) => names.has(name))
}

/** Begins a transaction in the old cell that locks all rows of the merchant until it ends. */
async function lockMerchant(client: pg.Client, merchantId: string): Promise<boolean> {
  await client.query('BEGIN')
  await client.query("SET LOCAL lock_timeout = '10s'")
  // Blocks changes of the merchant's own row. Other tables can still get rows (only ordered_fault has a foreign key to
  // the merchant), so copyMerchant counts all rows again.
  const { rows } = await client.query('SELECT 1 FROM merchant WHERE merchant_id = $1 FOR UPDATE', [
    merchantId,
  ])
  return rows.length > 0
}

/** Copies in a transaction in the new cell, which stays open. Returns the number of rows of each table. */
async function copyMerchant(
  from: pg.Client,
  to: pg.Client,
  merchantId: string,
): Promise<ReadonlyMap<string, number>> {
  const tables = await listMerchantTables(from)
  await to.query('BEGIN')
  await deleteRows(to, tables, merchantId)
  const copied = new Map<string, number>()
  for (const table of tables) {
    copied.set(table.name, await copyTable(from, to, table, merchantId))
  }
  for (const { name } of tables) {
    const { rows } = await from.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM ${name} WHERE merchant_id = $1`,
      [merchantId],
    )
    if (rows[0]?.count !== copied.get(name)) throw new MovedMeanwhile(`rows were added to ${name}`)
  }
  await forgetProcesses(to, merchantId)
  return copied
}

async function copyTable(from: pg.Client, to: pg.Client, table: Table, merchantId: string): Promise<number> {
  const { name, columns } = table
  // Moving the cursor locks the rows without sending one row per lock to this process.
  await from.query(
    `DECLARE locking NO SCROLL CURSOR FOR SELECT 1 FROM ${name} WHERE merchant_id = ${quote(merchantId)} FOR UPDATE`,
  )
  await from.query('MOVE ALL FROM locking')
  await from.query('CLOSE locking')
  await from.query(
    `DECLARE moving NO SCROLL CURSOR FOR
     SELECT row_to_json(r)::text AS line FROM (SELECT ${columns} FROM ${name} WHERE merchant_id = ${quote(merchantId)}) r`,
  )
  let copied = 0
  for (;;) {
    const { rows } = await from.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM moving`)
    if (rows.length === 0) break
    copied += rows.length
    await to.query(
      `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
       SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1::json)`,
      [`[${rows.map(({ line }) => line).join(',')}]`],
    )
  }
  await from.query('CLOSE moving')
  return copied
}

/**
 * A process has another number in each cell, so its claims are released. An unanswered operation may be older than the
 * mark of the new cell, so the mark is moved back.
 */
async function forgetProcesses(client: pg.Client, merchantId: string): Promise<void> {
  for (const table of ['timer', 'event', 'event_delivery'])
    await client.query(
      `UPDATE ${table} SET leased_until = NULL, leased_by = NULL WHERE merchant_id = $1 AND leased_until IS NOT NULL`,
      [merchantId],
    )
  await client.query(
    "UPDATE operation SET process = NULL WHERE merchant_id = $1 AND state = 'SENT' AND process IS NOT NULL",
    [merchantId],
  )
  await searchAgain(client, merchantId)
}

/** Reads and writes in two steps, because Citus refuses an UPDATE that reads a time from the text of a column. */
async function searchAgain(client: pg.Client, merchantId: string): Promise<void> {
  const { rows } = await client.query<{ until: Date }>(
    `SELECT least(value::timestamptz,
       (SELECT min(sent_at) FROM operation WHERE merchant_id = $1 AND state = 'SENT')) AS until
     FROM installation WHERE name = $2 FOR UPDATE`,
    [merchantId, markName],
  )
  // Without a mark, recovery begins with the oldest operation anyway.
  const [mark] = rows
  if (mark)
    await client.query('UPDATE installation SET value = $2 WHERE name = $1', [
      markName,
      mark.until.toISOString(),
    ])
}

/** A cursor takes no parameters. A merchant id contains nothing to escape; this checks it again. */
function quote(merchantId: string): string {
  if (!/^[A-Za-z0-9_-]{1,30}$/.test(merchantId))
    throw new Error(`"${merchantId}" is not the id of a merchant`)
  return `'${merchantId}'`
}

/** Returns the number of deleted rows of each table. */
async function deleteRows(
  client: pg.Client,
  tables: readonly Table[],
  merchantId: string,
): Promise<ReadonlyMap<string, number>> {
  const deleted = new Map<string, number>()
  for (const { name } of tables.toReversed()) {
    const { rowCount } = await client.query(`DELETE FROM ${name} WHERE merchant_id = $1`, [merchantId])
    deleted.set(name, rowCount ?? 0)
  }
  return deleted
}
