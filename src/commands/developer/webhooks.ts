/** `listen`, `events replay`, `trigger` and `webhook-secret rotate`: a developer's window on webhooks. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { replayById, replaySince as replayRowsSince } from '#commands/books/finding.ts'
import {
  addCredentialOptions,
  type CredentialOptions,
  readNow,
  signIn,
} from '#commands/developer/credentials.ts'
import { CommandFault, explainFaults, UsageFault } from '#commands/faults.ts'
import { withMerchants } from '#commands/open-database.ts'
import { parseUrl, parseWhole } from '#commands/options.ts'
import { keepDemoSecret } from '#commands/serve/demo-merchant.ts'
import { watchLifetime } from '#commands/serve/lifetime.ts'
import type { Config } from '#config.ts'
import { parseInstant } from '#domain/time/dates.ts'
import { addDuration } from '#domain/time/duration.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { EventStatus } from '#storage/events/events.ts'
import type { GatewayClient } from '#webhooks/gateway-client.ts'
import { deriveSecret, listenForEvents, type ShownEvent } from '#webhooks/listen.ts'
import { replaySince } from '#webhooks/replay-since.ts'
import { createSender } from '#webhooks/send.ts'
import { readSecret, showSecret } from '#webhooks/sign.ts'
import { isTriggered, triggerEvent, triggered } from '#webhooks/trigger.ts'

/** 720 hours: 30 days, as for keys. */
const overlapHoursMax = 720

const say = (line: string): void => console.log(line)

export function addWebhookCommands(program: Command, readConfig: () => Config): void {
  addListen(program, readConfig)
  addReplay(program, readConfig)
  addTrigger(program, readConfig)
  addSecretRotation(program, readConfig)
}

interface ListenOptions extends CredentialOptions {
  readonly forwardTo: string
  readonly secret?: Buffer
  readonly count?: number
  readonly json?: true
}

function addListen(program: Command, readConfig: () => Config): void {
  const command = program
    .command('listen')
    .description(
      'Forwards new events of a merchant to an address of yours, such as one on localhost, signed like real ones, and ' +
        'shows what it answers. Runs until Ctrl-C.',
    )
    .requiredOption('--forward-to <url>', 'the address at which your shop receives webhooks', parseUrl)
    .option(
      '--secret <whsec>',
      'sign with this secret (default: one that stays the same for the API key)',
      parseSecret,
    )
    .option('--count <n>', 'end after this many events', parseCount)
    .option('--json', 'print every line as JSON')
  addCredentialOptions(command).action((options: ListenOptions) =>
    explainFaults(listen(options, readConfig())),
  )
}

async function listen({ forwardTo, count, json, ...options }: ListenOptions, config: Config): Promise<void> {
  const say = (line: string): void => console.log(json ? JSON.stringify({ said: line }) : line)
  const { client, merchantId, apiKey, webhookSecret } = await signIn(options, config)
  const secret = options.secret ?? readSecret(webhookSecret ?? '') ?? deriveSecret(apiKey)
  const lifetime = watchLifetime({ watched: process, nowMs: () => performance.now(), every: () => () => {} })
  // The developer's own machine: nobody else chooses this address.
  const sender = createSender({ policy: { httpsOnly: false, loopback: true, anywhere: true } })
  say(`listening for events of ${merchantId} at ${client.baseUrl}`)
  say(`forwarding to: ${forwardTo}`)
  say(`webhook secret: ${showSecret(secret)}`)
  try {
    const forwarded = await listenForEvents(
      { forwardTo, secret, count },
      {
        client,
        sender,
        say,
        nowMs: Date.now,
        isEnding: lifetime.isEnding,
        pause: milliseconds => waitOr(lifetime.ended, milliseconds),
      },
    )
    say(`${forwarded} forwarded.`)
  } finally {
    lifetime.release()
    await sender.close()
  }
}

async function waitOr(ended: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([promise, ended])
  clearTimeout(timer)
}

interface ReplayOptions extends CredentialOptions {
  readonly since?: string
  readonly status?: EventStatus
  readonly json?: true
}

function addReplay(program: Command, readConfig: () => Config): void {
  const events = program.command('events').summary('list, show and send events again')
  events.description('Shows events and their deliveries, and sends again what a receiver missed.')
  const command = events
    .command('replay')
    .description(
      'Sends one event again, or all since a time, the oldest first, under their old ids: of all merchants, or of one. ' +
        'With --key it acts through the API of a running gateway, as that merchant.',
    )
    .argument('[id]', 'the id of one event of any merchant; leave it out and give --since to send several')
    .option('--since <time>', 'how long ago (PT2H, P1D) or a date (2026-11-15T08:00:00Z)', parseSince)
    .addOption(
      new Option('--status <status>', 'only events with this status').choices([
        'PENDING',
        'DELIVERED',
        'FAILED',
      ]),
    )
    .option('--json', 'print one line of JSON')
  addCredentialOptions(command).action((id: string | undefined, { since, ...options }: ReplayOptions) => {
    if (id !== undefined && since !== undefined)
      throw new UsageFault(`give the id of an event or a time with --since, not both ("${id}", "${since}")`)
    if (id !== undefined) return replayById(id, readConfig(), options.json)
    if (since === undefined) throw new UsageFault('give the id of an event, or a time with --since')
    return explainFaults(replay({ since, ...options }, readConfig()))
  })
}

