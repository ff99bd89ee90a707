/**
 * An approval that arrives after the payment has ended: given back automatically, or kept if the merchant wants that.
 */
import type { Merchant } from '#domain/merchant.ts'
import { paidLateSubjects } from '#lifecycle/event.ts'
import { approveLate, lateRest } from '#lifecycle/late-truth.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { isClosedLate, isUnanswered, type Operation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvents } from '#operations/events/emit-event.ts'
import { refund, reverse } from '#operations/payments/follow-up-kinds.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { inquiryTimer } from '#operations/payments/record-outcome.ts'
import { approvalTimers } from '#operations/timer.ts'

export interface LatePayment {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly operation: Operation
  readonly outcome: Outcome
  readonly capture?: Outcome
}

/** After a crash between the two steps the notice is applied again, which performs the second step. */
export async function acceptLate(late: LatePayment, engine: Engine): Promise<'applied' | 'repeated'> {
  const { merchant, payment } = late
  const isAccepted = await recordLateApproval(late, engine)
  const isGivenBack = await giveBackLate(merchant, payment, engine)
  return isAccepted || isGivenBack ? 'applied' : 'repeated'
}

/** Without giving the money back. Returns whether this was news. */
export async function recordLateApproval(late: LatePayment, engine: Engine): Promise<boolean> {
  try {
    return await writeApproval(late, { isTransIdTaken: false }, engine)
  } catch (error) {
    if (!(error instanceof CommitRefused) || error.conflict !== 'trans_id_taken') throw error
    return writeApproval(late, { isTransIdTaken: true }, engine)
  }
}

async function writeApproval(
  { merchant, payment, operation: { xId, prepared }, outcome, capture }: LatePayment,
  { isTransIdTaken }: { readonly isTransIdTaken: boolean },
  engine: Engine,
): Promise<boolean> {
  const { merchantId, payId } = payment
  const accountId = prepared.account ?? payment.provider?.account
  const connector = (await engine.providers.open(merchantId, accountId))?.connector
  const written = await engine.queue.update({ merchantId, payId }, stored => {
    const now = merchantNow(engine.clock, merchant)
    const next = approveLate(stored, { xId, outcome, capture, isTransIdTaken, now })
    if (!next) return { result: false }
    const emissions = paidLateSubjects(next, xId, now).map(subject => ({ subject, owed: true }))
    const emitted = emitEvents(next, { emissions, now }, engine)
    const setTimers = [
      // Money that is only given back needs no expiry timer.
      ...(isTransIdTaken ? [] : approvalTimers(stored, next, merchant)),
      // Until it is known what became of the capture, nothing is given back.
      ...next.operations
        .filter(operation => isUnanswered(operation) && !stored.operations.includes(operation))
        .flatMap(operation => inquiryTimer(next, operation, { merchant, attempt: 0, connector }) ?? []),
    ]
    const timers = setTimers.length > 0 ? { setTimers } : {}
    return { next: emitted.payment, alongside: { ...emitted.alongside, ...timers }, result: true }
  })
  return written === true
}

/** Returns whether there was something to give back. Kept money stays, unless its transId belongs to another payment. */
export async function giveBackLate(
  merchant: Merchant,
  { merchantId, payId }: Pick<Payment, 'merchantId' | 'payId'>,
  engine: Engine,
): Promise<boolean> {
  const payment = await engine.payments.byPayId(merchantId, payId)
  const rest = payment && lateRest(payment)
  if (!payment || !rest || (merchant.paidLate === 'keep' && !isClosedLate(payment))) return false
  const { transId, refNr, amount } = payment
  const command = { transId, refNr, amount: { value: rest.value, currency: amount.currency }, details: {} }
  const request = { merchant, payId, command, unattended: true }
  await (rest.refunds ? refund(request, engine) : reverse(request, engine))
  return true
}
