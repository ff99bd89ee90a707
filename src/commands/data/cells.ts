/** `cells add|status` and `merchant move`: schemas with merchants of their own, and moving merchants between them. */
import type { Command } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { CommandFault, describeReason, UsageFault } from '#commands/faults.ts'
import { type OpenDatabase, type OpenOptions, openDatabase } from '#commands/open-database.ts'
import { jsonOption } from '#commands/options.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { type CellAddress, parseCellName } from '#storage/cells/address.ts'
import { announceToAll, type CellCounts, countCell } from '#storage/cells/create-cell.ts'
import { isConnectionLost } from '#storage/database.ts'

const say = (line: string): void => console.error(line)

export function addCellCommands(program: Command, readConfig: () => Config): void {
  const cells = program.command('cells').summary('spread merchants over several schemas or databases')
  cells.description(
    'A cell is a schema with all tables; a merchant lives in one cell. Cell 0 is the database itself. See docs/cells.md.',
  )
  cells
    .command('add')
    .description('Makes one more cell. New merchants go to the emptiest. Running servers use it at once.')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => {
      const made = await withCells(readConfig(), { addsCell: true, begins: true }, async database => {
        const cell = database.cells.at(-1)
        if (!cell) throw new Error('no cell was made')
        await auditCommand(database.url, { act: 'cells.add', object: cell.name })
        if (!(await announceToAll(database.url)))
          say(`warning: not every server has opened ${cell.name}; restart them`)
        return cell
      })
      if (json) printJson({ cell: made.name, database: made.place })
      else console.log(`${made.name} is ready in ${made.place}.`)
    })
  cells
    .command('status')
    .description(
      'Lists all cells with how many merchants and payments they hold. Ends with 1 when one cannot be reached.',
    )
    .addOption(jsonOption())
    .action(({ json }: { json?: true }) => showStatus(readConfig(), json === true))
}

export function addMoveCommand(program: Command, readConfig: () => Config): void {
  program.commands
    .find(command => command.name() === 'merchant')
    ?.command('move')
    .argument('<merchant>', 'merchant id')
    .requiredOption('--to <cell>', 'the cell to move it to, such as cell_02')
    .description(
      'Moves a merchant with all it has to another cell, while the server runs or not. Its requests are answered 503 with ' +
        'Retry-After for seconds; keys, pages and notices keep working. Run it again if it was cut off.',
    )
    .addOption(jsonOption())
    .action((id: string, { to, json }: { to: string; json?: true }) =>
      move(readConfig(), { id, to, json: json === true }),
    )
}

async function withCells<T>(
  config: Config,
  options: Pick<OpenOptions, 'addsCell' | 'begins'>,
  work: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  for (const warning of config.warnings) say(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: say, ...options })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

interface Status {
  readonly cell: string
  /** Null: the cell is unavailable. */
  readonly merchants: number | null
  readonly payments: number | null
  readonly database: string
}

async function showStatus(config: Config, json: boolean): Promise<void> {
  const found = await withCells(config, {}, database => Promise.all(database.cells.map(lookAt)))
  if (json) printJson(found)
  else
    printRows([
      ['CELL', 'MERCHANTS', 'PAYMENTS', 'DATABASE'],
      ...found.map(({ cell, merchants, payments, database }) => [
        cell,
        String(merchants ?? 'away'),
        String(payments ?? 'away'),
        database,
      ]),
    ])
  const away = found.filter(({ merchants }) => merchants === null).map(({ cell }) => cell)
  if (away.length > 0) throw new CommandFault(`these cells cannot be reached: ${away.join(', ')}`)
}

async function lookAt({ name, url, place }: CellAddress): Promise<Status> {
  const counts: CellCounts | undefined = await countCell(url).catch((error: unknown) => {
    if (!isConnectionLost(error)) throw error
    say(`${name} cannot be reached: ${describeReason(error)}`)
    return undefined
  })
  return {
    cell: name,
    merchants: counts?.merchants ?? null,
    payments: counts?.payments ?? null,
    database: place,
  }
}

async function move(
  config: Config,
  { id, to, json }: { readonly id: string; readonly to: string; readonly json: boolean },
): Promise<void> {
  const number = parseCellName(to)
  if (number === undefined) throw new UsageFault(`--to is "${to}", but must name a cell such as cell_02`)
  const { moveMerchant, MoveFault } = await import('#cells/move.ts')
  const moved = await withCells(config, {}, async database => {
    try {
      const done = await moveMerchant({ cells: database.cells, merchantId: id, to: number })
      await auditCommand(database.url, {
        act: 'merchant.move',
        object: id,
        before: { cell: done.from },
        after: { cell: done.to, rows: done.rows },
      })
      return done
    } catch (error) {
      throw error instanceof MoveFault ? new CommandFault(error.message, { cause: error }) : error
    }
  })
  if (json) printJson(moved)
  else if (moved.from === moved.to) console.log(`${id} lives in ${moved.to}.`)
  else console.log(`${id} was moved from ${moved.from} to ${moved.to}: ${moved.rows} rows.`)
}
