/**
 * Imports files of the bank. First the whole file is read and stored in one transaction, or refused with one sentence;
 * then every stored entry that was not applied yet is applied, idempotently. After a crash in between, the next import
 * for that account continues.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import {
  type BankFact,
  type RejectionFact,
  signedValue,
  type TransactionFact,
} from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import { BankFileError } from '#connectors/bank/xml-records.ts'
import { textAt } from '#domain/json.ts'
import {
  applyEntry,
  bookedAs,
  countApplied,
  createTransferBook,
  isOfDebits,
  type OpenEntry,
  openEntries,
  sumOf,
  type Unmatched,
} from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount, BankPlace } from '#operations/bank/bank.ts'
import {
  type CellImport,
  entryPages,
  listUnmatched,
  type UnmatchedList,
} from '#operations/bank/list-unmatched.ts'
import { listUntold, type UntoldList } from '#operations/bank/undelivered.ts'
import { type NewEntry, rejectionPrefix, type StoredEntry } from '#storage/bank/entries.ts'

/** How many of our transactions the files reported. */
export interface ImportCounts {
  booked: number
  rejected: number
  returned: number
  /** Reported by an earlier file as well. */
  repeated: number
}

export interface Imported {
  readonly counts: ImportCounts
  /** A sentence for each file that was refused. */
  readonly bad: readonly string[]
  readonly unmatched: UnmatchedList
  /** Surplus payments that came back from the payer's bank and were not listed by an earlier import. */
  readonly undelivered: UntoldList
}

/**
 * Imports the files into all cells. A file is stored whole or not at all; a bad file does not stop the others. All
 * files are stored in all cells before the first entry is applied, so their order does not matter and every cell can
 * see which entries the others have applied.
 */
export async function importAll(paths: readonly string[], banks: readonly Bank[]): Promise<Imported> {
  const counts: ImportCounts = { booked: 0, rejected: 0, returned: 0, repeated: 0 }
  const bad = new Set<string>()
  const importId = banks[0]?.engine.newId() ?? ''
  const importings = banks.map((bank): Importing => {
    const others = banks.filter(other => other !== bank)
    return { bank, others, importId, counts, foreignReports: [], accounts: new Map() }
  })
  for (const importing of importings)
    for (const sentence of await takeFiles(importing, paths)) bad.add(sentence)
  for (const importing of importings)
    for (const account of importing.accounts.values()) await applyWaiting(account, importing)
  const imports = importings.map(({ bank, accounts, foreignReports }, at): CellImport => {
    // Each cell sees the same foreign reports.
    return {
      bank,
      importId,
      accounts: [...accounts.values()],
      foreignReports: at === 0 ? foreignReports : [],
    }
  })
  const places = imports.flatMap(({ bank, accounts }) => accounts.map(account => ({ account, bank })))
  return {
    ...{ counts, bad: [...bad] },
    ...{ unmatched: await listUnmatched(imports), undelivered: await listUntold(places) },
  }
}

/** The import into one cell. */
interface Importing {
  readonly bank: Bank
  /** The bank operations of the other cells. */
  readonly others: readonly Bank[]
  readonly importId: string
  readonly counts: ImportCounts
  /** Reports on messages that we did not send. */
  readonly foreignReports: Unmatched[]
  readonly accounts: Map<string, BankAccount>
}

/** Returns a sentence for each file that was refused. */
async function takeFiles(importing: Importing, paths: readonly string[]): Promise<readonly string[]> {
  const { bank, accounts } = importing
  const bad: string[] = []
  for (const path of paths) {
    try {
      if (importing.others.length > 0) await refusePipe(path)
      for (const account of await takeFile(path, importing)) accounts.set(account.accountId, account)
    } catch (error) {
      if (!(error instanceof BankFileError)) throw error
      bad.push(`${path} ${error.message}; nothing of it was taken`)
    }
  }
  await bank.testCrash('fileTaken')
  return bad
}

/** 100: some ten kilobytes per statement, short-lived enough for the young generation of the garbage collector. */
const pageSize = 100

/**
 * Stores the entries of a file and returns the accounts they are for. A refused file changes nothing: it throws
 * `BankFileError`, whose message continues a sentence that begins with the file's name.
 */
