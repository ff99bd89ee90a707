/**
 * Queries providers that send no notices about disputes: some time after a capture, whether it is disputed; some time
 * after a dispute was opened, how it ended. Both are timers of the capture, in the merchant's time.
 */
import { isFinal } from '#lifecycle/dispute.ts'
import { findOperation } from '#lifecycle/payment.ts'
import { applyDispute } from '#operations/disputes/dispute-book.ts'
import type { Engine } from '#operations/engine.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { type DueTimer, timerAt } from '#operations/timer.ts'

/** Returns false if the timer is not about disputes, because this capture's disputes need no query. */
export async function lookForDispute({ timer, merchant, at }: DueTimer, engine: Engine): Promise<boolean> {
  const { merchantId, payId, xId } = timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  const capture = payment && findOperation(payment, xId)
  const account = payment && (await engine.providers.open(merchantId, payment.provider?.account))
  const disputes = account?.connector.disputes
  if (!payment || !capture || !disputes?.checkMs) return false
  const inquiry = toInquiry(payment, capture)
  const known = (await engine.disputes.ofPayment(merchantId, payId)).find(dispute => dispute.xId === xId)
  if (!known && disputes.checkMs(inquiry) === undefined) return false
  const facts = known
    ? await disputes.findDecision?.(known, known.kept, at)
    : await disputes.findOpened?.(inquiry, at)
  if (facts) await applyDispute({ merchant, payId, capture: xId }, { facts, now: at }, engine)
  // No facts about a known dispute: the provider has not decided it yet.
  const latest = facts ?? known
  const next = latest && !isFinal(latest.status) ? disputes.decisionMs : undefined
  await engine.commit(
    next === undefined
      ? { dropTimers: [timer] }
      : { setTimers: [timerAt(keyOf(timer), new Date(at.getTime() + next), merchant)] },
  )
  return true
}

const keyOf = ({ merchantId, payId, xId, kind }: DueTimer['timer']) => ({ merchantId, payId, xId, kind })
