/**
 * Imports a file of the bank. First the whole file is read and stored in one transaction, or refused with one sentence;
 * then every entry that was not applied yet is applied, each with an effect that can happen only once. After a crash in
 * between, the next import of that account continues.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { BankFact, RejectionFact, TransactionFact } from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import { BankFileError } from '#connectors/bank/xml-records.ts'
import { textAt } from '#domain/json.ts'
import {
  applyEntry,
  countApplied,
  createTransferBook,
  describe,
  openEntries,
  openFacts,
  sumOf,
  type Unmatched,
} from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { type NewEntry, rejectionPrefix, type StoredEntry } from '#storage/bank/entries.ts'

/** How many of our transactions the files reported. */
export interface ImportCounts {
  booked: number
  rejected: number
  returned: number
  /** Known from an earlier file. */
  repeated: number
}

export interface Imported {
  readonly counts: ImportCounts
  /** A sentence for each file that was refused. */
  readonly bad: readonly string[]
  readonly unmatched: UnmatchedList
}

/** Entries that match nothing of ours. They stay in the database, because a statement may consist of nothing else. */
export interface UnmatchedList {
  readonly length: number
  /** A few hundred at a time. */
  pages(): AsyncGenerator<readonly Unmatched[]>
}

/**
 * Each file whole or not at all; a bad one does not keep the others out. All files are taken in before the first entry is
 * applied, so that their order does not matter.
 */
export async function importAll(paths: readonly string[], bank: Bank): Promise<Imported> {
  const importing: Importing = {
    importId: bank.engine.newId(),
    counts: { booked: 0, rejected: 0, returned: 0, repeated: 0 },
    foreignReports: [],
  }
  const bad: string[] = []
  const taken = new Map<string, BankAccount>()
  for (const path of paths) {
    try {
      for (const account of await takeFile(path, importing, bank)) taken.set(account.accountId, account)
    } catch (error) {
      if (!(error instanceof BankFileError)) throw error
      bad.push(`${path} ${error.message}; nothing of it was taken`)
    }
  }
  await bank.testCrash('fileTaken')
  for (const account of taken.values()) await applyWaiting(account, importing, bank)
  return {
    counts: importing.counts,
    bad,
    unmatched: await listUnmatched([...taken.values()], importing, bank),
  }
}

interface Importing {
  readonly importId: string
  readonly counts: ImportCounts
  /** Reports on messages that we did not send. */
  readonly foreignReports: Unmatched[]
}

/** Several accounts may have the statement's IBAN; an entry is listed only if it matches nothing at any of them. */
async function listUnmatched(
  accounts: readonly BankAccount[],
  { importId, foreignReports }: Importing,
  bank: Bank,
): Promise<UnmatchedList> {
  const byIban = Map.groupBy(accounts, ({ settings }) => settings.creditorIban)
  const lists = [...byIban.values()].flatMap(same =>
    same.map((account, at) => ({
      ...{ account, importId },
      ...{ before: same.slice(0, at), after: same.slice(at + 1) },
    })),
  )
  let length = foreignReports.length
  for (const list of lists) length += await bank.entries.countListed(list)
  return {
    length,
    async *pages() {
      if (foreignReports.length > 0) yield foreignReports
      for (const list of lists)
        for await (const entries of pagesOf(page => bank.entries.listed(list, page)))
          yield (await openFacts(entries, bank)).map(({ fact }) => describe(fact))
    },
  }
}

/** 100: some ten kilobytes per statement, short-lived enough for the young generation of the garbage collector. */
const pageSize = 100

/** Throws `BankFileError` with a sentence that begins after the file's name; nothing has been changed in that case. */
async function takeFile(path: string, importing: Importing, bank: Bank): Promise<readonly BankAccount[]> {
  const hash = createHash('sha256')
  const accounts = new Map<string, BankAccount>()
  let repeated = 0
  const foreignReports: Unmatched[] = []
  let sha256: string | undefined
  const file = {
    // A hash returns its digest only once, and every account with that IBAN needs it.
    sha256: () => {
      sha256 ??= hash.digest('hex')
      return sha256
    },
    accounts: () => [...accounts.values()],
  }
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
          foreignReports.push({ reference: fact.messageId, text: 'a report on a message that is not ours' })
      }
    await keeper.flush()
  })
  importing.counts.repeated += repeated
  importing.foreignReports.push(...foreignReports)
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
    const code = textAt(error, 'code')
    if (code === undefined) throw error
    throw new BankFileError(unreadable[code] ?? `cannot be read (${code})`)
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder and not a file',
  EACCES: 'may not be read by the user of this command',
}

/** 2 GB: ten times the largest statement we know of. */
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

/** The accounts that a fact is for: those with the statement's IBAN, or the one whose message the report is about. */
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
            `is a statement of the account ending in ${fact.account.slice(-4)}, which is not the bank account of any merchant here`,
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

/** The same entry for every account with that IBAN: each searches its own payments. */
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

function factsOf(
  fact: TransactionFact | RejectionFact,
): Pick<NewEntry, 'key' | 'amount' | 'currency' | 'bookedOn' | 'isSum'> {
  if (fact.kind === 'rejection') {
    const key = [rejectionPrefix, fact.messageId, fact.blockId ?? '', fact.endToEndId ?? ''].join('|')
    return { key: key.slice(0, 250), amount: 0, currency: 'EUR', isSum: false }
  }
  const { key, amount, bookedOn, direction } = fact
  return {
    key,
    amount: direction === 'CRDT' ? amount.value : -amount.value,
    currency: amount.currency,
    bookedOn,
    isSum: sumOf(fact) !== undefined,
  }
}

/** 100: outcomes that are recorded side by side share their commits. */
const applyPage = 100

/**
 * Rejections first, one after the other: those of single payments before those of whole messages, because their reason
 * is more precise. A sum that the bank booked for a block omits rejected payments, so older sums are checked again
 * after a rejection.
 */
async function applyWaiting(
  account: BankAccount,
  { importId, counts }: Importing,
  bank: Bank,
): Promise<void> {
  const applying = { account, transfers: createTransferBook(account, bank) }
  const apply = async (entries: readonly StoredEntry[]): Promise<void> => {
    const opened = await openEntries(entries, account, bank)
    const settled = await Promise.all(
      opened.map(async each => ({ ...each, applied: await applyEntry(each, applying, bank) })),
    )
    const results = settled.map(({ entry: { entryId }, applied }) => ({ entryId, ...applied }))
    await bank.entries.settle(account, results, importId)
    for (const { applied } of settled) if (applied) countApplied(counts, applied)
  }
  const waiting = (kind: 'rejections' | 'transactions') =>
    pagesOf(page => bank.entries.next(account, kind, page))
  const before = counts.rejected
  for await (const page of waiting('rejections')) for (const entry of page) await apply([entry])
  if (counts.rejected > before) await bank.entries.lookAgain(account)
  for await (const page of waiting('transactions')) await apply(page)
}

async function* pagesOf(
  read: (page: { after: string | undefined; limit: number }) => Promise<readonly StoredEntry[]>,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let after: string | undefined; ; ) {
    const page = await read({ after, limit: applyPage })
    after = page.at(-1)?.entryId
    if (after === undefined) return
    yield page
  }
}
