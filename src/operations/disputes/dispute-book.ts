/**
 * Every change of a dispute goes through here: the payment, its sums, the dispute and the merchant's event are written
 * in one commit. A report that arrives again changes nothing.
 */
import type { DisputeFacts } from '#connectors/contract.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import {
  type Dispute,
  type DisputeChange,
  type DisputeId,
  findDisputedCapture,
  openDispute,
  updateDispute,
} from '#lifecycle/dispute.ts'
import { findOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvents } from '#operations/events/emit-event.ts'
import type { NoticeDeps } from '#operations/payments/notices/apply-notice.ts'
import { lateTimers } from '#operations/payments/notices/paid-late.ts'
import type { Change } from '#storage/commit/change.ts'

export interface DisputeTarget {
  readonly merchantId: MerchantId
  readonly payId: PayId
}

type Decide = (payment: Payment, disputes: readonly Dispute[]) => DisputeChange | undefined

/** Rows written with the change: an idempotency key, timers. */
type Alongside = (change: DisputeChange) => Omit<Change, 'dispute' | 'events'>

/** 20: every lost round means that another operation on the payment succeeded. */
const maximumRounds = 20

/**
 * Returns undefined if there is no such payment, or nothing to change. Disputes are read after their payment and
 * written in its commit, which fails if the payment's version has changed, so that the two always agree.
 */
export async function changeDispute(
  target: DisputeTarget,
  { decide, now, alongside = () => ({}) }: { decide: Decide; now: Date; alongside?: Alongside },
  engine: Engine,
): Promise<DisputeChange | undefined> {
  const { merchantId, payId } = target
  for (let round = 0; round < maximumRounds; round += 1) {
    const seen = await engine.payments.byPayId(merchantId, payId)
    if (!seen) return undefined
    const disputes = await engine.disputes.ofPayment(merchantId, payId)
    const result = await engine.queue.update<DisputeChange | 'moved' | undefined>(target, stored => {
      if (stored.version !== seen.version) return { result: 'moved' }
      const change = decide(stored, disputes)
      if (!change) return { result: undefined }
      const emitted = emitNews(change, now, engine)
      return {
        next: emitted.payment,
        alongside: { ...alongside(change), ...emitted.alongside, dispute: change.dispute },
        result: change,
      }
    })
    if (result !== 'moved') return result
  }
  throw new Error(
    `payment ${payId} was changed by others in each of ${maximumRounds} tries to write its dispute`,
  )
}

function emitNews({ payment, dispute, news }: DisputeChange, now: Date, engine: Engine) {
  const { xId, disputeId } = dispute
  const emissions = news.map(type => ({
    subject: { type, xId, operation: findOperation(payment, xId), members: { disputeId } },
    owed: true,
  }))
  return emitEvents(payment, { emissions, now }, engine)
}

export type DisputeApplied = 'applied' | 'repeated' | 'unmatched'

/** Applies a provider's report about a dispute; `capture` is set if the report names one. */
export async function applyDispute(
  target: { readonly merchant: Merchant; readonly payId: PayId; readonly capture?: XId },
  { facts, now }: { readonly facts: DisputeFacts; readonly now: Date },
  engine: Engine,
): Promise<DisputeApplied> {
  const { merchant, payId } = target
  let matched = false
  // The form that parseDisputeId accepts: newId makes 32 hex digits.
  const disputeId = `dsp_${engine.newId()}` as DisputeId
  const decide: Decide = (payment, disputes) => {
    const capture = findDisputedCapture(payment, target.capture)
    if (!capture) return undefined
    matched = true
    const known = disputes.find(({ providerDisputeId }) => providerDisputeId === facts.providerDisputeId)
    return known
      ? updateDispute(payment, known, facts, now)
      : openDispute(payment, facts, { disputeId, capture: capture.xId, now })
  }
  // A late payment is given back once the merchant has won the dispute and holds the money again.
  const alongside: Alongside = ({ payment, news }) =>
    news.includes('dispute.won') ? { setTimers: lateTimers(payment, merchant, now) } : {}
  const { merchantId } = merchant
  const change = await changeDispute({ merchantId, payId }, { decide, now, alongside }, engine)
  if (change) return 'applied'
  return matched ? 'repeated' : 'unmatched'
}

/** Applies a notice about a dispute whose payment was found. */
export const applyDisputeNotice =
  (engine: Engine): NonNullable<NoticeDeps['applyDispute']> =>
  ({ merchant, payment, operation }, { dispute }) => {
    const { payId } = payment
    const now = merchantNow(engine.clock, merchant)
    return applyDispute({ merchant, payId, capture: operation?.xId }, { facts: dispute, now }, engine)
  }
