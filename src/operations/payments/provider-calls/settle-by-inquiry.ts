/** Finds the outcome of an operation that has no answer: a lost reply, a timeout, or a process that died in between. */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import {
  findOperation,
  isUnanswered,
  isUndecided,
  type Operation,
  type Payment,
  sentAt,
} from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { verifyBoth } from '#operations/payments/authorize.ts'
import { createApplyNotice } from '#operations/payments/notices/apply-notice.ts'
import { giveBackLate } from '#operations/payments/notices/paid-late.ts'
import { callProvider } from '#operations/payments/provider-calls/call-provider.ts'
import { lookUp, type Subject } from '#operations/payments/provider-calls/look-up.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { recordIfFirst } from '#operations/payments/provider-calls/record-outcome.ts'
import { repeatOf } from '#operations/payments/provider-calls/repeat.ts'
import type { TimerKey } from '#operations/timer.ts'

export interface UnansweredOperation {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly xId: XId
  /** Number of this inquiry, from 0. */
  readonly inquiry: number
  /** The merchant's time at which the inquiry was due; now unless given. */
  readonly at?: Date
}

/** Returns false if the operation was decided already. */
export async function settleByInquiry(unanswered: UnansweredOperation, engine: Engine): Promise<boolean> {
  const { merchant, payId, xId, inquiry, at } = unanswered
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  const operation = payment && findOperation(payment, xId)
  if (!payment || !operation || !isUndecided(operation)) {
    await dropInquiry({ merchantId: merchant.merchantId, payId, xId, kind: 'INQUIRY' }, engine)
    return false
  }
  const { merchantId } = merchant
  const account = await engine.providers.open(
    merchantId,
    operation.prepared.account ?? payment.provider?.account,
  )
  const subject = { payment, operation, now: at ?? merchantNow(engine.clock, merchant) }
  const { outcome, undone } = account
    ? await findOutcome(subject, account.connector, engine)
    : { outcome: { authorization: unknown } }
  const { isFirst } = await recordIfFirst({ merchant, payment, xId, outcome, inquiry, at }, engine)
  if (!isFirst && undone) await applyUndone({ merchant, payment, operation, undone }, engine)
  // A late payment is given back only when the outcome of its capture is known, which may be now.
  if (operation.prepared.paidLate) await giveBackLate(merchant, payment, engine)
  return true
}

/**
 * Drops the timer unless the operation is undecided again, for example by a late approval, which set the timer anew.
 */
async function dropInquiry(timer: TimerKey, engine: Engine): Promise<void> {
  await engine.queue.update(timer, stored => {
    const operation = findOperation(stored, timer.xId)
    const isOver = !operation || !isUndecided(operation)
    return { ...(isOver ? { alongside: { dropTimers: [timer] } } : {}), result: true }
  })
}

const unknown: Outcome = { kind: 'unknown' }

type Declined = Extract<Outcome, { kind: 'declined' }>

interface FoundOutcome {
  readonly outcome: AuthorizationOutcome
  /** The provider has undone the operation at our request. */
  readonly undone?: Declined
}

/**
 * A notice of success was recorded while the provider undid the operation: applies the undo as a notice, so that an
 * approval is released and any other operation fails. The undo gets an id of its own, because the provider may answer
 * with the id of the operation it has undone.
 */
async function applyUndone(
  {
    merchant,
    payment: { merchantId, payId, provider },
    operation: { xId, type, prepared },
    undone,
  }: Pick<Subject, 'payment' | 'operation'> & { readonly merchant: Merchant; readonly undone: Declined },
  engine: Engine,
): Promise<void> {
  const accountId = prepared.account ?? provider?.account
  const payment = await engine.payments.byPayId(merchantId, payId)
  if (!payment || accountId === undefined) return
  const approved = findOperation(payment, xId)?.provider?.transactionId
  const facts: ProviderFacts = {
    ...undone.provider,
    transactionId: `${xId}-undo`,
    fields: { ...undone.provider.fields, ...(approved === undefined ? {} : { undone: approved }) },
  }
  const apply = createApplyNotice({ engine, findMerchant: async () => merchant })
  const applied = await apply(
    { merchantId, accountId },
    {
      key: `${xId}-undo`,
      fact: {
        kind: 'outcome',
        operation: type,
        subject: { reference: xId },
        outcome: { ...undone, provider: facts },
      },
    },
  )
  if (typeof applied === 'string' && applied !== 'unmatched') return
  const message = `the provider undid ${type} after it had told its success, and the payment has gone on since; compare it with the provider's books`
  engine.onAlarm({ code: 'UNDONE_NOT_RECORDED', message, payId, xId })
}

