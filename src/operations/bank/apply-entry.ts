/**
 * Applies one entry of a bank file to our payments: a booking, a rejection, a return, or an incoming transfer. Applying
 * an entry is idempotent: every effect is tied to the entry's key or to the payment's state.
 */
import type { RejectionFact, TransactionFact, WholeBlock } from '#connectors/bank/bank-facts.ts'
import { detailOf, reasonFacts } from '#connectors/bank/bank-facts.ts'
import { feeLine, lineOf } from '#connectors/bank/settlement.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { endMandateOf } from '#operations/bank/end-mandate.ts'
import type { ImportCounts } from '#operations/bank/import-file.ts'
import { receiveTransfer, type TransferBook } from '#operations/bank/receive-transfer.ts'
import { entryXId, type FailedItem, returnDebit, takeBackItem } from '#operations/bank/return-debit.ts'
import { recordIfFirst } from '#operations/payments/provider-calls/record-outcome.ts'
import type { BankLine, EntryResult, StoredEntry } from '#storage/bank/entries.ts'
import type { BankItem, BlockName } from '#storage/bank/items.ts'

export { createTransferBook } from '#operations/bank/receive-transfer.ts'

/** An unmatched entry as operators see it, without customers' names and account numbers. */
export interface Unmatched {
  readonly reference: string
  readonly date?: string
  readonly direction?: 'CRDT' | 'DBIT'
  readonly amount?: { readonly value: number; readonly currency: string }
  readonly endToEndId?: string
  readonly text?: string
}

/** A decrypted entry, and the item of a batch that its end-to-end id names. */
export interface OpenEntry {
  readonly entry: StoredEntry
  readonly fact: TransactionFact | RejectionFact
  readonly item: BankItem | undefined
}

export interface Applying {
  readonly account: BankAccount
  readonly transfers: TransferBook
}

/**
 * The result of applying an entry; undefined if it matches nothing. `count`: how many of our transactions it changed.
 */
export interface Applied {
  readonly result: EntryResult
  readonly count: number
  /** Bookings inferred from this entry: a transaction that is returned must have been booked before. */
  readonly booked?: number
  /** Transactions that another entry reported before, such as a notification followed by the statement's sum. */
  readonly repeated?: number
  readonly xId?: string
  readonly fee?: number
}

export const openFacts = (
  entries: readonly StoredEntry[],
  { records }: Pick<Bank, 'records'>,
): Promise<Pick<OpenEntry, 'entry' | 'fact'>[]> =>
  Promise.all(
    entries.map(async entry => {
      const { entryId: recordId, keyVersion, sealed, merchantId } = entry
      const plain = await records.open('bank entry', merchantId, { recordId, keyVersion, sealed })
      const fact: TransactionFact | RejectionFact = JSON.parse(plain.toString())
      return { entry, fact }
    }),
  )

/** Decrypts the entries of a page and finds their items with one statement. */
export async function openEntries(
  entries: readonly StoredEntry[],
  account: BankAccount,
  bank: Bank,
): Promise<OpenEntry[]> {
  const opened = await openFacts(entries, bank)
  const items = await bank.items.find(
    account,
    opened.flatMap(({ fact }) => fact.endToEndId ?? []),
  )
  return opened.map(({ entry, fact }) => ({ entry, fact, item: items.get(fact.endToEndId ?? '') }))
}

/** Returns undefined if the entry matches nothing. */
export async function applyEntry(
  opened: OpenEntry,
  applying: Applying,
  bank: Bank,
): Promise<Applied | undefined> {
  const { fact, item } = opened
  const applied =
    fact.kind === 'rejection'
      ? await applyRejection(fact, item, applying.account, bank)
      : await applyTransaction({ ...opened, fact }, applying, bank)
  if (applied) await bank.testCrash('entryApplied')
  return applied
}

export function countApplied(counts: ImportCounts, applied: Applied): void {
  const counted = {
    BOOKED: 'booked',
    RECEIVED: 'booked',
    REJECTED: 'rejected',
    RETURNED: 'returned',
  } as const
  if (applied.result !== 'OTHER') counts[counted[applied.result]] += applied.count
  counts.booked += applied.booked ?? 0
  counts.repeated += applied.repeated ?? 0
}

