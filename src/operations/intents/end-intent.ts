/** Reads and cancels payment intents. */
import type { IntentId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Intent, intentState } from '#lifecycle/intent.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { intentTransId } from '#operations/intents/confirm-intent.ts'
import { keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import { answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'

/** A device with the intent's token does not see the merchant's private fields. */
function toIntentRecord(intent: Intent, now: Date, { isDevice }: { isDevice: boolean }) {
  const { intentId, request, payment, expiresAt, createdAt } = intent
  const { amount, transId, refNr, metadata } = request
  return {
    id: intentId,
    status: intentState(intent, now),
    amount,
    transId,
    refNr,
    payId: payment?.payId,
    expirationTime: expiresAt.toISOString(),
    creationDate: createdAt.toISOString(),
    ...(isDevice ? {} : { metadata }),
  }
}

/** Undefined, here and below: the merchant has no such intent. */
export async function getIntent(
  merchant: Merchant,
  { intentId, isDevice }: { intentId: IntentId; isDevice: boolean },
  { intents, clock }: Pick<Engine, 'intents' | 'clock'>,
) {
  const intent = await intents.find(merchant.merchantId, intentId)
  return intent && toIntentRecord(intent, merchantNow(clock, merchant), { isDevice })
}

/** 50: each lost round means that another request made a payment from the intent. */
const maximumRounds = 50

export async function cancelIntent(
  request: { readonly merchant: Merchant; readonly intentId: IntentId; readonly key?: OperationKey },
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, intentId, key } = request
  const { merchantId } = merchant
  for (let round = 0; round < maximumRounds; round += 1) {
    const intent = await engine.intents.find(merchantId, intentId)
    if (!intent) return undefined
    const now = merchantNow(engine.clock, merchant)
    if (intentState(intent, now) !== 'OPEN') return refuse(intent, request, engine)
    const record = toIntentRecord({ ...intent, cancelledAt: now }, now, { isDevice: false })
    const answer = { status: 200, json: JSON.stringify(record) }
    const committed = await engine.commit({
      endIntent: { merchantId, intentId, expectedPayId: intent.payment?.payId, now },
      key: keyRow(key, { merchant, answer, now }),
    })
    if (committed.committed) return answer
    if (committed.conflict !== 'intent_taken') throw new CommitRefused(committed.conflict)
  }
  throw new Error(`intent ${intentId} was changed by others in each of ${maximumRounds} tries to write it`)
}

function refuse(
  intent: Intent,
  request: { readonly merchant: Merchant; readonly key?: OperationKey },
  engine: Engine,
): Promise<OperationAnswer> {
  const { merchantId, intentId, payment } = intent
  const { refNr, metadata } = intent.request
  const answer = answerRefusal('NOT_OPEN', {
    payId: payment?.payId,
    merchantId,
    transId: intentTransId(intent),
    xId: newXId(engine),
    refNr,
    metadata,
    paymentIntentId: intentId,
  })
  return storeRefusal(answer, request, engine)
}
