/**
 * Applies provider notices. A notice is one more source of an outcome for a stored reference: it goes through the same
 * code as any answer, its amount is checked, and a repeated notice has no further effect.
 */
import type { NoticeItem } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import { asTried } from '#lifecycle/attempt.ts'
import { resultSubject } from '#lifecycle/event.ts'
import { takeBack } from '#lifecycle/late-truth.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import { findOperation, isUndecided, type Operation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { lapseAtProvider } from '#operations/payments/expire.ts'
import { applyElsewhere } from '#operations/payments/notices/apply-elsewhere.ts'
import { lookUpApproval } from '#operations/payments/notices/look-up-approval.ts'
import {
  type Fact,
  findNoticed,
  isOfKind,
  lastOf,
  type NoticeAccount,
  type Noticed,
  type PaymentFact,
  wasKept,
} from '#operations/payments/notices/noticed.ts'
import { isEarlierTry, isOtherTry, mayTryAgain } from '#operations/payments/notices/page-tries.ts'
import { acceptLate, lateTimers } from '#operations/payments/notices/paid-late.ts'
import { applyListedRefunds, recordReturn } from '#operations/payments/notices/record-return.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { type OutcomeRecord, recordIfFirst } from '#operations/payments/provider-calls/record-outcome.ts'
import { undoExtra, undoPart } from '#operations/payments/provider-calls/undo-part.ts'
import { releaseFailedPayout } from '#operations/payments/try-limits.ts'
import { approvalTimers } from '#operations/timer.ts'

/**
 * `repeated`: already known. `unmatched`: it matches nothing of ours, or not yet. `ignored`: it has no effect on
 * payments.
 */
export type Applied = 'applied' | 'repeated' | 'unmatched' | 'ignored' | NeedsPerson

/**
 * The notice matches, but an operator must act. The text is stored with the notice, so that the alarm is raised once.
 */
export interface NeedsPerson {
  readonly needsPerson: string
}

/**
 * Another notice, an answer or an inquiry has decided the operation in the meantime: apply the fact to its new state.
 */
type Overtaken = 'overtaken'

export interface NoticeDeps {
  readonly engine: Engine
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  /** Applies a dispute. Unless given, dispute notices are unmatched. */
  readonly applyDispute?: (noticed: Noticed, fact: Fact<'dispute'>) => Promise<Applied>
  /** Called when a settlement report is ready to be fetched. */
  readonly applyReport?: (account: NoticeAccount, fact: Fact<'report'>) => Promise<Applied>
}

export const createApplyNotice =
  (deps: NoticeDeps) =>
  async (account: NoticeAccount, { fact: notified, occurredAt }: NoticeItem): Promise<Applied> => {
    if (notified.kind === 'ignored') return 'ignored'
    if (notified.kind === 'report') return deps.applyReport?.(account, notified) ?? 'ignored'
    const fact =
      notified.kind === 'dispute'
        ? { ...notified, dispute: { ...notified.dispute, reportedAt: occurredAt } }
        : notified
    return applyUntilDone(account, fact, deps)
  }

/** The loop ends, because every round that is overtaken means one undecided operation fewer. */
async function applyUntilDone(account: NoticeAccount, fact: PaymentFact, deps: NoticeDeps): Promise<Applied> {
  for (;;) {
    const applied = await applyFact(account, fact, deps)
    if (applied !== 'overtaken') return applied
  }
}

async function applyFact(
  account: NoticeAccount,
  fact: PaymentFact,
  deps: NoticeDeps,
): Promise<Applied | Overtaken> {
  const merchant = await deps.findMerchant(account.merchantId)
  const noticed = merchant && (await findNoticed(merchant, account, fact, deps.engine))
  if (!noticed) return fact.subject.kept ? 'ignored' : 'unmatched'
  if (!wasKept(noticed.payment, fact.subject)) return 'ignored'
  switch (fact.kind) {
    case 'outcome':
      return applyOutcome(noticed, fact, deps.engine)
    case 'takenBack':
      return applyTakenBack(
        { ...noticed, operation: noticed.operation ?? lastOf(noticed, fact) },
        fact,
        deps.engine,
      )
    case 'lapsed':
      return lapseAtProvider(noticed, deps.engine)
    case 'refunds': {
      const apply = (refund: PaymentFact): Promise<Applied> => applyUntilDone(account, refund, deps)
      return applyListedRefunds(noticed, fact, { engine: deps.engine, apply })
    }
    case 'return':
      return recordReturn(noticed, fact, deps.engine)
    case 'dispute': {
      const returned = returnOf(noticed, fact)
      if (!returned && isNoDispute(noticed, fact)) return 'ignored'
      if (!returned) return deps.applyDispute?.(noticed, fact) ?? 'unmatched'
      // A debit that the bank left with the merchant was not returned.
      return fact.dispute.status === 'WON' ? 'ignored' : recordReturn(noticed, returned, deps.engine)
    }
  }
}

