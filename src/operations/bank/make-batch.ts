/**
 * Makes the next batch of an account. In one transaction, the queued operations get a date, are grouped into blocks
 * (payment informations), and are stored as files with a hash. Only then may the files be given out. A batch's bytes
 * never change.
 */

import type { TransactionFact } from '#connectors/bank/bank-facts.ts'
import {
  amendmentOf,
  earliestCollection,
  isDisused,
  sequenceOf,
  silentApproval,
  type UsedMandate,
} from '#connectors/bank/collection.ts'
import { creditTransferFrame } from '#connectors/bank/credit-transfers.ts'
import { directDebitFrame } from '#connectors/bank/direct-debits.ts'
import type { BlockHeader, FileHeader } from '#connectors/bank/initiation.ts'
import { startOfDay } from '#domain/time/calendar.ts'
import { toIsoDay } from '#domain/time/dates.ts'
import { type BankTime, bankTimeOf, isTargetDay, targetDayAfter } from '#domain/time/target-calendar.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { createFollower, readAhead } from '#operations/bank/read-ahead.ts'
import { toSurplus } from '#operations/bank/receive-transfer.ts'
import { createDraft, type FileDraft, type WriteTarget } from '#operations/bank/store-file.ts'
import { type BatchItem, type PlacedPayment, writePayments } from '#operations/bank/written-payments.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'
import type { NewItem, UsedMandateRow } from '#storage/bank/batch-rows.ts'
import {
  type BatchTransaction,
  type QueuedPayment,
  type WrittenPayment,
  withBatchTransaction,
} from '#storage/bank/batches.ts'
import type { Surplus } from '#storage/bank/transfers.ts'

/** 100: a page is short-lived enough for the young generation of the garbage collector, so the heap stays small. */
const pageSize = 100

/** An operation that cannot be written, and why: the last four digits of its response code. */
export interface Refusal {
  readonly payment: Pick<QueuedPayment, 'payId' | 'xId' | 'amount'>
  readonly detail: string
}

interface Batch {
  readonly account: BankAccount
  readonly batchId: string
  readonly made: BankTime
  readonly now: Date
  /** YYYY-MM-DD: the first day on which a debit of this batch can be collected. */
  readonly earliest: string
  readonly blocks: Map<string, Block>
  readonly refusals: Refusal[]
  /** Payments that ended after a partial transfer, which must be paid back. */
  readonly ended: Pick<QueuedPayment, 'payId' | 'xId'>[]
  /** The files so far: debits and transfers. */
  readonly drafts: Map<FileType, FileDraft>
  /** Whether the batch's row is written. A batch without items is not stored. */
  begun: boolean
}

type FileType = 'pain.008.001.08' | 'pain.001.001.09'

interface Block extends BlockHeader {
  payments: number
  sum: bigint
  readonly isDebit: boolean
}

/** Without a day the batch is dated now; with a day other than today it counts as made before that day's cut-off. */
export async function makeBatch(account: BankAccount, day: string | undefined, bank: Bank): Promise<void> {
  const now = merchantNow(bank.engine.clock, account.merchant)
  const today = bankTimeOf(now)
  const made = day === undefined || day === today.day ? today : { day, hour: 0 }
  const batch: Batch = {
    account,
    batchId: bank.engine.newId(),
    made,
    now,
    earliest: earliestCollection(made, account.settings.cutOffHour),
    blocks: new Map(),
    refusals: [],
    ended: [],
    drafts: new Map(),
    begun: false,
  }
  await withBatchTransaction(bank.database, account, async transaction => {
    const target = { merchantId: account.merchantId, transaction, bank }
    await collect(batch, target)
    await giveBackEnded(batch, target)
    await collectSurplus(batch, target)
    await finishFiles(batch)
  })
  await bank.testCrash('batchStored')
  await failRefused(account, batch.refusals, bank.engine)
}

/** Turns the queued operations into items, and writes them into the file while the database stores the rows. */
async function collect(batch: Batch, target: WriteTarget): Promise<void> {
  const { transaction } = target
  const adding = createFollower()
  // A page is read before the previous one is stored, so it misses the mandate changes of the previous page. They are
  // here.
  let usedBefore = new Map<string, UsedMandateRow>()
  for await (const page of readAhead(queuedPages(transaction))) {
    const used = new Map<string, UsedMandateRow>()
    const around = { batch, usedBefore, used }
    const placed = page.filter(payment => payment.mine).flatMap(payment => toItem(payment, around))
    const added = { items: placed.map(({ item }) => item), mandates: [...used.values()] }
    await adding.follow(() => addItems(batch, added, transaction))
    await writePayments(placed, draftsOf(batch, target), target)
    usedBefore = used
  }
  await adding.finish()
}

