/**
 * The second commit of every operation: it turns the provider's outcome into sums, status, the answer under the
 * idempotency key, timers, and an event if no request waits for the answer. Used by requests and workers alike.
 */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { alwaysHasEvent, resultSubjects } from '#lifecycle/event.ts'
import { inquiryTime } from '#lifecycle/inquiry.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import {
  findOperation,
  isUnanswered,
  isUndecided,
  type Operation,
  type Payment,
  sentAt,
} from '#lifecycle/payment.ts'
import type { Plan } from '#lifecycle/plans/plan.ts'
import { turnOf } from '#lifecycle/plans/plan-turn.ts'
import { settle, settleAutomaticCapture } from '#lifecycle/settle.ts'
import { batchTimers, waitsForFile } from '#operations/bank/batch-timers.ts'
import { joinCustomer, type KnownCustomer } from '#operations/customers/customer-book.ts'
import { type Engine, effectTime } from '#operations/engine.ts'
import { type Emission, emitEvents } from '#operations/events/emit-event.ts'
import { isDatabaseLost } from '#operations/lost-database.ts'
import { answerOperation, type OperationAnswer } from '#operations/payments/answer.ts'
import { returnTimers } from '#operations/payments/notices/debit-return.ts'
import { CommitRefused, type Step } from '#operations/payments/payment-queue.ts'
import { releaseFailedPayout } from '#operations/payments/try-limits.ts'
import { triedBy } from '#operations/payments/velocity.ts'
import { movePlan } from '#operations/plans/plan-book.ts'
import { approvalTimers, expiryTimer, type TimerKey, timerAt } from '#operations/timer.ts'
import type { Change, Timer } from '#storage/commit/change.ts'

export interface OutcomeRecord {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly xId: XId
  readonly outcome: AuthorizationOutcome | Outcome
  /** The merchant's time for which the timer behind it was set; now unless given. */
  readonly at?: Date
  /** The number of the inquiry that found this outcome; undefined if it is the answer to the first call. */
  readonly inquiry?: number
  /** No request waits for the answer: the merchant gets an event. */
  readonly unattended?: boolean
}

export interface Recorded {
  readonly answer: OperationAnswer
  /** False if another source has decided the operation: the first outcome counts, and this one was not written. */
  readonly isFirst: boolean
  /** As it is stored now. */
  readonly payment: Payment
}

/** Writes the outcome and returns the answer to the request, also if another outcome was written before. */
export async function recordOutcome(record: OutcomeRecord, engine: Engine): Promise<OperationAnswer> {
  return (await recordIfFirst(record, engine)).answer
}

/**
 * Writes the outcome. If the database is unavailable, the caller gets the error and answers 503, and the outcome is
 * kept in memory until the database is back: a provider's answer must not be lost.
 */
export async function recordIfFirst(record: OutcomeRecord, engine: Engine): Promise<Recorded> {
  try {
    return await writeOutcome(record, engine)
  } catch (error) {
    if (isDatabaseLost(error)) void writeLater(record, engine)
    throw error
  }
}

/** 150 tries, two seconds apart: at least five minutes. After that an inquiry finds the outcome. */
const laterTries = 150
const laterPauseMs = 2_000

async function writeLater(record: OutcomeRecord, engine: Engine): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await engine.clock.waitMs(laterPauseMs)
    try {
      // The request was answered 503, so the merchant learns the outcome from an event.
      await writeOutcome({ ...record, unattended: true }, engine)
      return
    } catch (error) {
      const isLost = isDatabaseLost(error)
      if (isLost && tries < laterTries) continue
      const when = isLost ? 'while the database was away' : 'after the database came back'
      const message = `the outcome of an operation could not be written ${when}; an inquiry will find it out`
      const { payId } = record.payment
      engine.onAlarm({ code: 'OUTCOME_NOT_WRITTEN', message, payId, xId: record.xId, error })
      return
    }
  }
}

async function writeOutcome(record: OutcomeRecord, engine: Engine): Promise<Recorded> {
  const { merchant, payment, xId } = record
  const target = { merchantId: payment.merchantId, payId: payment.payId, known: payment }
  const account = await engine.providers.open(payment.merchantId, payment.provider?.account)
  const connector = account?.connector
  const recorded = await whilePlanChanges(() =>
    engine.customerBook.resolveCustomer(payment, knownCustomer =>
      engine.queue.update(target, async stored => {
        const plan = await findTurnsPlan(stored, engine)
        return toStep(stored, { ...record, knownCustomer, connector, plan }, engine)
      }),
    ),
  )
  if (!recorded)
    throw new Error(
      `payment ${payment.payId} of ${merchant.merchantId} is gone, although operation ${xId} was under way`,
    )
  if (recorded.isFirst) {
    await countDecline(record, engine)
    await releaseFailedPayout(merchant, recorded.payment, engine)
  }
  return recorded
}

