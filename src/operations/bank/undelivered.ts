/**
 * Surplus that did not reach its payer because the bank returned or rejected the transfer. The merchant still owes it.
 * It is not sent again automatically, because the same account would refuse it again: an operator decides.
 */

import { parseXId, type XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import { type BankAccount, BankFault, type BankPlace } from '#operations/bank/bank.ts'
import { entryXId } from '#operations/bank/return-debit.ts'
import type { Telling, UndeliveredRow } from '#storage/bank/undelivered.ts'

/** As operators see it, without customers' names and account numbers. */
export interface Undelivered {
  readonly accountId: string
  readonly payId: string
  readonly transId: string
  /** The reference of the transfer. */
  readonly xId: string
  readonly amount: Money
  readonly sentOn: string
  readonly reason?: string
}

export interface UndeliveredList {
  readonly length: number
  /** The accounts with undelivered surplus. */
  readonly accountIds: readonly string[]
  /** A hundred rows per page. */
  pages(): AsyncGenerator<readonly Undelivered[]>
}

export interface UntoldList extends UndeliveredList {
  /**
   * Marks the rows as listed. Call it when all pages are printed; after a crash before that, the next import lists
   * them.
   */
  told(): Promise<void>
}

/** 100: some ten kilobytes per statement. */
const pageSize = 100

/** All undelivered surplus of the account. */
export const listUndelivered = (place: BankPlace): Promise<UndeliveredList> =>
  listOf([place], { onlyUntold: false })

/** The undelivered surplus that no import has listed yet. */
export const listUntold = (places: readonly BankPlace[]): Promise<UntoldList> =>
  listOf(places, { onlyUntold: true })

async function listOf(places: readonly BankPlace[], which: Telling): Promise<UntoldList> {
  const counted = await Promise.all(
    places.map(async place => ({ place, count: await place.bank.undelivered.count(place.account, which) })),
  )
  const found = counted.filter(({ count }) => count > 0)
  const shown = found.map(({ place }) => ({ place, xIds: [] as XId[] }))
  return {
    length: found.reduce((sum, { count }) => sum + count, 0),
    accountIds: found.map(({ place }) => place.account.accountId),
    async *pages() {
      for (const { place, xIds } of shown)
        for await (const rows of rowPages(place, which)) {
          xIds.push(...rows.map(({ xId }) => xId))
          yield rows.map(row => show(row, place.account))
        }
    },
    async told() {
      for (const { place, xIds } of shown) await place.bank.undelivered.told(place.account, xIds)
    },
  }
}

async function* rowPages(
  { account, bank }: BankPlace,
  { onlyUntold }: Telling,
): AsyncGenerator<readonly UndeliveredRow[]> {
  for (let after: XId | undefined; ; ) {
    const rows = await bank.undelivered.page(account, { onlyUntold, after, limit: pageSize })
    after = rows.at(-1)?.xId
    if (after === undefined) return
    yield rows
  }
}

const show = (
  { payId, transId, xId, amount, sentOn, reason }: UndeliveredRow,
  { accountId }: BankAccount,
): Undelivered => ({
  ...{ accountId, payId, transId, xId, amount: { value: amount, currency: 'EUR' }, sentOn },
  ...(reason === null ? {} : { reason }),
})

/** Removes a row from the list, because the operator has paid the money back in another way. */
export async function closeUndelivered(text: string, { account, bank }: BankPlace): Promise<Undelivered> {
  const row = await find(text, { account, bank })
  if (!(await bank.undelivered.close(account, row.xId))) throw notWaiting(text)
  return show(row, account)
}

/** Queued again and not sent yet, so it has no date and no reason. */
export type QueuedAgain = Omit<Undelivered, 'sentOn' | 'reason'>

/**
 * Queues the surplus for the next batch, to the same payer, and returns it with its new reference. That is derived from
 * the old one: no reference is ever in two files, and the same transfer cannot be queued twice.
 */
export async function giveBackAgain(text: string, { account, bank }: BankPlace): Promise<QueuedAgain> {
  const row = await find(text, { account, bank })
  const { merchantId, accountId } = account
  const { payId, transId, amount, keyVersion, sealed } = row
  const payer = await bank.records.open('bank surplus', merchantId, { recordId: row.xId, keyVersion, sealed })
  const xId = entryXId(account, `again ${row.xId}`)
  const again = {
    ...{ merchantId, accountId, xId, payId, amount },
    ...(await bank.records.seal('bank surplus', merchantId, xId, payer)),
  }
  if (!(await bank.undelivered.close(account, row.xId, again))) throw notWaiting(text)
  return { accountId, payId, transId, xId, amount: { value: amount, currency: 'EUR' } }
}

async function find(text: string, { account, bank }: BankPlace) {
  const xId = parseXId(text)
  const row = xId && (await bank.undelivered.find(account, xId))
  if (!row) throw notWaiting(text)
  return row
}

const notWaiting = (text: string): BankFault =>
  new BankFault(`no surplus ${text} waits for you; "tollgate bank undelivered" lists what does`)
