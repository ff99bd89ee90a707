/**
 * The bare driver loop, a process of its own: a plain Node program that keeps the same books without a gateway. Named
 * prepared statements, a pool of connections, one commit per transaction.
 */
import pg from 'pg'
import { orderBase, type Statement, type Transactions, toStatement, variables } from '#bench/bare-rows.ts'
import { answerJobs, meterOwnCores } from '#bench/peer.ts'
import type { Measured } from '#bench/watch.ts'

export interface BareJob {
  readonly databaseUrl: string
  readonly transactions: Transactions
  readonly connections: number
  readonly concurrency: number
  readonly firstOrder: number
  readonly warmUpMs: number
  /** How long to measure, unless `count` says how many to make. */
  readonly measureMs: number
  readonly count?: number
}

answerJobs<BareJob, Measured>(run)

async function run(job: BareJob): Promise<Measured> {
  const pool = new pg.Pool({ connectionString: job.databaseUrl, max: job.connections })
  const readCores = meterOwnCores()
  try {
    return { ...(await loop(job, pool)), cores: readCores() }
  } finally {
    await pool.end()
  }
}

async function loop(job: BareJob, pool: pg.Pool): Promise<Omit<Measured, 'cores'>> {
  const first = job.transactions.first.map((sql, index) => toStatement(`first_${index}`, sql))
  const second = job.transactions.second.map((sql, index) => toStatement(`second_${index}`, sql))
  const begin = performance.now() + job.warmUpMs
  const end = job.count === undefined ? begin + job.measureMs : Number.POSITIVE_INFINITY
  const amount = Number(job.transactions.constants.payment_amount)
  let issued = 0
  let acknowledged = 0
  let measured = 0
  let last = begin

  const work = async (): Promise<void> => {
    while (performance.now() < end && issued < (job.count ?? Number.POSITIVE_INFINITY)) {
      const parameters = makeParameters(job, issued)
      issued += 1
      await transact(pool, first, parameters)
      await transact(pool, second, parameters)
      acknowledged += 1
      const now = performance.now()
      if (now < begin || now >= end) continue
      measured += 1
      last = now
    }
  }
  await Promise.all(Array.from({ length: job.concurrency }, work))
  const seconds = ((job.count === undefined ? end : last) - begin) / 1000
  return { perSecond: measured / seconds, acknowledged, amount: acknowledged * amount }
}

type Parameters = Readonly<Record<string, string>>

const makeParameters = ({ transactions, firstOrder }: BareJob, index: number): Parameters => ({
  ...transactions.constants,
  order: String(orderBase + firstOrder + index),
  card: String(randomBetween(variables.card)),
  pseudo: String(randomBetween(variables.pseudo)),
})

const randomBetween = ({ from, to }: { from: number; to: number }): number =>
  from + Math.floor(Math.random() * (to - from))

async function transact(
  pool: pg.Pool,
  statements: readonly Statement[],
  parameters: Parameters,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    for (const { name, text, parameters: names } of statements) {
      await client.query({ name, text, values: names.map(parameter => parameters[parameter]) })
    }
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}
