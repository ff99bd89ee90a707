/**
 * Wires one environment for the commands of the bank: its cells without the server and without background loops. The
 * routes of the server take longest to load and to put together, and no command answers a request.
 */
import { type Banks, createBanks } from '#wiring/bank.ts'
import { openCells } from '#wiring/cells.ts'
import type { GatewayOptions } from '#wiring/parts.ts'
import { createShared } from '#wiring/shared.ts'

export interface OpenBanks {
  /** The bank operations of every cell that can be reached, cell 0 first. */
  readonly banks: Banks
  close(): Promise<void>
}

type BanksOptions = Pick<
  GatewayOptions,
  'environment' | 'databaseUrl' | 'cells' | 'masterKey' | 'logLevel' | 'logDestination'
>

export async function openBanks(options: BanksOptions): Promise<OpenBanks> {
  // The bank's commands make no payment, so they show no customer a page.
  const shared = createShared(options, () => '')
  const cells = await openCells(shared)
  return {
    banks: createBanks(cells, options),
    async close() {
      await cells.stop()
      shared.logger.flush()
    },
  }
}
