/**
 * What a payment does to its plan, written in the payment's own commits: its first commit creates the plan, its
 * approval starts it, and the outcome of a charge advances it. Payments without a plan are unaffected.
 */
import { dayOf } from '#domain/calendar.ts'
import type { PayId, PlanId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { isApproval, namedCustomer } from '#lifecycle/customer.ts'
import type { PlanTurn } from '#lifecycle/details.ts'
import { approvingOperation, type Payment } from '#lifecycle/payment.ts'
import { beginsPlan, credentialTerms, nextPaymentAfter } from '#lifecycle/plan.ts'
import { isAutomatic, nextMoment, settleTurn, turnOf } from '#lifecycle/plan-turn.ts'
import { type TimerKey, timerAt } from '#operations/timer.ts'
import type { Change, Timer } from '#storage/commit/change.ts'

/** One timer per plan, under its initial payment. The table of timers has the plan's id where others have an xId. */
export const planTimer = (
  { merchantId, planId }: { merchantId: Payment['merchantId']; planId: PlanId },
  initialPayId: PayId,
): TimerKey => ({ merchantId, payId: initialPayId, xId: planId as string as XId, kind: 'PLAN' })

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

type Moved = Pick<Change, 'startPlan' | 'endTurn' | 'movePlan'> & { readonly timers: readonly Timer[] }

const unmoved: Moved = { timers: [] }

/** What the outcome that brought the payment from one state to the other means for its plan. */
export function movePlan(
  before: Payment,
  after: Payment,
  { merchant, now }: { readonly merchant: Merchant; readonly now: Date },
): Moved {
  const { planId } = after
  if (planId === undefined) return unmoved
  if (beginsPlan(after.details)) {
    return isApproval(before, after) ? startPlan({ ...after, planId }, merchant, now) : unmoved
  }
  const turn = turnOf(after)
  const failed = after.status === 'FAILED' && before.status !== 'FAILED'
  if (!turn || !(failed || isApproval(before, after))) return unmoved
  return endTurn({ ...after, planId }, turn, { merchant, now })
}

type PlannedPayment = Payment & { readonly planId: PlanId }

function startPlan(payment: PlannedPayment, merchant: Merchant, now: Date): Moved {
  const { merchantId, planId, payId, method, customerId, instrument, details, createdAt } = payment
  const recurring = credentialTerms(details)?.recurring
  const nextPaymentDate = nextPaymentAfter({ recurring, createdAt }, dayOf(now))
  // On a page the customer may have chosen a method that cannot be charged again: then there is nothing to start.
  const isRepeatable = method.operations.includes('recurring')
  const wakeAt = isRepeatable ? nextMoment({ recurring, nextPaymentDate, tries: 0 }) : undefined
  return {
    startPlan: {
      merchantId,
      planId,
      status: isRepeatable ? 'ACTIVE' : 'SUSPENDED',
      // The approved amount: a confirm may have asked for less than was first agreed.
      amount: { value: payment.sums.authorized, currency: payment.amount.currency },
      customerId,
      merchantCustomerId: customerId && namedCustomer(payment),
      cardId: instrument?.cardId,
      schemeReferenceId: instrument && approvingOperation(payment).provider?.schemeReferenceId,
      nextPaymentDate,
      now,
    },
    timers: wakeAt ? [timerAt(planTimer(payment, payId), wakeAt, merchant)] : [],
  }
}

function endTurn(
  payment: PlannedPayment,
  turn: PlanTurn,
  { merchant, now }: { readonly merchant: Merchant; readonly now: Date },
): Moved {
  const { merchantId, planId, payId } = payment
  if (!isAutomatic(turn)) {
    const paid = payment.status !== 'FAILED'
    return paid ? { movePlan: { merchantId, planId, nextPaymentDate: turn.next, now }, timers: [] } : unmoved
  }
  const { wakeAt, ...result } = settleTurn(payment, turn, now)
  return {
    endTurn: { merchantId, planId, payId, ...result, now },
    timers: wakeAt ? [timerAt(planTimer(payment, turn.initialPayId), wakeAt, merchant)] : [],
  }
}
