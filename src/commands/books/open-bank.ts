/** Opens the bank operations of all cells for a command, and records in the audit trail what it has done. */
import { strict as assert } from 'node:assert'
import { Option } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { CommandFault } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import { overCells } from '#commands/over-cells.ts'
import type { Config } from '#config.ts'
import type { Act } from '#operations/audit/audit.ts'
import type { Bank } from '#operations/bank/bank.ts'
import type { CellAddress } from '#storage/cells/address.ts'

export const accountOption = () =>
  new Option('--account <account>', 'account id, acc_…').makeOptionMandatory()

/** An account is in one cell; the others do not have it. */
export const inOne =
  <T>(work: (bank: Bank) => Promise<T>) =>
  async (banks: readonly Bank[]): Promise<T> => {
    const { UnknownAccount } = await import('#operations/bank/bank.ts')
    const places = banks.map((_, number) => ({ number, name: '', url: '', place: '' }))
    const inBank = (cell: CellAddress): Promise<T> => {
      const bank = banks[cell.number]
      assert(bank, 'every cell has its bank operations')
      return work(bank)
    }
    return overCells({ cells: places }, inBank, { isMissing: error => error instanceof UnknownAccount })
  }

interface BankWork<T> {
  /** The command refuses to run while a cell is unreachable. */
  readonly needsAll?: boolean
  /** The work with the bank operations of every reachable cell. */
  readonly work: (banks: readonly Bank[]) => Promise<T>
  readonly act?: (done: T) => Act
  /** Prints a result that is still being read from the database. */
  readonly show?: (done: T) => Promise<void>
}

export async function withBank<T>(config: Config, { needsAll, work, act, show }: BankWork<T>): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const [{ openBanks }, { BankFault, UnknownAccount }] = await Promise.all([
      import('#banks.ts'),
      import('#operations/bank/bank.ts'),
    ])
    const opened = await openBanks({
      environment: config.environment,
      databaseUrl: database.url,
      cells: database.cells.slice(1),
      masterKey: database.masterKey,
      logLevel: 'error',
      // Standard output belongs to the result.
      logDestination: { write: line => console.error(line.trimEnd()) },
    })
    const isCellAway = opened.banks.length < database.cells.length
    try {
      if (needsAll && isCellAway)
        throw new CommandFault('a cell cannot be reached, and nothing was done; try again when it is back')
      const done = await work(opened.banks)
      if (act) await auditCommand(database.url, act(done))
      await show?.(done)
      return done
    } catch (error) {
      if (isCellAway && error instanceof UnknownAccount)
        throw new CommandFault(
          'a cell cannot be reached, and the account may be there; try again when it is back',
          { cause: error },
        )
      if (error instanceof BankFault) throw new CommandFault(error.message, { cause: error })
      throw error
    } finally {
      await opened.close()
    }
  } finally {
    await database.close()
  }
}
