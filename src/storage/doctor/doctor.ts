/**
 * Examines all stored data and reports contradictions. It reads only, on connections of its own without a time limit,
 * and each statement sees one snapshot while the gateway keeps working.
 */
import { availableParallelism } from 'node:os'
import pg from 'pg'
import { verifyAudit } from '#storage/audit/audit.ts'
import {
  type CheckStatement,
  isRanged,
  type PaymentKey,
  type Slice,
  sliceStatement,
  statementsOf,
} from '#storage/doctor/check.ts'
import { checks } from '#storage/doctor/payment-checks.ts'
import { noCompiling, wholeTableSettings } from '#storage/planner.ts'
import { chunksOf } from '#storage/recordset.ts'

export interface Example {
  readonly merchantId: string
  readonly payId?: string
  readonly xId?: string
  /** Describes the fault by our own ids and figures, never by card data. */
  readonly detail: string
}

export interface CheckResult {
  readonly name: string
  /** What should be true. */
  readonly sentence: string
  /** The number of faults. */
  readonly found: number
  readonly examples: readonly Example[]
  /** The reason why the check was not made; then `found` means nothing. */
  readonly notMade?: string
}

export interface ExaminationOptions {
  /** The current time; real time unless given. By age the checks decide whether an operation may still be under way. */
  readonly now?: Date
  /** Limits checks that go payment by payment to payments changed since then, in their merchant's time. */
  readonly since?: Date
  /** Called with each result in order, as soon as that check and all before it have ended. */
  readonly onResult?: (result: CheckResult) => void
  /** Called with the completed share of the work, from 0 to 1. */
  readonly onProgress?: (share: number) => void
  /** The number of payments per statement; fewer in tests. */
  readonly paymentsAtOnce?: number
}

/** 20: enough to see a pattern, few enough to read. */
const examplesShown = 20

/** 10 s: otherwise a host that drops packets would block us for minutes. */
const connectTimeoutMs = 10_000

/** 50,000: the rows of this many payments are joined and sorted in memory. */
const defaultPaymentsAtOnce = 50_000

/** At most 4, one per core: more would wait for the same disk, and each may use its 64 MB several times. */
const connectionsMax = 4

/** 64 MB: sorts and joins over millions of rows stay mostly in memory, even on the smallest supported machine. */
const settings = `SET default_transaction_read_only = on; SET statement_timeout = 0; SET work_mem = '64MB';
  ${noCompiling}`

export async function examine(
  databaseUrl: string,
  options: ExaminationOptions = {},
): Promise<readonly CheckResult[]> {
  const clients = await connectToExamine(databaseUrl, options)
  try {
    return await examineWith(clients, options)
  } finally {
    await Promise.all(clients.map(client => client.end()))
  }
}

/** Connections with the settings of the doctor; the caller ends them. */
export async function connectToExamine(
  databaseUrl: string,
  { since }: Pick<ExaminationOptions, 'since'> = {},
): Promise<readonly pg.Client[]> {
  const clients = Array.from({ length: Math.min(connectionsMax, availableParallelism()) }, () =>
    openClient(databaseUrl),
  )
  try {
    await Promise.all(clients.map(client => client.connect()))
    for (const client of clients) {
      await client.query(settings)
      if (!since) await client.query(wholeTableSettings)
    }
    return clients
  } catch (error) {
    await Promise.all(clients.map(client => client.end()))
    throw error
  }
}

/** The same on the caller's connections, within its transactions. */
export async function examineWith(
  clients: readonly pg.ClientBase[],
  options: ExaminationOptions = {},
): Promise<readonly CheckResult[]> {
  const [first] = clients
  if (!first) throw new Error('there is no connection to examine with')
  return work(clients, await planJobs(first, options), options)
}

function openClient(databaseUrl: string): pg.Client {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate doctor',
  })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  return client
}

/** One statement on one slice. */
interface Job {
  readonly statement: CheckStatement
  readonly slice: Slice
}

/** Jobs that cannot be sliced come first, so that the last ones are short. */
async function planJobs(
  client: pg.ClientBase,
  { since, paymentsAtOnce = defaultPaymentsAtOnce }: ExaminationOptions,
): Promise<readonly Job[]> {
  const touched = since && (await findTouched(client, since))
  const statements = statementsOf(checks, { listed: touched !== undefined })
  const all: Slice = touched ? { listed: touched } : {}
  const slices: readonly Slice[] = touched
    ? chunksOf(touched, paymentsAtOnce).map(listed => ({ listed }))
    : await findRanges(client, paymentsAtOnce)
  return [
    ...statements.filter(one => !isRanged(one)).map(statement => ({ statement, slice: all })),
    ...statements.filter(isRanged).flatMap(statement => slices.map(slice => ({ statement, slice }))),
  ]
}

const keyColumns = `merchant_id AS "merchantId", pay_id AS "payId"`

async function findTouched(client: pg.ClientBase, since: Date): Promise<readonly PaymentKey[]> {
  const { rows } = await client.query<PaymentKey>(
    `SELECT ${keyColumns} FROM payment WHERE updated_at >= $1 ORDER BY merchant_id, pay_id`,
    [since],
  )
  return rows
}