/** `inquiry: 0`: no request waits for this outcome, so the merchant gets an event. */
async function decide(
  record: Omit<OutcomeRecord, 'inquiry'>,
  engine: Engine,
): Promise<'applied' | Overtaken> {
  const { isFirst } = await recordIfFirst({ ...record, inquiry: 0 }, engine)
  return isFirst ? 'applied' : 'overtaken'
}

/** A direct debit cannot be disputed, only returned by the bank, even if the provider reports it as a dispute. */
function returnOf(
  { payment: { method } }: Noticed,
  { subject, dispute, returnDetail: detail, chargedAsDebits = [] }: Fact<'dispute'>,
): Fact<'return'> | undefined {
  const isDebit = method.family === 'direct_debit' || chargedAsDebits.includes(method.type)
  if (detail === undefined || !isDebit) return undefined
  const { amount, providerDisputeId: transactionId } = dispute
  return { kind: 'return', subject, amount, detail, transactionId }
}

/**
 * A debit that was or will be returned is not disputed as well, or its money would count twice. Notices do not always
 * tell what it was.
 */
const isNoDispute = ({ payment }: Noticed, { dispute, isNoneOfDebits }: Fact<'dispute'>): boolean =>
  (isNoneOfDebits === true && payment.method.family === 'direct_debit') ||
  payment.operations.some(
    ({ type, provider }) => type === 'RETURN' && provider?.transactionId === dispute.providerDisputeId,
  )

async function applyOutcome(
  noticed: Noticed,
  fact: Fact<'outcome'>,
  engine: Engine,
): Promise<Applied | Overtaken> {
  const operation = noticed.operation ?? namedByType(noticed, fact)
  if (!operation) return noticed.captureXId ? 'unmatched' : applyElsewhere(noticed, fact, engine)
  const { merchant, payment } = noticed
  const outcome = echoing(fact.outcome, payment, operation)
  if (isUndecided(operation)) {
    if (isPartOf(fact, payment, operation)) return applyPart(noticed, operation, engine)
    if (contradicts(fact, payment, operation)) return 'unmatched'
    if (outcome.kind === 'unknown' || outcome.kind === 'unreached') return 'repeated'
    if (outcome.kind === 'declined' && (await mayTryAgain(noticed, operation, outcome, engine)))
      return 'unmatched'
    const told = { authorization: outcome, capture: captureOf(payment, operation, fact) }
    const brief = fact.isBrief && { ...noticed, told: outcome }
    const whole = brief ? await lookUpApproval(brief, operation, engine) : undefined
    // The notice alone decides nothing: the return of the customer, a later notice or an inquiry does.
    if (brief && !whole && outcome.kind === 'pending') return 'repeated'
    return decide({ merchant, payment, xId: operation.xId, outcome: whole ?? told }, engine)
  }
  const captured = await applyToCapture(noticed, operation, fact, engine)
  if (captured) return captured
  if (operation.state === 'FAILED' && outcome.kind === 'approved') {
    // Checked first, because the approval that was undone may have been partial, with another amount.
    if (isUndone(operation, outcome.provider)) return 'repeated'
    if (contradicts(fact, payment, operation)) return 'unmatched'
    if (isOldNews(operation, outcome.provider)) return 'repeated'
    if (payment.status !== 'FAILED' && !operation.prepared.paidLate)
      return applyExtra(noticed, operation, engine)
    return acceptLate(
      { ...noticed, operation, outcome, capture: captureOf(asTried(payment, operation), operation, fact) },
      engine,
    )
  }
  if (operation.state === 'FAILED' && outcome.kind === 'declined' && outcome.provider.fields?.undone)
    return markUndone({ ...noticed, operation }, outcome.provider, engine)
  // A customer may try several times under one reference; only an approved try can be taken back.
  if (outcome.kind === 'declined' && isOtherTry(operation, outcome.provider)) return 'repeated'
  if (outcome.kind === 'approved' && isOtherTry(operation, outcome.provider))
    return reportSecond(noticed, operation, engine)
  if (operation.state === 'OK' && outcome.kind === 'declined') {
    const { detail, provider } = outcome
    return applyTakenBack({ ...noticed, operation }, { ...fact, kind: 'takenBack', detail, provider }, engine)
  }
  // The provider approved, and reversed the approval at our request before the notice arrived.
  if (operation.state === 'AUTHORIZED' && outcome.kind === 'declined') {
    if (isEarlierTry(operation, outcome.provider)) return 'repeated'
    const reversal = { kind: 'approved', provider: outcome.provider } as const
    return applyElsewhere(
      noticed,
      { ...fact, operation: 'REVERSAL', outcome: reversal, amount: undefined },
      engine,
    )
  }
  return operation.prepared.paidLate ? acceptLate({ ...noticed, operation, outcome }, engine) : 'repeated'
}