export function describe(fact: TransactionFact | RejectionFact): Unmatched {
  if (fact.kind === 'rejection') {
    const { messageId, endToEndId, reason = 'no reason' } = fact
    return {
      reference: messageId,
      ...(endToEndId === undefined ? {} : { endToEndId }),
      text: `rejected: ${reason}`,
    }
  }
  const { bankReference, key, bookedOn, direction, amount, endToEndId, remittance } = fact
  return {
    reference: bankReference ?? key,
    date: bookedOn,
    direction,
    amount,
    ...(endToEndId === undefined ? {} : { endToEndId }),
    ...(remittance === '' ? {} : { text: remittance.slice(0, 140) }),
  }
}

async function applyTransaction(
  { entry, fact, item }: OpenEntry & { readonly fact: TransactionFact },
  { account, transfers }: Applying,
  bank: Bank,
): Promise<Applied | undefined> {
  if (fact.amount.currency !== 'EUR') return undefined
  const block = sumOf(fact)
  if (block) return applyBlock({ fact, block, account }, bank)
  if (item) return applyToItem(fact, item, account, bank)
  // A debit that we did not cause (bank charges, the owner's cheque) is only listed. So is a return: its text may be
  // that of the returned transfer and name a payment, but the money does not come from a customer.
  const isSent = fact.direction === 'CRDT' && !fact.returned && !fact.takesBack
  return isSent ? receiveTransfer({ fact, entry, transfers, account }, bank) : undefined
}

/**
 * The block of our batch that the entry books or returns as one sum; undefined if the entry is about single payments.
 */
export const sumOf = ({ returned, wholeBlock }: TransactionFact): BlockName | undefined =>
  returned ? undefined : ourBlock(wholeBlock)

/** Checks the form of the ids: customers' transfers carry message ids of other banks, which are not ours. */
function ourBlock({ blockId, messageId }: WholeBlock = {}): BlockName | undefined {
  if (blockId !== undefined) return /^[DT][0-9a-f]{32}[0-9A-Z]{2}$/.test(blockId) ? { blockId } : undefined
  return /^[DT][0-9a-f]{32}$/.test(messageId ?? '') ? { messageId } : undefined
}

async function applyToItem(
  fact: TransactionFact,
  item: BankItem,
  account: BankAccount,
  bank: Bank,
): Promise<Applied | undefined> {
  if (fact.direction !== bookedAs(item.type === 'DEBIT')) return returnItem(fact, item, account, bank)
  if (fact.amount.value !== item.amount || item.rejected !== null) return undefined
  return { result: 'BOOKED', ...(await book([item], fact, account, bank)), xId: item.xId }
}

/**
 * One sum for a whole block (payment information). It matches only if it equals the sum of the block's payments that
 * were not rejected. A sum in the opposite direction reverses the booking: every payment of the block is returned.
 */
async function applyBlock(
  { fact, block, account }: { readonly fact: TransactionFact; block: BlockName; account: BankAccount },
  bank: Bank,
): Promise<Applied | undefined> {
  const total = await bank.items.total(account, block)
  const payments = fact.wholeBlock?.payments ?? total.payments
  if (total.payments === 0 || total.sum !== fact.amount.value || payments !== total.payments) return undefined
  const isBooking = fact.direction === bookedAs(isOfDebits(block))
  const apply = isBooking ? book : returnAll
  const done = { count: 0, booked: 0, repeated: 0 }
  for await (const items of pagesOf(account, block, bank)) {
    const part = await apply(
      items.filter(item => item.rejected === null),
      fact,
      account,
      bank,
    )
    done.count += part.count
    done.booked += part.booked ?? 0
    done.repeated += part.repeated ?? 0
  }
  return { result: isBooking ? 'BOOKED' : 'RETURNED', ...done }
}

export const isOfDebits = ({ blockId, messageId }: BlockName): boolean =>
  (blockId ?? messageId)?.startsWith('D') === true
export const bookedAs = (isDebit: boolean): TransactionFact['direction'] => (isDebit ? 'CRDT' : 'DBIT')

