/**
 * Handles an approval that arrives after the payment has ended: the money is given back automatically, or kept if the
 * merchant has chosen that.
 */
import type { Merchant } from '#domain/merchant.ts'
import { paidLateSubjects } from '#lifecycle/event.ts'
import {
  approveLate,
  findDeadEnd,
  giveBackTime,
  type LateRest,
  lateRest,
  nextGiveBack,
  paidLateOperation,
} from '#lifecycle/late-truth.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { isClosedLate, isUnanswered, type Operation, type Payment } from '#lifecycle/payment.ts'
import { beginsPlan, type Plan } from '#lifecycle/plans/plan.ts'
import { settleLate, turnOf } from '#lifecycle/plans/plan-turn.ts'
import { joinCustomer, type KnownCustomer } from '#operations/customers/customer-book.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvents } from '#operations/events/emit-event.ts'
import { refund, reverse } from '#operations/payments/follow-up-kinds.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { providerOf } from '#operations/payments/provider-calls/choose-account.ts'
import {
  findTurnsPlan,
  inquiryTimer,
  whilePlanChanges,
} from '#operations/payments/provider-calls/record-outcome.ts'
import { movePlan, planTimers } from '#operations/plans/plan-book.ts'
import { approvalTimers, type DueTimer, timerAt } from '#operations/timer.ts'
import type { Change, Timer } from '#storage/commit/change.ts'

export interface LatePayment {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly operation: Operation
  readonly outcome: Outcome
  readonly capture?: Outcome
  /** Record the approval only if the money can be kept; otherwise it goes back without an operation of the payment. */
  readonly onlyToKeep?: boolean
}

/**
 * Records the approval, then gives the money back. After a crash in between, the notice is applied again and completes
 * it.
 */
export async function acceptLate(late: LatePayment, engine: Engine): Promise<'applied' | 'repeated'> {
  const { merchant, payment } = late
  const isAccepted = await recordLateApproval(late, engine)
  const isGivenBack = await giveBackLate(merchant, payment, engine)
  return isAccepted || isGivenBack ? 'applied' : 'repeated'
}

/** Records the approval without giving the money back. Returns false if it was recorded before. */
export function recordLateApproval(late: LatePayment, engine: Engine): Promise<boolean> {
  return whilePlanChanges(async () => {
    // Read the plan before checking the due day: a charge that begins after the check changes the plan's version.
    const plan = await findTurnsPlan(late.payment, engine)
    const isReplaced = plan !== undefined && (await isDayTaken(late, plan, engine))
    if (isReplaced) return writeReplaced(late, plan, engine)
    try {
      return await writeApproval(late, { plan, isReplaced }, engine)
    } catch (error) {
      if (!(error instanceof CommitRefused) || error.conflict !== 'trans_id_taken') throw error
      return writeReplaced(late, plan, engine)
    }
  })
}

/** For a payment whose transId or due day another payment has taken. */
const writeReplaced = async (late: LatePayment, plan: Plan | undefined, engine: Engine): Promise<boolean> =>
  !late.onlyToKeep && writeApproval(late, { plan, isReplaced: true }, engine)

/** Whether a retry has paid the due day of this charge, or is under way: the customer owes it once. */
async function isDayTaken(
  { merchant, payment }: LatePayment,
  { merchantId, planId }: Plan,
  { plans }: Engine,
): Promise<boolean> {
  const { dueDate, asked } = turnOf(payment)?.automatic ?? {}
  const isKept = merchant.paidLate === 'keep' && dueDate !== undefined && !asked
  return isKept && plans.isDayTaken(merchantId, planId, dueDate, payment.payId)
}

async function writeApproval(
  late: LatePayment,
  { plan, isReplaced }: { readonly plan: Plan | undefined; readonly isReplaced: boolean },
  engine: Engine,
): Promise<boolean> {
  const { merchant, payment, operation } = late
  const { merchantId, payId } = payment
  const accountId = operation.prepared.account ?? payment.provider?.account
  const account = await engine.providers.open(merchantId, accountId)
  const connector = account?.connector
  const provider = account && providerOf(account)
  const isKept = merchant.paidLate === 'keep' && !isReplaced
  const ended = isKept ? {} : await endPlanOf(payment, engine)
  const write = (knownCustomer?: KnownCustomer) =>
    engine.queue.update({ merchantId, payId }, stored => {
      const now = merchantNow(engine.clock, merchant)
      const { xId } = operation
      const { outcome, capture } = late
      const next = approveLate(stored, { xId, outcome, capture, isReplaced, isKept, provider, now })
      if (!next) return { result: false }
      const joined = joinCustomer(stored, next, knownCustomer, now)
      const moved = isKept ? movePlanOf(stored, joined.payment, { merchant, now, plan }) : unmoved
      const emissions = paidLateSubjects(next, xId, now).map(subject => ({ subject, owed: true }))
      const emitted = emitEvents(joined.payment, { emissions, now }, engine)
      const setTimers = [
        ...(moved.setTimers ?? []),
        ...lateTimers(next, merchant, now),
        ...approvalTimers(stored, next, merchant),
        // Nothing is given back until inquiries have found the outcome of the capture.
        ...next.operations
          .filter(one => isUnanswered(one) && !stored.operations.includes(one))
          .flatMap(one => inquiryTimer(next, one, { merchant, attempt: 0, connector }) ?? []),
      ]
      return {
        next: emitted.payment,
        alongside: {
          ...emitted.alongside,
          ...joined.alongside,
          ...moved,
          ...ended,
          ...(setTimers.length > 0 ? { setTimers } : {}),
        },
        result: true,
      }
    })
  const written = isKept ? engine.customerBook.resolveCustomer(payment, write) : write()
  return (await written) === true
}

