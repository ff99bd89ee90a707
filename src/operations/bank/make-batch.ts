/**
 * The next batch of an account: what waits is dated, sorted into payment informations, written and hashed, and committed
 * in one transaction. Only then may its files be given out. The same batch always has the same bytes.
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
import { writeCreditTransfers } from '#connectors/bank/credit-transfers.ts'
import { writeDirectDebits } from '#connectors/bank/direct-debits.ts'
import type { BlockHeader, FileHeader, SequenceType } from '#connectors/bank/initiation.ts'
import { startOfDay } from '#domain/calendar.ts'
import { type BankTime, bankTimeOf, isTargetDay, targetDayAfter } from '#domain/target-calendar.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { createFollower, readAhead } from '#operations/bank/read-ahead.ts'
import { toSurplus } from '#operations/bank/receive-transfer.ts'
import { refuseDebits } from '#operations/bank/refuse-debits.ts'
import { storeFile } from '#operations/bank/store-file.ts'
import { debitsOf, transfersOf } from '#operations/bank/written-payments.ts'
import { merchantNow } from '#operations/engine.ts'
import {
  type BatchTransaction,
  type NewItem,
  type QueuedPayment,
  type UsedMandateRow,
  withBatchTransaction,
} from '#storage/bank/batches.ts'
import type { Surplus } from '#storage/bank/transfers.ts'

/** 1,000: some milliseconds a statement, and a few hundred kilobytes in memory. */
const pageSize = 1_000

/** A debit that cannot be written, and why: the last four digits of its response code. */
export interface Refusal {
  readonly payment: QueuedPayment
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
  /** Payments that have ended after a part of their money had arrived. */
  readonly ended: QueuedPayment[]
  /** Whether the batch is written: only when there is something to put into it. */
  begun: boolean
}

interface Block extends BlockHeader {
  payments: number
  sum: bigint
  readonly isDebit: boolean
}

/** Without a day the batch is made now; with another day than today it counts as made before that day's cut-off. */
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
    begun: false,
  }
  await withBatchTransaction(bank.database, account, async transaction => {
    await collect(batch, transaction)
    await giveBackEnded(batch, transaction, bank)
    await collectSurplus(batch, transaction)
    if (batch.blocks.size === 0) return
    await writeFiles(batch, transaction, bank)
  })
  await bank.testCrash('batchStored')
  await refuseDebits(account, batch.refusals, bank.engine)
}

