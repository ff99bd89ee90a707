/** `key`: make, list, revoke and rotate the API keys of merchants. Standard output carries the result and nothing else. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandFault } from '#commands/faults.ts'
import { noSuchMerchant, parseName } from '#commands/merchants/merchant.ts'
import { withMerchants } from '#commands/open-database.ts'
import { jsonOption, parseWhole } from '#commands/options.ts'
import { keepDemoKey } from '#commands/serve/demo-merchant.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { scopes as allScopes, type Scope } from '#domain/api-key.ts'
import { KeyRequestFault, readExpiry, readNetworks, readScopes } from '#operations/merchants/key-request.ts'
import type { CreatedKey, MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { ListedKey } from '#storage/api-keys.ts'

/** 720 hours: 30 days. With a longer overlap the old key would not really be replaced. */
const overlapHoursMax = 720

export function addKeyCommands(program: Command, readConfig: () => Config): void {
  const key = program.command('key').summary("make, list, revoke or change a merchant's API keys")
  key.description(
    "Makes, lists, revokes and rotates merchants' API keys. A running server follows within seconds.",
  )
  addCreate(key, readConfig)
  addList(key, readConfig)
  addRevoke(key, readConfig)
  addRotate(key, readConfig)
}

interface CreateOptions {
  readonly name: string
  readonly scopes?: readonly Scope[]
  readonly allowFrom?: readonly string[]
  readonly expires?: Date
  readonly json?: true
}

function addCreate(key: Command, readConfig: () => Config): void {
  key
    .command('create')
    .argument('<merchant>', 'merchant id')
    .description(
      'Makes one more API key and prints it; it is not shown again. The other keys stay as they are.',
    )
    .requiredOption('--name <name>', 'what people call it, such as the program that uses it', parseName)
    .option(
      '--scopes <scopes>',
      `what it may do, separated by commas: ${allScopes.join(', ')}; all unless given`,
      asOption(readScopes),
    )
    .option(
      '--allow-from <networks>',
      'addresses or networks (CIDR) it may be used from, separated by commas',
      asOption(readNetworks),
    )
    .option(
      '--expires <date>',
      'when it ends, in real time: 2027-01-31 or 2027-01-31T12:00:00Z',
      asOption(text => readExpiry(text, Date.now())),
    )
    .addOption(jsonOption())
    .action(async (merchantId: string, { json, ...options }: CreateOptions) => {
      const { name, scopes = allScopes, allowFrom = [], expires: expiresAt } = options
      const create = async (merchants: MerchantAdministration) => {
        const made = await merchants.createKey(merchantId, {
          name,
          scopes,
          allowFrom,
          ...(expiresAt ? { expiresAt } : {}),
        })
        if (!made) throw noSuchMerchant(merchantId)
        return made
      }
      const note = { command: 'key create', object: merchantId }
      const created = await withMerchants(readConfig(), create, { note })
      if (json) return printJson(toJson(created))
      console.log(`key id: ${created.keyId}`)
      console.log(`API key: ${created.apiKey}`)
      console.error('Keep the key now: it is not shown again.')
    })
}

function addList(key: Command, readConfig: () => Config): void {
  key
    .command('list')
    .argument('<merchant>', 'merchant id')
    .description("Lists a merchant's API keys that were not revoked, the oldest first.")
    .addOption(jsonOption())
    .action(async (merchantId: string, { json }: { json?: true }) => {
      const found = await withMerchants(readConfig(), merchants => merchants.listKeys(merchantId))
      if (!found) throw noSuchMerchant(merchantId)
      if (json) return printJson(found.map(toJson))
      printRows([
        ['KEY ID', 'NAME', 'SCOPES', 'FROM', 'EXPIRES', 'LAST USED'],
        ...found.map(listed => [
          listed.keyId,
          listed.name ?? '-',
          listed.scopes.length === allScopes.length ? 'all' : listed.scopes.join(','),
          listed.allowFrom.join(',') || 'everywhere',
          listed.expiresAt?.toISOString() ?? 'never',
          listed.lastUsedAt ? `${listed.lastUsedAt.toISOString()} ${listed.lastUsedFrom ?? ''}` : 'never',
        ]),
      ])
    })
}

function addRevoke(key: Command, readConfig: () => Config): void {
  key
    .command('revoke')
    .argument('<keyId>', 'as "tollgate key list" shows it', parseKeyId)
    .description(
      'Ends one API key and its access tokens, in every process within 5 seconds. There is no way back.',
    )
    .addOption(jsonOption())
    .action(async (keyId: string, { json }: { json?: true }) => {
      const note = { command: 'key revoke', object: keyId }
      const revoked = await withMerchants(readConfig(), merchants => merchants.revokeKey(keyId), { note })
      if (!revoked) throw new CommandFault(`there is no key "${keyId}", or it was revoked before`)
      if (json) return printJson({ keyId, merchantId: revoked.merchantId, revoked: true })
      console.log(`revoked: ${keyId} of ${revoked.merchantId}`)
    })
}

function addRotate(key: Command, readConfig: () => Config): void {
  key
    .command('rotate')
    .argument('<id>', 'merchant id')
    .description(
      'Makes a new API key in the place of those without a name, which stay valid for the overlap, so that a shop can ' +
        'change over. Keys with a name are left alone.',
    )
    .addOption(
      new Option('--overlap-hours <hours>', 'how long old keys stay valid; 0 ends them now')
        .argParser(parseWhole(0, overlapHoursMax))
        .default(24),
    )
    .addOption(jsonOption())
    .action(async (id: string, { overlapHours, json }: { overlapHours: number; json?: true }) => {
      const config = readConfig()
      const rotate = async (merchants: MerchantAdministration) => {
        const made = await merchants.rotateKey(id, overlapHours)
        if (made === undefined) throw noSuchMerchant(id)
        await keepDemoKey(config.dataDirectory, id, made)
        return made
      }
      const apiKey = await withMerchants(config, rotate, { note: { command: 'key rotate', object: id } })
      if (json) return printJson({ merchantId: id, apiKey, overlapHours })
      console.log(`merchant id: ${id}`)
      console.log(`API key: ${apiKey}`)
      console.error(`Keep the key now: it is not shown again. Older keys end in ${overlapHours} hours.`)
    })
}

const toJson = (key: ListedKey | CreatedKey) => ({
  keyId: key.keyId,
  ...('apiKey' in key ? { apiKey: key.apiKey } : {}),
  name: key.name ?? null,
  scopes: key.scopes,
  allowFrom: key.allowFrom,
  createdAt: key.createdAt.toISOString(),
  ...(key.expiresAt ? { expiresAt: key.expiresAt.toISOString() } : {}),
  ...(key.lastUsedAt ? { lastUsedAt: key.lastUsedAt.toISOString() } : {}),
  ...(key.lastUsedFrom === undefined ? {} : { lastUsedFrom: key.lastUsedFrom }),
})

/** The parsers are shared with the console; their errors become errors of the command line. */
const asOption =
  <Value>(read: (text: string) => Value) =>
  (text: string): Value => {
    try {
      return read(text)
    } catch (error) {
      throw error instanceof KeyRequestFault ? new InvalidArgumentError(error.message) : error
    }
  }

function parseKeyId(text: string): string {
  const plain = text.replaceAll('-', '').toLowerCase()
  if (/^[0-9a-f]{32}$/.test(plain)) return plain
  throw new InvalidArgumentError('It must be 32 hex digits, as "tollgate key list" shows them.')
}
