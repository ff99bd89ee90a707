/**
 * Confirms a payment intent: an ordinary payment whose first commit also claims the intent, so that one of several
 * concurrent confirmations succeeds. The others read the intent again: either the winner's payment holds it, or that
 * payment has failed and they try again.
 */
import type { IntentId, PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Refusal } from '#domain/response-codes.ts'
import { endingSubject } from '#lifecycle/event.ts'
import {
  decideIntentConfirm,
  giveWay,
  type Intent,
  maximumPayments,
  type NextWay,
} from '#lifecycle/intent.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { type OperationKey, storeRefusal } from '#operations/key.ts'
import { answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { type CreatePayment, createPayment } from '#operations/payments/create-payment.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Conflict } from '#storage/commit/change.ts'

export interface IntentConfirmation {
  readonly merchant: Merchant
  readonly intentId: IntentId
  /** Builds the payment from the intent and the request. Throws if they contradict each other. */
  readonly compose: (
    intent: Intent,
  ) => Pick<CreatePayment, 'command' | 'card' | 'account' | 'wallet' | 'offer'>
  /** Throws if the card or account may not be used for this intent; called once the intent is known to be open. */
  readonly checkInstrument?: ((intent: Intent) => Promise<void>) | undefined
  readonly key?: OperationKey
  readonly onStored?: CreatePayment['onStored']
}

/** 50: each lost round means that another request made a payment from the intent, which failed at once. */
const maximumRounds = 50

/** Conflicts that another confirmation of the same intent may have caused. */
const raced: readonly Conflict[] = ['intent_taken', 'trans_id_taken']

/** Undefined: the merchant has no such intent. */
export async function confirmIntent(
  request: IntentConfirmation,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, intentId, compose, key, onStored } = request
  /** Set if the transId was taken in the last round: the payment that the intent referred to at that time. */
  let met: { readonly payId?: PayId } | undefined
  for (let round = 0; round < maximumRounds; round += 1) {
    const intent = await engine.intents.find(merchant.merchantId, intentId)
    if (!intent) return undefined
    const payment = compose(intent)
    const payId = intent.payment?.payId
    const decision = decideIntentConfirm(intent, merchantNow(engine.clock, merchant))
    if (!decision.accepted) {
      if (await endOpenPayment(intent, { merchant, next: payment.command }, engine)) continue
      return refuse(decision.refusal, intent, request, engine)
    }
    await request.checkInstrument?.(intent)
    // No other request has claimed the intent, so the transId belongs to an unrelated payment.
    if (met && met.payId === payId) return refuse('TRANS_ID_TAKEN', intent, request, engine)
    try {
      return await createPayment({ ...payment, merchant, key, onStored, intent: claimOf(intent) }, engine)
    } catch (error) {
      if (!(error instanceof CommitRefused) || !raced.includes(error.conflict)) throw error
      met = error.conflict === 'trans_id_taken' ? { payId } : undefined
    }
  }
  throw new Error(`intent ${intentId} was claimed by others in each of ${maximumRounds} tries to pay it`)
}

const claimOf = ({ intentId, payment, declines }: Intent): CreatePayment['intent'] => ({
  intentId,
  expectedPayId: payment?.payId,
  declines,
})

/**
 * Ends the open payment of a customer who has left its page for another way to pay. That is a commit of its own, before
 * the new payment's first, so that the customer can never pay both. A submit of the page at the same moment is ordered
 * before or after it by the payment's queue.
 */
async function endOpenPayment(
  { merchantId, payment, expiresAt, payments = 0 }: Intent,
  { merchant, next }: { readonly merchant: Merchant; readonly next: NextWay },
  engine: Engine,
): Promise<boolean> {
  const now = merchantNow(engine.clock, merchant)
  if (payment?.status !== 'AUTHORIZE_REQUEST' || expiresAt.getTime() <= now.getTime()) return false
  // The intent allows no further payment, so the page stays open.
  if (payments >= maximumPayments) return false
  const ending = { now, xId: newXId(engine) }
  const ended = await engine.queue.update({ merchantId, payId: payment.payId }, stored => {
    const given = giveWay(stored, next, ending)
    if (!given) return { result: stored.status === 'FAILED' }
    const emitted = emitEvent(given, { subject: endingSubject(given, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: true }
  })
  return ended === true
}

function refuse(
  refusal: Refusal,
  intent: Intent,
  request: IntentConfirmation,
  engine: Engine,
): Promise<OperationAnswer> {
  const { merchantId, intentId, payment } = intent
  const { refNr, metadata } = intent.request
  const answer = answerRefusal(refusal, {
    // Names the payment that holds the intent, so that a client that lost the answer can look it up.
    payId: refusal === 'CONFIRM_NOT_EXPECTED' ? payment?.payId : undefined,
    merchantId,
    transId: intentTransId(intent),
    xId: newXId(engine),
    refNr,
    metadata,
    paymentIntentId: intentId,
  })
  return storeRefusal(answer, request, engine)
}

/** An intent without a transId uses its own id, which is as unique as a transId should be. */
export const intentTransId = ({ request, intentId }: Intent): string => request.transId ?? intentId