/** Ranges of `paymentsAtOnce` payments. The first and the last are open, to cover rows whose payment is missing. */
async function findRanges(client: pg.ClientBase, paymentsAtOnce: number): Promise<readonly Slice[]> {
  const { rows } = await client.query<PaymentKey>(
    `SELECT ${keyColumns} FROM (SELECT merchant_id, pay_id, row_number() OVER (ORDER BY merchant_id, pay_id) AS number
       FROM payment) p WHERE number % $1 = 0 ORDER BY merchant_id, pay_id`,
    [paymentsAtOnce],
  )
  return [...rows, undefined].map((upTo, index) => {
    const after = rows[index - 1]
    return { ...(after ? { after } : {}), ...(upTo ? { upTo } : {}) }
  })
}

/** Runs the jobs: each connection takes the next one as soon as it is free. Results are in the order of the checks. */
async function work(
  clients: readonly pg.ClientBase[],
  jobs: readonly Job[],
  { now, onResult, onProgress }: ExaminationOptions,
): Promise<readonly CheckResult[]> {
  const tallies = new Map<string, { open: number; found: number; rows: FoundRow[] }>(
    checks.map(({ name }) => [name, { open: 0, found: 0, rows: [] }]),
  )
  const tallyOf = (name: string) => {
    const tally = tallies.get(name)
    if (!tally) throw new Error(`the doctor has no check with the name ${name}`)
    return tally
  }
  const sentences = new Map(checks.map(({ name, sentence }) => [name, sentence]))
  const finish = (name: string): CheckResult => {
    const { found, rows } = tallyOf(name)
    const examples = rows.toSorted(byPlace).slice(0, examplesShown).map(toExample)
    return { name, sentence: sentences.get(name) ?? '', found, examples }
  }
  for (const { statement } of jobs) for (const name of statement.names) tallyOf(name).open += 1
  const unreported = checks.map(({ name }) => name)
  const reportDone = (): void => {
    for (let [name] = unreported; name !== undefined && tallyOf(name).open === 0; [name] = unreported) {
      onResult?.(finish(name))
      unreported.shift()
    }
  }
  const waiting = [...jobs]
  let done = 0
  await Promise.all(
    clients.map(async client => {
      for (let job = waiting.shift(); job; job = waiting.shift()) {
        for (const row of await run(job, client, now)) {
          const tally = tallyOf(row.name)
          if (row.place === '1') tally.found += Number(row.found)
          tally.rows.push(row)
        }
        done += 1
        onProgress?.(done / jobs.length)
        for (const name of job.statement.names) tallyOf(name).open -= 1
        reportDone()
      }
    }),
  ).catch(error => {
    // One job has failed, so no other may start.
    waiting.length = 0
    throw error
  })
  return checks.map(({ name }) => finish(name))
}

interface FoundRow {
  readonly name: string
  readonly merchant_id: string
  readonly pay_id: string | null
  readonly x_id: string | null
  readonly detail: string
  /** SQL columns for a check in a statement: the number of a row among its faults, and the count of faults. */
  readonly place: string
  readonly found: string
}

async function run(
  { statement, slice }: Job,
  client: pg.ClientBase,
  now?: Date,
): Promise<readonly FoundRow[]> {
  const { text, values } = sliceStatement(statement, slice)
  const { rows } = await client.query<FoundRow>(
    `WITH clock AS (SELECT coalesce($1::timestamptz, now()) AS now)
     SELECT * FROM (SELECT name, merchant_id, replace(pay_id::text, '-', '') AS pay_id, replace(x_id::text, '-', '') AS x_id,
         detail, row_number() OVER (PARTITION BY name ORDER BY merchant_id, pay_id, x_id) AS place,
         count(*) OVER (PARTITION BY name) AS found
       FROM (${text}) broken) numbered WHERE place <= ${examplesShown}`,
    [now ?? null, ...values],
  )
  return rows
}

const placeOf = ({ merchant_id, pay_id, x_id }: FoundRow): string => `${merchant_id} ${pay_id} ${x_id}`

const byPlace = (one: FoundRow, other: FoundRow): number => (placeOf(one) < placeOf(other) ? -1 : 1)

const toExample = ({ merchant_id, pay_id, x_id, detail }: FoundRow): Example => ({
  merchantId: merchant_id,
  ...(pay_id === null ? {} : { payId: pay_id }),
  ...(x_id === null ? {} : { xId: x_id }),
  detail,
})

/**
 * The doctor's check of the audit trail's hash chain. Hashes are computed here and not in SQL, unlike the other checks.
 */
export async function examineAudit(reader: Pick<pg.Pool, 'query'>): Promise<CheckResult> {
  const { faults } = await verifyAudit(reader)
  return {
    name: 'audit-chain',
    sentence: 'No row of the audit trail was changed, is missing or was cut off at the end.',
    found: faults.length,
    // The audit trail belongs to the installation, not to a merchant.
    examples: faults.map(detail => ({ merchantId: '-', detail })),
  }
}