/**
 * It cannot be undone by our reference, which the first payment shares. It stays listed until an operator has acted.
 */
function reportSecond({ account }: Noticed, { type, xId }: Operation, engine: Engine): Applied {
  const message = `the provider reports a second payment for the same ${type}; give it back there, for it is not in our books`
  if (account.needsPerson !== message) engine.onAlarm({ code: 'PAID_TWICE', message, xId })
  return { needsPerson: message }
}

/** Whether the provider reversed this approval at our request: a late notice of the approval changes nothing. */
const isUndone = ({ provider }: Operation, { transactionId }: ProviderFacts): boolean =>
  transactionId !== undefined && provider?.fields?.undone === transactionId

/**
 * Whether a notice of success is older than the failure that we have recorded under the same provider id, and merely
 * arrived later. Customers' tries are excluded: they may be declined and then approved under one id.
 */
const isOldNews = ({ type, provider }: Operation, { transactionId }: ProviderFacts): boolean =>
  !isOfKind(type, 'AUTHORIZATION') && transactionId !== undefined && provider?.transactionId === transactionId

/** Stores which approval of a failed try was undone, so that a late notice of that approval has no effect. */
async function markUndone(
  {
    merchant,
    payment: { merchantId, payId },
    operation: { xId },
  }: Noticed & { readonly operation: Operation },
  reported: ProviderFacts,
  engine: Engine,
): Promise<Applied> {
  const undone = reported.fields?.undone
  await engine.queue.update({ merchantId, payId }, stored => {
    if (findOperation(stored, xId)?.provider?.fields?.undone === undone) return { result: undefined }
    const operations = stored.operations.map(operation => {
      const provider = operation.provider ?? reported
      return operation.xId === xId
        ? { ...operation, provider: { ...provider, fields: { ...provider.fields, undone } } }
        : operation
    })
    const updatedAt = merchantNow(engine.clock, merchant)
    return { next: { ...stored, operations, updatedAt, version: stored.version + 1 }, result: undefined }
  })
  return 'applied'
}

/** A notice without the operation's amount, such as one with the new total, does not tell a part of it. */
const isPartOf = ({ outcome, amount }: Fact<'outcome'>, payment: Payment, operation: Operation): boolean =>
  outcome.kind === 'approved' &&
  amount !== undefined &&
  amount.currency === payment.amount.currency &&
  amount.value < operation.amount

/** Undoes a partial approval, which then counts as declined. */
async function applyPart(
  { merchant, payment, account }: Noticed,
  operation: Operation,
  engine: Engine,
): Promise<Applied | Overtaken> {
  const opened = await engine.providers.open(account.merchantId, account.accountId)
  const outcome = opened && (await undoPart(toInquiry(payment, operation), opened, engine))
  if (outcome?.kind !== 'declined') return 'unmatched'
  return decide({ merchant, payment, xId: operation.xId, outcome }, engine)
}

/**
 * A failed try was paid after all, but the payment continued with another try: asks the provider to undo the extra
 * money.
 */
async function applyExtra(
  { payment, account }: Noticed,
  operation: Operation,
  engine: Engine,
): Promise<Applied> {
  const message = `${operation.type} was paid although the payment went on with another try; the provider is asked to undo it`
  if (account.needsPerson !== message) engine.onAlarm({ code: 'PAID_TWICE', message, xId: operation.xId })
  const opened = await engine.providers.open(account.merchantId, account.accountId)
  const outcome = opened && (await undoExtra(toInquiry(payment, operation), opened, engine))
  return outcome?.kind === 'declined' ? 'applied' : { needsPerson: message }
}

