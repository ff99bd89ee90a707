/**
 * Records captures, reversals and refunds that were made in the provider's own dashboard and reported by its notices.
 */
import type { PayId } from '#domain/ids.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { recordElsewhere } from '#lifecycle/late-truth.ts'
import {
  findOperation,
  isClosedLate,
  isUndecided,
  type Operation,
  openAmount,
  type Payment,
} from '#lifecycle/payment.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import type { Applied } from '#operations/payments/notices/apply-notice.ts'
import {
  type Fact,
  isOfKind,
  type NoticeAccount,
  type Noticed,
} from '#operations/payments/notices/noticed.ts'
import { lateTimers } from '#operations/payments/notices/paid-late.ts'
import { CommitRefused, type StepOf } from '#operations/payments/payment-queue.ts'

export async function applyElsewhere(
  {
    merchant,
    account,
    payment: {
      merchantId,
      payId,
      method,
      amount: { currency },
    },
  }: Noticed,
  { operation: type, outcome, amount, total, subject }: Fact<'outcome'>,
  engine: Engine,
): Promise<Applied> {
  if (outcome.kind !== 'approved') return 'ignored'
  const named = total ?? amount
  if (named && named.currency !== currency) return 'unmatched'
  const xId = newXId(engine)
  const opened = await engine.providers.open(account.merchantId, account.accountId)
  const releasesRest = opened?.connector.supports(method)?.partialCaptureReleasesRest
  const provider = {
    ...outcome.provider,
    transactionId: outcome.provider.transactionId ?? subject.transactionId,
  }
  const step: StepOf<Applied> = stored => {
    if (findOperation(stored, xId)) return { result: 'applied' }
    if (dependsOnAnswer(stored, { type, total, amount })) return { result: 'unmatched' }
    const isKnown = total
      ? total.value <= stored.sums.captured
      : stored.operations.some(one => isSame(one, { type, provider, amount, subject }))
    // If no amount is open, our own capture or reversal has released it.
    if (isKnown || (type === 'REVERSAL' && hasReleased(stored))) return { result: 'repeated' }
    const now = merchantNow(engine.clock, merchant)
    const value = total ? total.value - stored.sums.captured : amount?.value
    const next = recordElsewhere(stored, { type, xId, amount: value, provider, releasesRest, now })
    if (!next) return { result: 'unmatched' }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    // The payment was paid late and is being given back, so this money goes back too.
    const setTimers = isClosedLate(next) ? lateTimers(next, merchant, now) : []
    return { next: emitted.payment, alongside: { ...emitted.alongside, setTimers }, result: 'applied' }
  }
  try {
    return (await engine.queue.update({ merchantId, payId }, step)) ?? 'unmatched'
  } catch (error) {
    if (!(error instanceof CommitRefused) || error.conflict !== 'trans_id_taken') throw error
    return reportReplaced(account, payId, engine)
  }
}

/**
 * Whether the notice must wait for the answer to an operation of ours: a total may include a capture without one, and a
 * cancellation that names no amount ends what our captures and reversals have left.
 */
function dependsOnAnswer(
  { operations }: Payment,
  { type, total, amount }: { readonly type: Operation['type'] } & Pick<Fact<'outcome'>, 'total' | 'amount'>,
): boolean {
  const endsRest = type === 'REVERSAL' && amount === undefined
  return operations.some(
    each =>
      isUndecided(each) &&
      ((each.type === 'CAPTURE' && (total !== undefined || endsRest)) ||
        (each.type === 'REVERSAL' && endsRest)),
  )
}

/**
 * Whether our operation is the one in the notice. A capture that was made with its authorisation has the id of the
 * payment, until a notice of it tells its own.
 */
function isSame(
  { type, state, provider, amount }: Operation,
  told: Pick<Fact<'outcome'>, 'amount' | 'subject'> & Pick<Operation, 'type' | 'provider'>,
): boolean {
  const { paymentTransactionId } = told.subject
  const id = provider?.transactionId
  const isOfApproval = paymentTransactionId !== undefined && id === paymentTransactionId
  const isMadeWithIt = type === 'CAPTURE' && state === 'OK' && isOfApproval && amount === told.amount?.value
  return isOfKind(type, told.type) && (id === told.provider?.transactionId || isMadeWithIt)
}

/** A capture made after our lapse revives the payment, but another one has its transId: the order was paid twice. */
function reportReplaced({ needsPerson }: NoticeAccount, payId: PayId, { onAlarm }: Engine): Applied {
  const message =
    'a lapsed payment was captured at the provider after another payment had taken its transId; refund one of them there'
  if (needsPerson !== message) onAlarm({ code: 'PAID_TWICE', message, payId })
  return { needsPerson: message }
}

const hasReleased = (payment: Payment): boolean => payment.sums.reversed > 0 && openAmount(payment) === 0