const draftsOf =
  ({ drafts }: Batch, target: WriteTarget) =>
  (isDebit: boolean): FileDraft => {
    const type = isDebit ? 'pain.008.001.08' : 'pain.001.001.09'
    const draft = drafts.get(type) ?? createDraft(type, target)
    drafts.set(type, draft)
    return draft
  }

async function addItems(
  batch: Batch,
  { items, mandates }: { readonly items: readonly NewItem[]; readonly mandates: readonly UsedMandateRow[] },
  transaction: BatchTransaction,
): Promise<void> {
  if (items.length === 0) return
  if (!batch.begun)
    await transaction.begin({ batchId: batch.batchId, madeOn: batch.made.day, madeAt: batch.now })
  batch.begun = true
  await transaction.add(items, mandates)
}

/** Pays partial transfers of ended payments back to their senders. */
async function giveBackEnded(batch: Batch, { transaction, bank }: WriteTarget): Promise<void> {
  const { account } = batch
  const { merchantId } = account
  for (const ended of batch.ended) {
    const { payId } = ended
    const surplus: Surplus[] = []
    for (const { entryId: recordId, keyVersion, sealed } of await transaction.receipts(payId)) {
      const plain = await bank.records.open('bank entry', merchantId, { recordId, keyVersion, sealed })
      const fact: TransactionFact = JSON.parse(plain.toString())
      const row = await toSurplus({ fact, account, payId, amount: fact.amount.value }, bank)
      if (row) surplus.push(row)
    }
    await transaction.giveBack(ended, surplus)
  }
}

async function collectSurplus(batch: Batch, target: WriteTarget): Promise<void> {
  const { transaction } = target
  for (;;) {
    const surplus = await transaction.surplus(pageSize)
    if (surplus.length === 0) return
    const placed = surplus.map(payment => place(batch, payment, { type: 'SURPLUS' }))
    await addItems(batch, { items: placed.map(({ item }) => item), mandates: [] }, transaction)
    await writePayments(placed, draftsOf(batch, target), target)
  }
}

async function* queuedPages(transaction: BatchTransaction): AsyncGenerator<readonly QueuedPayment[]> {
  for (let after: QueuedPayment | undefined; ; ) {
    const page = await transaction.queued(after, pageSize)
    after = page.at(-1)
    if (!after) return
    yield page
  }
}

interface Around {
  readonly batch: Batch
  /** Mandates that the previous page used. */
  readonly usedBefore: ReadonlyMap<string, UsedMandateRow>
  /** Mandates that this page uses. */
  readonly used: Map<string, UsedMandateRow>
}

function toItem(payment: QueuedPayment, around: Around): PlacedPayment[] {
  const { batch } = around
  const { amount } = payment
  if (payment.type === 'AUTHORIZATION') {
    batch.ended.push({ payId: payment.payId, xId: payment.xId })
    return []
  }
  // The customer already has the money of a returned debit: paying the refund would give it back twice.
  if (payment.debitReturned) return refuse(batch, payment, '0312')
  const isPayable = payment.writable && payment.heldId !== null && amount >= 1 && amount <= maximumCents
  if (!isPayable) return refuse(batch, payment, '0314')
  if (payment.type !== 'CAPTURE') return [place(batch, payment, { type: 'TRANSFER' })]
  return toDebit(payment, around)
}

/** 999,999,999.99 euros: the largest amount of the SEPA schemes. */
const maximumCents = 99_999_999_999

function toDebit(payment: QueuedPayment, { batch, usedBefore, used }: Around): PlacedPayment[] {
  const { account, earliest } = batch
  const { mandateId, dateOfSignature, announcedFor } = payment
  if (mandateId === null || dateOfSignature === null) return refuse(batch, payment, '0357')
  const dueOn = announcedFor !== null && announcedFor > earliest ? announcedFor : earliest
  const key = mandateId.toUpperCase()
  const before = used.get(key) ?? usedBefore.get(key) ?? storedMandate(payment)
  const isVoid = payment.mandateEnded || isDisused(before?.lastUsedOn ?? toIsoDay(dateOfSignature), dueOn)
  if (isVoid) return refuse(batch, payment, '0357')
  const { creditorId, creditorName } = account.settings
  const heldId = payment.heldId ?? ''
  const use = { creditorId, creditorName, heldId, recurring: payment.recurring, last: payment.last }
  const amendment = amendmentOf(use, before)
  used.set(key, { mandateKey: key, creditorId, creditorName, heldId, lastUsedOn: dueOn })
  return [
    place(batch, payment, {
      type: 'DEBIT',
      dueOn,
      sequenceType: sequenceOf(use, before !== undefined),
      mandateId,
      ...(amendment ? { amendment } : {}),
      ...approvalOf(account, dueOn),
      announce: announcedFor !== dueOn,
    }),
  ]
}

