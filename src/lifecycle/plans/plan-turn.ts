/**
 * One turn of a plan: the payment for one due day, with its retries after a decline. These rules decide when a turn
 * begins and how its outcome changes the plan. A turn with an unknown outcome blocks the next one.
 */
import { addDays, dayOf, startOfDay } from '#domain/time/calendar.ts'
import type { PlanTurn } from '#lifecycle/details.ts'
import { approvingOperation, type Payment } from '#lifecycle/payment.ts'
import {
  isAlive,
  isOver,
  laterDay,
  nextPaymentAfter,
  nextUnpaidAfter,
  type Plan,
  type PlanStatus,
} from '#lifecycle/plans/plan.ts'

/**
 * The days of the tries, counted from the due day: on the day, then after 1, 3 and 7 days, as the API contract says.
 */
export const tryDays = [0, 1, 3, 7] as const

/**
 * Soft declines may succeed a few days later: insufficient funds, exceeded limits, an issuer that cannot be reached.
 */
const softDeclines = /^2[0-9]{3}03(?:51|61|65|91|96)$/

export type AutomaticTurn = PlanTurn & Required<Pick<PlanTurn, 'automatic'>>

export const isAutomatic = (turn: PlanTurn): turn is AutomaticTurn => turn.automatic !== undefined

export const turnOf = ({ own }: Pick<Payment, 'own'>): PlanTurn | undefined => own.planTurn

type Schedule = Pick<Plan, 'status' | 'recurring' | 'nextPaymentDate' | 'askedOn' | 'tries'>

/**
 * A charge at once that the merchant asked for and that was not tried yet. The gateway makes it even without
 * autoCharge.
 */
const isAsked = ({ nextPaymentDate, askedOn, tries }: Schedule): boolean =>
  askedOn !== undefined && askedOn === nextPaymentDate && tries === 0

/**
 * When the gateway must act on a plan: at its next charge or its end, whichever comes first. A paused or suspended plan
 * is not charged, but ends on its day like an active one.
 */
export function nextMoment(schedule: Schedule): Date | undefined {
  const { status, recurring, nextPaymentDate, tries } = schedule
  if (!isAlive(schedule)) return undefined
  const end = recurring?.expiryDate === undefined ? undefined : startOfDay(addDays(recurring.expiryDate, 1))
  const isCharged = status === 'ACTIVE' && (recurring?.autoCharge || isAsked(schedule))
  if (nextPaymentDate === undefined || !isCharged) return end
  const charge = startOfDay(addDays(nextPaymentDate, tryDays[tries] ?? 0))
  return end && end.getTime() < charge.getTime() ? end : charge
}

/** What the gateway does with a plan when its timer fires. */
export type PlanMove =
  | { readonly kind: 'charge'; readonly turn: AutomaticTurn }
  | { readonly kind: 'complete' }
  | { readonly kind: 'wait'; readonly until: Date }
  | { readonly kind: 'rest' }

export function decideMove(plan: Plan, now: Date): PlanMove {
  const until = nextMoment(plan)
  // While a charge is under way, its settlement sets the next timer.
  if (!isAlive(plan) || plan.chargingPayId !== undefined) return { kind: 'rest' }
  if (isOver(plan, dayOf(now))) return { kind: 'complete' }
  const { nextPaymentDate } = plan
  if (!until) return { kind: 'rest' }
  if (until.getTime() > now.getTime() || nextPaymentDate === undefined) return { kind: 'wait', until }
  return { kind: 'charge', turn: automaticTurn(plan, nextPaymentDate) }
}

const automaticTurn = (plan: Plan, dueDate: string): AutomaticTurn => ({
  initialPayId: plan.initialPayId,
  next: nextPaymentAfter(plan, dueDate),
  expiryDate: plan.recurring?.expiryDate,
  automatic: { dueDate, tries: plan.tries, ...(plan.askedOn === dueDate ? { asked: true } : {}) },
})

