/** Measurements through the gateway's API, and their books. */
import { auditBooks, type Books, enter, openBooks } from '#bench/books.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { LoadJob, LoadResult } from '#bench/load.ts'
import type { Peer } from '#bench/peer.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { type Costs, concurrency, type TakeOrders, type Watch, warmUpMs } from '#bench/watch.ts'

export interface GatewayRuns {
  payments(title: string, job?: Partial<LoadJob>): Promise<LoadResult & Costs>
  /** Makes authorised payments to capture or read; not measured. */
  prepare(count: number): Promise<void>
  /** Captures the payments that were prepared last. */
  captures(title: string, count: number): Promise<LoadResult & Costs>
  /** Refunds the payments that were captured last. */
  refunds(title: string, count: number): Promise<LoadResult & Costs>
  /** So many captures of 1 at once on one payment, which is made for it. */
  race(title: string, count: number): Promise<LoadResult & Costs>
  /** Reads the payments that were prepared last, repeatedly. */
  reads(title: string): Promise<LoadResult & Costs>
  /** Reads these paths by turns. */
  gets(title: string, paths: readonly string[], job?: Partial<LoadJob>): Promise<LoadResult & Costs>
  /** Card ranges of the list that bins.ts imports, over and over. */
  lookUps(title: string): Promise<LoadResult & Costs>
  /** Cards that came into the vault without a payment. */
  enterCards(count: number): void
  /** Throws when a single payment is missing or too many. */
  audit(): Promise<string>
}

interface Parts {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly load: Peer<LoadJob, LoadResult>
  readonly watch: Watch
  readonly takeOrders: TakeOrders
  readonly seconds: number
}

export function createGatewayRuns({ stage, gateway, load, watch, takeOrders, seconds }: Parts): GatewayRuns {
  const books: Books = openBooks()
  const { port } = gateway
  const { authorization, gatewayUrl, merchantId } = stage
  const standard = { port, authorization, concurrency, warmUpMs, measureMs: seconds * 1000 }
  const ask = (job: Pick<LoadJob, 'kind'> & Partial<LoadJob>): Promise<LoadResult> =>
    load.run({ ...standard, firstOrder: takeOrders(), ...job })

  return {
    async payments(title, job = {}) {
      const result = await watch(title, () => ask({ kind: 'payments', ...job }), describeLatency)
      enter(books.automatic, result)
      books.cards += result.acknowledged
      return result
    },
    async prepare(count) {
      const result = await ask({ kind: 'prepare', count, warmUpMs: 0 })
      enter(books.manual, result)
      books.cards += result.acknowledged
    },
    async captures(title, count) {
      const result = await watch(title, () => ask({ kind: 'captures', count, warmUpMs: 0 }), describeLatency)
      enter(books.captures, result)
      return result
    },
    async refunds(title, count) {
      const result = await watch(title, () => ask({ kind: 'refunds', count, warmUpMs: 0 }), describeLatency)
      enter(books.refunds, result)
      return result
    },
    async race(title, count) {
      const made = await ask({ kind: 'prepare', count: 1, warmUpMs: 0 })
      enter(books.raced, made)
      books.cards += made.acknowledged
      const result = await watch(title, () => ask({ kind: 'race', count, warmUpMs: 0 }), describeLatency)
      // Each capture is of 1, so the captured sum is also their number.
      enter(books.raceCaptures, { acknowledged: result.amount, amount: result.amount })
      return result
    },
    reads: title => watch(title, () => ask({ kind: 'reads' }), describeLatency),
    gets: (title, paths, job = {}) =>
      watch(title, () => ask({ kind: 'gets', paths, ...job }), describeLatency),
    lookUps: title => watch(title, () => ask({ kind: 'lookUps' }), describeLatency),
    enterCards(count) {
      books.cards += count
    },
    audit: () => withClient(gatewayUrl, client => auditBooks(client, merchantId, books)),
  }
}

const describeLatency = ({ p50Ms, p99Ms }: LoadResult): string =>
  `  p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`
