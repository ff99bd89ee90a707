/** `bank`: files for the bank and files from the bank, without a provider in between. */

import { basename } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { accountOption, inOne, withBank } from '#commands/books/open-bank.ts'
import { addUndeliveredCommand, printPages, printUntold } from '#commands/books/undelivered.ts'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import { jsonOption } from '#commands/options.ts'
import { print } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { toVisible } from '#domain/text.ts'
import { isDate } from '#domain/time/dates.ts'
import { bankTimeOf } from '#domain/time/target-calendar.ts'
import type { Act } from '#operations/audit/audit.ts'
import type { Unmatched } from '#operations/bank/apply-entry.ts'
import type { GivenFile } from '#operations/bank/give-out.ts'
import type { Imported } from '#operations/bank/import-file.ts'

const folderOption = () =>
  new Option(
    '--out <folder>',
    'the folder to write the files to; it is made if it does not exist',
  ).makeOptionMandatory()

interface BatchOptions {
  readonly account: string
  readonly out: string
  readonly date?: string
  readonly batch?: string
  readonly json?: true
}

export function addBankCommands(program: Command, readConfig: () => Config): void {
  const bank = program.command('bank').summary('debits, transfers and statements of a bank account')
  bank.description(
    'Writes direct debits and credit transfers as files for the bank, and reads what the bank says about them.',
  )
  addFileCommands(bank, readConfig)
  addUndeliveredCommand(bank, readConfig)
  addSimulateCommand(bank, readConfig)
  bank
    .command('import')
    .argument('<files...>', 'pain.002, camt.053 or camt.054, any number and in any order')
    .description(
      'Reads files of the bank: what was booked, rejected and returned, and what customers have sent. Surplus that did ' +
        'not reach its payer is named once. Reading a file again changes nothing. A bad file is named and changes nothing; the others are read all the same.',
    )
    .addOption(jsonOption())
    .action((files: string[], { json }: { json?: true }) => importFiles(files, json === true, readConfig()))
}

function addFileCommands(bank: Command, readConfig: () => Config): void {
  bank
    .command('batch')
    .description(
      'Puts everything that waits into one batch and writes its files. They are stored first: a crash loses nothing and ' +
        'writes no payment into two files.',
    )
    .addOption(accountOption())
    .option('--date <day>', 'the day on which the batch is made, YYYY-MM-DD; today unless given', parseDay)
    .addOption(folderOption())
    .addOption(jsonOption())
    .action(async ({ account: accountId, date, out, json }: BatchOptions) => {
      const config = readConfig()
      refusePastDay(date, config)
      const files = await withBank(config, {
        work: inOne(async opened => {
          const { makeBatch } = await import('#operations/bank/make-batch.ts')
          const { giveOutNew, prepareFolder } = await import('#operations/bank/give-out.ts')
          const account = await opened.account(accountId)
          await prepareFolder(out)
          await makeBatch(account, date, opened)
          return giveOutNew(account, out, opened)
        }),
        act: describeFiles('bank.batch', accountId),
      })
      printFiles(files, json === true, 'Nothing waits for the bank.')
    })
  bank
    .command('files')
    .description('Writes the files of earlier batches once more, byte for byte.')
    .addOption(accountOption())
    .option('--batch <batch>', 'only those of this batch')
    .addOption(folderOption())
    .addOption(jsonOption())
    .action(async ({ account: accountId, batch: batchId, out, json }: BatchOptions) => {
      const files = await withBank(readConfig(), {
        work: inOne(async opened => {
          const { giveOutAgain } = await import('#operations/bank/give-out.ts')
          return giveOutAgain(await opened.account(accountId), { batchId, folder: out }, opened)
        }),
        act: describeFiles('bank.files', accountId),
      })
      printFiles(files, json === true, 'No file was made for this account so far.')
    })
}

/** Files for the bank contain account numbers, so writing them is audited as decrypting them. */
const describeFiles =
  (act: string, accountId: string) =>
  (files: readonly GivenFile[]): Act => ({
    act,
    object: accountId,
    after: files.map(({ batchId, type, payments, sum, sha256 }) => ({
      batchId,
      type,
      payments,
      sum,
      sha256,
    })),
  })

