/** The command line: the list of commands and their help. The work of each command is in a file beside this one. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { addAuditCommands } from '#commands/books/audit.ts'
import { addBankCommands } from '#commands/books/bank.ts'
import { addFindingCommands } from '#commands/books/finding.ts'
import { addNoticeCommands } from '#commands/books/notices.ts'
import { addSettlementCommands } from '#commands/books/settlements.ts'
import { addBackupCommands } from '#commands/data/backup.ts'
import { addCellCommands, addMoveCommand } from '#commands/data/cells.ts'
import { addDoctorCommand } from '#commands/data/doctor.ts'
import { addImportCommands } from '#commands/data/import.ts'
import { addKeysCommands } from '#commands/data/keys.ts'
import { addVaultCommands } from '#commands/data/vault.ts'
import { addCompletionCommand } from '#commands/developer/completion.ts'
import { addLogCommands } from '#commands/developer/logs.ts'
import { addOpenCommand } from '#commands/developer/open-console.ts'
import { addWebhookCommands } from '#commands/developer/webhooks.ts'
import { CommandFault } from '#commands/faults.ts'
import { addEndpointCommands } from '#commands/merchants/endpoints.ts'
import { addKeyCommands } from '#commands/merchants/key.ts'
import { addMerchantCommands } from '#commands/merchants/merchant.ts'
import { addProviderCommands } from '#commands/merchants/provider.ts'
import { pairOptions, repeatPairOptions } from '#commands/merchants/provider-options.ts'
import { addRetentionCommands } from '#commands/merchants/retention.ts'
import { addRouteCommands } from '#commands/merchants/route.ts'
import { openDatabase } from '#commands/open-database.ts'
import { addOperatorCommands } from '#commands/operator.ts'
import { refuseRepeatedOptions } from '#commands/options.ts'
import { addScriptTagCommand, addVerifyPageCommand } from '#commands/verify-page.ts'
import { type Config, variables } from '#config.ts'
import { listPending } from '#storage/migrate.ts'

export async function runProgram(words: readonly string[], readConfig: () => Config): Promise<Command> {
  const program = buildProgram(readConfig)
  return program.parseAsync(readHelp(program, repeatPairOptions(words)), { from: 'user' })
}

/** `help bank batch` as `bank batch --help`: commander reads one name after `help` and would show the help of `bank`. */
function readHelp(program: Command, words: readonly string[]): string[] {
  const names = words.slice(1).filter(word => !word.startsWith('-') && word !== 'help')
  if (words[0] !== 'help' || names.length === 0) return [...words]
  let command = program
  for (const name of names) {
    const child = command.commands.find(candidate => candidate.name() === name)
    command = child ?? program.error(`error: unknown command '${names.join(' ')}'`)
  }
  return [...names, '--help']
}

export function buildProgram(readConfig: () => Config): Command {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const program = new Command('tollgate')
  program
    .description(`${manifest.description}\nWithout a command it serves.`)
    .version(manifest.version)
    // Errors are thrown to run(), which prints them in one place.
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', `\n${examples}\n\n${renderVariables()}\n\n${exits}`)

  program
    .command('serve')
    .description('Starts the gateway and serves until SIGTERM or Ctrl-C.')
    .addHelpText('after', `\n${renderVariables()}`)
    .action(async () => {
      // Loaded only here, see run.ts.
      const { serve } = await import('#commands/serve/serve.ts')
      await serve(readConfig())
    })

  program
    .command('migrate')
    .description('Brings the database to the newest schema. Starting the gateway does this too.')
    .option('--check', 'show what would run, and whether it is safe while the previous release serves')
    .option('--json', 'print one line of JSON')
    .action(({ check, json }: { check?: true; json?: true }) =>
      check ? checkMigrations(readConfig(), json) : migrateOnly(readConfig(), json),
    )

  addDoctorCommand(program, readConfig)
  addMerchantCommands(program, readConfig)
  addMoveCommand(program, readConfig)
  addCellCommands(program, readConfig)
  addKeyCommands(program, readConfig)
  addKeysCommands(program, readConfig)
  addVerifyPageCommand(program, readConfig)
  addScriptTagCommand(program, readConfig)
  addAuditCommands(program, readConfig)
  addRetentionCommands(program, readConfig)
  addVaultCommands(program, readConfig)
  addImportCommands(program, readConfig)
  addWebhookCommands(program, readConfig)
  addEndpointCommands(program, readConfig)
  addFindingCommands(program, readConfig)
  addBankCommands(program, readConfig)
  addProviderCommands(program, readConfig)
  addRouteCommands(program, readConfig)
  addNoticeCommands(program, readConfig)
  addOperatorCommands(program, readConfig)
  addSettlementCommands(program, readConfig)
  addBackupCommands(program, readConfig)
  addLogCommands(program, readConfig)
  addOpenCommand(program, readConfig)
  addCompletionCommand(program)
  refuseRepeatedOptions(program, pairOptions)
  return program
}

