/**
 * The single measurements, each with a progress line and an entry in the books. They run one after the other and each
 * alone, so that the machine belongs to the one that is measured.
 */

import type { BareJob } from '#bench/bare-loop.ts'
import { type BareCaptures, orderBase, type Transactions, toStatement } from '#bench/bare-rows.ts'
import { auditBooks, enter, openBooks } from '#bench/books.ts'
import { showRate } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { LoadJob, LoadResult } from '#bench/load.ts'
import type { Measured, Peer } from '#bench/peer.ts'
import { type PgbenchOptions, runPgbench } from '#bench/pgbench.ts'
import { meterCores } from '#bench/resources.ts'
import { type Stage, withClient } from '#bench/stage.ts'

/** What the issue asks for. */
const concurrency = 64
/** 16: what a Node program with a pool commonly takes; more connections were no faster on two cores. */
const bareConnections = 16
/** 1 s before each measurement: connections open, caches fill, nothing counts. */
const warmUpMs = 1_000
/** Numbers that one run may use. */
const ordersPerRun = 1_000_000_000

export interface Instruments {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly load: Peer<LoadJob, LoadResult>
  readonly bare: Peer<BareJob, Measured>
  readonly seconds: number
  readonly say: (line: string) => void
}

export type Measurements = ReturnType<typeof createMeasurements>

export function createMeasurements({ stage, gateway, load, bare, seconds, say }: Instruments) {
  const books = { gateway: openBooks(), bare: openBooks() }
  const { port } = gateway
  const { authorization } = stage
  const measureMs = seconds * 1000
  let runs = 0
  const takeOrders = (): number => {
    runs += 1
    return runs * ordersPerRun
  }

  /** Runs it while the processes' time is taken, and says how it went. */
  async function watch<T extends { perSecond: number; cores?: number }>(
    title: string,
    work: () => Promise<T>,
    more: (result: T) => string = () => '',
  ): Promise<T> {
    const read = meterCores({ gatewayPid: gateway.pid, cluster: stage.cluster })
    const result = await work()
    const { machine, ended, ...cores } = await read()
    const own = result.cores ?? ended ?? 0
    const others = Math.max(0, machine - own - (cores.gateway ?? 0) - (cores.postgres ?? 0))
    const parts = { gateway: cores.gateway, PostgreSQL: cores.postgres, load: own, others }
    const shares = Object.entries(parts).map(([name, value]) => `${name} ${value?.toFixed(2) ?? '?'}`)
    say(
      `${title.padEnd(34)} ${showRate(result.perSecond).padStart(7)}/s${more(result)}  cores: ${shares.join(', ')}`,
    )
    return result
  }

  const latencies = ({ p50Ms, p99Ms }: LoadResult): string =>
    `  p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms`

  const ask = (job: Pick<LoadJob, 'kind'> & Partial<LoadJob>): Promise<LoadResult> =>
    load.run({ port, authorization, concurrency, firstOrder: takeOrders(), warmUpMs, measureMs, ...job })

  async function payments(title: string, job: Partial<LoadJob> = {}): Promise<LoadResult> {
    const result = await watch(title, () => ask({ kind: 'payments', ...job }), latencies)
    enter(books.gateway.automatic, result)
    books.gateway.cards += result.acknowledged
    return result
  }

  /** Authorised payments to be captured or read; not measured. */
  async function preparePayments(count: number): Promise<void> {
    const result = await ask({ kind: 'prepare', count, warmUpMs: 0 })
    enter(books.gateway.manual, result)
    books.gateway.cards += result.acknowledged
  }

  async function captures(title: string, count: number): Promise<LoadResult> {
    const result = await watch(title, () => ask({ kind: 'captures', count, warmUpMs: 0 }), latencies)
    enter(books.gateway.captures, result)
    return result
  }

  const reads = (title: string): Promise<LoadResult> => watch(title, () => ask({ kind: 'reads' }), latencies)

  const loop = (transactions: Transactions, job: Partial<BareJob>): Promise<Measured> =>
    bare.run({
      databaseUrl: stage.bareUrl,
      transactions,
      connections: bareConnections,
      concurrency,
      firstOrder: takeOrders(),
      warmUpMs,
      measureMs,
      ...job,
    })

  async function driverPayments(title: string, transactions: Transactions): Promise<Measured> {
    const result = await watch(title, () => loop(transactions, {}))
    enter(books.bare.automatic, result)
    books.bare.cards += result.acknowledged
    return result
  }

  async function driverCaptures(title: string, transactions: BareCaptures, count: number): Promise<Measured> {
    const firstOrder = takeOrders()
    await withClient(stage.bareUrl, async client => {
      const range = {
        from_order: String(orderBase + firstOrder),
        to_order: String(orderBase + firstOrder + count - 1),
      }
      const values: Record<string, string> = { ...transactions.constants, ...range }
      for (const sql of transactions.prepare) {
        const { text, parameters } = toStatement('', sql)
        await client.query(
          text,
          parameters.map(name => values[name]),
        )
      }
    })
    enter(books.bare.manual, {
      acknowledged: count,
      amount: count * Number(transactions.constants.payment_amount),
    })
    const result = await watch(title, () => loop(transactions, { count, firstOrder, warmUpMs: 0 }))
    enter(books.bare.captures, result)
    return result
  }

  async function pgbenchPayments(
    title: string,
    options: Pick<PgbenchOptions, 'script' | 'transactions' | 'clients'>,
  ): Promise<number> {
    const amount = Number(options.transactions.constants.payment_amount)
    const runFor = async (runSeconds: number) => {
      const firstOrder = takeOrders()
      const run = await runPgbench({
        ...options,
        databaseUrl: stage.bareUrl,
        seconds: runSeconds,
        firstOrder,
      })
      enter(books.bare.automatic, { acknowledged: run.acknowledged, amount: run.acknowledged * amount })
      books.bare.cards += run.acknowledged
      return run
    }
    await runFor(warmUpMs / 1000)
    return (await watch(title, () => runFor(seconds))).perSecond
  }

  /** Throws when a single payment is missing or too many. */
  async function audit(): Promise<void> {
    for (const [name, url] of [
      ['gateway', stage.gatewayUrl],
      ['bare', stage.bareUrl],
    ] as const) {
      const found = await withClient(url, client => auditBooks(client, stage.merchantId, books[name]))
      say(`books of the database "${name}": ${found}; every acknowledged one is there and all sums hold`)
    }
  }

  return {
    payments,
    preparePayments,
    captures,
    reads,
    driverPayments,
    driverCaptures,
    pgbenchPayments,
    audit,
  }
}
