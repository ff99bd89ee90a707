/** `audit`: shows, exports and verifies the audit trail of people, commands and keys. */
import { type Command, Option } from 'commander'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import { jsonOption, parseTime, parseWhole } from '#commands/options.ts'
import { printExport, printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { type AuditRow, type AuditStore, createAuditStore } from '#storage/audit/audit.ts'
import { openDatabase as openPools } from '#storage/database.ts'

/** 1,000,000: more than anyone reads at once; `audit export` has no limit. */
const limitMax = 1_000_000

interface ListOptions {
  readonly since?: Date
  readonly act?: string
  readonly limit?: number
  readonly json?: true
}

export function addAuditCommands(program: Command, readConfig: () => Config): void {
  const audit = program.command('audit').summary('show, export and verify the audit trail')
  audit.description(
    'The audit trail records what people, commands and keys did to this installation. Rows are only ever added.',
  )
  audit
    .command('list')
    .description('Shows the rows, the oldest first.')
    .option('--since <time>', 'only rows from this time on (a date, or how long ago: PT2H)', parseTime)
    .option('--act <act>', 'only rows of this action, such as key.create')
    .option('--limit <n>', 'only this many rows, the newest', parseWhole(1, limitMax))
    .addOption(jsonOption())
    .action(async ({ json, ...conditions }: ListOptions) => {
      const rows = await withAudit(readConfig(), store => store.list(conditions))
      if (json) return printJson(rows.map(toJson))
      printRows([
        ['AT', 'ACTOR', 'FROM', 'ACT', 'OBJECT'],
        ...rows.map(row => [row.at.toISOString(), row.actor, row.from, row.act, row.object]),
      ])
    })
  audit
    .command('export')
    .description(
      'Writes all rows to standard output, one line of JSON each, with number, for another system to keep.',
    )
    .addOption(new Option('--json', 'the only form there is').hideHelp())
    .action(() => withAudit(readConfig(), store => printExport(renderRows(store))))
  audit
    .command('verify')
    .description(
      'Recomputes the chain of hashes and names every row that was changed, is missing or was cut off at the end. Ends ' +
        'with 1 when it finds something.',
    )
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => verify(readConfig(), json === true))
}

async function verify(config: Config, json: boolean): Promise<void> {
  const { rows, head, faults } = await withAudit(config, store => store.verify())
  if (json) printJson({ valid: faults.length === 0, rows, number: head.number, hash: head.hash, faults })
  else for (const fault of faults) console.log(fault)
  if (faults.length > 0) throw new CommandFault(`the audit trail is not as it was written: ${faults[0]}`)
  if (!json)
    console.log(`Whole: ${rows} rows; the newest is number ${head.number} with the hash ${head.hash}.`)
}

async function* renderRows(store: AuditStore): AsyncGenerator<string> {
  for await (const rows of store.walk())
    yield rows.map(row => `${JSON.stringify({ number: row.number, ...toJson(row) })}\n`).join('')
}

const toJson = ({ at, actor, from, act, object, before, after }: AuditRow) => ({
  at: at.toISOString(),
  actor,
  from,
  act,
  object,
  before: before ?? null,
  after: after ?? null,
})

async function withAudit<T>(config: Config, work: (store: AuditStore) => Promise<T>): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const pools = openPools(database.url, error => console.error(`tollgate: ${describeReason(error)}`))
    try {
      return await work(createAuditStore(pools))
    } finally {
      await pools.close()
    }
  } finally {
    await database.close()
  }
}
