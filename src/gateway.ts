/**
 * Wires one environment: its cells (database, engine, workers) and the server in front of them. The process and the
 * tests both start here; no other code depends on the wiring.
 */
import type { Registry } from 'prom-client'
import type { Bank } from '#operations/bank/bank.ts'
import type { Engine } from '#operations/engine.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { createAdministration } from '#operations/merchants/open-merchants.ts'
import { createBanks } from '#wiring/bank.ts'
import type { Cell } from '#wiring/cell.ts'
import { type Cells, openCells } from '#wiring/cells.ts'
import type { GatewayOptions } from '#wiring/parts.ts'
import { createServer } from '#wiring/server.ts'
import { createShared, type Shared } from '#wiring/shared.ts'

export { GatewayError } from '#wiring/checks.ts'
export type { GatewayOptions } from '#wiring/parts.ts'

/** The engine and workers are those of cell 0, exposed for tests. */
export interface Gateway
  extends Pick<Cell, 'engine' | 'settleWorker' | 'timerWorker' | 'deliveryWorker' | 'notices'> {
  readonly merchants: MerchantAdministration
  readonly engine: Engine
  /** The bank operations of cell 0. */
  readonly bank: Bank
  /** The bank operations of every cell. */
  readonly banks: readonly Bank[]
  /** Database settings that could lose an acknowledged payment. In live, only an asynchronous standby is tolerated. */
  readonly weakDurability: readonly string[]
  /** Opens the port and starts the workers. Resolves with the origin. */
  listen(): Promise<string>
  /** The metrics of this process, for one that reports them to another process. */
  readonly metrics: Registry
  /** The numbers of this process, one in each cell that it has reached. */
  processes(): readonly ProcessNumber[]
  /** Lets other processes take over the work of processes that have ended. */
  declareDead(processes: readonly ProcessNumber[]): Promise<void>
  /**
   * Answers readiness with 503, serves requests for `serveForMs`, then stops the workers and closes the connections.
   */
  close(serveForMs?: number): Promise<void>
}

/** The number of a process in one cell. */
export interface ProcessNumber {
  readonly cell: number
  readonly process: number
}

/** 10 s of the 15 s that a stop may take; the rest is for the workers and the database. */
const drainMs = 10_000

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  let origin = options.publicUrl ?? ''
  const shared = createShared(options, () => origin)
  const cells = await openCells(shared)
  try {
    const server = await createServer(shared, cells)
    const { home } = cells
    const { engine, settleWorker, timerWorker, deliveryWorker, notices } = home
    const banks = createBanks(cells, options)
    return {
      ...{ engine, settleWorker, timerWorker, deliveryWorker, notices, banks },
      merchants: administer(shared, cells),
      bank: banks[0],
      metrics: shared.metrics.registry,
      weakDurability: [...new Set(cells.all().flatMap(({ weak }) => weak))],
      processes: () => cells.all().map(({ number: cell, presence: { process } }) => ({ cell, process })),
      async declareDead(processes) {
        for (const { number, presence } of cells.all())
          await presence.declareDead(
            processes.filter(({ cell }) => cell === number).map(({ process }) => process),
          )
      },
      async listen() {
        await cells.claim()
        const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 }
        const listening = await server.listen({ host, port })
        origin = options.publicUrl ?? listening
        await cells.start()
        return origin
      },
      async close(serveForMs = 0) {
        await server.drain({ serveForMs, deadlineMs: drainMs })
        await cells.stop()
        shared.logger.flush()
      },
    }
  } catch (error) {
    await cells.stop()
    throw error
  }
}

const administer = ({ options: { environment }, changes }: Shared, { home, stores }: Cells) =>
  createAdministration({
    ...{ environment, changes, keys: home.keys, audit: home.audit.audit },
    ...{ merchants: stores.merchants, apiKeys: stores.apiKeys, endpoints: stores.endpoints },
  })
