/** `payments find|show`, `operations export`, `events list|show|replay <id>`: an operator's access to the rows of all merchants. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { addTryCommands } from '#commands/developer/try-payments.ts'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import { openDatabase as openStored } from '#commands/open-database.ts'
import { parseTime } from '#commands/options.ts'
import { overCells } from '#commands/over-cells.ts'
import { paintState, printExport } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { parsePayId } from '#domain/ids.ts'
import { toDecimalText } from '#domain/money/currencies.ts'
import { isEmail, toVisible } from '#domain/text.ts'
import type { Act } from '#operations/audit/audit.ts'
import type { ReplayFilter } from '#operations/finding/event-finder.ts'
import type { StoredEvent } from '#storage/events/events.ts'

const say = (line: string): void => console.log(line)

export function addFindingCommands(program: Command, readConfig: () => Config): void {
  addPayments(program, readConfig)
  addOperations(program, readConfig)
  addEvents(program, readConfig)
}

type Finder = Awaited<ReturnType<typeof openFinder>>
type Payment = Awaited<ReturnType<Finder['findPayments']>>[number]['payment']

/** Loaded only when needed, so that help and errors appear at once. */
async function openFinder(url: string) {
  const { openDatabase } = await import('#storage/database.ts')
  const { createFinder } = await import('#operations/finding/finder.ts')
  const { UnknownMerchant } = await import('#operations/finding/event-finder.ts')
  const database = openDatabase(url, () => undefined)
  const isMissing = (error: unknown): boolean => error instanceof UnknownMerchant
  return { ...createFinder(database), isMissing, close: () => database.close() }
}

/**
 * Opens the finder for one merchant, or for all. `toAct`: the entry of the audit trail about the work, if it changed
 * anything.
 */
async function withFinder<T>(
  config: Config,
  work: (finder: Finder) => Promise<T>,
  merchantId?: string,
  toAct?: (done: T) => Act | undefined,
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const stored = await openStored(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const workIn = async ({ url }: { readonly url: string }): Promise<T> => {
      const finder = await openFinder(url)
      try {
        return await work(finder)
      } catch (error) {
        throw finder.isMissing(error)
          ? new CommandFault(`there is no merchant "${merchantId}"; "tollgate merchant list" shows all`)
          : error
      } finally {
        await finder.close()
      }
    }
    const done = await overCells(stored, workIn, { merchantId })
    const act = toAct?.(done)
    if (act) await auditCommand(stored.url, act)
    return done
  } finally {
    await stored.close()
  }
}

interface FindOptions {
  readonly merchant?: string
  readonly email?: string
  readonly last4?: string
  readonly amount?: number
  readonly from?: Date
  readonly to?: Date
  readonly transId?: string
  readonly json?: true
}

const onCut = (merchantId: string, shown: number): void =>
  console.error(`${merchantId} has more of them: only the newest ${shown} are shown. Narrow the search.`)

const jsonOption = () => new Option('--json', 'print JSON')