const unmoved: Change = {}

/** Kept money activates the plan that the payment begins, or pays the due day of the plan's charge. */
function movePlanOf(
  before: Payment,
  after: Payment,
  at: { readonly merchant: Merchant; readonly now: Date; readonly plan: Plan | undefined },
): Change {
  if (beginsPlan(after.details)) {
    const { change, timers } = movePlan(before, after, at)
    return { ...change, setTimers: timers }
  }
  const { merchant, now, plan } = at
  const turn = turnOf(after)
  const settled = plan && turn && settleLate(plan, turn, now)
  if (!settled) return unmoved
  return {
    changePlan: { plan: settled, expectedVersion: plan.version },
    ...planTimers(settled, merchant),
  }
}

/**
 * A plan whose initial payment failed is read as cancelled. A payment whose money is being given back is no longer
 * failed, so the plan's row must say CANCELLED from now on.
 */
async function endPlanOf(
  { merchantId, planId, details }: Payment,
  engine: Engine,
): Promise<Pick<Change, 'updatePlan'>> {
  const plan = planId && beginsPlan(details) ? await engine.plans.find(merchantId, planId) : undefined
  if (plan?.status !== 'CANCELLED') return {}
  return { updatePlan: { plan: { ...plan, version: plan.version + 1 }, expectedVersion: plan.version } }
}

/** What is left to give back. Nothing if the merchant keeps the money, unless another payment has replaced this one. */
const unkeptRest = (merchant: Merchant, payment: Payment): LateRest | 'under way' | undefined =>
  merchant.paidLate === 'keep' && !isClosedLate(payment) ? undefined : lateRest(payment)

/** Gives the rest back by a refund or reversal. Returns whether there was something to give back. */
export async function giveBackLate(
  merchant: Merchant,
  { merchantId, payId }: Pick<Payment, 'merchantId' | 'payId'>,
  engine: Engine,
  at?: Date,
): Promise<boolean> {
  const payment = await engine.payments.byPayId(merchantId, payId)
  const rest = payment && unkeptRest(merchant, payment)
  if (!rest || rest === 'under way' || findDeadEnd(payment)) return false
  // Decided again on the stored payment, because the merchant may be giving back a part of it at the same moment.
  const command = (stored: Payment) => {
    const left = unkeptRest(merchant, stored)
    if (!left || left === 'under way' || left.refunds !== rest.refunds) return undefined
    const { transId, refNr, amount } = stored
    const { value, capture } = left
    return { transId, refNr, amount: { value, currency: amount.currency }, capture, details: {} }
  }
  const request = { merchant, payId, command, at, unattended: true }
  return (await (rest.refunds ? refund(request, engine) : reverse(request, engine))) !== undefined
}

/**
 * The timer that tries again if the money is not given back at once: a provider refuses, or another refund is under
 * way.
 */
export function lateTimers(payment: Payment, merchant: Merchant, now: Date): readonly Timer[] {
  const { merchantId, payId } = payment
  const late = paidLateOperation(payment)
  const time = giveBackTime(now, 0)
  if (!late || !time || !unkeptRest(merchant, payment)) return []
  return [timerAt({ merchantId, payId, xId: late.xId, kind: 'GIVE_BACK' }, time, merchant)]
}

/**
 * Tries once more to give the money back. The timer is set again as long as something is left, tries remain, and the
 * customer's card or account may still accept it.
 */
export async function giveBackDue({ timer, merchant, at }: DueTimer, engine: Engine): Promise<void> {
  const { attempt, ...key } = timer
  const mayTry = giveBackTime(at, attempt) !== undefined
  const isTried = mayTry && (await giveBackLate(merchant, key, engine, at))
  const tries = isTried ? attempt + 1 : attempt
  const givenUp = await engine.queue.update(key, payment => {
    const rest = unkeptRest(merchant, payment)
    const deadEnd = rest && findDeadEnd(payment)
    const time = deadEnd ? undefined : nextGiveBack(rest, { now: at, tries, isTried })
    return time
      ? { alongside: { setTimers: [timerAt(key, time, merchant, tries)] }, result: undefined }
      : { alongside: { dropTimers: [key] }, result: rest && { reason: deadEnd?.provider?.responseCode } }
  })
  if (!givenUp) return
  const message =
    givenUp.reason === undefined
      ? 'money that was paid too late could not be given back; refund it at the provider'
      : `money that was paid too late cannot be given back to where it came from (${givenUp.reason}); pay it in another way`
  engine.onAlarm({ code: 'NOT_GIVEN_BACK', message, payId: key.payId, xId: key.xId })
}