/** Every operation that waits becomes an item. */
async function collect(batch: Batch, transaction: BatchTransaction): Promise<void> {
  const adding = createFollower()
  // A page is asked for before the one before it is added: what that one does to mandates is remembered here.
  let usedBefore = new Map<string, UsedMandateRow>()
  for await (const page of readAhead(queuedPages(transaction))) {
    const used = new Map<string, UsedMandateRow>()
    const around = { batch, usedBefore, used }
    const items = page.filter(payment => payment.mine).flatMap(payment => toItem(payment, around))
    await adding.follow(() => addItems(batch, { items, mandates: [...used.values()] }, transaction))
    usedBefore = used
  }
  await adding.finish()
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

/** A payment has ended after a part of its transfer had arrived: that part goes back to whoever sent it. */
async function giveBackEnded(batch: Batch, transaction: BatchTransaction, bank: Bank): Promise<void> {
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

async function collectSurplus(batch: Batch, transaction: BatchTransaction): Promise<void> {
  for (;;) {
    const surplus = await transaction.surplus(pageSize)
    if (surplus.length === 0) return
    const items = surplus.map(({ xId, payId, amount }) =>
      placed(batch, { xId, payId, amount, type: 'SURPLUS' }),
    )
    await addItems(batch, { items, mandates: [] }, transaction)
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
  /** What the page before this one did to mandates. */
  readonly usedBefore: ReadonlyMap<string, UsedMandateRow>
  /** What this page does to them. */
  readonly used: Map<string, UsedMandateRow>
}

function toItem(payment: QueuedPayment, around: Around): NewItem[] {
  const { batch } = around
  const { xId, payId, amount } = payment
  if (payment.type === 'AUTHORIZATION') {
    batch.ended.push(payment)
    return []
  }
  const isPayable = payment.writable && payment.heldId !== null && amount >= 1 && amount <= maximumCents
  if (!isPayable) return refuse(batch, payment, '0314')
  if (payment.type !== 'CAPTURE') return [placed(batch, { xId, payId, amount, type: 'TRANSFER' })]
  return toDebit(payment, around)
}

/** 999,999,999.99 euros: what the scheme's amounts can hold. */
const maximumCents = 99_999_999_999

function toDebit(payment: QueuedPayment, { batch, usedBefore, used }: Around): NewItem[] {
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
  const { xId, payId, amount } = payment
  used.set(key, { mandateKey: key, creditorId, creditorName, heldId, lastUsedOn: dueOn })
  return [
    {
      ...placed(batch, {
        xId,
        payId,
        amount,
        type: 'DEBIT',
        dueOn,
        sequenceType: sequenceOf(use, before !== undefined),
      }),
      mandateId,
      ...(amendment ? { amendment } : {}),
      ...approvalOf(account, dueOn),
      announce: announcedFor !== dueOn,
    },
  ]
}

function storedMandate(payment: QueuedPayment): UsedMandate | undefined {
  const { usedCreditorId, usedCreditorName, usedHeldId, lastUsedOn } = payment
  if (usedCreditorId === null || usedCreditorName === null || usedHeldId === null || lastUsedOn === null)
    return undefined
  return { creditorId: usedCreditorId, creditorName: usedCreditorName, heldId: usedHeldId, lastUsedOn }
}

/** DD.MM.YYYY as mandates are written by merchants. */
export const toIsoDay = (dotted: string): string => dotted.split('.').toReversed().join('-')

/** The timer is kept in real time; the merchant's clock is ahead of it. */
function approvalOf({ settings, merchant }: BankAccount, dueOn: string): Pick<NewItem, 'approveAt'> {
  if (settings.approveAfterDays === undefined) return {}
  const day = startOfDay(silentApproval(dueOn, settings.approveAfterDays))
  return { approveAt: new Date(day.getTime() - merchant.clockOffsetMs) }
}

function refuse(batch: Batch, payment: QueuedPayment, detail: string): NewItem[] {
  batch.refusals.push({ payment, detail })
  return []
}

interface Placing {
  readonly xId: string
  readonly payId: string
  readonly amount: number
  readonly type: NewItem['type']
  readonly dueOn?: string
  readonly sequenceType?: SequenceType
}

/** Puts a payment into the payment information of its day and sequence type. */
function placed(batch: Batch, placing: Placing): NewItem {
  const isDebit = placing.type === 'DEBIT'
  const dueOn = placing.dueOn ?? executionDay(batch)
  const name = [isDebit, dueOn, placing.sequenceType].join(' ')
  const block =
    batch.blocks.get(name) ?? newBlock(batch, { isDebit, day: dueOn, sequenceType: placing.sequenceType })
  batch.blocks.set(name, block)
  block.payments += 1
  block.sum += BigInt(placing.amount)
  return { ...placing, dueOn, blockId: block.blockId }
}

/** Transfers leave on the day of the file where the bank still takes it. */
const executionDay = ({ made, account }: Batch): string =>
  isTargetDay(made.day) && made.hour < account.settings.cutOffHour ? made.day : targetDayAfter(made.day)

/** The id of the message and two digits: at most 35 characters, and it leads back to the batch. */
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

async function writeFiles(batch: Batch, transaction: BatchTransaction, bank: Bank): Promise<void> {
  const blocks = [...batch.blocks.values()]
  const { creditorName, creditorIban, creditorId, batchBooking } = batch.account.settings
  const headerOf = (isDebit: boolean): FileHeader => ({
    messageId: messageId(batch, isDebit),
    createdAt: batch.now,
    creditor: { name: creditorName, iban: creditorIban, creditorId },
    batchBooking,
    blocks: blocks.filter(block => block.isDebit === isDebit),
  })
  const target = { merchantId: batch.account.merchantId, transaction, bank }
  const debits = headerOf(true)
  if (debits.blocks.length > 0)
    await storeFile(
      { type: 'pain.008.001.08', header: debits, pieces: writeDirectDebits(debits, debitsOf(target)) },
      target,
    )
  const transfers = headerOf(false)
  if (transfers.blocks.length > 0)
    await storeFile(
      {
        type: 'pain.001.001.09',
        header: transfers,
        pieces: writeCreditTransfers(transfers, transfersOf(target)),
      },
      target,
    )
}
