/**
 * Records captured money that went back, as reported by a notice or a settlement report: a debit returned by the
 * customer's bank, or refunds that the notice does not name.
 */
import type { NoticeFact } from '#connectors/contract.ts'
import { findReturnedCapture, returnCapture } from '#lifecycle/debit-return.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { findOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import type { Applied } from '#operations/payments/notices/apply-notice.ts'
import type { Fact, Noticed, PaymentFact } from '#operations/payments/notices/noticed.ts'

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

/**
 * 10 s: less than the lease of a notice, 12 s. If the lease expires, two processes apply the notice, with one effect.
 */
const longestCallMs = 10_000

/**
 * Applies the refunds that the provider lists. Throws if the provider does not answer, so that the notice is tried
 * again.
 */
export async function applyListedRefunds(
  { account: { merchantId, accountId }, payment: { sums } }: Noticed,
  { subject: { paymentTransactionId }, told }: Fact<'refunds'>,
  { engine, apply }: { readonly engine: Engine; readonly apply: (fact: PaymentFact) => Promise<Applied> },
): Promise<Applied> {
  // Everything authorised was captured, so the notice cannot be about a released authorisation: it is a refund.
  if (told && sums.captured >= sums.authorized) return apply(told)
  const connector = (await engine.providers.open(merchantId, accountId))?.connector
  if (!connector?.listRefunds || paymentTransactionId === undefined) return 'ignored'
  const signal = AbortSignal.timeout(Math.min(connector.facts.timeoutMs, longestCallMs))
  const refunds = await connector.listRefunds(paymentTransactionId, signal)
  if (!refunds) throw new Error('the provider did not say which refunds there are')
  const results: Applied[] = []
  for (const refund of refunds) results.push(await apply(refund))
  return (['unmatched', 'applied'] as const).find(result => results.includes(result)) ?? 'repeated'
}