/** Applies a notice of a known approval to the capture in the same message, if that is still undecided. */
async function applyToCapture(
  { merchant, payment }: Noticed,
  { details }: Operation,
  { capture }: Fact<'outcome'>,
  engine: Engine,
): Promise<'applied' | Overtaken | undefined> {
  const operation = details.captureXId && findOperation(payment, details.captureXId)
  if (!operation || !capture || !isUndecided(operation) || !('provider' in capture)) return undefined
  const outcome = echoing(capture, payment, operation)
  if (outcome.kind === 'unknown') return undefined
  return decide({ merchant, payment, xId: operation.xId, outcome }, engine)
}

/** A notice with the payment's id that reports an approval belongs to the operation that requested it. */
function namedByType(
  { payment, captureXId }: Noticed,
  { operation }: Fact<'outcome'>,
): Operation | undefined {
  if (captureXId || (operation !== 'AUTHORIZATION' && operation !== 'CONFIRM')) return undefined
  return payment.operations.findLast(({ type }) => type === 'AUTHORIZATION' || type === 'CONFIRM')
}

/**
 * The outcome of the capture in the same message. If the notice does not mention it, it is unknown and gets inquiries.
 */
function captureOf(payment: Payment, operation: Operation, { outcome, capture }: Fact<'outcome'>) {
  const { captureXId } = operation.details
  if (!captureXId || payment.captureMethod.type !== 'AUTOMATIC' || outcome.kind !== 'approved')
    return undefined
  if (!capture || !('provider' in capture)) return capture ?? ({ kind: 'unknown' } as const)
  const amount = { value: operation.amount, currency: payment.amount.currency }
  return { ...capture, provider: { ...capture.provider, echo: { reference: captureXId, amount } } }
}

/**
 * A notice with another amount or currency than the operation's is not trusted. One without the operation's amount,
 * such as one with new totals, is trusted, and so is the end of a page, which moves no money.
 */
function contradicts({ outcome, amount }: Fact<'outcome'>, payment: Payment, operation: Operation): boolean {
  if (!amount || (outcome.kind === 'declined' && outcome.pageEnded)) return false
  return isOther(amount, payment, operation)
}

const isOther = (reported: Money, { amount }: Payment, operation: Operation): boolean =>
  reported.currency !== amount.currency || reported.value !== operation.amount

/** Uses our own reference as the echo: the notice was already matched to this operation. */
function echoing(outcome: Outcome, payment: Payment, operation: Operation): Outcome {
  if (!('provider' in outcome)) return outcome
  const amount = { value: operation.amount, currency: payment.amount.currency }
  return { ...outcome, provider: { ...outcome.provider, echo: { reference: operation.xId, amount } } }
}

/** Fails an operation that the provider had approved. */
async function applyTakenBack(
  { merchant, payment, operation }: Noticed,
  { detail, provider, amount: reported, subject }: Omit<Fact<'takenBack'>, 'operation'>,
  engine: Engine,
): Promise<Applied | Overtaken> {
  if (!operation || (reported && isOther(reported, payment, operation))) return 'unmatched'
  const target = { merchantId: payment.merchantId, payId: payment.payId }
  const { xId } = operation
  // For an undecided operation the notice is the outcome.
  if (isUndecided(operation)) {
    const amount = { value: operation.amount, currency: payment.amount.currency }
    const outcome = {
      kind: 'declined',
      detail,
      // Keep the provider's id, so that a late notice of the success is recognised as outdated.
      provider: provider ?? {
        echo: { reference: xId, amount },
        transactionId: operation.provider?.transactionId ?? subject.transactionId,
      },
    } as const
    return decide({ merchant, payment, xId, outcome }, engine)
  }
  const taken = await engine.queue.update<{ applied: Applied; payment: Payment }>(target, stored => {
    const now = merchantNow(engine.clock, merchant)
    const next = takeBack(stored, { xId, detail, provider, now })
    const isRepeated = findOperation(stored, xId)?.state === 'FAILED'
    if (!next) return { result: { applied: isRepeated ? 'repeated' : 'unmatched', payment: stored } }
    const emitted = emitEvent(next, { subject: resultSubject(next, xId, now), owed: true, now }, engine)
    return {
      next: emitted.payment,
      alongside: {
        ...emitted.alongside,
        setTimers: [...approvalTimers(stored, next, merchant), ...lateTimers(next, merchant, now)],
      },
      result: { applied: 'applied', payment: emitted.payment },
    }
  })
  if (taken) await releaseFailedPayout(merchant, taken.payment, engine)
  return taken?.applied ?? 'unmatched'
}