/**
 * For plans that the merchant charges: one charge covers all days that are due by now, and an early charge covers the
 * next due day. For plans that the gateway charges, the merchant's own charges are additional and give undefined.
 */
export function manualTurn(plan: Plan, day: string): PlanTurn | undefined {
  const { recurring, nextPaymentDate } = plan
  if (recurring?.autoCharge || nextPaymentDate === undefined) return undefined
  const paid = laterDay(nextPaymentDate, day)
  return { initialPayId: plan.initialPayId, next: nextUnpaidAfter(plan, paid), paid }
}

/** The next due day after a charge by the merchant, according to the plan's current terms. */
export const nextAfterManual = (plan: Plan, { paid, next }: PlanTurn): string | undefined =>
  paid === undefined ? next : nextUnpaidAfter(plan, paid)

export interface TurnResult {
  readonly status: PlanStatus
  readonly nextPaymentDate?: string
  readonly tries: number
  /**
   * When the plan's timer fires next: now at the earliest. If several due days were missed, they are charged one by
   * one.
   */
  readonly wakeAt?: Date
}

/**
 * How a settled automatic payment changes the plan. While the payment was under way, the plan may have been cancelled
 * or paused, and then stays so, or paused and resumed with a later due day, which is then kept.
 */
export function settleTurn(
  payment: Payment,
  { automatic: { dueDate, tries } }: AutomaticTurn,
  { plan, now }: { readonly plan: Plan; readonly now: Date },
): TurnResult {
  const { status, nextPaymentDate } = plan
  if (status !== 'ACTIVE') return wake(plan, { status, nextPaymentDate, tries: plan.tries }, now)
  const isResumed = nextPaymentDate !== undefined && nextPaymentDate > dueDate
  if (payment.status !== 'FAILED') {
    const next = isResumed ? nextPaymentDate : nextUnpaidAfter(plan, dueDate)
    return wake(plan, { status, nextPaymentDate: next, tries: 0 }, now)
  }
  const again = isResumed
    ? { status, nextPaymentDate, tries: 0 }
    : { status, nextPaymentDate: dueDate, tries: tries + 1 }
  // If the merchant charges the plan, the one charge that they asked us to make is not retried.
  if (!plan.recurring?.autoCharge) return wake(plan, again, now)
  const isSoft = softDeclines.test(approvingOperation(payment).responseCode)
  if (!isSoft || tries + 1 >= tryDays.length) {
    return wake(plan, { status: 'SUSPENDED', nextPaymentDate: dueDate, tries: tries + 1 }, now)
  }
  return wake(plan, again, now)
}

/**
 * A failed charge turned out to be paid, and the money is kept: its due day is not charged again. A plan that was
 * suspended meanwhile stays so until the merchant resumes it, and may have no next due day until then. Undefined: the
 * plan counts this day already, or has ended.
 */
export function settleLate(plan: Plan, { automatic, paid }: PlanTurn, now: Date): Plan | undefined {
  const day = automatic?.dueDate ?? paid
  const { nextPaymentDate } = plan
  const paidUntil = paid === undefined ? plan.paidUntil : laterDay(plan.paidUntil, paid)
  const isCounted =
    nextPaymentDate === undefined ? paidUntil === plan.paidUntil : nextPaymentDate > (day ?? '')
  if (day === undefined || isCounted || !isAlive(plan)) return undefined
  return {
    ...plan,
    nextPaymentDate: nextPaymentDate && nextUnpaidAfter(plan, day),
    paidUntil,
    tries: 0,
    updatedAt: now,
    version: plan.version + 1,
  }
}

function wake({ recurring, askedOn }: Plan, progress: Omit<TurnResult, 'wakeAt'>, now: Date): TurnResult {
  const moment = nextMoment({ recurring, askedOn, ...progress })
  const wakeAt = moment && new Date(Math.max(moment.getTime(), now.getTime()))
  return { ...progress, wakeAt }
}
