/** Timers that ask the provider about returned debits and disputed captures, and record what it answers. */
import type { Connector } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import { returnCapture } from '#lifecycle/debit-return.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { verifyEcho } from '#operations/payments/provider-calls/call-provider.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { type DueTimer, timerAt } from '#operations/timer.ts'
import type { Timer } from '#storage/commit/change.ts'

/** The timers for new captures that may be returned or disputed, according to the connector. */
export function returnTimers(
  { payment, touched, merchant }: { payment: Payment; touched: readonly Operation[]; merchant: Merchant },
  connector: Connector | undefined,
): readonly Timer[] {
  if (!connector?.returnCheckMs && !connector?.disputes?.checkMs) return []
  const captures = touched.filter(({ type, state }) => type === 'CAPTURE' && state === 'OK')
  return captures.flatMap(capture => {
    const inquiry = toInquiry(payment, capture)
    const afterMs = connector.returnCheckMs?.(inquiry) ?? connector.disputes?.checkMs?.(inquiry)
    if (afterMs === undefined) return []
    const { merchantId, payId } = payment
    const key = { merchantId, payId, xId: capture.xId, kind: 'RETURN' as const }
    return [timerAt(key, new Date(capture.updatedAt.getTime() + afterMs), merchant)]
  })
}

export async function returnDebit({ timer, at }: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId, xId: capture } = timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  const found = payment && (await askForReturn(payment, timer, engine))
  if (!found) {
    await engine.commit({ dropTimers: [timer] })
    return
  }
  const xId = newXId(engine)
  await engine.queue.update({ merchantId, payId }, stored => {
    // An earlier round committed, but its answer was lost.
    if (findOperation(stored, xId)) return { result: true }
    const next = returnCapture(stored, { ...found, capture, xId, now: at })
    if (!next) return { alongside: { dropTimers: [timer] }, result: true }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, at), owed: true, now: at }, engine)
    return { next: emitted.payment, alongside: { ...emitted.alongside, dropTimers: [timer] }, result: true }
  })
}

/** Throws if the answer is about another debit; the timer then runs again, and the error is logged. */
async function askForReturn(payment: Payment, { xId }: DueTimer['timer'], engine: Engine) {
  const capture = findOperation(payment, xId)
  const account = await engine.providers.open(payment.merchantId, payment.provider?.account)
  if (!capture || !account?.connector.findReturn) return undefined
  const inquiry = toInquiry(payment, capture)
  const found = await account.connector.findReturn(inquiry)
  if (!found) return undefined
  const { provider } = found
  if (verifyEcho({ kind: 'approved', provider }, { question: inquiry, engine }).kind !== 'approved')
    throw new Error(`the return of ${xId} names another debit`)
  return found
}
