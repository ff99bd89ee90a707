/** Runs one measurement while the time of all processes is taken, and says how it went in one line. */
import { showRate } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import { meterCores } from '#bench/resources.ts'
import type { Stage } from '#bench/stage.ts'

/** The report of every measured run, whatever generated the load. */
export interface Measured {
  readonly perSecond: number
  /** All acknowledged requests, including warm-up and stragglers: these must be in the database. */
  readonly acknowledged: number
  /** The sum of their amounts. */
  readonly amount: number
  /** How many cores the load itself cost; absent where only the system can tell. */
  readonly cores?: number
}

/** Processor time for each one that was answered, in microseconds; it depends less on neighbours than the rate does. */
export interface Costs {
  readonly gatewayUs: number
  readonly postgresUs: number
}

export type Watch = <T extends Measured>(
  title: string,
  work: () => Promise<T>,
  describe?: (result: T) => string,
) => Promise<T & Costs>

interface Watched {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly say: (line: string) => void
}

export function createWatch({ stage, gateway, say }: Watched): Watch {
  return async (title, work, describe = () => '') => {
    const read = meterCores({ gatewayPid: gateway.pid, cluster: stage.cluster })
    const result = await work()
    const cores = await read()
    const load = result.cores ?? cores.ended
    const known = [cores.gateway, cores.postgres, load].reduce<number>((sum, value) => sum + (value ?? 0), 0)
    const others = Math.max(0, cores.machine - known)
    const parts = { gateway: cores.gateway, PostgreSQL: cores.postgres, load, others, stolen: cores.stolen }
    const shares = Object.entries(parts).map(([name, value]) => `${name} ${value?.toFixed(2) ?? '?'}`)
    const rate = `${showRate(result.perSecond).padStart(7)}/s`
    say(`${title.padEnd(30)} ${rate}${describe(result)}  cores: ${shares.join(', ')}`)
    const costUs = (value = Number.NaN) => (value * cores.elapsedMs * 1000) / result.acknowledged
    return { ...result, gatewayUs: costUs(cores.gateway), postgresUs: costUs(cores.postgres) }
  }
}

/** Orders are numbered once for all runs, so that no two of them meet in a transId or a card. */
export type TakeOrders = () => number

/** 10^9 numbers for each run: more than any run can use. */
const ordersPerRun = 1_000_000_000

export function numberOrders(): TakeOrders {
  let runs = 0
  return () => {
    runs += 1
    return runs * ordersPerRun
  }
}

/** The same for the gateway and the bare clients, so that their rates can be compared; see docs/bench.md. */
export const concurrency = 64

/**
 * 3 s before each measurement, in which nothing counts: connections open, caches fill, and a gateway that had nothing to do
 * while a bare client was measured compiles again what Node has thrown away meanwhile.
 */
export const warmUpMs = 3_000
