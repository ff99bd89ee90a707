/** `logs tail`: follows a merchant's payments: final operations and events, one line each. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  addCredentialOptions,
  type CredentialOptions,
  readNow,
  signIn,
} from '#commands/developer/credentials.ts'
import { explainFaults } from '#commands/faults.ts'
import { parseWhole } from '#commands/options.ts'
import { watchLifetime } from '#commands/serve/lifetime.ts'
import { paintQuiet, paintState } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { toDecimalText } from '#domain/money/currencies.ts'
import { addDuration } from '#domain/time/duration.ts'
import type { GatewayClient } from '#webhooks/gateway-client.ts'

interface TailOptions extends CredentialOptions {
  readonly since: string
  readonly count?: number
  readonly json?: true
}

interface Movement {
  readonly xId: string
  readonly payId: string
  readonly transId: string
  readonly type: string
  readonly status: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly responseCode: string
  readonly settledDate: string
}

interface ShownEvent {
  readonly id: string
  readonly payId: string
  readonly status: string
  readonly creationDate: string
  readonly body: { readonly type?: string }
}

interface EventPage {
  readonly data: readonly ShownEvent[]
  readonly totalNumberOfPages: number
}

export interface LogLine {
  readonly id: string
  readonly at: string
  readonly kind: 'operation' | 'event'
  readonly text: string
  readonly row: Movement | ShownEvent
}

/** 1 s: nobody reads faster. */
const pollMs = 1_000

const say = (line: string): void => console.log(line)

export function addLogCommands(program: Command, readConfig: () => Config): void {
  const logs = program.command('logs').summary('watch payments and events as they happen')
  logs.description('Watches payments and events as they happen.')
  const tail = logs
    .command('tail')
    .description("Prints a merchant's operations and events as they become final, until Ctrl-C.")
    .option('--since <duration>', 'how far back to begin, as an ISO 8601 duration', parseDuration, 'PT10M')
    .option('--count <n>', 'end after this many lines', parseCount)
    .addOption(new Option('--json', 'print one line of JSON for each operation and event'))
  addCredentialOptions(tail).action((options: TailOptions) =>
    explainFaults(followLogs(options, readConfig())),
  )
}

async function followLogs({ since, count, json, ...options }: TailOptions, config: Config): Promise<void> {
  const { client, merchantId } = await signIn(options, config)
  const lifetime = watchLifetime({ watched: process, nowMs: () => performance.now(), every: () => () => {} })
  // As with `| grep -m 1`: nobody reads on, and the shell would wait for us for ever.
  const onReaderGone = () => lifetime.end({})
  process.stdout.once('error', onReaderGone)
  try {
    const now = await readNow(client)
    const fromMs = now - ((addDuration(now, since) ?? now) - now)
    console.error(`watching ${merchantId} at ${client.baseUrl}; Ctrl-C ends`)
    await tailLogs(
      { from: new Date(fromMs).toISOString(), count },
      {
        client,
        say: line => say(json ? JSON.stringify({ kind: line.kind, ...line.row }) : line.text),
        isEnding: lifetime.isEnding,
        pause: () => waitOr(lifetime.ended, pollMs),
      },
    )
  } finally {
    process.stdout.off('error', onReaderGone)
    lifetime.release()
  }
}

export interface TailDeps {
  readonly client: Pick<GatewayClient, 'get'>
  readonly say: (line: LogLine) => void
  readonly isEnding: () => boolean
  readonly pause: () => Promise<void>
}

/** Polls; what was printed once is not printed again, even if several entries share a timestamp. */
export async function tailLogs(
  { from, count = Number.POSITIVE_INFINITY }: { readonly from: string; readonly count?: number },
  { client, say: show, isEnding, pause }: TailDeps,
): Promise<void> {
  const seen = new Set<string>()
  // An event is older than what it becomes: until it is delivered or has failed, later operations may have been printed.
  const isNewEvent = ({ id, at }: LogLine): boolean => at >= from && !seen.has(id)
  let since = from
  let left = count
  while (!isEnding()) {
    const lines = await readLines(client, since, isNewEvent)
    for (const line of lines) {
      if (seen.has(line.id)) continue
      seen.add(line.id)
      show(line)
      left -= 1
      if (left === 0) return
    }
    since = lines.filter(({ kind }) => kind === 'operation').at(-1)?.at ?? since
    await pause()
  }
}

async function readLines(
  client: Pick<GatewayClient, 'get'>,
  since: string,
  isNewEvent: (line: LogLine) => boolean,
): Promise<readonly LogLine[]> {
  const [operations, events] = await Promise.all([
    client.get<{ data: Movement[] }>(`/operations?from=${encodeURIComponent(since)}&limit=1000`),
    readNewEvents(client, isNewEvent),
  ])
  const lines = [...operations.data.map(toOperationLine), ...events]
  return lines.toSorted((a, b) => a.at.localeCompare(b.at))
}

/** The oldest first. Reads page after page until one holds nothing new: more than a page may have come since the last look. */
async function readNewEvents(
  client: Pick<GatewayClient, 'get'>,
  isNew: (line: LogLine) => boolean,
): Promise<readonly LogLine[]> {
  const found: LogLine[] = []
  for (let page = 1; ; page += 1) {
    const { data, totalNumberOfPages } = await client.get<EventPage>(`/events?page=${page}`)
    const fresh = data.map(toEventLine).filter(isNew)
    found.push(...fresh)
    if (fresh.length === 0 || page >= totalNumberOfPages) return found.reverse()
  }
}

const toOperationLine = (row: Movement): LogLine => ({
  id: row.xId,
  at: row.settledDate,
  kind: 'operation',
  row,
  text: `${paintQuiet(row.settledDate)}  ${row.type}  ${paintState(row.status)}  ${toDecimalText(row.amount.value, row.amount.currency)} ${row.amount.currency}  ${row.responseCode}  ${row.payId}  ${row.transId}`,
})

const toEventLine = (row: ShownEvent): LogLine => ({
  id: `${row.id} ${row.status}`,
  at: row.creationDate,
  kind: 'event',
  row,
  text: `${paintQuiet(row.creationDate)}  event ${row.body.type ?? ''}  ${paintState(row.status)}  ${row.id}  payment ${row.payId}`,
})

async function waitOr(ended: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([promise, ended])
  clearTimeout(timer)
}

function parseDuration(text: string): string {
  if (addDuration(0, text) !== undefined) return text
  throw new InvalidArgumentError('It must be an ISO 8601 duration such as PT10M.')
}

/** Ten millions: more than anybody watches. */
const parseCount = parseWhole(1, 9_999_999)