/** The current state of the plan, if the payment is a turn of it. */
export async function findTurnsPlan(payment: Payment, { plans }: Engine): Promise<Plan | undefined> {
  const { merchantId, planId } = payment
  return planId && turnOf(payment) ? (await plans.findChargeable(merchantId, planId))?.plan : undefined
}

/** 50: when many processes change one plan, each round lets at least one of them through. */
const maximumRounds = 50

/** Repeats a write as long as the plan was changed between reading and writing it. */
export async function whilePlanChanges<T>(write: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await write()
    } catch (error) {
      const isChanged = error instanceof CommitRefused && error.conflict === 'plan_changed'
      if (!isChanged || round === maximumRounds) throw error
    }
  }
}

/** Counts a decline for the velocity limits. Never throws, because the outcome is already stored. */
async function countDecline(
  { merchant, payment, xId, outcome, at }: OutcomeRecord,
  engine: Engine,
): Promise<void> {
  const decision = 'kind' in outcome ? outcome : outcome.authorization
  // A provider that refuses our credentials has not asked the issuer about the card.
  if (decision.kind !== 'declined' || decision.pageEnded || decision.callRefused) return
  const type = findOperation(payment, xId)?.type
  if (type !== 'AUTHORIZATION' && type !== 'CONFIRM') return
  const now = effectTime(engine, merchant, at)
  try {
    await engine.velocity.countDecline(merchant, triedBy(payment), now)
  } catch (error) {
    const message = "a decline could not be counted towards the merchant's limits"
    engine.onAlarm({ code: 'DECLINE_NOT_COUNTED', message, payId: payment.payId, xId, error })
  }
}

interface KnownRecord extends OutcomeRecord {
  readonly knownCustomer: KnownCustomer | undefined
  readonly connector: Connector | undefined
  readonly plan: Plan | undefined
}

function toStep(stored: Payment, record: KnownRecord, engine: Engine): Step<Recorded> {
  const { merchant, xId, inquiry, unattended } = record
  const before = findOperation(stored, xId)
  // Another request, here or in another process, has recorded an outcome: the first one counts.
  if (!before || !isUndecided(before))
    return { result: { answer: answerOperation(stored, xId), isFirst: false, payment: stored } }
  const now = effectTime(engine, merchant, record.at)
  const settled = settleAll(stored, xId, record.outcome, now)
  const changed = settled.operations.filter(operation => !stored.operations.includes(operation))
  // An inquiry that found nothing new is still repeated.
  const touched = changed.length === 0 && inquiry !== undefined ? [before] : changed
  const decided = changed.some(operation => !isUnanswered(operation))
  const joined = joinCustomer(stored, settled, record.knownCustomer, now)
  const { timers, change, suspended } = movePlan(stored, joined.payment, { merchant, now, plan: record.plan })
  const owed = inquiry !== undefined || unattended === true || alwaysHasEvent(stored, before)
  const emissions =
    decided && isFinal(settled) ? emissionsOf(joined.payment, { xId, owed, now, suspended }) : []
  const emitted = emitEvents(joined.payment, { emissions, now }, engine)
  const answer = answerOperation(emitted.payment, xId, pageFor(emitted.payment, before, record, engine))
  return {
    ...(changed.length > 0 ? { next: emitted.payment } : {}),
    alongside: {
      ...emitted.alongside,
      ...joined.alongside,
      ...change,
      ...withTimers(timerWrites(stored, settled, touched, { ...record, timers }), [
        ...returnTimers({ payment: settled, touched, merchant }, record.connector),
        ...batchTimers({ before: stored, payment: settled, touched, merchant }, record.connector),
      ]),
      // A retry of the request gets the answer that the first request would have got.
      ...(before.key && before.state === 'SENT'
        ? { keyAnswer: { merchantId: stored.merchantId, ...before.key, answer } }
        : {}),
    },
    result: { answer, isFirst: true, payment: emitted.payment },
  }
}