function addPayments(program: Command, readConfig: () => Config): void {
  const payments = program.command('payments').summary('find payments, show their history, try things out')
  payments.description(
    '"find" and "show" look at payments of all merchants; "create", "capture" and "refund" act as one merchant.',
  )
  addTryCommands(payments, readConfig)
  payments
    .command('find')
    .description('Lists payments, the newest first, 100 at most of each merchant. All conditions must hold.')
    .option('--merchant <id>', 'only of this merchant')
    .option('--email <address>', 'of customers with this e-mail address', parseEmail)
    .option('--last4 <digits>', 'paid with a card or IBAN that ends with these four characters', parseLast4)
    .option('--amount <value>', 'of this amount, in the smallest unit', parseAmount)
    .option('--from <time>', 'created at this time or later (a date, or how long ago: PT2H)', parseTime)
    .option('--to <time>', 'created before this time', parseTime)
    .option('--trans-id <id>', "with this transId, the merchant's own id", parseTransId)
    .addOption(jsonOption())
    .action(async ({ merchant, amount, transId, json, ...rest }: FindOptions) => {
      const filter = {
        ...{ email: rest.email, from: rest.from, to: rest.to, transId },
        last4Digits: rest.last4,
        amountFrom: amount,
        amountTo: amount,
      }
      checkRange(rest)
      const all = await withFinder(
        readConfig(),
        finder => finder.findPayments({ filter, merchant, onCut }),
        merchant,
      )
      const found = all.toSorted((a, b) => b.payment.createdAt.getTime() - a.payment.createdAt.getTime())
      if (json) return say(JSON.stringify(found.map(({ record }) => record)))
      for (const { payment } of found) say(describePayment(payment))
      if (found.length === 0) console.error('No payment was found.')
    })
  payments
    .command('show')
    .argument('<payId>', 'the payment')
    .description(
      'Shows the history of one payment: its operations, events and delivery attempts, the oldest first.',
    )
    .addOption(jsonOption())
    .action(async (text: string, { json }: { json?: true }) => {
      const payId = parsePayId(text)
      const shown = payId && (await withFinder(readConfig(), finder => finder.showPayment(payId)))
      if (!shown)
        throw new CommandFault(
          `there is no payment "${text}"; "tollgate payments find" shows payments and their ids`,
        )
      if (json) return say(JSON.stringify({ ...shown.record, events: shown.events.map(toPrinted) }))
      say(describePayment(shown.payment))
      for (const line of timelineOf(shown.payment, shown.events)) say(line)
    })
}

function checkRange({
  from,
  to,
}: {
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}): void {
  if (from && to && from >= to)
    throw new UsageFault(`--from ${from.toISOString()} must be earlier than --to ${to.toISOString()}`)
}

const describePayment = ({
  payId,
  merchantId,
  transId,
  status,
  amount,
  method,
  createdAt,
}: Payment): string =>
  `${createdAt.toISOString()}  ${payId}  ${merchantId}  ${paintState(status)}  ${toDecimalText(amount.value, amount.currency)} ` +
  `${amount.currency}  ${method.type}  ${transId}`

function timelineOf(payment: Payment, events: readonly StoredEvent[]): readonly string[] {
  const { currency } = payment.amount
  const operations = payment.operations.map(
    ({ createdAt, type, state, amount, responseCode, xId, provider }) => ({
      at: createdAt,
      line:
        `operation ${type} ${state} ${toDecimalText(amount, currency)} ${currency} ${responseCode} ${xId}` +
        (provider?.responseText === undefined ? '' : ` (${toVisible(provider.responseText)})`),
    }),
  )
  const eventLines = events.flatMap(({ createdAt, id, type, status, attempts }) => [
    { at: createdAt, line: `event ${type ?? ''} ${status} ${id}` },
    ...attempts.map(attempt => ({
      at: attempt.at,
      line: `${joined('attempt', attempt.endpointId, String(attempt.status ?? toVisible(attempt.answer)))} in ${attempt.durationMs} ms (event ${id})`,
    })),
  ])
  return [...operations, ...eventLines]
    .sort((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ at, line }) => `  ${at.toISOString()}  ${line}`)
}

interface ExportOptions {
  readonly merchant: string
  readonly from: Date
  readonly to: Date
}

function addOperations(program: Command, readConfig: () => Config): void {
  const operations = program.command('operations').summary('export the operations that have become final')
  operations.description('Exports operations that have become final, for bookkeeping.')
  operations
    .command('export')
    .description('Writes the operations of a merchant as CSV to standard output, the oldest first.')
    .requiredOption('--merchant <id>', 'the merchant whose operations are written')
    .requiredOption('--from <time>', 'final at this time or later', parseTime)
    .requiredOption('--to <time>', 'final before this time', parseTime)
    .action(async ({ merchant, from, to }: ExportOptions) => {
      checkRange({ from, to })
      await withFinder(
        readConfig(),
        async finder => printExport(await finder.exportOperations({ merchant, from, to })),
        merchant,
      )
    })
}

interface EventOptions {
  readonly merchant?: string
  readonly failed?: true
  readonly since?: Date
  readonly json?: true
}

