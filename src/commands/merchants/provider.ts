/** `provider`: a merchant's accounts at providers, with their settings and sealed credentials. */
import { type Command, Option } from 'commander'
import { commandActor, type Noted, withNote } from '#commands/audit-trail.ts'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import { parseName } from '#commands/merchants/merchant.ts'
import { collectPair, type Pairs, readSecrets } from '#commands/merchants/provider-options.ts'
import { type OpenDatabase, openDatabase } from '#commands/open-database.ts'
import { jsonOption } from '#commands/options.ts'
import { overCells } from '#commands/over-cells.ts'
import { findOrigin } from '#commands/serve/served.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { toVisible } from '#domain/text.ts'
import type { ShownAccount } from '#providers/administration.ts'
import type { Providers } from '#providers/open-providers.ts'
import { AccountFault, UnknownHere, WrongSetting } from '#providers/settings.ts'

const setOption = () =>
  new Option('--set <name=value>', 'a setting of the connector; more pairs may follow').argParser(collectPair)
const secretOption = () =>
  new Option(
    '--secret <name=@FILE>',
    'a credential from a file, or one of them from standard input with name=-; more pairs may follow',
  ).argParser(collectPair)

interface AddOptions {
  readonly connector: string
  readonly name: string
  readonly set?: Pairs
  readonly secret?: Pairs
  readonly json?: true
}

export function addProviderCommands(program: Command, readConfig: () => Config): void {
  const provider = program
    .command('provider')
    .summary("add, show and change merchants' accounts at providers")
  provider.description(
    "Adds, shows and changes merchants' accounts at payment providers. A running server follows within seconds.",
  )
  provider
    .command('add')
    .argument('<merchant>', 'merchant id')
    .description('Adds an account. Its secrets are sealed at once and never shown again.')
    .requiredOption('--connector <name>', 'which provider: simulator, stripe, adyen, bank …')
    .requiredOption('--name <name>', 'what people call the account', parseName)
    .addOption(setOption())
    .addOption(secretOption())
    .addOption(jsonOption())
    .action(async (merchantId: string, { connector, name, set = {}, secret, json }: AddOptions) => {
      const secrets = await readSecrets(secret)
      const account = { connector, name, settings: set, secrets }
      const note = { command: 'provider add', object: merchantId }
      const added = await withProviders(readConfig(), providers => providers.add(merchantId, account), note)
      if (json) return printJson(toIdentity(added))
      console.log(`account id: ${added.accountId}`)
      console.log(`notice URL: ${added.noticeUrl}`)
      console.error(
        'Give the notice URL to the provider, and run "tollgate provider check" with the account id.',
      )
    })
  addShowCommands(provider, readConfig)
  addChangeCommands(provider, readConfig)
  addCheckCommand(provider, readConfig)
}

function addShowCommands(provider: Command, readConfig: () => Config): void {
  provider
    .command('list')
    .argument('[merchant]', 'merchant id; all merchants unless given')
    .description('Lists accounts, the oldest first.')
    .addOption(jsonOption())
    .action(async (merchantId: string | undefined, { json }: { json?: true }) => {
      const found = await withProviders(readConfig(), async providers => {
        await providers.requireMerchant(merchantId)
        return providers.list(merchantId)
      })
      const accounts = found.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
      if (json) printJson(accounts.map(toJson))
      else printAccounts(accounts)
    })
  provider
    .command('show')
    .argument('<account>', 'account id')
    .description('Shows an account with its settings and the names of its secrets.')
    .addOption(jsonOption())
    .action(async (accountId: string, { json }: { json?: true }) => {
      const account = await withProviders(readConfig(), providers => providers.find(accountId))
      if (json) printJson(toJson(account))
      else printAccount(account)
    })
}

interface SetOptions {
  readonly name?: string
  readonly set?: Pairs
  readonly secret?: Pairs
  readonly json?: true
}

