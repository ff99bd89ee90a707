/** Measurements with bare clients on a database of their own, and their books. */
import type { BareJob } from '#bench/bare-loop.ts'
import { type BareCaptures, orderBase, type Transactions, toStatement } from '#bench/bare-rows.ts'
import { auditBooks, type Books, enter, openBooks } from '#bench/books.ts'
import type { Peer } from '#bench/peer.ts'
import { type PgbenchOptions, runPgbench } from '#bench/pgbench.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import {
  type Costs,
  concurrency,
  type Measured,
  type TakeOrders,
  type Watch,
  warmUpMs,
} from '#bench/watch.ts'

/** 16: a common size of a Node program's pool; more were no faster on two cores. */
export const bareConnections = 16

export interface BareRuns {
  driverPayments(title: string, transactions: Transactions): Promise<Measured & Costs>
  driverCaptures(title: string, transactions: BareCaptures, count: number): Promise<Measured & Costs>
  driverRefunds(title: string, transactions: BareCaptures, count: number): Promise<Measured & Costs>
  pgbenchPayments(
    title: string,
    options: Pick<PgbenchOptions, 'script' | 'transactions' | 'clients'>,
  ): Promise<Measured & Costs>
  /** Throws when a single payment is missing or too many. */
  audit(): Promise<string>
}

interface Parts {
  readonly stage: Stage
  readonly bare: Peer<BareJob, Measured>
  readonly watch: Watch
  readonly takeOrders: TakeOrders
  readonly seconds: number
}

export function createBareRuns({ stage, bare, watch, takeOrders, seconds }: Parts): BareRuns {
  const books: Books = openBooks()
  const databaseUrl = stage.bareUrl
  const standard = {
    databaseUrl,
    connections: bareConnections,
    concurrency,
    warmUpMs,
    measureMs: seconds * 1000,
  }
  const loop = (transactions: Transactions, job: Partial<BareJob> = {}): Promise<Measured> =>
    bare.run({ ...standard, transactions, firstOrder: takeOrders(), ...job })

  const bookPayments = (run: Measured): void => {
    enter(books.automatic, run)
    books.cards += run.acknowledged
  }

  return {
    async driverPayments(title, transactions) {
      const result = await watch(title, () => loop(transactions))
      bookPayments(result)
      return result
    },
    async driverCaptures(title, transactions, count) {
      const firstOrder = takeOrders()
      enter(books.manual, await prepare(databaseUrl, transactions, { firstOrder, count }))
      const result = await watch(title, () => loop(transactions, { count, firstOrder, warmUpMs: 0 }))
      enter(books.captures, result)
      return result
    },
    async driverRefunds(title, transactions, count) {
      const firstOrder = takeOrders()
      const made = await prepare(databaseUrl, transactions, { firstOrder, count })
      enter(books.manual, made)
      enter(books.captures, made)
      const result = await watch(title, () => loop(transactions, { count, firstOrder, warmUpMs: 0 }))
      enter(books.refunds, result)
      return result
    },
    async pgbenchPayments(title, options) {
      const run = (runSeconds: number) =>
        runPgbench({ ...options, databaseUrl, seconds: runSeconds, firstOrder: takeOrders() })
      bookPayments(await run(warmUpMs / 1000))
      const result = await watch(title, () => run(seconds))
      if (result.acknowledged === 0) throw new Error(`pgbench made no payment in ${seconds} s`)
      bookPayments(result)
      return result
    },
    audit: () => withClient(databaseUrl, client => auditBooks(client, stage.merchantId, books)),
  }
}

interface Range {
  readonly firstOrder: number
  readonly count: number
}

/** Payments for a range of orders. */
async function prepare(
  url: string,
  { prepare: statements, constants }: BareCaptures,
  { firstOrder, count }: Range,
) {
  const from = orderBase + firstOrder
  const values: Record<string, string> = {
    ...constants,
    from_order: String(from),
    to_order: String(from + count - 1),
  }
  await withClient(url, async client => {
    for (const sql of statements) {
      const { text, parameters } = toStatement('', sql)
      await client.query(
        text,
        parameters.map(name => values[name]),
      )
    }
  })
  return { acknowledged: count, amount: count * Number(constants.payment_amount) }
}
