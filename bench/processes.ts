/**
 * What one payment costs with two workers against one, and in an installation with two cells against one with a single cell:
 * processor time of the gateway's processes and of PostgreSQL together, of the same number of payments in turns. The time of a
 * process tells about the work and hardly about neighbours, unlike the rate.
 */
import { type Line, ratiosOf, showRatio, spreadOf } from '#bench/figures.ts'
import { startGateway } from '#bench/gateway-process.ts'
import type { LoadJob, LoadResult } from '#bench/load.ts'
import type { Peer } from '#bench/peer.ts'
import type { Installation, Stage } from '#bench/stage.ts'
import { concurrency, createWatch, numberOrders } from '#bench/watch.ts'

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
 * 500 payments for each second asked for, and 6,000 of every process before that are not counted: each of them compiles
 * meanwhile what is hot, and a worker that gets half of the payments takes twice as long for it.
 */
const paymentsPerSecond = 500
const warmUpPayments = 6_000

interface Side {
  readonly name: string
  readonly processes: number
  readonly installation: Installation
  readonly environment: Readonly<Record<string, string>>
}

export async function measureProcesses(bench: Bench): Promise<Line[]> {
  const installation = await bench.stage.makeInstallation('processes')
  const side = (workers: number): Side => ({
    name: workers === 1 ? '1 worker' : `${workers} workers`,
    processes: workers,
    ...{ installation, environment: { TOLLGATE_WORKERS: String(workers) } },
  })
  return compare(bench, [side(1), side(2)], workersMax)
}

/** Each has a database of its own, because cells that were made stay. The merchant of both lives in cell 0. */
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
  const { rounds } = bench
  const takeOrders = numberOrders()
  const costs: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    // Who comes first changes from round to round.
    for (const index of round % 2 === 1 ? ([0, 1] as const) : ([1, 0] as const)) {
      const side = sides[index]
      const title = `${round}/${rounds} ${side.name}`
      costs[index].push(await measureSide(bench, { side, title, firstOrder: takeOrders() }))
    }
  }
  const [one, two] = costs
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

interface Turn {
  readonly side: Side
  readonly title: string
  readonly firstOrder: number
}

/** Microseconds of each payment, of all processes of the gateway and of PostgreSQL. */
async function measureSide({ stage, load, seconds, say }: Bench, turn: Turn): Promise<number> {
  const { side, title, firstOrder } = turn
  const { authorization, environment } = side.installation
  const gateway = await startGateway({
    dataDirectory: await stage.makeFolder(title.replaceAll(/\W/g, '-')),
    environment: { ...environment, ...side.environment, TOLLGATE_DRAIN_SECONDS: '0' },
  })
  try {
    const watch = createWatch({ stage, gateway, say })
    const job = { kind: 'payments', port: gateway.port, authorization, concurrency, warmUpMs: 0 } as const
    const warmUp = warmUpPayments * side.processes
    await load.run({ ...job, firstOrder, measureMs: 0, count: warmUp })
    const count = paymentsPerSecond * seconds
    const before = await readBatches(gateway.port)
    const { gatewayUs, postgresUs } = await watch(title, () =>
      load.run({ ...job, firstOrder: firstOrder + warmUp, measureMs: 0, count }),
    )
    const after = await readBatches(gateway.port)
    const batches = after.batches - before.batches
    const size = (after.changes - before.changes) / batches
    const costs = `gateway ${Math.round(gatewayUs)} µs, PostgreSQL ${Math.round(postgresUs)} µs`
    say(`   each ${costs}; ${batches} commits of ${size.toFixed(1)} changes`)
    return gatewayUs + postgresUs
  } finally {
    await gateway.stop()
  }
}

/** How many commits the gateway has made so far, and how many changes they held together. */
async function readBatches(port: number): Promise<{ batches: number; changes: number }> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const read = (name: string): number =>
    Number(new RegExp(`^tollgate_commit_batch_size_${name} (\\d+)$`, 'm').exec(metrics)?.[1])
  return { batches: read('count'), changes: read('sum') }
}
