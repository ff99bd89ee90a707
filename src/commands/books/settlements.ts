/** `settlements import` and `reconcile`: providers' settlement lines, and their comparison with our own books. */
import { type Command, InvalidArgumentError } from 'commander'
import { UsageFault } from '#commands/faults.ts'
import { withProviders } from '#commands/merchants/provider.ts'
import { jsonOption } from '#commands/options.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { isDate, parseInstant } from '#domain/time/dates.ts'
import type { Providers } from '#providers/open-providers.ts'

type Reconciliation = Awaited<ReturnType<Providers['reconcile']>>

export function addSettlementCommands(program: Command, readConfig: () => Config): void {
  const settlements = program.command('settlements').summary('import what providers have paid out')
  settlements.description('Reads settlement files of providers.')
  settlements
    .command('import')
    .argument('<account>', 'account id')
    .argument('<file>', "a settlement file in the provider's own format")
    .description('Stores the lines of a file, all or none. A file that is imported twice has one effect.')
    .addOption(jsonOption())
    .action(async (accountId: string, file: string, { json }: { json?: true }) => {
      const imported = await withProviders(readConfig(), providers =>
        providers.importSettlement({ accountId, file }),
      )
      if (json) return printJson(imported)
      const { lines, added, repeated, unmatched } = imported
      console.log(
        `lines: ${lines}\nadded: ${added}\nknown before: ${repeated}\nfit no operation: ${unmatched}`,
      )
    })
  program
    .command('reconcile')
    .description(
      'Compares the captures and refunds of an account with the settlement lines of its provider. Days are those of UTC; ' +
        'the first is included, the last is not.',
    )
    .requiredOption('--account <id>', 'account id')
    .requiredOption('--from <day>', 'the first day, such as 2026-11-01', parseDay)
    .requiredOption('--to <day>', 'the day after the last one', parseDay)
    .addOption(jsonOption())
    .action(
      async ({ account, from, to, json }: { account: string; from: string; to: string; json?: true }) => {
        // Days in the wrong order would find nothing, which looks as if everything were right.
        if (from >= to) throw new UsageFault(`--from ${from} must be earlier than --to ${to}`)
        const found = await withProviders(readConfig(), providers =>
          providers.reconcile({ accountId: account, from, to }),
        )
        if (json) printJson(toJson(found))
        else printReconciliation(found)
      },
    )
}

/** A day, or a time of which the day in UTC is taken. */
function parseDay(text: string): string {
  if (isDate(text)) return text
  const instant = parseInstant(text)
  if (instant !== undefined) return new Date(instant).toISOString().slice(0, 10)
  throw new InvalidArgumentError('It must be a day such as 2026-11-01.')
}

type Line = Reconciliation['theirsWithoutOurs'][number]

/** In the currency of the payment if the line names that amount; another currency cannot be compared with ours. */
const showTheirs = ({ gross, currency, paid }: Line): string =>
  paid === undefined
    ? `${gross} ${currency}`
    : `${paid.value} ${paid.currency} (settled as ${gross} ${currency})`

const toLine = ({ accountId, ...line }: Line) => ({ account: accountId, ...line })

const toJson = ({ oursWithoutTheirs, theirsWithoutOurs, amountsDiffer }: Reconciliation) => ({
  oursWithoutTheirs,
  theirsWithoutOurs: theirsWithoutOurs.map(toLine),
  amountsDiffer: amountsDiffer.map(({ ours, theirs }) => ({ ours, theirs: toLine(theirs) })),
})

function printReconciliation({ oursWithoutTheirs, theirsWithoutOurs, amountsDiffer }: Reconciliation): void {
  console.log(`ours without theirs: ${oursWithoutTheirs.length}`)
  printRows(
    oursWithoutTheirs.map(one => [one.date, one.type, `${one.amount} ${one.currency}`, one.payId, one.xId]),
  )
  console.log(`theirs without ours: ${theirsWithoutOurs.length}`)
  printRows(
    theirsWithoutOurs.map(one => [
      one.date,
      one.type,
      `${one.gross} ${one.currency}`,
      one.settlementId,
      one.providerReference,
    ]),
  )
  console.log(`amounts differ: ${amountsDiffer.length}`)
  printRows(
    amountsDiffer.map(({ ours, theirs }) => [
      ours.date,
      ours.type,
      `ours ${ours.amount} ${ours.currency}`,
      `theirs ${showTheirs(theirs)}`,
      ours.payId,
      ours.xId,
    ]),
  )
}
