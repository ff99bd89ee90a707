/**
 * Looks over all stored data and tells what cannot be. It reads only, on a connection of its own without a time limit,
 * and each check is one statement, so that it sees one moment of a gateway that goes on working.
 */
import pg from 'pg'
import { verifyAudit } from '#storage/audit/audit.ts'
import { type Check, checks } from '#storage/doctor/payment-checks.ts'

export interface Example {
  /** A hyphen for what belongs to the installation. */
  readonly merchantId: string
  readonly payId?: string
  readonly xId?: string
  /** What was found, in numbers and names of ours; never card data. */
  readonly detail: string
}

export interface CheckResult {
  readonly name: string
  /** What should be true. */
  readonly sentence: string
  /** How often it is not. */
  readonly found: number
  readonly examples: readonly Example[]
}

export interface ExaminationOptions {
  /** Real time unless given: how old something is decides whether it may still be under way. */
  readonly now?: Date
  /** Told of each check as it ends: on much data the whole takes minutes. */
  readonly onResult?: (result: CheckResult) => void
}

/** 20: enough to see a pattern, few enough to read. */
const examplesShown = 20

/** 10 s: a host that drops packets would otherwise keep us silent for minutes. */
const connectTimeoutMs = 10_000

/** 64 MB: sorts and joins over millions of rows stay mostly in memory, on the smallest machine we care about too. */
const settings = `SET default_transaction_read_only = on; SET statement_timeout = 0; SET work_mem = '64MB'`

export async function examine(
  databaseUrl: string,
  options: ExaminationOptions = {},
): Promise<readonly CheckResult[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate doctor',
  })
  // What breaks is told by the statement that was running; without a listener it would also end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(settings)
    return await examineWith(client, options)
  } finally {
    await client.end()
  }
}

/** The same on a connection, and in a transaction, of the caller's. */
export async function examineWith(
  client: pg.Client,
  { now, onResult }: ExaminationOptions = {},
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for (const check of checks) {
    const result = await run(check, client, now)
    onResult?.(result)
    results.push(result)
  }
  const chain = await examineAudit(client)
  onResult?.(chain)
  return [...results, chain]
}

async function examineAudit(client: pg.Client): Promise<CheckResult> {
  const { faults } = await verifyAudit(client)
  return {
    name: 'audit-chain',
    sentence: 'No row of the audit trail was changed, is missing or was cut off at the end.',
    found: faults.length,
    examples: faults.map(detail => ({ merchantId: '-', detail })),
  }
}

interface FoundRow {
  readonly merchant_id: string
  readonly pay_id: string | null
  readonly x_id: string | null
  readonly detail: string
  readonly found: string
}

async function run({ name, sentence, broken }: Check, client: pg.Client, now?: Date): Promise<CheckResult> {
  const { rows } = await client.query<FoundRow>(
    `WITH clock AS (SELECT coalesce($1::timestamptz, now()) AS now)
     SELECT merchant_id, replace(pay_id::text, '-', '') AS pay_id, replace(x_id::text, '-', '') AS x_id, detail,
       count(*) OVER () AS found
     FROM (${broken}) broken ORDER BY merchant_id, pay_id, x_id LIMIT ${examplesShown}`,
    [now ?? null],
  )
  return { name, sentence, found: Number(rows[0]?.found ?? 0), examples: rows.map(toExample) }
}

const toExample = ({ merchant_id, pay_id, x_id, detail }: FoundRow): Example => ({
  merchantId: merchant_id,
  ...(pay_id === null ? {} : { payId: pay_id }),
  ...(x_id === null ? {} : { xId: x_id }),
  detail,
})
