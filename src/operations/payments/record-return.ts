/** Captured money that went back to the customer's bank, as reported by a notice or a statement. */
import type { NoticeFact } from '#connectors/contract.ts'
import { returnCapture } from '#lifecycle/debit-return.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
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
    const capture = returnedCapture(stored, operation, amount.value)
    const now = merchantNow(engine.clock, merchant)
    const provider = { echo: { reference: xId, amount }, transactionId, responseCode: detail.slice(-2) }
    const next = capture && returnCapture(stored, { capture: capture.xId, xId, detail, provider, now })
    if (!next) return { result: 'unmatched' }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: 'applied' }
  })
  return result ?? 'unmatched'
}

const isRecorded = ({ operations }: Payment, transactionId: string): boolean =>
  operations.some(({ provider, details }) => provider?.transactionId === transactionId && details.refundOf)

/** The capture that is named; else the last one of that amount. */
function returnedCapture(
  { operations }: Payment,
  named: Operation | undefined,
  value: number,
): Operation | undefined {
  if (named?.type === 'CAPTURE') return named
  return operations.findLast(
    ({ type, state, amount }) => type === 'CAPTURE' && state === 'OK' && amount === value,
  )
}
