/**
 * Destroys numbers that were unused for a long time: the sealed part is emptied; the row and its masked digits stay for
 * the payments that show them. Uses a connection of its own and small commits, so that it can be stopped at any time.
 */
import pg from 'pg'
import { firstPayId } from '#domain/ids.ts'

/** The sealed tables, the column by which other tables refer to them, and the table that lists unused numbers. */
const holdings = [
  { table: 'vault_card', id: 'card_id', list: 'unused_card' },
  { table: 'vault_account', id: 'account_id', list: 'unused_account' },
] as const

type Holding = (typeof holdings)[number]

export interface PurgeOptions {
  /** An ISO 8601 duration, on each merchant's own clock. */
  readonly unusedFor: string
  readonly dryRun: boolean
  /** 1,000: a commit of some milliseconds. */
  readonly batch?: number
  /** Called with the number of destroyed numbers so far, and the total. */
  readonly onProgress?: (destroyed: number, total: number) => void
}

export interface Purged {
  readonly found: number
  readonly destroyed: number
}

/** 10 s: otherwise a host that drops packets would block us for minutes. */
const connectTimeoutMs = 10_000

/** 1 min: a payment whose id was made up to this long before the search may be committed after it. */
const marginMs = 60_000

export async function purgeVault(databaseUrl: string, options: PurgeOptions): Promise<Purged> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate vault',
  })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  await client.connect()
  try {
    const since = firstPayId(Date.now() - marginMs)
    let found = 0
    for (const holding of holdings) found += await findUnused(client, holding, options.unusedFor)
    if (options.dryRun) return { found, destroyed: 0 }
    let destroyed = 0
    for (const holding of holdings) {
      for (let isMore = true; isMore; ) {
        const batch = await destroy(client, holding, { since, limit: options.batch ?? 1_000 })
        isMore = batch.taken > 0
        destroyed += batch.destroyed
        if (isMore) options.onProgress?.(destroyed, found)
      }
    }
    return { found, destroyed }
  } finally {
    await client.end()
  }
}

/** The condition that a plan charges the account of its initial payment, which is its only reference to the account. */
const chargesAccount = `EXISTS (SELECT 1 FROM payment_plan pl WHERE pl.merchant_id = p.merchant_id AND pl.plan_id = p.plan_id
  AND pl.initial_pay_id = p.pay_id AND pl.charged_method IS NULL AND pl.status NOT IN ('CANCELLED', 'COMPLETED'))`

/** The condition that a debit or transfer waits for the next file to a bank. */
const waitsForFile = `EXISTS (SELECT 1 FROM timer w WHERE w.merchant_id = p.merchant_id AND w.pay_id = p.pay_id
  AND w.kind = 'BATCH')`

/** The condition that a payment needs the number: it is recent, or under way, so that its confirmation will need it. */
const needs = (limit: string): string =>
  `(p.updated_at >= ${limit}.until OR p.status IN ('AUTHORIZE_REQUEST', 'PENDING')
    OR p.account_id IS NOT NULL AND (${chargesAccount} OR ${waitsForFile}))`

/**
 * Scans all payments once, because there is no index from a number to its payments: it would slow down every payment.
 */
async function findUnused(client: pg.Client, holding: Holding, unusedFor: string): Promise<number> {
  const { table, id, list } = holding
  await client.query(`SET work_mem = '64MB'; SET statement_timeout = 0;
    CREATE TEMP TABLE ${list} (merchant_id text NOT NULL, held_id uuid NOT NULL, until timestamptz NOT NULL)`)
  const others = await findOthers(client, holding)
  const { rowCount } = await client.query(
    `INSERT INTO ${list} SELECT v.merchant_id, v.${id}, c.until FROM ${table} v JOIN merchant m USING (merchant_id)
     CROSS JOIN LATERAL (SELECT now() + m.clock_offset_ms * interval '1 millisecond' - $1::interval AS until) c
     WHERE v.sealed IS NOT NULL AND v.created_at < c.until
       AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.merchant_id = v.merchant_id AND p.${id} = v.${id}
         AND ${needs('c')})
       ${others
         .map(
           other => `AND NOT EXISTS (SELECT 1 FROM ${other} o
         WHERE o.merchant_id = v.merchant_id AND o.${id} = v.${id})`,
         )
         .join(' ')}`,
    [unusedFor],
  )
  return rowCount ?? 0
}

/**
 * Finds all other tables that refer to numbers, such as stored methods; a number with a reference is kept. They are
 * read from the schema, so that references of a new table are respected without a change here.
 */
async function findOthers(client: pg.Client, { table, id }: Holding): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT format('%I', c.table_name) AS name FROM information_schema.columns c
     JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.column_name = $2
       AND c.table_name NOT IN ($1, 'payment') ORDER BY 1`,
    [table, id],
  )
  return rows.map(({ name }) => name)
}

/** Destroys a batch of numbers. A payment made since the search keeps its number. */
async function destroy(
  client: pg.Client,
  { table, id, list }: Holding,
  { since, limit }: { since: string; limit: number },
): Promise<{ taken: number; destroyed: number }> {
  const { rows } = await client.query<{ taken: number; destroyed: number }>(
    `WITH batch AS (DELETE FROM ${list} WHERE ctid IN (SELECT ctid FROM ${list} LIMIT $1) RETURNING *),
       destroyed AS (UPDATE ${table} v SET sealed = NULL, destroyed_at = now(), delete_after_use_at = NULL FROM batch b
         WHERE v.merchant_id = b.merchant_id AND v.${id} = b.held_id AND v.sealed IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.merchant_id = v.merchant_id AND p.pay_id >= $2
             AND p.${id} = v.${id} AND ${needs('b')})
         RETURNING 1)
     SELECT (SELECT count(*)::int FROM batch) AS taken, (SELECT count(*)::int FROM destroyed) AS destroyed`,
    [limit, since],
  )
  return rows[0] ?? { taken: 0, destroyed: 0 }
}