function addSimulateCommand(bank: Command, readConfig: () => Config): void {
  bank
    .command('simulate')
    .description(
      'Test environment only: a bank that reads the files of this account and writes pain.002, camt.054 and camt.053 ' +
        "up to today by the merchant's test clock. The test account of each payment decides whether it is booked, rejected or returned.",
    )
    .addOption(accountOption())
    .option('--out <folder>', 'the folder to write its files to', '.')
    .addOption(jsonOption())
    .action(async ({ account: accountId, out, json }: BatchOptions) => {
      const config = readConfig()
      if (config.environment === 'live')
        throw new CommandFault(
          'there is no simulated bank in the live environment; a real one writes these files',
        )
      const files = await withBank(config, {
        work: inOne(async opened => {
          const { simulateBank } = await import('#operations/bank/simulate-bank.ts')
          return simulateBank(await opened.account(accountId), out, opened)
        }),
      })
      if (json) console.log(JSON.stringify({ files }))
      else
        console.log(files.length === 0 ? 'The simulated bank has no files to write yet.' : files.join('\n'))
    })
}

function parseDay(text: string): string {
  if (isDate(text)) return text
  throw new InvalidArgumentError('It must be a day that exists, written YYYY-MM-DD.')
}

/** Banks refuse such files, and a batch cannot be made again. In test the clock of a merchant is moved, also to try past days. */
function refusePastDay(day: string | undefined, { environment }: Config): void {
  const today = bankTimeOf(new Date()).day
  if (environment === 'live' && day !== undefined && day < today)
    throw new UsageFault(
      `--date is ${day}, but a batch cannot be made on a past day; name today (${today}) or a later day`,
    )
}

function printFiles(files: readonly GivenFile[], json: boolean, none: string): void {
  if (json) {
    console.log(JSON.stringify({ files: files.map(({ batchId, ...file }) => ({ ...file, batchId })) }))
    return
  }
  if (files.length === 0) console.log(none)
  for (const { path, type, payments, sum, sha256, batchId } of files)
    console.log(
      `${path}\n  ${type}, batch ${batchId}: ${payments} payments, ${euros(sum)} EUR, SHA-256 ${sha256}`,
    )
}

const euros = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`

async function importFiles(files: readonly string[], json: boolean, config: Config): Promise<void> {
  const { bad } = await inLittleMemory(() => importInEach(files, json, config))
  if (bad.length > 0) throw new CommandFault(bad.join('\ntollgate: '))
}

/**
 * The collector waits until its heap has grown to several times what is in use: a long statement took 375 MB although 50 were
 * in use (measured). This makes it collect earlier, for a third more processor time.
 */
async function inLittleMemory<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--optimize-for-size')
  try {
    return await work()
  } finally {
    setFlagsFromString('--no-optimize-for-size')
  }
}

const importInEach = (files: readonly string[], json: boolean, config: Config) =>
  withBank(config, {
    // The owner of an incoming amount is unknown while an unreachable cell may have an account with the same IBAN.
    needsAll: true,
    async work(banks) {
      const { importAll } = await import('#operations/bank/import-file.ts')
      return importAll(files, banks)
    },
    act: ({ counts, unmatched, undelivered }) => ({
      act: 'bank.import',
      object: files.map(file => basename(file)).join(', '),
      after: { ...counts, unmatched: unmatched.length, undelivered: undelivered.length },
    }),
    async show(imported) {
      await (json ? printJson(imported) : printReport(imported))
      await imported.undelivered.told()
    },
  })

/** One line, page by page: the lists may be as long as the bank's file. */
async function printJson({ counts, unmatched, undelivered }: Imported): Promise<void> {
  await print(`${JSON.stringify(counts).slice(0, -1)},"unmatched":[`)
  await printPages(unmatched.pages())
  // Printed only if there is any, because most programs that read this know only the other fields.
  if (undelivered.length > 0) {
    await print('],"undelivered":[')
    await printPages(undelivered.pages())
  }
  await print(']}\n')
}

async function printReport({ counts, unmatched, undelivered }: Imported): Promise<void> {
  const { booked, rejected, returned, repeated } = counts
  console.log(`booked: ${booked}\nrejected: ${rejected}\nreturned: ${returned}\nknown already: ${repeated}`)
  if (unmatched.length > 0) console.log(`fits nothing of ours: ${unmatched.length}`)
  for await (const page of unmatched.pages())
    await print(page.map(entry => `  ${describeEntry(entry)}\n`).join(''))
  await printUntold(undelivered)
}

function describeEntry({ reference, date, direction, amount, endToEndId, text }: Unmatched): string {
  const sum = amount && `${amount.value} ${amount.currency}`
  return toVisible([reference, date, direction, sum, endToEndId, text].filter(word => word).join('  '))
}
