/**
 * The cost of one payment with two workers against one, and in an installation with two cells against one with a single
 * cell: processor time of the gateway's processes and of PostgreSQL together. Both run side by side, each on a database
 * of its own, and get the same number of payments in turns of a second or two: what a machine's neighbours do in one
 * minute or the next would otherwise decide.
 */
import { type Line, ratiosOf, showRatio, spreadOf } from '#bench/figures.ts'
import { startGateway } from '#bench/gateway-process.ts'
import type { LoadJob, LoadResult } from '#bench/load.ts'
import type { Peer } from '#bench/peer.ts'
import type { Installation, Stage } from '#bench/stage.ts'
import { concurrency, createWatch, numberOrders, type TakeOrders } from '#bench/watch.ts'

interface Bench {
  readonly stage: Stage
  readonly load: Peer<LoadJob, LoadResult>
  readonly rounds: number
  readonly seconds: number
  readonly say: (line: string) => void
}

/** The targets: two workers cost at most a tenth more than one. A look into the directory costs next to nothing. */
const workersMax = 1.1
const cellsMax = 1.02

/**
 * Each turn 250 payments for each second asked for, and four turns for each round. Before that 20,000 of every process
 * are not counted: each process compiles its hot code meanwhile, which takes a worker with half of the payments twice
 * as long.
 */
const paymentsPerSecond = 250
const turnsPerRound = 4
const warmUpPayments = 20_000

interface Side {
  readonly name: string
  readonly processes: number
  readonly installation: Installation
  readonly environment: Readonly<Record<string, string>>
}

export async function measureProcesses(bench: Bench): Promise<Line[]> {
  const side = async (workers: number): Promise<Side> => ({
    name: workers === 1 ? '1 worker' : `${workers} workers`,
    processes: workers,
    installation: await bench.stage.makeInstallation(`workers_${workers}`),
    environment: { TOLLGATE_WORKERS: String(workers) },
  })
  return compare(bench, [await side(1), await side(2)], workersMax)
}

/** Each has a database of its own, because cells cannot be removed. The merchant of both lives in cell 0. */
export async function measureCells(bench: Bench): Promise<Line[]> {
  const side = async (cells: number): Promise<Side> => ({
    name: cells === 1 ? '1 cell' : `${cells} cells`,
    processes: 1,
    installation: await bench.stage.makeInstallation(`cells_${cells}`),
    environment: { TOLLGATE_CELLS: String(cells) },
  })
  return compare(bench, [await side(1), await side(2)], cellsMax)
}

async function compare(bench: Bench, sides: readonly [Side, Side], max: number): Promise<Line[]> {
  const takeOrders = numberOrders()
  const running: [RunningSide, RunningSide] = [
    await startSide(bench, sides[0], takeOrders),
    await startSide(bench, sides[1], takeOrders),
  ]
  try {
    const turns = bench.rounds * turnsPerRound
    for (let turn = 1; turn <= turns; turn += 1) {
      // The order changes from turn to turn.
      for (const side of turn % 2 === 1 ? running : running.toReversed())
        await side.measure(`${turn}/${turns} ${side.name}`)
    }
  } finally {
    for (const side of running) await side.stop()
  }
  const [one, two] = running.map(side => side.costs) as [number[], number[]]
  const ratio = spreadOf(ratiosOf(two, one))
  const showCost = (values: readonly number[]) => `${Math.round(spreadOf(values).median)} µs`
  return [
    {
      what: `processor time of a payment, ${sides[0].name} and ${sides[1].name}`,
      measured: `${showCost(one)} and ${showCost(two)}`,
    },
    {
      what: `   ${sides[1].name} / ${sides[0].name}`,
      measured: showRatio(ratio),
      target: `≤ ${max.toFixed(2)}×`,
      met: ratio.median <= max,
    },
  ]
}

interface RunningSide {
  readonly name: string
  /** Microseconds of each payment, of all processes of the gateway and of PostgreSQL, one figure for each turn. */
  readonly costs: readonly number[]
  measure(title: string): Promise<void>
  stop(): Promise<void>
}

async function startSide(bench: Bench, side: Side, takeOrders: TakeOrders): Promise<RunningSide> {
  const { stage, load, seconds, say } = bench
  const { authorization, environment } = side.installation
  const gateway = await startGateway({
    dataDirectory: await stage.makeFolder(side.name.replaceAll(/\W/g, '-')),
    environment: { ...environment, ...side.environment, TOLLGATE_DRAIN_SECONDS: '0' },
  })
  const watch = createWatch({ stage, gateway, say })
  const job = { kind: 'payments', port: gateway.port, authorization, concurrency, warmUpMs: 0 } as const
  const pay = (count: number) => load.run({ ...job, firstOrder: takeOrders(), measureMs: 0, count })
  await pay(warmUpPayments * side.processes)
  const costs: number[] = []
  return {
    ...{ name: side.name, costs, stop: gateway.stop },
    async measure(title) {
      const before = await readBatches(gateway.port)
      const { gatewayUs, postgresUs } = await watch(title, () => pay(paymentsPerSecond * seconds))
      const after = await readBatches(gateway.port)
      const batches = after.batches - before.batches
      const size = (after.changes - before.changes) / batches
      const parts = `gateway ${Math.round(gatewayUs)} µs, PostgreSQL ${Math.round(postgresUs)} µs`
      say(`   each ${parts}; ${batches} commits of ${size.toFixed(1)} changes`)
      costs.push(gatewayUs + postgresUs)
    },
  }
}

/** How many commits the gateway has made so far, and how many changes they held together. */
async function readBatches(port: number): Promise<{ batches: number; changes: number }> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const read = (name: string): number =>
    Number(new RegExp(`^tollgate_commit_batch_size_${name} (\\d+)$`, 'm').exec(metrics)?.[1])
  return { batches: read('count'), changes: read('sum') }
}
