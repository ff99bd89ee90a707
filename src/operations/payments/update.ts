/** Changes a payment's own data in one commit; no provider is called. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { offerFor } from '#lifecycle/attempt.ts'
import { awaitsCustomer, openTry, type Payment } from '#lifecycle/payment.ts'
import { decideUpdate, type UpdateCommand, update } from '#lifecycle/update.ts'
import { findCurrencyMisfit } from '#methods/catalogue.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import { answerRecord, answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { findPageMisfit } from '#operations/payments/customer-pages/offer.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused, type Step } from '#operations/payments/payment-queue.ts'
import { checkMetadata } from '#schemas/parts/metadata.ts'

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
      toStep(withPseudoNumber(payment, found), request, engine),
    )
  } catch (error) {
    if (!found || !(error instanceof CommitRefused) || error.conflict !== 'trans_id_taken') throw error
    return storeRefusal(refuse(found, 'TRANS_ID_TAKEN', engine), request, engine)
  }
}

/**
 * A payment that the queue passes on in memory lacks the pseudo number of its card; the one read from the database has
 * it.
 */
const withPseudoNumber = (payment: Payment, found: Payment | undefined): Payment =>
  payment.instrument && found?.instrument?.cardId === payment.instrument.cardId
    ? {
        ...payment,
        instrument: { ...payment.instrument, pseudoCardNumber: found.instrument.pseudoCardNumber },
      }
    : payment

async function toStep(payment: Payment, request: Update, engine: Engine): Promise<Step<OperationAnswer>> {
  const { merchant, command, key } = request
  const now = merchantNow(engine.clock, merchant)
  const decision = decideUpdate(payment, command)
  const updated =
    decision.accepted && !isAtProvider(payment, command) ? update(payment, command, now) : undefined
  if (updated) checkUpdated(updated, request)
  const refusal = updated ? await findUnserved(updated, request, engine) : undefined
  const next = refusal ? undefined : updated
  const answer = next
    ? answerRecord(next)
    : refuse(payment, refusal ?? (decision.accepted ? 'NOT_UPDATABLE' : decision.refusal), engine)
  const row = keyRow(key, { merchant, payId: payment.payId, answer, now })
  return { ...(next ? { next } : {}), ...(row ? { alongside: { key: row } } : {}), result: answer }
}

/** Whether the amount is fixed by a provider's page: the page was made for it and is still open. */
const isAtProvider = (payment: Payment, { amount }: UpdateCommand): boolean =>
  amount !== undefined &&
  payment.provider !== undefined &&
  openTry(payment)?.prepared.step !== undefined &&
  (amount.value !== payment.amount.value || amount.currency !== payment.amount.currency)

/** Checks that an account can charge the new amount: it supports the currency and can express the value. */
async function findUnserved(
  updated: Payment,
  { merchant, command }: Update,
  engine: Engine,
): Promise<'NO_CONNECTOR' | undefined> {
  if (command.amount === undefined || !awaitsCustomer(updated)) return undefined
  const misfit = await findPageMisfit(updated, merchant, engine)
  if (misfit === undefined || misfit === 'NO_CONNECTOR') return misfit
  throw new MethodMisfit(misfit)
}

/**
 * Checks that need the stored payment: its method, or a method of its page, must support the new currency, and the
 * merged metadata must not be too large.
 */
function checkUpdated(updated: Payment, { merchant, command }: Update): void {
  const { method, details, amount } = updated
  const misfit = command.amount && findCurrencyMisfit(method, amount.currency)
  if (misfit) throw new MethodMisfit(misfit)
  if (command.amount && awaitsCustomer(updated) && offerFor(updated, merchant.methods).length === 0) {
    const error = `no payment method of the page fits ${amount.value} ${amount.currency}; GET /payment-methods lists what each one takes`
    throw new MethodMisfit({ field: 'amount.currency', error })
  }
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