/** Returns every item under a key of its own, because each payment records its own return. */
async function returnAll(
  items: readonly BankItem[],
  fact: TransactionFact,
  account: BankAccount,
  bank: Bank,
): Promise<Omit<Applied, 'result'>> {
  const returned = await Promise.all(
    items.map(item => {
      const key = `${item.xId}|${fact.key}`.slice(0, 250)
      const amount = { ...fact.amount, value: item.amount }
      return returnItem({ ...fact, key, amount, charges: 0 }, item, account, bank)
    }),
  )
  const sum = (name: 'count' | 'booked' | 'repeated') =>
    returned.reduce((total, each) => total + (each?.[name] ?? 0), 0)
  return { count: sum('count'), booked: sum('booked'), repeated: sum('repeated') }
}

/** 200: outcomes that are recorded in parallel share commits. */
const pageSize = 200

async function* pagesOf(
  account: BankAccount,
  block: BlockName,
  bank: Bank,
): AsyncGenerator<readonly BankItem[]> {
  for (let after: string | undefined; ; ) {
    const page = await bank.items.page(account, block, after, pageSize)
    after = page.at(-1)?.xId
    if (after === undefined) return
    yield page
  }
}

export async function book(
  items: readonly BankItem[],
  fact: Pick<TransactionFact, 'key' | 'bankReference' | 'bookedOn'>,
  account: BankAccount,
  bank: Bank,
): Promise<Omit<Applied, 'result'>> {
  const open = items.filter(item => !item.booked)
  await Promise.all(
    open.map(item =>
      settleItem(item, account, bank, provider => ({
        kind: 'approved',
        provider: { ...provider, ...named(fact) },
      })),
    ),
  )
  // Another entry may report the same items at the same moment; whichever marks an item counts it.
  const lines = open.map(item => bookedLine(item, fact))
  const count = await bank.items.mark(account, open, { bookedBy: fact.key, lines })
  return { count, repeated: items.length - count }
}

/** The movement in the merchant's books for a booked item. */
function bookedLine(item: BankItem, fact: Pick<TransactionFact, 'bookedOn' | 'bankReference'>): BankLine {
  const types = { DEBIT: 'CAPTURE', TRANSFER: 'REFUND', SURPLUS: 'CORRECTION' } as const
  const cents = item.type === 'DEBIT' ? item.amount : -item.amount
  return { ...lineOf(types[item.type], cents, { fact, ...lineNames(item, fact) }), payId: item.payId }
}

const lineNames = ({ xId }: BankItem, { bankReference }: Pick<TransactionFact, 'bankReference'>) => ({
  reference: xId,
  transactionId: bankReference,
  providerReference: xId,
})

const named = ({ bankReference }: Pick<TransactionFact, 'bankReference'>) =>
  bankReference === undefined ? {} : { transactionId: bankReference }

/** Records the outcome of an item's operation. Returns false if the operation already has an outcome, which stays. */
async function settleItem(
  item: BankItem,
  { merchant }: BankAccount,
  { engine }: Bank,
  toOutcome: (provider: ProviderFacts) => Outcome,
): Promise<boolean> {
  // Refunding a surplus is not an operation of the payment.
  if (item.type === 'SURPLUS') return true
  const payment = await engine.payments.byPayId(item.merchantId, item.payId)
  if (!payment)
    throw new Error(`payment ${item.payId}, which an entry of the bank belongs to, does not exist`)
  const echo = { reference: item.xId, amount: { value: item.amount, currency: payment.amount.currency } }
  const outcome = toOutcome({ echo })
  const record = { merchant, payment, xId: item.xId, outcome, unattended: true }
  return (await recordIfFirst(record, engine)).isFirst
}

async function applyRejection(
  fact: RejectionFact,
  item: BankItem | undefined,
  account: BankAccount,
  bank: Bank,
): Promise<Applied | undefined> {
  if (fact.endToEndId !== undefined) {
    if (!item || item.booked) return undefined
    // A report on the whole message, or another one on this payment, may have rejected it before.
    const count = await reject([item], fact, account, bank)
    return { result: 'REJECTED', count, repeated: 1 - count, xId: item.xId }
  }
  const block = fact.blockId === undefined ? { messageId: fact.messageId } : { blockId: fact.blockId }
  let count = 0
  let found = false
  for await (const items of pagesOf(account, block, bank)) {
    found = true
    const open = items.filter(item => item.rejected === null && !item.booked)
    count += await reject(open, fact, account, bank)
  }
  return found ? { result: 'REJECTED', count } : undefined
}

