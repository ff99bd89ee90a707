/**
 * The audit trail: rows are only appended, each chained to the previous one by its hash. The newest number and hash
 * (the head) are kept in a table of their own; appending locks that row, so that the chain never forks.
 */
import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { toStorable } from '#domain/text.ts'
import { type Database, inTransaction } from '#storage/database.ts'

export interface AuditEntry {
  /** A system user, an operator of the console, an API key, or the gateway itself. */
  readonly actor: string
  /** The client's address; `command line` for commands. */
  readonly from: string
  /** The action: `merchant.set`, `key.create` … */
  readonly act: string
  /** The id of the object of the action. */
  readonly object: string
  /** What changed; never a secret or card data. */
  readonly before?: unknown
  readonly after?: unknown
}

export interface AuditRow extends AuditEntry {
  readonly number: number
  readonly at: Date
}

export interface AuditHead {
  readonly number: number
  readonly hash: string
}

export interface AuditConditions {
  readonly since?: Date
  readonly act?: string
  /** Only actions on these objects; all unless given. */
  readonly objects?: readonly string[]
  /** Only actions of these actors, each from the row after the given number on; all unless given. */
  readonly actors?: readonly ActorSince[] | undefined
  /** Only rows with a lower number. */
  readonly before?: number | undefined
  /** At most this many, the newest. */
  readonly limit?: number
}

export interface ActorSince {
  readonly actor: string
  readonly after: number
}

export interface AuditStore {
  append(entries: readonly AuditEntry[]): Promise<void>
  /** The oldest first. */
  list(conditions: AuditConditions): Promise<readonly AuditRow[]>
  /** All rows, the oldest first, a thousand per page, because they may not fit into memory. */
  walk(): AsyncGenerator<readonly AuditRow[]>
  readHead(): Promise<AuditHead>
  verify(): Promise<Verification>
}

export interface Verification {
  readonly rows: number
  readonly head: AuditHead
  /** The faults found, the oldest first; empty if the chain is intact. */
  readonly faults: readonly string[]
}

interface StoredRow {
  readonly number: number
  readonly at: Date
  /** The time in microseconds, in UTC; null for infinity. */
  readonly written_at: string | null
  readonly actor: string
  readonly came_from: string
  readonly act: string
  readonly object: string
  /** As text, because the hash covers the exact bytes. */
  readonly before: string | null
  readonly after: string | null
  readonly hash: string
}

/** 1,000 rows: a few hundred kilobytes. */
const pageRows = 1_000
/** 20: enough to see a pattern. */
const faultsShown = 20

// The gateway writes no time outside of the years 1 to 9999, and a Date cannot hold infinity.
const columns = `number, greatest(least(at, '9999-12-31T00:00:00Z'), '0001-01-01T00:00:00Z') AS at,
  to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS written_at,
  actor, came_from, act, object, before::text AS before, after::text AS after, hash`

/** Before the first row. */
const noHash = '0'.repeat(64)

type Hashed = Omit<StoredRow, 'hash' | 'written_at'>

/** The gateway writes whole milliseconds, so any other microseconds mean that the time was changed. */
const isAsWritten = ({ at, written_at }: StoredRow): boolean =>
  `${written_at}` === `${at.toISOString().slice(0, -1)}000`

const hashRow = (previous: string, row: Hashed): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        previous,
        row.number,
        row.at.toISOString(),
        row.actor,
        row.came_from,
        row.act,
        row.object,
        row.before,
        row.after,
      ]),
    )
    .digest('hex')

const toRow = (row: StoredRow): AuditRow => ({
  number: row.number,
  at: row.at,
  actor: row.actor,
  from: row.came_from,
  act: row.act,
  object: row.object,
  ...(row.before === null ? {} : { before: JSON.parse(row.before) }),
  ...(row.after === null ? {} : { after: JSON.parse(row.after) }),
})

async function* walkRows(reader: Pick<Pool, 'query'>): AsyncGenerator<readonly StoredRow[]> {
  for (let after = 0; ; ) {
    const { rows } = await reader.query<StoredRow>(
      `SELECT ${columns} FROM audit WHERE number > $1 ORDER BY number LIMIT ${pageRows}`,
      [after],
    )
    if (rows.length === 0) return
    // Connections differ in the type they return for a bigint.
    const counted = rows.map(row => ({ ...row, number: Number(row.number) }))
    yield counted
    after = counted.at(-1)?.number ?? after
  }
}

/** Verifies the whole chain. Works on any connection. */
export async function verifyAudit(reader: Pick<Pool, 'query'>): Promise<Verification> {
  // The head is read first; rows that are appended during the check are beyond it and are checked too.
  const kept = await findHead(reader)
  const head = kept ?? noHead
  const checked = await checkChain(head, walkRows(reader))
  const { number } = await readHead(reader)
  // Appending a row also moves the stored head, so a row beyond the head was forged, or the head was moved back.
  const beyond = checked.last - number
  const more = beyond > 0 ? [`${beyond} beyond the end that was kept apart, which is ${number}`] : []
  // The head exists from the first migration on, even while there are no rows.
  const lost = kept ? [] : ['number and hash of the newest row, which are kept apart, are missing']
  return { rows: checked.rows, head, faults: [...lost, ...checked.faults, ...more].slice(0, faultsShown) }
}