function addChangeCommands(provider: Command, readConfig: () => Config): void {
  provider
    .command('set')
    .argument('<account>', 'account id')
    .description(
      'Changes the settings that are given and leaves the others. An empty value removes a setting.',
    )
    .option('--name <name>', 'what people call the account', parseName)
    .addOption(setOption())
    .addOption(secretOption())
    .addOption(jsonOption())
    .action(async (accountId: string, { json, name, set, secret }: SetOptions) => {
      if (name === undefined && !set && !secret)
        throw new UsageFault('nothing to set; give --name, --set or --secret')
      const secrets = secret && (await readSecrets(secret))
      const edit = { name, settings: set, secrets }
      const note = { command: 'provider set', object: accountId }
      const change = (providers: Providers) => providers.set(accountId, edit)
      const { after: changed } = await withProviders(readConfig(), change, note)
      if (json) printJson(toJson(changed))
      else printAccount(changed)
    })
  const switches = [
    { verb: 'enable', enabled: true, sentence: 'Lets an account take new payments again.' },
    {
      verb: 'disable',
      enabled: false,
      sentence: 'Keeps new payments away from an account; those it has taken are finished.',
    },
  ]
  for (const { verb, enabled, sentence } of switches) {
    provider
      .command(verb)
      .argument('<account>', 'account id')
      .description(sentence)
      .addOption(jsonOption())
      .action(async (accountId: string, { json }: { json?: true }) => {
        const note = { command: `provider ${verb}`, object: accountId }
        const change = (providers: Providers) => providers.set(accountId, { enabled })
        const { after: changed } = await withProviders(readConfig(), change, note)
        if (json) printJson(toJson(changed))
        else printAccounts([changed])
      })
  }
  provider
    .command('remove')
    .argument('<account>', 'account id')
    .description('Removes an account with its secrets and rules. One with open payments cannot be removed.')
    .addOption(jsonOption())
    .action(async (accountId: string, { json }: { json?: true }) => {
      const note = { command: 'provider remove', object: accountId }
      const removed = await withProviders(readConfig(), providers => providers.remove(accountId), note)
      if (json) printJson(toIdentity(removed))
      else console.log(`removed: ${removed.accountId}`)
    })
}

function addCheckCommand(provider: Command, readConfig: () => Config): void {
  provider
    .command('check')
    .argument('<account>', 'account id')
    .description(
      'Makes one harmless call: are the credentials right, does the provider reach our notice address. Ends with 1 when ' +
        'something is wrong.',
    )
    .option('--payments', "also makes a few payments in the provider's sandbox, test environment only")
    .addOption(jsonOption())
    .action(async (accountId: string, { json, payments }: { json?: true; payments?: true }) => {
      const findings = await withProviders(readConfig(), async providers => [
        ...(await providers.check(accountId)),
        ...(payments ? await providers.checkPayments(accountId) : []),
      ])
      const ok = findings.every(finding => finding.ok)
      if (json) printJson({ accountId, ok, findings })
      else
        for (const finding of findings)
          console.log(`${finding.ok ? 'ok   ' : 'WRONG'}  ${finding.name}: ${toVisible(finding.detail)}`)
      if (!ok)
        throw new CommandFault(
          `the account ${accountId} cannot be used as it is; the lines marked WRONG say why`,
        )
    })
}

async function workInAll<T>(
  database: OpenDatabase,
  workIn: (cell: { readonly url: string }) => Promise<T>,
): Promise<T> {
  try {
    return await overCells(database, workIn, { isMissing: error => error instanceof UnknownHere })
  } catch (error) {
    if (error instanceof WrongSetting) throw new UsageFault(error.message, { cause: error })
    throw error instanceof AccountFault ? new CommandFault(error.message, { cause: error }) : error
  }
}

/** Opens the accounts for one piece of work and closes everything again. */
export async function withProviders<T>(
  config: Config,
  work: (providers: Providers) => Promise<T>,
  note?: Noted,
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    // Loaded only when needed, so that help and errors appear at once.
    const { openProviders } = await import('#providers/open-providers.ts')
    const { environment } = config
    const { url: auditUrl, masterKey } = database
    const [actor, origin] = [commandActor(), findOrigin(config)]
    const workIn = async ({ url: databaseUrl }: { readonly url: string }): Promise<T> => {
      const opened = await openProviders({ environment, databaseUrl, auditUrl, masterKey, origin, actor })
      try {
        return await work(opened.providers)
      } finally {
        await opened.close()
      }
    }
    return await withNote(auditUrl, note, () => workInAll(database, workIn))
  } finally {
    await database.close()
  }
}

const toIdentity = ({ accountId, connector, name, noticeUrl }: ShownAccount) => ({
  accountId,
  connector,
  name,
  noticeUrl,
})

const toJson = (account: ShownAccount) => ({
  ...toIdentity(account),
  merchantId: account.merchantId,
  enabled: account.enabled,
  settings: account.settings,
  secrets: account.secrets,
  createdAt: account.createdAt.toISOString(),
  updatedAt: account.updatedAt.toISOString(),
})

const printAccounts = (accounts: readonly ShownAccount[]): void =>
  printRows([
    ['ACCOUNT ID', 'MERCHANT ID', 'CONNECTOR', 'STATE', 'CREATED', 'NAME'],
    ...accounts.map(({ accountId, merchantId, connector, enabled, createdAt, name }) => [
      accountId,
      merchantId,
      connector,
      enabled ? 'enabled' : 'disabled',
      createdAt.toISOString().slice(0, 10),
      name,
    ]),
  ])

function printAccount(account: ShownAccount): void {
  printAccounts([account])
  console.log(`notice URL: ${account.noticeUrl}`)
  for (const [name, value] of Object.entries(account.settings)) console.log(`setting ${name}: ${value}`)
  for (const name of account.secrets) console.log(`secret ${name}: sealed, never shown`)
}
