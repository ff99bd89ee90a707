/**
 * Taking in a file of the bank. First the whole file is read and kept in one transaction, or refused with one sentence;
 * then every entry that has not been applied yet is applied, each with an effect that can only happen once. A crash in
 * between is made up for by the next import of that account.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { BankFact, RejectionFact, TransactionFact } from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import { BankFileError } from '#connectors/bank/xml-records.ts'
import { applyEntry, createTransferBook, type Unmatched } from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import type { NewEntry, StoredEntry } from '#storage/bank/entries.ts'

export interface ImportReport {
  /** Transactions of ours that the bank has booked. */
  booked: number
  rejected: number
  returned: number
  /** Known from an earlier file. */
  repeated: number
  unmatched: Unmatched[]
}

export const emptyReport = (): ImportReport => ({
  booked: 0,
  rejected: 0,
  returned: 0,
  repeated: 0,
  unmatched: [],
})

/** Each file whole or not at all; a bad one does not keep the others out. Returns a sentence for each bad one. */
export async function importAll(
  paths: readonly string[],
  report: ImportReport,
  bank: Bank,
): Promise<string[]> {
  const bad: string[] = []
  for (const path of paths) {
    try {
      await importFile(path, report, bank)
    } catch (error) {
      if (!(error instanceof BankFileError)) throw error
      bad.push(`${path} ${error.message}; nothing of it was taken`)
    }
  }
  return bad
}

/** Throws `BankFileError` with a sentence that begins after the file's name; nothing was changed then. */
export async function importFile(path: string, report: ImportReport, bank: Bank): Promise<void> {
  const taken = await takeFile(path, report, bank)
  await bank.testCrash('fileTaken')
  for (const account of taken) await applyWaiting(account, report, bank)
}

/** 500: a few hundred kilobytes in one statement. */
const pageSize = 500

async function takeFile(path: string, report: ImportReport, bank: Bank): Promise<readonly BankAccount[]> {
  const hash = createHash('sha256')
  const accounts = new Map<string, BankAccount>()
  let repeated = 0
  const strangers: Unmatched[] = []
  const file = { sha256: () => hash.digest('hex'), accounts: () => [...accounts.values()] }
  await bank.entries.takeFile(file, async keep => {
    const keeper = createKeeper(async entries => {
      repeated += await keep(entries)
    })
    const sorter = createSorter(bank, accounts)
    for await (const facts of readBankFile(hashed(path, hash)))
      for (const fact of facts) {
        const owner = await sorter.ownerOf(fact)
        if (owner) await keeper.add(await toEntry(fact, owner, bank))
        else if (fact.kind === 'report')
          strangers.push({ reference: fact.messageId, text: 'a report on a message that is not ours' })
      }
    await keeper.flush()
  })
  report.repeated += repeated
  report.unmatched.push(...strangers)
  return [...accounts.values()]
}

async function* hashed(path: string, hash: ReturnType<typeof createHash>): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of createReadStream(path)) {
      bytes += chunk.length
      if (bytes > fileBytesMax) throw new BankFileError('is larger than 2 GB')
      hash.update(chunk)
      yield chunk
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code !== 'string') throw error
    throw new BankFileError(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`)
  }
}

/** 2 GB: ten times the largest statement we were told of. */
const fileBytesMax = 2_000_000_000

function createKeeper(write: (entries: readonly NewEntry[]) => Promise<void>) {
  let waiting: NewEntry[] = []
  const flush = async (): Promise<void> => {
    const entries = waiting
    waiting = []
    if (entries.length > 0) await write(entries)
  }
  return {
    flush,
    async add(entries: readonly NewEntry[]) {
      waiting.push(...entries)
      if (waiting.length >= pageSize) await flush()
    },
  }
}

/** Who a fact is for: the accounts with the statement's IBAN, or the one whose message is reported on. */
function createSorter(bank: Bank, accounts: Map<string, BankAccount>) {
  let owners: readonly BankAccount[] = []
  const become = (found: readonly BankAccount[]): void => {
    owners = found
    for (const account of found) accounts.set(account.accountId, account)
  }
  return {
    async ownerOf(fact: BankFact): Promise<readonly BankAccount[] | undefined> {
      if (fact.kind === 'statement') {
        const found = await bank.accountsAt(fact.account)
        if (found.length === 0)
          throw new BankFileError(
            `is a statement of the account ending in ${fact.account.slice(-4)}, which is no bank account here`,
          )
        become(found)
        return undefined
      }
      if (fact.kind !== 'report') return owners.length > 0 ? owners : undefined
      const file = await bank.files.findMessage(fact.messageId)
      become(file ? [await bank.account(file.accountId)] : [])
      // Undefined: the message belongs to no account of ours.
      return owners.length > 0 ? [] : undefined
    },
  }
}

/** The same entry for every account with that IBAN: each looks for payments of its own. */
function toEntry(fact: BankFact, owners: readonly BankAccount[], bank: Bank): Promise<NewEntry[]> {
  if (fact.kind !== 'transaction' && fact.kind !== 'rejection') return Promise.resolve([])
  return Promise.all(
    owners.map(async ({ merchantId, accountId }) => {
      const entryId = bank.engine.newId()
      const plain = Buffer.from(JSON.stringify(fact))
      const sealed = await bank.records.seal('bank entry', merchantId, entryId, plain)
      return { merchantId, accountId, entryId, ...factsOf(fact), ...sealed }
    }),
  )
}

const rejectionPrefix = 'RJCT'

function factsOf(
  fact: TransactionFact | RejectionFact,
): Pick<NewEntry, 'key' | 'amount' | 'currency' | 'bookedOn'> {
  if (fact.kind === 'rejection') {
    const key = [rejectionPrefix, fact.messageId, fact.blockId ?? '', fact.endToEndId ?? ''].join('|')
    return { key: key.slice(0, 250), amount: 0, currency: 'EUR' }
  }
  const { key, amount, bookedOn, direction } = fact
  return {
    key,
    amount: direction === 'CRDT' ? amount.value : -amount.value,
    currency: amount.currency,
    bookedOn,
  }
}

/** 32: outcomes that are recorded side by side share their commits. */
const applyPage = 32

async function applyWaiting(account: BankAccount, report: ImportReport, bank: Bank): Promise<void> {
  const transfers = createTransferBook(account, bank)
  const apply = async (entry: StoredEntry): Promise<ImportReport> => {
    const own = emptyReport()
    await applyEntry({ entry, account, transfers, report: own }, bank)
    return own
  }
  for (let after: string | undefined; ; ) {
    const page = await bank.entries.next(account, after, applyPage)
    after = page.at(-1)?.entryId
    if (after === undefined) return
    // Rejections one after the other: single payments stand before whole messages, and know the reason better.
    const inOrder = page.some(({ key }) => key.startsWith(rejectionPrefix))
    const reports = inOrder ? [] : await Promise.all(page.map(apply))
    if (inOrder) for (const entry of page) reports.push(await apply(entry))
    for (const own of reports) addUp(report, own)
  }
}

function addUp(report: ImportReport, own: ImportReport): void {
  report.booked += own.booked
  report.rejected += own.rejected
  report.returned += own.returned
  report.repeated += own.repeated
  report.unmatched.push(...own.unmatched)
}
