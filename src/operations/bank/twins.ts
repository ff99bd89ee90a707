/**
 * Accounts with the same IBAN, of several merchants or in several cells. Each has its own copy of every entry of their
 * statements, but an entry is about one payment of one of them.
 */
import type { Bank, BankAccount, BankPlace } from '#operations/bank/bank.ts'
import type { StoredEntry } from '#storage/bank/entries.ts'

/** The other accounts with the IBAN of this one. */
export async function findTwins(
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

/** The keys of entries that belong to a payment of a twin: the same money does not pay for a second one. */
export async function takenByTwins(
  entries: readonly StoredEntry[],
  twins: readonly BankPlace[],
): Promise<ReadonlySet<string>> {
  const keys = entries.map(({ key }) => key)
  const taken = await Promise.all(twins.map(({ account, bank }) => bank.entries.taken(account, keys)))
  return new Set(taken.flat())
}
