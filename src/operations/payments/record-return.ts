/** Captured money that went back to the customer's bank, as reported by a notice or a statement. */
import type { NoticeFact } from '#connectors/contract.ts'
import { findReturnedCapture, returnCapture } from '#lifecycle/debit-return.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { findOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import type { Applied } from '#operations/payments/apply-notice.ts'
import type { Noticed } from '#operations/payments/noticed.ts'

type Return = Extract<NoticeFact, { kind: 'return' }>

export async function recordReturn(
  { merchant, payment: { merchantId, payId }, operation }: Noticed,
  { detail, transactionId, amount }: Return,
  engine: Engine,
): Promise<Applied> {
  const xId = newXId(engine)
  const result = await engine.queue.update<Applied>({ merchantId, payId }, stored => {
    if (findOperation(stored, xId)) return { result: 'applied' }
    if (isRecorded(stored, transactionId)) return { result: 'repeated' }
    if (amount.currency !== stored.amount.currency) return { result: 'unmatched' }
    const capture = findReturnedCapture(stored, operation, amount.value)
    const now = merchantNow(engine.clock, merchant)
    const provider = { echo: { reference: xId, amount }, transactionId, responseCode: detail.slice(-2) }
    const back = capture && { capture: capture.xId, xId, amount: amount.value, detail, provider, now }
    const next = back && returnCapture(stored, back)
    if (!next) return { result: 'unmatched' }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: 'applied' }
  })
  return result ?? 'unmatched'
}

const isRecorded = ({ operations }: Payment, transactionId: string): boolean =>
  operations.some(({ provider, details }) => provider?.transactionId === transactionId && details.refundOf)
