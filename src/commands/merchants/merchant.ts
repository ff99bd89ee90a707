/** `merchant`: make, show and change merchants. Standard output carries the result and nothing else. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import {
  addLimitOptions,
  type LimitOptions,
  showLimits,
  toLimitChange,
} from '#commands/merchants/limit-settings.ts'
import { addPageOptions, type PageOptions, toPageChange } from '#commands/merchants/page-settings.ts'
import { withMerchants } from '#commands/open-database.ts'
import { jsonOption, parseWhole } from '#commands/options.ts'
import { listCredentials } from '#commands/serve/banner.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import { isWebAddress, nameMax, normalizeAddress, readName, webAddressForm } from '#domain/text.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { MerchantSettings } from '#storage/merchants.ts'
import { refuseForever } from '#webhooks/addresses.ts'
import { addressPolicies } from '#webhooks/policies.ts'

type ListedMerchant = Awaited<ReturnType<MerchantAdministration['list']>>[number]

/** 1,000,000: beyond what one process can answer, so it means "no limit". */
const requestsPerSecondMax = 1_000_000
/** 2048: the contract's limit for every address. */
const urlMax = 2_048
/** Removes the address; the command line has no null. */
const noUrl = 'none'

export function addMerchantCommands(program: Command, readConfig: () => Config): void {
  const merchant = program.command('merchant').summary('make, list and change merchants')
  merchant.description(
    'Makes, lists and changes merchants. Works while the server runs and while it does not.',
  )

  merchant
    .command('create')
    .description('Makes a merchant and prints its credentials, which are not shown again.')
    .requiredOption('--name <name>', 'what people call it', parseName)
    .addOption(jsonOption())
    .action(async ({ name, json }: { name: string; json?: true }) => {
      const how = { begins: true, note: { command: 'merchant create', object: name } }
      const created = await withMerchants(readConfig(), merchants => merchants.create(name), how)
      if (json) return printJson(created)
      for (const line of listCredentials(created)) console.log(line)
      console.error('Keep the key and the secret now: they are not shown again.')
    })

  merchant
    .command('list')
    .description('Lists all merchants, the oldest first.')
    .addOption(jsonOption())
    .action(async ({ json }: { json?: true }) => {
      const found = await withMerchants(readConfig(), merchants => merchants.list(), { begins: true })
      if (json) printJson(found.map(toJson))
      else printTable(found)
    })

  addSetCommand(merchant, readConfig)
}

interface SetOptions extends PageOptions, LimitOptions {
  readonly name?: string
  readonly webhookKind?: WebhookKind
  readonly webhookUrl?: string
  readonly requestsPerSecond?: number
  readonly paidLate?: 'keep' | 'return'
  readonly disable?: true
  readonly enable?: true
  readonly json?: true
}

function addSetCommand(merchant: Command, readConfig: () => Config): void {
  const set = merchant
    .command('set')
    .argument('<id>', 'merchant id')
    .description(
      'Changes the settings that are given and leaves the others. A running server follows within seconds.',
    )
    .option('--name <name>', 'what people call it', parseName)
    .addOption(
      new Option('--webhook-kind <kind>', 'BASIC (payId only) or ENHANCED (signed)').choices([
        'BASIC',
        'ENHANCED',
      ]),
    )
    .option(
      '--webhook-url <url>',
      'where results are reported unless a payment says otherwise; none: nowhere',
      parseUrl,
    )
    .option(
      '--requests-per-second <n>',
      'how many requests a second are served; more are answered 429',
      parseWhole(1, requestsPerSecondMax),
    )
    .addOption(
      new Option(
        '--paid-late <what>',
        'keep money that arrives after its payment has ended, or return it (the default)',
      ).choices(['keep', 'return']),
    )
    .addOption(new Option('--disable', 'answer its requests with 403').conflicts('enable'))
    .addOption(new Option('--enable', 'take its requests again'))
  addLimitOptions(addPageOptions(set))
    .addOption(jsonOption())
    .action((id: string, options: SetOptions) => changeMerchant(id, options, readConfig()))
}

async function changeMerchant(id: string, { json, ...options }: SetOptions, config: Config): Promise<void> {
  if (Object.keys(options).length === 0) {
    throw new UsageFault('nothing to set; see "tollgate merchant set --help" for what can be set')
  }
  checkWebhookUrl(options.webhookUrl, config)
  const change = async (merchants: MerchantAdministration) => {
    if (!(await merchants.set(id, toChange(options)))) throw noSuchMerchant(id)
    return merchants.list(id)
  }
  const changed = await withMerchants(config, change, { note: { command: 'merchant set', object: id } })
  if (json) for (const merchant of changed) printJson(toJson(merchant))
  else printTable(changed)
}

function checkWebhookUrl(url: string | undefined, { environment }: Config): void {
  if (url === undefined || url === noUrl) return
  if (environment === 'live' && url.startsWith('http:'))
    throw new UsageFault('--webhook-url must begin with https:// in the live environment')
  const refusal = refuseForever(new URL(url), addressPolicies[environment])
  if (refusal !== undefined) throw new UsageFault(`--webhook-url ${url} cannot be used: ${refusal}`)
}

function toChange(options: Omit<SetOptions, 'json'>): MerchantSettings {
  const { name, webhookKind, webhookUrl, requestsPerSecond, paidLate, disable, enable } = options
  const disabled = disable ? true : enable ? false : undefined
  return {
    name,
    webhookKind,
    requestsPerSecond,
    paidLate,
    disabled,
    ...(webhookUrl === undefined ? {} : { webhookUrl: webhookUrl === noUrl ? null : webhookUrl }),
    ...toPageChange(options),
    ...toLimitChange(options),
  }
}

export const noSuchMerchant = (id: string): CommandFault =>
  new CommandFault(`there is no merchant "${id}"; "tollgate merchant list" shows all`)

export function parseName(text: string): string {
  const name = readName(text)
  if (name !== undefined) return name
  throw new InvalidArgumentError(`It must be 1 to ${nameMax} visible characters.`)
}

function parseUrl(text: string): string {
  if (text === noUrl) return text
  if (text.length <= urlMax && isWebAddress(text)) return normalizeAddress(text)
  throw new InvalidArgumentError(`It must be an ${webAddressForm}, of at most ${urlMax} characters, or none.`)
}

/** The clock offset is left out, because the test clock shows it. */
const toJson = (merchant: ListedMerchant) => ({
  merchantId: merchant.merchantId,
  name: merchant.name,
  disabled: merchant.disabled,
  webhookKind: merchant.webhookKind,
  webhookUrl: merchant.webhookUrl ?? null,
  requestsPerSecond: merchant.requestsPerSecond,
  methods: merchant.methods ?? null,
  theme: merchant.theme ?? null,
  frameOrigins: merchant.frameOrigins ?? null,
  dcc: merchant.dcc ?? false,
  paidLate: merchant.paidLate ?? 'return',
  ...showLimits(merchant),
  createdAt: merchant.createdAt.toISOString(),
})

function printTable(merchants: readonly ListedMerchant[]): void {
  const rows = [
    ['MERCHANT ID', 'STATE', 'WEBHOOKS', 'REQUESTS/S', 'CREATED', 'NAME'],
    ...merchants.map(merchant => [
      merchant.merchantId,
      merchant.disabled ? 'disabled' : 'enabled',
      `${merchant.webhookKind} ${merchant.webhookUrl ?? '-'}`,
      String(merchant.requestsPerSecond),
      merchant.createdAt.toISOString().slice(0, 10),
      merchant.name,
    ]),
  ]
  printRows(rows)
}