async function replay(
  { since, status, json, ...options }: ReplayOptions & { readonly since: string },
  config: Config,
): Promise<void> {
  const { merchant } = options
  const isOperator = options.key === undefined && options.api === undefined
  const count = isOperator
    ? await replayRowsSince({ merchant, status, since: nowMs => toInstant(since, nowMs) }, config)
    : await replayAsMerchant({ since, status }, (await signIn(options, config)).client)
  if (json) return say(JSON.stringify({ replayed: count }))
  say(count === 0 ? 'There is nothing to send again.' : `${count} sent again.`)
}

async function replayAsMerchant(
  { since, status }: { readonly since: string; readonly status?: EventStatus },
  client: GatewayClient,
): Promise<number> {
  const sinceMs = toInstant(since, await readNow(client))
  return replaySince({ sinceMs, status }, { client, say: line => console.error(line) })
}

function toInstant(since: string, nowMs: number): number {
  const later = addDuration(nowMs, since)
  return later === undefined ? (parseInstant(toDateTime(since)) ?? Number.NaN) : nowMs - (later - nowMs)
}

const toDateTime = (text: string): string => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)

function addTrigger(program: Command, readConfig: () => Config): void {
  const width = Math.max(...triggered.map(([name]) => name.length))
  const list = triggered.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`)
  const command = program
    .command('trigger')
    .argument('<event>', 'the event to make happen, from the list below', parseScenario)
    .description(
      'Makes an event happen in the test environment: a real test payment, and a move of the test clock.',
    )
    .option('--webhook-url <url>', 'send it to this address instead of the merchant’s own', parseUrl)
    .option('--json', 'print one line of JSON')
    .addHelpText('after', `\nEvents:\n${list.join('\n')}`)
  addCredentialOptions(command).action(
    (name: string, { webhookUrl, ...options }: CredentialOptions & { webhookUrl?: string; json?: true }) =>
      explainFaults(trigger({ name, webhook: webhookUrl }, options, readConfig())),
  )
}

async function trigger(
  wanted: { name: string; webhook?: string },
  { json, ...options }: CredentialOptions & { readonly json?: true },
  config: Config,
): Promise<void> {
  const { client } = await signIn(options, config)
  const triggered = await triggerEvent(wanted, { client, say: line => console.error(line), nowMs: Date.now })
  if (json) return say(JSON.stringify(triggered))
  say(`payId: ${triggered.payId}`)
  for (const event of triggered.events) say(`event: ${describeEvent(event)}`)
  console.error(`The merchant’s clock now says ${triggered.now}.`)
}

function describeEvent({ id, sequence, status, url, body, attempts }: ShownEvent): string {
  const last = attempts.at(-1)
  // Without a status the answer says why there is none.
  const answer =
    last?.status === undefined ? last?.answer : `last answer ${last.status} ${last.answer}`.trimEnd()
  const end = [[status, url].filter(Boolean).join(' '), answer].filter(Boolean).join(', ')
  return `${id} ${body.type ?? ''} (sequence ${sequence}, payment ${body.status} ${body.responseCode}) ${end}`
}

function addSecretRotation(program: Command, readConfig: () => Config): void {
  const secret = program.command('webhook-secret').summary("change a merchant's webhook secret")
  secret.description("Changes merchants' webhook secrets.")
  secret
    .command('rotate')
    .argument('<id>', 'merchant id')
    .description('Makes a new secret. During the overlap every webhook is also signed with the old one.')
    .addOption(
      new Option(
        '--overlap-hours <hours>',
        'how long webhooks are signed with the old secret too; 0 ends it now',
      )
        .argParser(parseHours)
        .default(24),
    )
    .addOption(new Option('--json', 'print one line of JSON'))
    .action(async (id: string, { overlapHours, json }: { overlapHours: number; json?: true }) => {
      const config = readConfig()
      const rotate = async (merchants: MerchantAdministration) => {
        const made = await merchants.rotateWebhookSecret(id, overlapHours)
        if (made === undefined) {
          throw new CommandFault(`there is no merchant "${id}"; "tollgate merchant list" shows all`)
        }
        await keepDemoSecret(config.dataDirectory, id, made)
        return made
      }
      const note = { command: 'webhook-secret rotate', object: id }
      const webhookSecret = await withMerchants(config, rotate, { note })
      if (json) return say(JSON.stringify({ merchantId: id, webhookSecret, overlapHours }))
      say(`merchant id: ${id}`)
      say(`webhook secret: ${webhookSecret}`)
      console.error(`Keep the secret now: it is not shown again. The old one ends in ${overlapHours} hours.`)
    })
}

function parseSecret(text: string): Buffer {
  const secret = readSecret(text)
  if (secret) return secret
  throw new InvalidArgumentError('It must be whsec_ and 24 to 64 bytes in base64.')
}

function parseSince(text: string): string {
  if (Number.isFinite(toInstant(text, 0))) return text
  throw new InvalidArgumentError('It must be an ISO 8601 duration such as PT2H, or a date.')
}

function parseScenario(text: string): string {
  if (isTriggered(text)) return text
  throw new InvalidArgumentError(`It must be one of ${triggered.map(([name]) => name).join(', ')}.`)
}

const parseHours = parseWhole(0, overlapHoursMax)
/** A million: more than a caller would wait for. */
const parseCount = parseWhole(1, 1_000_000)
