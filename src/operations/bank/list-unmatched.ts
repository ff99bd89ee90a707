/**
 * Lists the entries of an import that match no payment. They are read from the database page by page, because a
 * statement may consist of nothing else. Where several accounts share the statement's IBAN, also across cells, an entry
 * is listed only if it matches at none of them, and then once.
 */
import { describe, openFacts, type Unmatched } from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import type { EntryList, StoredEntry } from '#storage/bank/entries.ts'

/** The import into one cell. */
export interface CellImport {
  readonly bank: Bank
  readonly importId: string
  readonly accounts: readonly BankAccount[]
  /** Reports on messages that we did not send. */
  readonly foreignReports: readonly Unmatched[]
}

export interface UnmatchedList {
  readonly length: number
  /** Up to a hundred entries per page; all foreign reports are one page. */
  pages(): AsyncGenerator<readonly Unmatched[]>
}

interface AccountList extends EntryList {
  readonly bank: Bank
  /** Accounts with the same IBAN in other cells; `comesFirst`: their lists come before this one. */
  readonly elsewhere: readonly {
    readonly bank: Bank
    readonly account: BankAccount
    readonly comesFirst: boolean
  }[]
}

export async function listUnmatched(imports: readonly CellImport[]): Promise<UnmatchedList> {
  const lists = imports.flatMap((one, at) => listsOf(one, at, imports))
  const foreign = imports.flatMap(({ foreignReports }) => foreignReports)
  let length = foreign.length
  for (const list of lists) length += await lengthOf(list)
  return {
    length,
    async *pages() {
      if (foreign.length > 0) yield foreign
      for (const list of lists)
        for await (const entries of pagesOf(list))
          yield (await openFacts(entries, list.bank)).map(({ fact }) => describe(fact))
    },
  }
}

function listsOf(
  { bank, accounts, importId }: CellImport,
  at: number,
  imports: readonly CellImport[],
): AccountList[] {
  const ibanOf = ({ settings }: BankAccount): string => settings.creditorIban
  return [...Map.groupBy(accounts, ibanOf).entries()].flatMap(([iban, same]) => {
    const elsewhere = imports.flatMap((other, place) =>
      place === at
        ? []
        : other.accounts
            .filter(account => ibanOf(account) === iban)
            .map(account => ({ bank: other.bank, account, comesFirst: place < at })),
    )
    return same.map((account, index) => ({
      ...{ bank, account, importId, elsewhere },
      ...{ before: same.slice(0, index), after: same.slice(index + 1) },
    }))
  })
}

async function lengthOf(list: AccountList): Promise<number> {
  if (list.elsewhere.length === 0) return list.bank.entries.countListed(list)
  let length = 0
  for await (const page of pagesOf(list)) length += page.length
  return length
}

async function* pagesOf(list: AccountList): AsyncGenerator<readonly StoredEntry[]> {
  for await (const page of entryPages(place => list.bank.entries.listed(list, place))) {
    const known = await knownElsewhere(page, list)
    const own = page.filter(({ key }) => !known.has(key))
    if (own.length > 0) yield own
  }
}

async function knownElsewhere(
  page: readonly StoredEntry[],
  { elsewhere, importId }: AccountList,
): Promise<ReadonlySet<string>> {
  const keys = page.map(({ key }) => key)
  const known = await Promise.all(
    elsewhere.map(({ bank, account, comesFirst }) =>
      bank.entries.settled(account, keys, comesFirst ? importId : undefined),
    ),
  )
  return new Set(known.flat())
}

/** 100: some ten kilobytes per statement, and outcomes that are recorded in parallel share commits. */
const pageSize = 100

export async function* entryPages(
  read: (page: { after: string | undefined; limit: number }) => Promise<readonly StoredEntry[]>,
): AsyncGenerator<readonly StoredEntry[]> {
  for (let after: string | undefined; ; ) {
    const page = await read({ after, limit: pageSize })
    after = page.at(-1)?.entryId
    if (after === undefined) return
    yield page
  }
}