/** Returns how many of them no report had rejected before: a concurrent import may apply the same report. */
async function reject(
  items: readonly BankItem[],
  { reason }: RejectionFact,
  account: BankAccount,
  bank: Bank,
): Promise<number> {
  const late = await Promise.all(
    items.map(async item => {
      const isFirst = await settleItem(item, account, bank, provider => ({
        kind: 'declined',
        detail: detailOf(reason),
        provider: { ...provider, ...reasonFacts(reason) },
      }))
      const count = isFirst ? 0 : await rejectLate({ item, account, reason }, bank)
      await endMandateOf(item, { reason, on: item.dueOn, xId: item.xId }, account, bank)
      return count
    }),
  )
  const marked = await bank.items.mark(account, items, { rejected: reason ?? 'NARR' })
  return late.reduce((sum, count) => sum + count, marked)
}

/**
 * The debit was approved by timer, without a booking, and its rejection arrives only now. A debit that was refunded in
 * the meantime is recorded as returned, so that the refund is not paid out. Returns how many items it has marked.
 */
async function rejectLate(failed: FailedItem, bank: Bank): Promise<number> {
  if (await takeBackItem(failed, bank)) return 0
  const { item, account, reason = 'NARR' } = failed
  const key = `rejected ${item.xId}`
  await returnDebit({ ...failed, key }, bank)
  return bank.items.mark(account, [item], { returnedBy: key, rejected: reason })
}

/** The customer's bank returns a debit, or our transfer comes back, for example because the account is closed. */
async function returnItem(
  fact: TransactionFact,
  item: BankItem,
  account: BankAccount,
  bank: Bank,
): Promise<Applied | undefined> {
  const fee = item.type === 'DEBIT' ? feeOf(fact, item.amount) : 0
  if (fee === undefined || item.rejected !== null) return undefined
  if (item.returned) return { result: 'RETURNED', count: 0, repeated: 1, xId: item.xId }
  const reason = fact.returned?.reason
  // Files may arrive in any order: a returned item must have been booked before.
  const bookFirst = async (): Promise<number> =>
    item.booked ? 0 : (await book([item], fact, account, bank)).count
  let booked = 0
  let lines: readonly BankLine[]
  if (item.type === 'DEBIT') {
    booked = await bookFirst()
    await returnDebit({ item, account, reason, key: fact.key }, bank)
    lines = returnedLines(fact, item, fee)
    const xId = entryXId(account, fact.key)
    await endMandateOf(item, { reason, on: fact.bookedOn, xId }, account, bank)
  } else {
    if (fact.amount.value !== item.amount) return undefined
    booked = await bookFirst()
    if (item.type === 'TRANSFER') await takeBackItem({ item, account, reason }, bank)
    lines = [counterLine(fact, item)]
  }
  const count = await bank.items.mark(account, [item], { returnedBy: fact.key, returnReason: reason, lines })
  return { result: 'RETURNED', count, booked, repeated: 1 - count, xId: item.xId, fee }
}

/** The money of a returned transfer. This line and the line of its booking add up to zero. */
function counterLine(fact: TransactionFact, item: BankItem): BankLine {
  const { gross, ...line } = bookedLine(item, fact)
  return { ...line, gross: -gross, net: -line.net, providerReference: `${line.providerReference}-returned` }
}

/** The bank's charges are a line of their own, not part of the chargeback. */
function returnedLines(fact: TransactionFact, item: BankItem, fee: number): BankLine[] {
  const names = { fact, ...lineNames(item, fact) }
  const lines = [lineOf('CHARGEBACK', -item.amount, names), ...(fee > 0 ? [feeLine(fee, names)] : [])]
  return lines.map(line => ({ ...line, payId: item.payId }))
}

/** The bank's return fee on top of the debit; undefined if the entry's amount does not fit the debit's. */
function feeOf({ amount, originalAmount, charges }: TransactionFact, debit: number): number | undefined {
  if (amount.value === debit) return charges
  const isOriginal = originalAmount?.currency === amount.currency && originalAmount.value === debit
  const isWithCharges = amount.value - charges === debit || isOriginal
  return amount.value > debit && isWithCharges ? amount.value - debit : undefined
}
