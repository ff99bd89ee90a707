/** Changing a payment's own data: no provider is asked, one commit does it. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { decideUpdate, type UpdateCommand, update } from '#lifecycle/update.ts'
import { findCurrencyMisfit } from '#methods/catalogue.ts'
import { answerRecord, answerRefusal, type OperationAnswer } from '#operations/answer.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { MethodMisfit } from '#operations/follow-up.ts'
import { keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import { CommitRefused, type Step } from '#operations/payment-queue.ts'
import { checkMetadata } from '#schemas/metadata.ts'

export interface Update {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly command: UpdateCommand
  readonly key?: OperationKey
}

/** Undefined: the merchant has no such payment. */
export async function updatePayment(request: Update, engine: Engine): Promise<OperationAnswer | undefined> {
  const { merchant, payId } = request
  const found = await engine.payments.byPayId(merchant.merchantId, payId)
  try {
    return await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
      toStep({ ...payment, instrument: found?.instrument }, request, engine),
    )
  } catch (error) {
    if (!found || !(error instanceof CommitRefused) || error.conflict !== 'trans_id_taken') throw error
    return storeRefusal(refuse(found, 'TRANS_ID_TAKEN', engine), request, engine)
  }
}

function toStep(payment: Payment, request: Update, engine: Engine): Step<OperationAnswer> {
  const { merchant, command, key } = request
  const now = merchantNow(engine.clock, merchant)
  const decision = decideUpdate(payment, command)
  const next = decision.accepted ? update(payment, command, now) : undefined
  if (next) checkUpdated(next, command)
  const answer = next
    ? answerRecord(next)
    : refuse(payment, decision.accepted ? 'NOT_UPDATABLE' : decision.refusal, engine)
  const row = keyRow(key, { merchant, payId: payment.payId, answer, now })
  return { ...(next ? { next } : {}), ...(row ? { alongside: { key: row } } : {}), result: answer }
}

/** What the request alone cannot show: a currency its method lacks, notes that are too much when merged. */
function checkUpdated({ method, details }: Payment, command: UpdateCommand): void {
  const misfit = command.amount && findCurrencyMisfit(method, command.amount.currency)
  if (misfit) throw new MethodMisfit(misfit)
  const wrong = command.metadata && checkMetadata(details.metadata)
  if (wrong) throw new MethodMisfit({ field: 'metadata', error: wrong })
}

function refuse(
  payment: Payment,
  refusal: Parameters<typeof answerRefusal>[0],
  engine: Engine,
): OperationAnswer {
  const { payId, merchantId, transId, refNr } = payment
  return answerRefusal(refusal, { payId, merchantId, transId, xId: newXId(engine), refNr })
}