/** The events about the result, and about the payment's plan if the result suspends it. */
function emissionsOf(
  payment: Payment,
  { xId, owed, now, suspended }: { xId: XId; owed: boolean; now: Date; suspended: boolean | undefined },
): readonly Emission[] {
  const subjects = resultSubjects(payment, xId, now)
  return [
    ...subjects.map(subject => ({ subject, owed })),
    ...(suspended
      ? subjects
          .slice(0, 1)
          .map(subject => ({ subject: { ...subject, type: 'plan.suspended' as const }, owed }))
      : []),
  ]
}

/** The customer's page, for an answer that a request waits for or may ask for again by its key. */
function pageFor(
  payment: Payment,
  { key }: Operation,
  { unattended, inquiry }: OutcomeRecord,
  { pageAddress }: Engine,
): string | undefined {
  const isAnswered = key !== undefined || (unattended !== true && inquiry === undefined)
  const waits = payment.status === 'AUTHORIZE_REQUEST' && payment.awaits === 'CUSTOMER'
  return isAnswered && waits ? pageAddress(payment) : undefined
}

/** Whether the provider gets inquiries about a customer who may not come back from its page. */
const isAskedFor = ({ provider }: Payment, operation: Operation, connector: Connector | undefined): boolean =>
  provider !== undefined && connector?.inquire !== undefined && isUndecided(operation)

/** A try that failed on a page is not the result yet: the customer may try again. */
const isFinal = ({ status }: Payment): boolean => status !== 'AUTHORIZE_REQUEST'

function settleAll(payment: Payment, xId: XId, outcome: AuthorizationOutcome | Outcome, now: Date): Payment {
  if ('kind' in outcome) return settle(payment, xId, outcome, now)
  const authorized = settle(payment, xId, outcome.authorization, now)
  return outcome.capture && authorized.status === 'AUTHORIZED'
    ? settleAutomaticCapture(authorized, xId, outcome.capture, now)
    : authorized
}

const withTimers = (writes: Pick<Change, 'setTimers' | 'dropTimers'>, more: readonly Timer[]) =>
  more.length > 0 ? { ...writes, setTimers: [...(writes.setTimers ?? []), ...more] } : writes

/** The timer of the next inquiry about an undecided operation; undefined if there is none, or no further one. */
export function inquiryTimer(
  { merchantId, payId, method }: Payment,
  operation: Operation,
  asking: {
    readonly merchant: Merchant
    readonly attempt: number
    readonly connector: Connector | undefined
  },
): Timer | undefined {
  const { merchant, attempt, connector } = asking
  if (waitsForFile(operation, connector)) return undefined
  const time = inquiryTime(sentAt(operation), attempt, connector?.facts.pendingMs(method, operation.type))
  const { xId } = operation
  return time && timerAt({ merchantId, payId, xId, kind: 'INQUIRY' }, time, merchant, attempt)
}

/** Undecided operations get their next inquiry; an approval gets the timers of its delayed capture and its lapse. */
function timerWrites(
  before: Payment,
  after: Payment,
  touched: readonly Operation[],
  { merchant, inquiry, timers, connector }: KnownRecord & { readonly timers: readonly Timer[] },
): Pick<Change, 'setTimers' | 'dropTimers'> {
  const setTimers: Timer[] = [...timers]
  const dropTimers: TimerKey[] = []
  for (const operation of touched) {
    const attempt = inquiry === undefined ? 0 : inquiry + 1
    const isOpen = isUnanswered(operation) || isAskedFor(after, operation, connector)
    const timer = isOpen ? inquiryTimer(after, operation, { merchant, attempt, connector }) : undefined
    const { merchantId, payId } = after
    if (timer) setTimers.push(timer)
    // Drop a timer that was set while the customer was on the provider's page.
    else if (inquiry !== undefined || after.provider !== undefined)
      dropTimers.push({ merchantId, payId, xId: operation.xId, kind: 'INQUIRY' })
  }
  // The customer has to act again, and the expiry timer may have fired while the provider decided.
  if (after.status === 'AUTHORIZE_REQUEST' && before.status !== 'AUTHORIZE_REQUEST')
    setTimers.push(...expiryTimer(after, merchant))
  setTimers.push(...approvalTimers(before, after, merchant))
  return { ...(setTimers.length > 0 ? { setTimers } : {}), ...(dropTimers.length > 0 ? { dropTimers } : {}) }
}