function storedMandate(payment: QueuedPayment): UsedMandate | undefined {
  const { usedCreditorId, usedCreditorName, usedHeldId, lastUsedOn } = payment
  if (usedCreditorId === null || usedCreditorName === null || usedHeldId === null || lastUsedOn === null)
    return undefined
  return { creditorId: usedCreditorId, creditorName: usedCreditorName, heldId: usedHeldId, lastUsedOn }
}

/** Timers fire by real time, so the lead of the merchant's test clock is subtracted. */
function approvalOf({ settings, merchant }: BankAccount, dueOn: string): Pick<NewItem, 'approveAt'> {
  if (settings.approveAfterDays === undefined) return {}
  const day = startOfDay(silentApproval(dueOn, settings.approveAfterDays))
  return { approveAt: new Date(day.getTime() - merchant.clockOffsetMs) }
}

function refuse(batch: Batch, { payId, xId, amount }: QueuedPayment, detail: string): PlacedPayment[] {
  batch.refusals.push({ payment: { payId, xId, amount }, detail })
  return []
}

/** Without `dueOn` the money moves on the next possible execution day. */
type Placing = Omit<BatchItem, 'xId' | 'payId' | 'amount' | 'blockId' | 'dueOn'> & { readonly dueOn?: string }

/** Puts a payment into the block of its direction, day and sequence type. */
function place(batch: Batch, payment: WrittenPayment, placing: Placing): PlacedPayment {
  const { xId, payId, amount } = payment
  const isDebit = placing.type === 'DEBIT'
  const dueOn = placing.dueOn ?? executionDay(batch)
  const name = [isDebit, dueOn, placing.sequenceType].join(' ')
  const block =
    batch.blocks.get(name) ?? newBlock(batch, { isDebit, day: dueOn, sequenceType: placing.sequenceType })
  batch.blocks.set(name, block)
  block.payments += 1
  block.sum += BigInt(amount)
  return { item: { ...placing, xId, payId, amount, dueOn, blockId: block.blockId }, payment }
}

/**
 * Transfers are executed on the day of the file if it is made before the bank's cut-off, else on the next TARGET day.
 */
const executionDay = ({ made, account }: Batch): string =>
  isTargetDay(made.day) && made.hour < account.settings.cutOffHour ? made.day : targetDayAfter(made.day)

/**
 * The block's id is the message id and two base-36 digits: at most 35 characters, and the batch can be read from it.
 */
function newBlock(
  batch: Batch,
  { isDebit, day, sequenceType }: Pick<Block, 'isDebit' | 'day' | 'sequenceType'>,
): Block {
  const number = batch.blocks.size + 1
  if (number >= 36 * 36) throw new Error('a batch cannot hold more than 1,295 payment informations')
  const blockId = `${messageId(batch, isDebit)}${number.toString(36).padStart(2, '0').toUpperCase()}`
  return { blockId, day, ...(sequenceType ? { sequenceType } : {}), payments: 0, sum: 0n, isDebit }
}

const messageId = ({ batchId }: Batch, isDebit: boolean): string => `${isDebit ? 'D' : 'T'}${batchId}`

async function finishFiles(batch: Batch): Promise<void> {
  const blocks = [...batch.blocks.values()]
  const { creditorName, creditorIban, creditorId, batchBooking } = batch.account.settings
  for (const [type, draft] of batch.drafts) {
    const isDebit = type === 'pain.008.001.08'
    const header: FileHeader = {
      messageId: messageId(batch, isDebit),
      createdAt: batch.now,
      creditor: { name: creditorName, iban: creditorIban, creditorId },
      batchBooking,
      blocks: blocks.filter(block => block.isDebit === isDebit),
    }
    await draft.finish(header, isDebit ? directDebitFrame(header) : creditTransferFrame(header))
  }
}

/**
 * Declines operations that cannot go into a file, because the mandate has ended, the account number was destroyed or
 * the debit was returned.
 */
async function failRefused(
  { merchantId, merchant }: BankAccount,
  refusals: readonly Refusal[],
  engine: Engine,
): Promise<void> {
  for (const { payment: queued, detail } of refusals) {
    const { payId, xId, amount } = queued
    const payment = await engine.payments.byPayId(merchantId, payId)
    if (payment) {
      const echo = { reference: xId, amount: { value: amount, currency: payment.amount.currency } }
      const outcome: Outcome = { kind: 'declined', detail, provider: { echo } }
      await recordOutcome({ merchant, payment, xId, outcome, unattended: true }, engine)
    }
    // Dropped after the outcome is recorded: after a crash in between, the next batch finds the timer and repeats this.
    await engine.commit({ dropTimers: [{ merchantId, payId, xId, kind: 'BATCH' }] })
  }
}
