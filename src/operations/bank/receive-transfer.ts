/**
 * Receives customers' transfers. The payment is found by the reference in the transfer's text, never guessed. A partial
 * amount leaves the payment waiting; a larger amount approves it, and the surplus goes back with the next batch. A
 * second transfer, or one that arrives after the payment has ended, goes back too.
 */
import type { TransactionFact } from '#connectors/bank/bank-facts.ts'
import { creditorReference } from '#connectors/bank/connector.ts'
import { incomingTypes, isIncoming } from '#connectors/bank/facts.ts'
import { lineOf } from '#connectors/bank/settlement.ts'
import { normalizeReference, referencesIn } from '#connectors/bank/transfer-reference.ts'
import { isIban } from '#domain/iban.ts'
import type { PayId, XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { resultSubject } from '#lifecycle/event.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'
import { type AccountInstrument, lacksAuthorization, type Payment } from '#lifecycle/payment.ts'
import {
  addLaterReceipt,
  addReceipt,
  awaitedTransfer,
  captureReceived,
  endedTransfer,
  hasReceipt,
  receiptPlace,
  receivedValue,
} from '#lifecycle/receive.ts'
import type { Applied } from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount, BankPlace } from '#operations/bank/bank.ts'
import { entryXId } from '#operations/bank/return-debit.ts'
import { merchantNow } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { giveBackLate, recordLateApproval } from '#operations/payments/notices/paid-late.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'
import type { BankLine, StoredEntry } from '#storage/bank/entries.ts'
import type { Surplus, WaitingTransfer } from '#storage/bank/transfers.ts'
import type { AccountRow } from '#storage/commit/change.ts'

/** An index from references to the payments that a transfer may be for. Read once, for the first transfer. */
export interface TransferBook {
  find(references: readonly string[]): Promise<PayId | undefined>
}

type ByReference = ReadonlyMap<string, ReadonlySet<PayId>>

/** 90 days: by then, customers who paid twice or too late have asked for their money. The index stays small. */
const rememberedDays = 90
const dayMs = 24 * 60 * 60 * 1000

/**
 * Covers all accounts with the same IBAN, because a reference that fits payments of two accounts must match neither.
 */
export function createTransferBook(own: BankPlace, twins: readonly BankPlace[]): TransferBook {
  let waiting: Promise<TransferIndex> | undefined
  let ended: Promise<TransferIndex> | undefined
  const read = (list: (place: BankPlace) => Promise<readonly WaitingTransfer[]>): Promise<TransferIndex> =>
    Promise.all([own, ...twins].map(list)).then(toTransferIndex)
  return {
    async find(references) {
      waiting ??= read(({ account, bank }) => bank.transfers.waiting(account, incomingTypes))
      const found = new Map(payIdsOf(references, await waiting))
      if (found.size === 0) {
        ended ??= read(place =>
          place.bank.transfers.ended(place.account, incomingTypes, rememberedSince(place)),
        )
        for (const [payId, isOwn] of payIdsOf(references, await ended)) found.set(payId, isOwn)
      }
      // Two payments: we cannot know which of them the transfer is for, or how much of it.
      const [only] = found.size === 1 ? found : []
      return only?.[1] ? only[0] : undefined
    },
  }
}

const rememberedSince = ({ account, bank }: BankPlace): Date =>
  new Date(merchantNow(bank.engine.clock, account.merchant).getTime() - rememberedDays * dayMs)

interface TransferIndex {
  readonly byReference: ByReference
  readonly own: ReadonlySet<PayId>
}

const toTransferIndex = (lists: readonly (readonly WaitingTransfer[])[]): TransferIndex => ({
  byReference: indexTransfers(lists.flat()),
  own: new Set(lists[0]?.map(({ payId }) => payId)),
})

function indexTransfers(transfers: readonly WaitingTransfer[]): ByReference {
  const byReference = new Map<string, Set<PayId>>()
  const add = (reference: string, payId: PayId): void => {
    const name = normalizeReference(reference)
    const known = byReference.get(name) ?? new Set()
    byReference.set(name, known.add(payId))
  }
  for (const { payId, transId, xId } of transfers) {
    add(transId, payId)
    add(creditorReference(xId), payId)
  }
  return byReference
}

/** The payments with these references, and whether each belongs to the account itself, not to a twin. */
const payIdsOf = (references: readonly string[], { byReference, own }: TransferIndex): [PayId, boolean][] =>
  references.flatMap(reference =>
    [...(byReference.get(reference) ?? [])].map((payId): [PayId, boolean] => [payId, own.has(payId)]),
  )

interface Received {
  readonly fact: TransactionFact
  readonly entry: StoredEntry
  readonly transfers: TransferBook
  readonly account: BankAccount
}