export function createAuditStore({ readers, writers }: Pick<Database, 'readers' | 'writers'>): AuditStore {
  return {
    append: entries => appendRows(writers, entries),

    async list({ since, act, objects, actors, before, limit }) {
      const { rows } = await readers.query<StoredRow>(
        `SELECT * FROM (SELECT ${columns} FROM audit WHERE ($1::timestamptz IS NULL OR at >= $1)
           AND ($2::text IS NULL OR act = $2) AND ($4::text[] IS NULL OR object = ANY ($4))
           AND ($5::text[] IS NULL OR EXISTS (SELECT FROM unnest($5::text[], $7::bigint[]) k (known, after)
             WHERE k.known = actor AND number > k.after)) AND ($6::bigint IS NULL OR number < $6)
           ORDER BY number DESC LIMIT $3) newest ORDER BY number`,
        [
          ...[since, act, limit, objects, actors?.map(({ actor }) => actor), before],
          actors?.map(({ after }) => after),
        ],
      )
      return rows.map(toRow)
    },

    async *walk() {
      for await (const rows of walkRows(readers)) yield rows.map(toRow)
    },

    readHead: () => readHead(readers),

    verify: () => verifyAudit(readers),
  }
}

const noHead: AuditHead = { number: 0, hash: noHash }

const readHead = async (pool: Pick<Pool, 'query'>): Promise<AuditHead> => (await findHead(pool)) ?? noHead

async function findHead(pool: Pick<Pool, 'query'>): Promise<AuditHead | undefined> {
  const { rows } = await pool.query<AuditHead>('SELECT number, hash FROM audit_head')
  return rows[0] && { ...rows[0], number: Number(rows[0].number) }
}

async function appendRows(writers: Pool, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length > 0) await inTransaction(writers, client => appendWithin(client, entries))
}

/** Appends within the caller's transaction. */
export async function appendWithin(client: PoolClient, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  const { rows } = await client.query<AuditHead>('SELECT number, hash FROM audit_head FOR UPDATE')
  let head = rows[0]
  if (!head) throw new Error('the head of the audit trail is missing; "tollgate audit verify" tells more')
  for (const entry of entries) head = await insertRow(client, head, entry)
  await client.query('UPDATE audit_head SET number = $1, hash = $2', [head.number, head.hash])
}

/** The longest text of an entry. Text from unauthenticated clients is shortened before. */
const textMax = 256

/** Half a character, or U+0000, would not be stored as it is, and the hash covers what is stored. */
const toText = (text: string): string => toStorable(text.slice(0, textMax))

async function insertRow(client: PoolClient, previous: AuditHead, entry: AuditEntry): Promise<AuditHead> {
  const row: Hashed = {
    number: previous.number + 1,
    at: new Date(),
    actor: toText(entry.actor),
    came_from: toText(entry.from),
    act: toText(entry.act),
    object: toText(entry.object),
    before: entry.before === undefined ? null : JSON.stringify(entry.before),
    after: entry.after === undefined ? null : JSON.stringify(entry.after),
  }
  const hash = hashRow(previous.hash, row)
  await client.query(
    `INSERT INTO audit (number, at, actor, came_from, act, object, before, after, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [row.number, row.at, row.actor, row.came_from, row.act, row.object, row.before, row.after, hash],
  )
  return { number: row.number, hash }
}

/** Checks every number and every hash from the first row on, and the head. */
async function checkChain(
  head: AuditHead,
  pages: AsyncIterable<readonly StoredRow[]>,
): Promise<Omit<Verification, 'head'> & { readonly last: number }> {
  const faults: string[] = []
  let last: AuditHead = { number: 0, hash: noHash }
  let count = 0
  for await (const rows of pages) {
    for (const row of rows) {
      const missing = row.number - last.number - 1
      if (missing > 0) faults.push(`${missing} missing: ${describeGap(last.number + 1, row.number - 1)}`)
      // After a gap the previous hash is unknown: the gap is the fault, and this row's own hash is not checked.
      else if (!isAsWritten(row) || hashRow(last.hash, row) !== row.hash)
        faults.push(`row ${row.number} was changed`)
      if (row.number === head.number && row.hash !== head.hash)
        faults.push(`row ${row.number} is not the one that was kept apart as the newest`)
      last = { number: row.number, hash: row.hash }
      count += 1
    }
  }
  if (last.number < head.number)
    faults.push(`the end is cut off: ${describeGap(last.number + 1, head.number)} missing`)
  return { rows: count, last: last.number, faults }
}

const describeGap = (from: number, to: number): string =>
  from === to ? `row ${from}` : `rows ${from} to ${to}`