/**
 * Finds the outcome of a request whose answer was lost, by the means that the connector declares: wait for a notice,
 * look the operation up, repeat the request under the same key, undo it. The first definite answer decides. A card is
 * never sent twice.
 */
async function findOutcome(subject: Subject, connector: Connector, engine: Engine): Promise<FoundOutcome> {
  const { payment, operation, now } = subject
  const { lostAnswer, timeoutMs } = connector.facts
  const ageMs = now.getTime() - sentAt(operation).getTime()
  if (ageMs < lostAnswer.noticeWithinMs) return { outcome: { authorization: unknown } }
  const found = await lookUp(subject, connector, engine)
  // The customer has not acted yet, so there is nothing to repeat or undo; and a page that was not found may appear
  // later.
  if (!isUnanswered(operation))
    return { outcome: found.authorization.kind === 'unreached' ? { authorization: unknown } : found }
  if (found.authorization.kind !== 'unknown') return { outcome: found }
  // Before the provider's settling time, a later look-up may still find it.
  if (ageMs < (lostAnswer.lookUpSettledMs ?? 0)) return { outcome: found }
  const isChallenged = lastAskedForChallenge(operation)
  // The provider has accepted the request and reported that it takes longer: there is nothing to repeat or undo.
  if (operation.provider && !operation.provider.fields?.notUnderstood && !isChallenged)
    return { outcome: found }
  // A repetition would return the challenge that the customer has already taken.
  const again = isChallenged ? undefined : repeatOf(payment, operation, connector, engine)
  if (again && ageMs <= (lostAnswer.repeatWithinMs ?? -1)) {
    const repeated = await ask({ payment, operation, timeoutMs, ask: again }, engine)
    if (isConclusive(repeated.authorization)) return { outcome: repeated }
  }
  const { undo } = connector
  if (!lostAnswer.undo || !undo) return { outcome: found }
  const outcome = await ask(
    {
      payment,
      operation,
      timeoutMs,
      ask: async signal => ({ authorization: await undo(toInquiry(payment, operation), signal) }),
    },
    engine,
  )
  const { authorization } = outcome
  // The undo never arrived, but the request itself may have.
  if (authorization.kind === 'unreached') return { outcome: found }
  return { outcome, ...(authorization.kind === 'declined' ? { undone: authorization } : {}) }
}

/**
 * Whether the provider's last word was a challenge: it waits for the customer's result, which may have been lost on its
 * way.
 */
const lastAskedForChallenge = ({ provider }: Operation): boolean =>
  provider?.action?.type === 'redirect' && provider.action.challenge === true

/**
 * If the provider refuses the repetition itself, for example because of a revoked key, it does not reveal the outcome
 * of the first request.
 */
const isConclusive = (outcome: AuthorizationOutcome['authorization']): boolean =>
  outcome.kind === 'declined'
    ? !outcome.callRefused
    : outcome.kind !== 'unknown' && outcome.kind !== 'unreached'

interface Asking {
  readonly payment: Payment
  readonly operation: Operation
  readonly timeoutMs: number
  readonly ask: (signal: AbortSignal) => Promise<AuthorizationOutcome>
}

async function ask(
  { payment, operation, timeoutMs, ask }: Asking,
  engine: Engine,
): Promise<AuthorizationOutcome> {
  const amount = { value: operation.amount, currency: payment.amount.currency }
  const question = { operation: operation.type, reference: operation.xId, amount }
  const context = { question, timeoutMs, engine }
  const answer = await callProvider<AuthorizationOutcome>(
    {
      ask: (_, signal) => ask(signal),
      outcomeOf: () => unknown,
      withoutAnswer: { authorization: unknown },
    },
    context,
  )
  const captures = payment.captureMethod.type === 'AUTOMATIC'
  return verifyBoth(answer, captures ? operation.details.captureXId : undefined, context)
}