export async function receiveTransfer(received: Received, bank: Bank): Promise<Applied | undefined> {
  const { fact, entry, transfers, account } = received
  const references = [...referencesIn(fact.remittance), ...referencesIn(fact.endToEndId ?? '')]
  const payId = entry.payId ?? (await transfers.find(references))
  if (payId === undefined) return undefined
  await bank.entries.matched(entry, payId)
  const kept = await keepReceipt(payId, received, bank)
  if (!kept) return undefined
  await bank.testCrash('receiptKept')
  const payment = await approveWhole(kept, received, bank)
  const { surplus } = receiptPlace(payment, fact.key)
  const back = goesBackWhole(payment) ? fact.amount.value : surplus
  if (back > 0) await keepSurplus({ ...received, payId, amount: back }, bank)
  await bank.entries.addLines(account, linesOf(payment, received))
  return { result: 'RECEIVED', count: 1, xId: awaitedTransfer(kept)?.xId ?? entryXId(account, fact.key) }
}

/**
 * Approves the payment if its whole amount has arrived. Returns it as stored, because it may have ended in the
 * meantime.
 */
async function approveWhole(payment: Payment, received: Received, bank: Bank): Promise<Payment> {
  const isWhole = (receivedValue(payment) ?? 0) >= payment.amount.value
  if (!isWhole || (goesBackWhole(payment) && !(await mayApproveLate(payment, received, bank)))) return payment
  await approve(payment, received, bank)
  return (await bank.engine.payments.byPayId(payment.merchantId, payment.payId)) ?? payment
}

/** Whether the payment has failed and was not approved by this transfer. */
const goesBackWhole = ({ status }: Payment): boolean => status === 'FAILED'

/**
 * A transfer that arrived before the payment's end cannot approve it late, because it was queued to be paid back when
 * the payment ended. Neither can one that an earlier, interrupted import has queued to be paid back.
 */
async function mayApproveLate(payment: Payment, received: Received, { transfers }: Bank): Promise<boolean> {
  const { fact, account } = received
  const { before, isLate } = receiptPlace(payment, fact.key)
  if (!isLate || !isLateApproval(payment, { ...received, before })) return false
  return !(await transfers.hasSurplus({ merchantId: account.merchantId, xId: surplusXId(account, fact) }))
}

/**
 * Whether a transfer approves an ended payment: it must be the full amount, and be refundable or kept by the merchant.
 */
const isLateApproval = (
  { amount, method }: Payment,
  { fact, account, before }: Received & { readonly before: number },
): boolean =>
  before === 0 &&
  fact.amount.value >= amount.value &&
  (canRefund(method) || account.merchant.paidLate === 'keep')

const canRefund = ({ operations }: Payment['method']): boolean => operations.includes('refund')

function linesOf(payment: Payment, received: Received): BankLine[] {
  if (!goesBackWhole(payment)) return receivedLines(payment, received)
  const { fact } = received
  const names = { fact, transactionId: fact.bankReference, providerReference: fact.key }
  // Money that arrived before the payment's end was booked as a reserve.
  const type = receiptPlace(payment, fact.key).isLate ? 'CORRECTION' : 'RESERVE'
  return [{ ...lineOf(type, fact.amount.value, names), payId: payment.payId }]
}

/**
 * A partial amount is a reserve until the rest has arrived. Then the capture is one line of the whole amount, and
 * another line releases the reserves. Any surplus waits to be paid back.
 */
function receivedLines(payment: Payment, { fact, account }: Received): BankLine[] {
  const { before, surplus, completes, captureXId } = receiptPlace(payment, fact.key)
  const { payId, amount, operations } = payment
  const names = { fact, transactionId: fact.bankReference, providerReference: fact.key }
  // When several receipts are applied in parallel, any one of them may have made the capture.
  const made = operations.find(({ type }) => type === 'CAPTURE')?.xId
  const reference = captureXId ?? made ?? captureOf(account, fact)
  const lines = completes
    ? [lineOf('CAPTURE', amount.value, { ...names, reference }), lineOf('RESERVE', -before, names)]
    : [lineOf('RESERVE', fact.amount.value - surplus, names)]
  return [...lines, lineOf('CORRECTION', surplus, names)]
    .filter(({ gross }) => gross !== 0)
    .map(line => ({ ...line, payId }))
}

/** The reference of the capture if the authorisation did not request one. */
const captureOf = (account: BankAccount, { key }: TransactionFact): XId => entryXId(account, `capture ${key}`)