async function migrateOnly(settings: Config, json?: true): Promise<void> {
  for (const warning of settings.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(settings, {
    purpose: 'command',
    onProgress: line => console.error(line),
    begins: true,
  })
  try {
    await auditCommand(database.url, { act: 'migrate', object: 'schema' })
  } finally {
    await database.close()
  }
  const { place } = database
  console.log(json ? JSON.stringify({ upToDate: true, place }) : `The schema of ${place} is up to date.`)
}

async function checkMigrations(settings: Config, json?: true): Promise<void> {
  const database = await openDatabase(settings, {
    purpose: 'command',
    onProgress: line => console.error(line),
    asIs: true,
    begins: true,
  })
  try {
    const pending = (await Promise.all(database.cells.map(({ url }) => listPending(url)))).flat()
    if (json) console.log(JSON.stringify({ pending }))
    else printPending(pending, database.place)
    if (pending.some(({ unsafe }) => unsafe.length > 0))
      throw new CommandFault('stop the previous release before you migrate')
  } finally {
    await database.close()
  }
}

function printPending(pending: Awaited<ReturnType<typeof listPending>>, place: string): void {
  for (const { name, unsafe, waits } of pending) {
    console.log(
      `would run ${name}: ${unsafe.length === 0 ? 'safe while the previous release serves' : 'NOT safe'}`,
    )
    for (const sentence of [...unsafe, ...waits]) console.log(`  ${sentence}`)
  }
  if (pending.length === 0) console.log(`Nothing to run: the schema of ${place} is up to date.`)
}

const examples = `Examples:
  npm start                                                   serve the test environment
  PORT=9000 npm start                                         the same on another port
  npm run --silent tollgate -- merchant create --name "My shop" --json
  npm run --silent tollgate -- merchant list
  npm run --silent tollgate -- payments create --amount 1000  a test payment; then payments refund <payId>
  npm run --silent tollgate -- logs tail                      watch payments and events as they happen
  npm run --silent tollgate -- open                           the console in your browser
  npm run --silent tollgate -- merchant set mer_… --webhook-url https://shop.example/hook
  npm run --silent tollgate -- key create mer_… --name "Back office" --scopes read,refunds --json
  npm run --silent tollgate -- key rotate mer_… --overlap-hours 24
  npm run --silent tollgate -- keys rotate                    a new master key for cards and secrets
  npm run --silent tollgate -- vault purge --unused-for P400D --dry-run
  npm run --silent tollgate -- webhook add mer_… --url https://books.example/events --types refund.succeeded
  npm run --silent tollgate -- listen --forward-to http://localhost:3000/webhooks
  npm run --silent tollgate -- trigger payment.captured
  npm run --silent tollgate -- events replay --since PT2H
  npm run --silent tollgate -- doctor                         look over all data`

const exits = 'Exit codes: 0 done, 1 something failed, 2 wrong usage or configuration.'

function renderVariables(): string {
  const width = Math.max(...variables.map(({ name }) => name.length))
  const lines = variables.map(
    variable => `  ${variable.name.padEnd(width)}  ${variable.meaning} (default: ${variable.default})`,
  )
  return ['Environment variables:', ...lines].join('\n')
}
