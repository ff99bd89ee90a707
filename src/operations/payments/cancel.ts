/**
 * Cancels a payment that waits for its customer or its confirm. If the customer could still pay on a provider's page,
 * that page is ended first; the cancellation itself is one commit, with its event.
 */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { endingSubject } from '#lifecycle/event.ts'
import { withdrawRequest } from '#lifecycle/expiry.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { decideCancellation } from '#lifecycle/reversal.ts'
import { giveBackTimers } from '#operations/bank/batch-timers.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import { answerCancellation, answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { endAction, hasOtherPage } from '#operations/payments/customer-pages/end-action.ts'
import type { Step } from '#operations/payments/payment-queue.ts'

export interface CancelPayment {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly reason?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly key?: OperationKey
}

/** 5: each lost round means that the customer has opened another page while we ended the previous one. */
const maximumRounds = 5

/** Undefined: the merchant has no such payment. */
export async function cancelPayment(
  request: CancelPayment,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  for (let round = 1; ; round += 1) {
    const answer = await cancelAsSeen(request, { isLast: round === maximumRounds }, engine)
    if (answer !== 'moved') return answer
  }
}

/** Returns `moved` if the customer has opened another page in the meantime, which must be ended first. */
async function cancelAsSeen(
  request: CancelPayment,
  { isLast }: { readonly isLast: boolean },
  engine: Engine,
): Promise<OperationAnswer | 'moved' | undefined> {
  const { merchant, payId } = request
  const { merchantId } = merchant
  const found = await engine.payments.byPayId(merchantId, payId)
  if (!found) return undefined
  // If the customer could still pay on a provider's page, the provider ends it first.
  const atProvider = decideCancellation(found).accepted
    ? await endAction({ merchant, payment: found }, engine)
    : 'ended'
  const xId = newXId(engine)
  return engine.queue.update<OperationAnswer | 'moved'>({ merchantId, payId }, payment => {
    const isMoved = hasOtherPage(payment, found)
    if (isMoved && !isLast) return { result: 'moved' }
    if (isMoved || atProvider !== 'ended') return refused(payment, 'OUTCOME_OUTSTANDING', request, engine)
    const now = merchantNow(engine.clock, merchant)
    const decision = decideCancellation(payment)
    const ended = decision.accepted ? withdrawRequest(payment, { now, xId }) : undefined
    if (!ended) return refused(payment, decision.accepted ? 'NOT_OPEN' : decision.refusal, request, engine)
    const { reason } = request
    const noted =
      reason === undefined ? ended : { ...ended, own: { ...ended.own, cancellationReason: reason } }
    return end(noted, { request, now }, engine)
  })
}

function end(
  ended: Payment,
  { request, now }: { request: CancelPayment; now: Date },
  engine: Engine,
): Step<OperationAnswer> {
  const { merchant, payId, key, metadata } = request
  const answer = answerCancellation(ended, metadata)
  const emitted = emitEvent(ended, { subject: endingSubject(ended, now), owed: true, now }, engine)
  const row = keyRow(key, { merchant, payId, answer, now })
  const setTimers = giveBackTimers(ended)
  return {
    next: emitted.payment,
    alongside: {
      ...emitted.alongside,
      ...(row ? { key: row } : {}),
      ...(setTimers.length > 0 ? { setTimers } : {}),
    },
    result: answer,
  }
}

function refused(
  payment: Payment,
  refusal: Parameters<typeof answerRefusal>[0],
  { merchant, metadata, key }: CancelPayment,
  engine: Engine,
): Step<OperationAnswer> {
  const { payId, merchantId, transId, refNr } = payment
  const answer = answerRefusal(refusal, { payId, merchantId, transId, refNr, metadata, xId: newXId(engine) })
  const row = keyRow(key, { merchant, payId, answer, now: merchantNow(engine.clock, merchant) })
  return { ...(row ? { alongside: { key: row } } : {}), result: answer }
}
