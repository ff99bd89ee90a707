/** Changing, pausing and resuming a payment plan. Due days that passed during a pause are never charged. */
import type { Money } from '#domain/money/money.ts'
import { dayOf } from '#domain/time/calendar.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type ChargedMethod, isAlive, isOver, nextUnpaidAfter, type Plan } from '#lifecycle/plans/plan.ts'

export interface PlanPatch {
  readonly amount?: Money
  readonly expiryDate?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The method to charge from now on: a card with the scheme's reference to the agreement, or an account. */
  readonly moveTo?: Pick<Plan, 'methodId' | 'cardId' | 'schemeReferenceId'> & {
    readonly charged: ChargedMethod
  }
}

export const decidePatch = (plan: Plan): Decision => (isAlive(plan) ? accept : refuse('PLAN_NOT_ACTIVE'))

export function patchPlan(plan: Plan, patch: PlanPatch, now: Date): Plan {
  const { amount, expiryDate, metadata, moveTo } = patch
  const recurring = expiryDate === undefined ? plan.recurring : { ...plan.recurring, expiryDate }
  const changed: Plan = {
    ...plan,
    amount: amount ?? plan.amount,
    recurring,
    metadata: metadata ? { ...plan.metadata, ...metadata } : plan.metadata,
    // The new method may be a card where the old one was an account, so members that the new one lacks are cleared.
    ...(moveTo && {
      methodId: moveTo.methodId,
      cardId: moveTo.cardId,
      schemeReferenceId: moveTo.schemeReferenceId,
      charged: moveTo.charged,
    }),
    updatedAt: now,
    version: plan.version + 1,
  }
  return expiryDate === undefined ? changed : { ...changed, nextPaymentDate: nextDueDay(changed, now) }
}

/** Keeps the next due day unless the plan now ends before it. A plan without one gets the first unpaid due day after today. */
function nextDueDay(plan: Plan, now: Date): string | undefined {
  const { nextPaymentDate, recurring } = plan
  if (nextPaymentDate === undefined) return nextUnpaidAfter(plan, dayOf(now))
  return recurring?.expiryDate !== undefined && nextPaymentDate > recurring.expiryDate
    ? undefined
    : nextPaymentDate
}

/** Pausing a paused plan is accepted and changes nothing. */
export const decidePause = ({ status }: Plan): Decision =>
  status === 'ACTIVE' || status === 'PAUSED' ? accept : refuse('PLAN_NOT_ACTIVE')

export const pausePlan = (plan: Plan, now: Date): Plan => ({
  ...plan,
  status: 'PAUSED',
  updatedAt: now,
  version: plan.version + 1,
})

/** A charge at once is refused before the start date that the customer has agreed to. */
export function decideResume(
  plan: Plan,
  { chargeNow, now }: { readonly chargeNow: boolean; readonly now: Date },
): Decision {
  if (plan.status !== 'PAUSED' && plan.status !== 'SUSPENDED') return refuse('PLAN_NOT_ACTIVE')
  const today = dayOf(now)
  const { startDate } = plan.recurring ?? {}
  const isEarly = chargeNow && startDate !== undefined && today < startDate
  return isEarly || isOver(plan, today) ? refuse('OUTSIDE_PLAN_PERIOD') : accept
}

export function resumePlan(plan: Plan, { chargeNow, now }: { chargeNow: boolean; now: Date }): Plan {
  const today = dayOf(now)
  return {
    ...plan,
    status: 'ACTIVE',
    nextPaymentDate: chargeNow ? today : nextUnpaidAfter(plan, today),
    askedOn: chargeNow ? today : plan.askedOn,
    tries: 0,
    updatedAt: now,
    version: plan.version + 1,
  }
}