function addEvents(program: Command, readConfig: () => Config): void {
  const events = program.commands.find(command => command.name() === 'events') ?? program.command('events')
  events
    .command('list')
    .description('Lists events of all merchants, the newest first.')
    .option('--merchant <id>', 'only of this merchant')
    .option('--failed', 'only those that failed for good')
    .option('--since <time>', 'written at this time or later (a date, or how long ago: PT2H)', parseTime)
    .addOption(jsonOption())
    .action(async ({ merchant, failed, since, json }: EventOptions) => {
      const all = await withFinder(
        readConfig(),
        finder => finder.listEvents({ merchant, since, status: failed ? 'FAILED' : undefined, onCut }),
        merchant,
      )
      const found = all.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
      if (json) return say(JSON.stringify(found.map(toPrinted)))
      for (const event of found) say(describeEvent(event))
      if (found.length === 0) console.error('No event was found.')
    })
  events
    .command('show')
    .argument('<id>', 'the event')
    .description('Shows one event: what it says, and every attempt to deliver it.')
    .addOption(jsonOption())
    .action(async (id: string, { json }: { json?: true }) => {
      const event = await withFinder(readConfig(), finder => finder.findEvent(id))
      if (!event) throw new CommandFault(unknownEvent(id))
      if (json) return say(JSON.stringify(toPrinted(event)))
      say(describeEvent(event))
      for (const line of JSON.stringify(event.body, undefined, 2).split('\n')) say(toVisible(line))
      // Without a status the answer says why there is none.
      for (const { at, endpointId, status, answer } of event.attempts)
        say(`  ${at.toISOString()}  ${joined(endpointId, status?.toString(), toVisible(answer))}`)
    })
}

/** An attempt without a status has a text that says why. */
const joined = (...parts: readonly (string | undefined)[]): string => parts.filter(Boolean).join(' ')

/** With the names of the API. `createdAt` stays for scripts that were written before `creationDate` was printed. */
const toPrinted = <E extends StoredEvent>({ owed: _, ...event }: E) => ({
  ...event,
  creationDate: event.createdAt,
})

const describeEvent = ({
  id,
  createdAt,
  type,
  status,
  payId,
  merchantId,
}: StoredEvent & { merchantId: string }) =>
  `${createdAt.toISOString()}  ${id}  ${type ?? ''}  ${paintState(status)}  ${merchantId}  payment ${payId}`

const unknownEvent = (id: string): string =>
  `there is no event "${id}"; "tollgate events list" shows events and their ids`

/** For `events replay <id>`: sent again by the running server within a second. */
export async function replayById(id: string, config: Config, json?: true): Promise<void> {
  const found = await withFinder(
    config,
    finder => finder.replay(id),
    undefined,
    isFound => (isFound ? { act: 'event.replay', object: id } : undefined),
  )
  if (!found) throw new CommandFault(unknownEvent(id))
  say(json ? JSON.stringify({ replayed: 1 }) : `The event ${id} is being sent again.`)
}

/** For `events replay --since`, without credentials: of one merchant, or of all. */
export const replaySince = (filter: ReplayFilter, config: Config): Promise<number> =>
  withFinder(
    config,
    finder => finder.replaySince(filter),
    filter.merchant,
    events =>
      events > 0
        ? {
            act: 'event.replay',
            object: filter.merchant ?? 'all merchants',
            after: { events, status: filter.status ?? null },
          }
        : undefined,
  )

function parseEmail(text: string): string {
  if (isEmail(text)) return text
  throw new InvalidArgumentError('It must be an email address such as ada@example.com.')
}

function parseLast4(text: string): string {
  if (/^[0-9A-Za-z]{4}$/.test(text)) return text.toUpperCase()
  throw new InvalidArgumentError('It must be the last four characters of a card number or IBAN.')
}

function parseTransId(text: string): string {
  if (text.length > 0 && text.length <= 64) return text
  throw new InvalidArgumentError('It must have 1 to 64 characters.')
}

function parseAmount(text: string): number {
  if (/^[0-9]{1,12}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number of the smallest unit, such as 4999.')
}
