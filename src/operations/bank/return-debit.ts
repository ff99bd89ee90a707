/** A debit that the customer's bank has sent back, recorded as an operation of its payment with the bank's reason. */
import { createHash } from 'node:crypto'
import { detailOf, reasonFacts } from '#connectors/bank/bank-facts.ts'
import type { XId } from '#domain/ids.ts'
import { findReturnedCapture, returnCapture } from '#lifecycle/debit-return.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { takeBack } from '#lifecycle/late-truth.ts'
import { findOperation } from '#lifecycle/payment.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { merchantNow } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { lateTimers } from '#operations/payments/notices/paid-late.ts'
import { releaseFailedPayout } from '#operations/payments/try-limits.ts'
import { approvalTimers } from '#operations/timer.ts'
import type { BankAccountKey } from '#storage/bank/batches.ts'
import type { BankItem } from '#storage/bank/items.ts'

export interface FailedItem {
  readonly item: BankItem
  readonly account: BankAccount
  readonly reason: string | undefined
}

/** `key`: identifies the return, so that it is recorded once; the key of the bank's entry where there is one. */
export async function returnDebit(
  { item, account, reason, key }: FailedItem & { readonly key: string },
  { engine }: Bank,
): Promise<void> {
  const { merchantId, payId, xId: capture } = item
  const xId = entryXId(account, key)
  await engine.queue.update({ merchantId, payId }, stored => {
    // An earlier, interrupted import has recorded it.
    if (findOperation(stored, xId)) return { result: true }
    // Another entry reported the same return under another reference: a debit is returned once.
    if (!findReturnedCapture(stored, findOperation(stored, capture), item.amount)) return { result: false }
    const now = merchantNow(engine.clock, account.merchant)
    const echo = { reference: xId, amount: { value: item.amount, currency: stored.amount.currency } }
    const provider = { echo, ...reasonFacts(reason) }
    const back = { capture, xId, amount: item.amount, detail: detailOf(reason), provider, now }
    const next = returnCapture(stored, back)
    if (!next) return { result: false }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: true }
  })
}

/**
 * Fails an approved operation: our transfer came back, or the bank rejected a debit that a timer had approved. Returns
 * false for a debit that was refunded in the meantime: that one can only be recorded as returned.
 */
export async function takeBackItem(
  { item, account, reason }: FailedItem,
  { engine }: Bank,
): Promise<boolean> {
  const { merchantId, payId, xId } = item
  const taken = await engine.queue.update({ merchantId, payId }, stored => {
    const now = merchantNow(engine.clock, account.merchant)
    const sent = findOperation(stored, xId)
    const provider = sent?.provider && { ...sent.provider, ...reasonFacts(reason) }
    const next = takeBack(stored, { xId, detail: detailOf(reason), provider, now })
    if (!next) return { result: sent?.state === 'FAILED' ? stored : undefined }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    // If the transfer had given back a late payment, the timers try that again.
    const setTimers = [
      ...approvalTimers(stored, next, account.merchant),
      ...lateTimers(next, account.merchant, now),
    ]
    return {
      next: emitted.payment,
      alongside: { ...emitted.alongside, setTimers },
      result: emitted.payment,
    }
  })
  if (taken) await releaseFailedPayout(account.merchant, taken, engine)
  return taken !== undefined
}

/**
 * The reference is derived from the entry, so that applying the entry again finds the operation. It has 32 hex digits,
 * like every xId.
 */
export const entryXId = ({ merchantId, accountId }: BankAccountKey, key: string): XId =>
  createHash('sha256').update(`${merchantId}\0${accountId}\0${key}`).digest('hex').slice(0, 32) as XId
