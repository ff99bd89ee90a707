/** `webhook add|list|remove|rotate-secret`: additional endpoints for a merchant's events. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import { withMerchants } from '#commands/open-database.ts'
import { jsonOption, parseWhole } from '#commands/options.ts'
import type { Config } from '#config.ts'
import { type EventType, eventTypeNames, isEventType } from '#domain/event-types.ts'
import type { WebhookKind } from '#domain/merchant.ts'
import { readEndpointAddress } from '#webhooks/addresses.ts'
import { addressPolicies } from '#webhooks/policies.ts'

/** 720 hours: 30 days, as for keys. */
const overlapHoursMax = 720

const say = (line: string): void => console.log(line)

interface AddOptions {
  readonly url: string
  readonly types?: readonly EventType[]
  readonly kind: WebhookKind
  readonly json?: true
}

export function addEndpointCommands(program: Command, readConfig: () => Config): void {
  const webhook = program
    .command('webhook')
    .summary("add, list and remove a merchant's further endpoints for events")
  webhook.description(
    'Further endpoints receive every event of a merchant, also those about results that a request was answered with. They come on top of the one ' +
      'address of "merchant set --webhook-url".',
  )
  addAdd(webhook, readConfig)
  addList(webhook, readConfig)
  addRemove(webhook, readConfig)
  addRotateSecret(webhook, readConfig)
}

function addAdd(webhook: Command, readConfig: () => Config): void {
  webhook
    .command('add')
    .argument('<merchant>', 'merchant id')
    .description('Adds an endpoint and shows its secret once.')
    .requiredOption('--url <url>', 'the address that events are sent to')
    .option('--types <types>', `only these, separated by commas (${eventTypeNames.join(', ')})`, parseTypes)
    .addOption(
      new Option('--kind <kind>', 'BASIC (payId only) or ENHANCED (signed)')
        .argParser(parseKind)
        .default('ENHANCED'),
    )
    .addOption(jsonOption())
    .action(async (merchantId: string, { url, types, kind, json }: AddOptions) => {
      const config = readConfig()
      const address = checkAddress(url, config)
      const add = (merchants: Merchants) => merchants.endpoints.add({ merchantId, url: address, types, kind })
      const note = { command: 'webhook add', object: merchantId }
      const added = await withMerchants(config, add, { note })
      if (!added) throw unknownMerchant(merchantId)
      if (json) return say(JSON.stringify(added))
      say(`endpoint id: ${added.endpointId}`)
      say(`webhook secret: ${added.webhookSecret}`)
      console.error('Keep the secret now: it is not shown again.')
    })
}

function addList(webhook: Command, readConfig: () => Config): void {
  webhook
    .command('list')
    .argument('[merchant]', 'merchant id; all unless given')
    .description('Shows the endpoints that were added.')
    .addOption(jsonOption())
    .action(async (merchantId: string | undefined, { json }: { json?: true }) => {
      const endpoints = await withMerchants(readConfig(), async merchants => {
        const isKnown = merchantId === undefined || (await merchants.list(merchantId)).length > 0
        if (!isKnown) throw unknownMerchant(merchantId)
        return merchants.endpoints.list(merchantId)
      })
      if (json) return say(JSON.stringify(endpoints))
      for (const { endpointId, merchantId: owner, kind, url, types } of endpoints)
        say(`${endpointId}  ${owner}  ${kind}  ${url}  ${types?.join(',') ?? 'all types'}`)
      if (endpoints.length === 0) console.error('There are no further endpoints.')
    })
}

/** An endpoint's id identifies its merchant; a merchant id before it, as in "add", is accepted as well. */
const endpointArguments = '<ids...>'
const endpointHelp = 'endpoint id, with or without the merchant id before it'

function addRemove(webhook: Command, readConfig: () => Config): void {
  webhook
    .command('remove')
    .argument(endpointArguments, endpointHelp)
    .description('Removes an endpoint. Events that still wait for it are not sent any more.')
    .addOption(jsonOption())
    .action(async (ids: readonly string[], { json }: { json?: true }) => {
      const remove = async (merchants: Merchants) => {
        const found = await findEndpoint(ids, merchants)
        await merchants.endpoints.remove(found)
        return found
      }
      const note = { command: 'webhook remove', object: ids.join(' ') }
      const endpointId = await withMerchants(readConfig(), remove, { note })
      say(json ? JSON.stringify({ endpointId, removed: true }) : `${endpointId} is removed.`)
    })
}

function addRotateSecret(webhook: Command, readConfig: () => Config): void {
  webhook
    .command('rotate-secret')
    .argument(endpointArguments, endpointHelp)
    .description('Makes a new secret. During the overlap every message is also signed with the old one.')
    .addOption(
      new Option(
        '--overlap-hours <hours>',
        'how long messages are signed with the old secret too; 0 ends it now',
      )
        .argParser(parseHours)
        .default(24),
    )
    .addOption(jsonOption())
    .action(async (ids: readonly string[], { overlapHours, json }: { overlapHours: number; json?: true }) => {
      const rotate = async (merchants: Merchants) => {
        const endpointId = await findEndpoint(ids, merchants)
        return { endpointId, webhookSecret: await merchants.endpoints.rotateSecret(endpointId, overlapHours) }
      }
      const note = { command: 'webhook rotate-secret', object: ids.join(' ') }
      const made = await withMerchants(readConfig(), rotate, { note })
      if (json) return say(JSON.stringify({ ...made, overlapHours }))
      say(`endpoint id: ${made.endpointId}`)
      say(`webhook secret: ${made.webhookSecret}`)
      console.error(`Keep the secret now: it is not shown again. The old one ends in ${overlapHours} hours.`)
    })
}

type Merchants = Parameters<Parameters<typeof withMerchants>[1]>[0]

async function findEndpoint(ids: readonly string[], { endpoints }: Merchants): Promise<string> {
  const endpointId = ids.at(-1) ?? ''
  const [merchantId] = ids.length === 2 ? ids : []
  const found = (await endpoints.list(merchantId)).find(one => one.endpointId === endpointId)
  if (ids.length <= 2 && found) return found.endpointId
  throw new CommandFault(`there is no endpoint "${ids.join(' ')}"; "tollgate webhook list" shows all`)
}

const unknownMerchant = (id: string | undefined): CommandFault =>
  new CommandFault(`there is no merchant "${id}"; "tollgate merchant list" shows all`)

function checkAddress(text: string, { environment }: Config): string {
  const read = readEndpointAddress(text, addressPolicies[environment])
  if ('refusal' in read)
    throw new UsageFault(`--url ${text.slice(0, shownMax)} cannot be used: ${read.refusal}`)
  return read.address
}

/** 100: enough of an address to know it again. */
const shownMax = 100

function parseTypes(text: string): readonly EventType[] {
  const types = text.split(',').map(type => type.trim())
  const unknown = types.find(type => !isEventType(type))
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `"${unknown}" is not a type of event; there are ${eventTypeNames.join(', ')}.`,
    )
  return [...new Set(types.filter(isEventType))]
}

function parseKind(text: string): WebhookKind {
  const kind = text.toUpperCase()
  if (kind === 'BASIC' || kind === 'ENHANCED') return kind
  throw new InvalidArgumentError('It must be BASIC or ENHANCED.')
}

const parseHours = parseWhole(0, overlapHoursMax)