/** Returns undefined if the payment no longer waits for money, and the bank does not say whom to pay it back to. */
async function keepReceipt(
  payId: PayId,
  { fact, account }: Received,
  { engine }: Bank,
): Promise<Payment | undefined> {
  const { merchantId, merchant } = account
  const payer = await admitPayer(fact, account, engine)
  return engine.queue.update({ merchantId, payId }, stored => {
    const isAwaited = awaitedTransfer(stored) !== undefined
    const isLater = isIncoming(stored.method.type) && endedTransfer(stored) !== undefined
    if (!isAwaited && !hasReceipt(stored, fact.key) && !(isLater && payer)) return { result: undefined }
    const now = merchantNow(engine.clock, merchant)
    const keep = isAwaited ? addReceipt : addLaterReceipt
    const next = keep(stored, { key: fact.key, value: fact.amount.value, payer: payer?.instrument, now })
    const isNew = next !== stored
    return { ...(isNew ? { next, alongside: payer?.row ? { account: payer.row } : {} } : {}), result: next }
  })
}

async function admitPayer(
  { partyIban, partyName, partyBic }: TransactionFact,
  { merchantId }: BankAccount,
  { accounts }: Bank['engine'],
): Promise<{ readonly instrument: AccountInstrument; readonly row?: AccountRow } | undefined> {
  if (partyIban === undefined || !isIban(partyIban)) return undefined
  const admitted = await accounts.admit(merchantId, new Secret(partyIban))
  if (!admitted) return undefined
  const { accountId, last4Digits, row } = admitted
  const accountHolderName = (partyName ?? 'unknown').slice(0, 64)
  return {
    instrument: {
      accountId,
      last4Digits,
      accountHolderName,
      ...(partyBic ? { code: partyBic.slice(0, 11) } : {}),
    },
    ...(row ? { row } : {}),
  }
}

/** The part of a receipt that is to be paid back. */
export interface GivenBack {
  readonly fact: TransactionFact
  readonly account: BankAccount
  readonly payId: PayId
  readonly amount: number
}

/**
 * If the bank does not say who paid, the surplus stays on the account, and the payment record shows the received
 * amount.
 */
const keepSurplus = async (given: GivenBack, bank: Bank): Promise<void> => {
  const surplus = await toSurplus(given, bank)
  if (surplus) await bank.transfers.addSurplus(surplus)
}

const surplusXId = (account: BankAccount, { key }: TransactionFact): XId =>
  entryXId(account, `surplus ${key}`)

/**
 * Undefined if the bank does not say who paid. The id is derived from the bank's entry, so the surplus is paid back
 * once.
 */
export async function toSurplus(
  { fact, account, payId, amount }: GivenBack,
  bank: Bank,
): Promise<Surplus | undefined> {
  const { merchantId, accountId } = account
  const { partyIban: iban, partyName: name = 'unknown' } = fact
  if (iban === undefined || !isIban(iban)) return undefined
  const xId = surplusXId(account, fact)
  const payer = Buffer.from(JSON.stringify({ iban, name }))
  const sealed = await bank.records.seal('bank surplus', merchantId, xId, payer)
  return { merchantId, accountId, xId, payId, amount, ...sealed }
}

/** Approves the authorisation and captures the money. After a crash between the two, the next run captures. */
async function approve(payment: Payment, { fact, account }: Received, { engine }: Bank): Promise<void> {
  const { merchant } = account
  const { merchantId, payId, amount } = payment
  const transactionId = fact.bankReference ?? fact.key
  const approved = (reference: XId, before?: ProviderFacts) =>
    ({ kind: 'approved', provider: { ...before, echo: { reference, amount }, transactionId } }) as const
  const waiting = awaitedTransfer(payment)
  if (waiting) {
    const { captureXId } = waiting.details
    const outcome = {
      authorization: approved(waiting.xId, waiting.provider),
      ...(captureXId === undefined ? {} : { capture: approved(captureXId) }),
    }
    await recordOutcome({ merchant, payment, xId: waiting.xId, outcome, unattended: true }, engine)
  }
  const ended = payment.status === 'FAILED' ? endedTransfer(payment) : undefined
  if (ended) {
    const { captureXId } = ended.details
    const outcome = approved(ended.xId, ended.provider)
    const capture = captureXId === undefined ? undefined : approved(captureXId)
    const onlyToKeep = !canRefund(payment.method)
    await recordLateApproval({ merchant, payment, operation: ended, outcome, capture, onlyToKeep }, engine)
  }
  const xId = captureOf(account, fact)
  await engine.queue.update({ merchantId, payId }, stored => {
    if (lacksAuthorization(stored)) return { result: false }
    const now = merchantNow(engine.clock, merchant)
    const next = captureReceived(stored, { xId, provider: approved(xId).provider, now })
    if (!next) return { result: false }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: true }
  })
  // Does nothing unless the payment had ended before.
  await giveBackLate(merchant, payment, engine)
}