async function takeFile(path: string, importing: Importing): Promise<readonly BankAccount[]> {
  const { bank } = importing
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
    const sorter = createSorter(importing, accounts)
    for await (const facts of readBankFile(hashed(path, hash)))
      for (const fact of facts) {
        const owner = await sorter.ownerOf(fact)
        if (owner) await keeper.add(await toEntry(fact, owner, bank))
        else if (fact.kind === 'report' && !(await isSentElsewhere(fact.messageId, importing)))
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

/** Each cell reads the file, but a pipe gives its bytes only once: to the first cell, which may not be the account's. */
async function refusePipe(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile() && !found.isDirectory())
    throw new BankFileError('is a pipe or a device, which cannot be read once for each cell; name a file')
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

/**
 * Finds the accounts a fact is for: those with the statement's IBAN, or the one that sent the message a report is
 * about.
 */
function createSorter({ bank, others }: Importing, accounts: Map<string, BankAccount>) {
  let owners: readonly BankAccount[] = []
  const become = (found: readonly BankAccount[]): void => {
    owners = found
    for (const account of found) accounts.set(account.accountId, account)
  }
  return {
    async ownerOf(fact: BankFact): Promise<readonly BankAccount[] | undefined> {
      if (fact.kind === 'statement') {
        const found = await bank.accountsAt(fact.account)
        // An account of another cell is no error: that cell imports the file too.
        if (found.length === 0 && !(await isAtAny(others, fact.account)))
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

async function isAtAny(banks: readonly Bank[], iban: string): Promise<boolean> {
  for (const bank of banks) if ((await bank.accountsAt(iban)).length > 0) return true
  return false
}

async function isSentElsewhere(messageId: string, { others }: Importing): Promise<boolean> {
  for (const { files } of others) if (await files.findMessage(messageId)) return true
  return false
}

/** Every account with that IBAN gets its own copy of the entry and matches it against its own payments. */
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
): Pick<NewEntry, 'key' | 'formerKey' | 'amount' | 'currency' | 'bookedOn' | 'isSum'> {
  if (fact.kind === 'rejection') {
    const key = [rejectionPrefix, fact.messageId, fact.blockId ?? '', fact.endToEndId ?? ''].join('|')
    return { key: key.slice(0, 250), amount: 0, currency: 'EUR', isSum: false }
  }
  const { key, formerKey, amount, bookedOn } = fact
  return {
    key,
    formerKey,
    amount: signedValue(fact),
    currency: amount.currency,
    bookedOn,
    isSum: sumOf(fact) !== undefined,
  }
}

/**
 * Applies rejections first and one at a time: those of single payments before those of whole messages, because their
 * reason is more precise. The bank leaves rejected payments out of the sum it books for a block, so unmatched sums are
 * checked again after a rejection.
 */
async function applyWaiting(account: BankAccount, importing: Importing): Promise<void> {
  const { bank, importId, counts } = importing
  const twins = await findTwins(account, [bank, ...importing.others])
  const applying = { account, transfers: createTransferBook({ account, bank }, twins) }
  const apply = async (entries: readonly StoredEntry[], isDue = (_: OpenEntry) => true): Promise<void> => {
    const opened = (await openEntries(entries, account, bank)).filter(isDue)
    const taken = await takenByTwins(opened, twins)
    const settled = await Promise.all(
      opened.map(async each => ({
        ...each,
        applied: taken.has(each.entry.key) ? undefined : await applyEntry(each, applying, bank),
      })),
    )
    const results = settled.map(({ entry: { entryId }, applied }) => ({ entryId, ...applied }))
    await bank.entries.settle(account, results, importId)
    for (const { applied } of settled) if (applied) countApplied(counts, applied)
  }
  const waiting = (kind: 'rejections' | 'transactions') =>
    entryPages(page => bank.entries.next(account, kind, page))
  const before = counts.rejected
  let isFirst = true
  for await (const page of waiting('rejections')) {
    // Queued before the first is applied: after a crash the rejections count as repeated, and the sums are checked all
    // the same.
    if (isFirst) await bank.entries.lookAgain(account)
    isFirst = false
    for (const entry of page) await apply([entry])
  }
  // A concurrent import may have checked them too early.
  if (counts.rejected > before) await bank.entries.lookAgain(account)
  // A return books what no entry has booked before, under its own day. So all bookings come before the first return.
  for await (const page of waiting('transactions')) await apply(page, each => !isReturn(each))
  for await (const page of waiting('transactions')) await apply(page)
}

/** Told by the direction, because not every bank gives a reason. */
function isReturn({ fact, item }: OpenEntry): boolean {
  if (fact.kind !== 'transaction') return false
  const block = sumOf(fact)
  if (block) return fact.direction !== bookedAs(isOfDebits(block))
  return item !== undefined && fact.direction !== bookedAs(item.type === 'DEBIT')
}

/**
 * The other accounts with the same IBAN, of other merchants or in other cells. Each has its own copy of every entry of
 * the statement, but an entry belongs to one payment of one account.
 */
async function findTwins(
  { accountId, settings }: BankAccount,
  banks: readonly Bank[],
): Promise<readonly BankPlace[]> {
  const found = await Promise.all(
    banks.map(async bank =>
      (await bank.accountsAt(settings.creditorIban)).map(account => ({ account, bank })),
    ),
  )
  return found.flat().filter(({ account }) => account.accountId !== accountId)
}

/**
 * The keys of entries that a twin has applied to its payments, or that name one of its debits or transfers. This
 * account must not apply them, or the same money would pay for two payments.
 */
async function takenByTwins(
  opened: readonly OpenEntry[],
  twins: readonly BankPlace[],
): Promise<ReadonlySet<string>> {
  const keys = opened.map(({ entry }) => entry.key)
  const references = opened.flatMap(({ fact }) => fact.endToEndId ?? [])
  const taken = await Promise.all(
    twins.map(async ({ account, bank }) => {
      const items = await bank.items.find(account, references)
      const named = opened.filter(({ fact }) => items.has(fact.endToEndId ?? ''))
      return [...(await bank.entries.taken(account, keys)), ...named.map(({ entry }) => entry.key)]
    }),
  )
  return new Set(taken.flat())
}
