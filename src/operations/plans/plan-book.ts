/**
 * The effects of a payment on its plan, written in the payment's own commits: the first commit creates the plan, the
 * approval starts it, and the outcome of a charge advances it. Payments without a plan are unaffected.
 */

import type { PayId, PlanId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { dayOf } from '#domain/time/calendar.ts'
import { isApproval, namedCustomer } from '#lifecycle/customer.ts'
import type { PlanTurn } from '#lifecycle/details.ts'
import { approvingOperation, type Payment, sentAt } from '#lifecycle/payment.ts'
import { beginsPlan, credentialTerms, nextPaymentAfter, type Plan } from '#lifecycle/plans/plan.ts'
import { isAutomatic, nextAfterManual, nextMoment, settleTurn, turnOf } from '#lifecycle/plans/plan-turn.ts'
import { type TimerKey, timerAt } from '#operations/timer.ts'
import type { Change, Timer } from '#storage/commit/change.ts'

/**
 * The key of a plan's only timer: its initial payment, and the plan's id in the column in which other timers have an
 * xId.
 */
export const planTimer = (
  { merchantId, planId }: { merchantId: Payment['merchantId']; planId: PlanId },
  initialPayId: PayId,
): TimerKey => ({ merchantId, payId: initialPayId, xId: planId as string as XId, kind: 'PLAN' })

/**
 * The timer of a plan for its next charge or its end; a plan that has ended or not begun has none. While a charge is
 * under way there is none either: settling the charge sets it.
 */
export function planTimers(plan: Plan, merchant: Merchant): Pick<Change, 'setTimers' | 'dropTimers'> {
  const timer = planTimer(plan, plan.initialPayId)
  const wakeAt = nextMoment(plan)
  return wakeAt ? { setTimers: [timerAt(timer, wakeAt, merchant)] } : { dropTimers: [timer] }
}

/** Creates the plan together with the payment by which the customer agrees to it. */
export function openPlan(payment: Payment): Pick<Change, 'insertPlan'> {
  const { merchantId, payId, planId, amount, details, createdAt } = payment
  const terms = credentialTerms(details)
  if (planId === undefined || !terms || !beginsPlan(details)) return {}
  const { metadata } = details
  const { type, recurring } = terms
  return {
    insertPlan: { merchantId, planId, initialPayId: payId, type, amount, recurring, metadata, createdAt },
  }
}

interface Moved {
  readonly change: Pick<Change, 'startPlan' | 'endTurn' | 'movePlan' | 'holdPlan'>
  readonly timers: readonly Timer[]
  /** This payment has suspended the plan. */
  readonly suspended?: boolean
}

const unmoved: Moved = { change: {}, timers: [] }

interface Moving {
  readonly merchant: Merchant
  readonly now: Date
  /** The current state of the plan, if the payment is a turn of one. */
  readonly plan: Plan | undefined
}

/** The effect on the plan of the outcome that changed the payment from `before` to `after`. */
export function movePlan(before: Payment, after: Payment, { merchant, now, plan }: Moving): Moved {
  const { planId } = after
  if (planId === undefined) return unmoved
  if (beginsPlan(after.details)) {
    return isApproval(before, after) ? startPlan(before, { ...after, planId }, { merchant, now }) : unmoved
  }
  const turn = turnOf(after)
  const failed = after.status === 'FAILED' && before.status !== 'FAILED'
  if (!turn || !plan || !(failed || isApproval(before, after))) return unmoved
  return endTurn(after, turn, { merchant, now, plan })
}

type PlannedPayment = Payment & { readonly planId: PlanId }

function startPlan(
  before: Payment,
  payment: PlannedPayment,
  { merchant, now }: Pick<Moving, 'merchant' | 'now'>,
): Moved {
  const { merchantId, planId, payId, method, customerId, instrument, details, createdAt } = payment
  const recurring = credentialTerms(details)?.recurring
  const beganOn = dayOf(sentAt(approvingOperation(payment)))
  // Days that became due while the provider had not answered are charged; those of a payment that had failed are not.
  const paidOn = before.status === 'FAILED' ? dayOf(now) : beganOn
  const nextPaymentDate = nextPaymentAfter({ recurring, beganOn, createdAt }, paidOn)
  // The customer may have chosen a method on our page that cannot be charged again; then the plan is suspended at once.
  const status = method.operations.includes('recurring') ? 'ACTIVE' : 'SUSPENDED'
  const moment = nextMoment({ status, recurring, nextPaymentDate, tries: 0 })
  const wakeAt = moment && new Date(Math.max(moment.getTime(), now.getTime()))
  const start = {
    merchantId,
    planId,
    status,
    // The approved amount: a confirm may have requested less than the payment.
    amount: { value: payment.sums.authorized, currency: payment.amount.currency },
    customerId,
    merchantCustomerId: customerId && namedCustomer(payment),
    cardId: instrument?.cardId,
    schemeReferenceId: instrument && approvingOperation(payment).provider?.schemeReferenceId,
    beganOn,
    nextPaymentDate,
    now,
  } as const
  const timers = wakeAt ? [timerAt(planTimer(payment, payId), wakeAt, merchant)] : []
  return { change: { startPlan: start }, timers }
}

/** Ends a turn. Guarded by the plan's version, because its terms and status decide what comes next. */
function endTurn(
  payment: Payment,
  turn: PlanTurn,
  { merchant, now, plan }: Moving & { readonly plan: Plan },
): Moved {
  const { merchantId, planId } = plan
  const { status, payId } = payment
  const holdPlan = { merchantId, planId, expectedVersion: plan.version }
  if (!isAutomatic(turn)) {
    if (status === 'FAILED') return unmoved
    const nextPaymentDate = nextAfterManual(plan, turn)
    const progress = { merchantId, planId, nextPaymentDate, paidUntil: turn.paid, now }
    return { change: { movePlan: progress, holdPlan }, timers: [] }
  }
  const { wakeAt, ...result } = settleTurn(payment, turn, { plan, now })
  return {
    change: { endTurn: { merchantId, planId, payId, ...result, now }, holdPlan },
    timers: wakeAt ? [timerAt(planTimer(plan, plan.initialPayId), wakeAt, merchant)] : [],
    suspended: plan.status === 'ACTIVE' && result.status === 'SUSPENDED',
  }
}
