/**
 * Payment plans: the customer's permission to be charged again. Decides which payments begin a plan, when the next
 * payment is due and what may be charged.
 */

import type { CustomerId, MerchantId, PayId, PlanId, StoredMethodId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import { addDays, dayOf, type Frequency, lastDueDay, nextDueDay, startOfDay } from '#domain/time/calendar.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import type { AccountInstrument, Payment, PaymentStatus } from '#lifecycle/payment.ts'

/**
 * PAUSED: the merchant has stopped charges for now. COMPLETED: the plan's last day is over. SUSPENDED: charges failed
 * for good or can no longer be made; the merchant may resume the plan.
 */
export type PlanStatus = 'PENDING' | 'ACTIVE' | 'PAUSED' | 'SUSPENDED' | 'CANCELLED' | 'COMPLETED'

export type PlanType = 'RECURRING' | 'UNSCHEDULED'

/** The terms agreed with the customer, as the merchant sent them. */
export interface RecurringTerms {
  readonly frequency?: Frequency
  readonly startDate?: string
  readonly expiryDate?: string
  readonly useCase?: 'FIXED' | 'FLEXIBLE_AMOUNT' | 'FLEXIBLE_FREQUENCY'
  readonly autoCharge?: boolean
}

/** The type of the stored method and, for an account, the data that the vault does not hold, such as the mandate. */
export interface ChargedMethod {
  readonly type: string
  readonly account?: Omit<AccountInstrument, 'last4Digits' | 'accountHolderName' | 'pseudoAccountNumber'>
}

export interface Plan {
  readonly merchantId: MerchantId
  readonly planId: PlanId
  readonly initialPayId: PayId
  readonly type: PlanType
  readonly status: PlanStatus
  readonly amount: Money
  readonly recurring?: RecurringTerms
  readonly customerId?: CustomerId
  readonly merchantCustomerId?: string
  readonly methodId?: StoredMethodId
  /** The vault's id of the card that is charged. */
  readonly cardId?: string
  readonly schemeReferenceId?: string
  /** Set once the plan was moved to another stored method: that method. */
  readonly charged?: ChargedMethod
  /** The day of the initial payment. Absent before it, and in plans that an earlier release began. */
  readonly beganOn?: string
  readonly nextPaymentDate?: string
  /** The last due day that the merchant's own charges have paid. It may be still to come. */
  readonly paidUntil?: string
  /** The day on which the merchant last asked for a charge at once. That day may have been charged since. */
  readonly askedOn?: string
  /** The automatic charge that is under way. */
  readonly chargingPayId?: PayId
  /** How often the payment for `nextPaymentDate` has been declined. */
  readonly tries: number
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly cancelledAt?: Date
  readonly cancellationReason?: string
  readonly version: number
}

/** A plan's last payment and its number of approved payments, as the plan record shows them. */
export interface PlanHistory {
  readonly numberOfPayments: number
  readonly lastPayment?: {
    readonly payId: PayId
    readonly status: PaymentStatus
    readonly responseCode: string
    readonly createdAt: Date
  }
}

export interface CredentialTerms {
  readonly type: PlanType
  readonly initialPayment?: boolean
  readonly recurring?: RecurringTerms
  readonly unscheduled?: { readonly subType?: 'CIT' | 'MIT' }
}

export const credentialTerms = (details: Payment['details']): CredentialTerms | undefined =>
  details.credentialOnFile

/** Only the customer's initial payment begins a plan; later payments of the plan do not. */
export const beginsPlan = (details: Payment['details']): boolean =>
  credentialTerms(details)?.initialPayment === true

/**
 * When a payment ends that waits until this deadline: if it begins a plan, at the plan's end at the latest, because its
 * customer would pay for a plan that is over.
 */
export function untilPlanEnds(details: Payment['details'], deadline: Date): Date {
  const { expiryDate } = (beginsPlan(details) && credentialTerms(details)?.recurring) || {}
  const over = expiryDate === undefined ? undefined : startOfDay(addDays(expiryDate, 1))
  return over && over.getTime() < deadline.getTime() ? over : deadline
}

/** A later payment that the merchant initiates: one of a recurring series, or an unscheduled one marked as MIT. */
export const isMerchantInitiated = ({ type, initialPayment, unscheduled }: CredentialTerms): boolean =>
  type === 'RECURRING' ? initialPayment === false : initialPayment !== true && unscheduled?.subType === 'MIT'

type Terms = Pick<Plan, 'recurring' | 'beganOn' | 'createdAt'>

/**
 * Due days are counted from the agreed start date, or else from the day of the initial payment: a customer may pay weeks
 * after the merchant has made the payment link.
 */
const anchorOf = ({ recurring, beganOn, createdAt }: Terms): string =>
  recurring?.startDate ?? beganOn ?? dayOf(createdAt)

/** The first due day after the given day, undefined if it lies beyond the plan's end or the plan has no frequency. */
export function nextPaymentAfter(terms: Terms, day: string): string | undefined {
  const { frequency, expiryDate } = terms.recurring ?? {}
  if (frequency === undefined) return undefined
  const due = nextDueDay({ anchor: anchorOf(terms), frequency }, day)
  return due === undefined || (expiryDate !== undefined && due > expiryDate) ? undefined : due
}

/** The first due day after the given day that the merchant has not charged in advance. */
export const nextUnpaidAfter = (plan: Terms & Pick<Plan, 'paidUntil'>, day: string): string | undefined =>
  nextPaymentAfter(plan, laterDay(plan.paidUntil, day))

/** The later one of two days, of which the first may be missing. */
export const laterDay = (one: string | undefined, other: string): string =>
  one !== undefined && one > other ? one : other

/** The last day on which a plan with an end charges; the end itself if no due days are agreed. */
export function lastPaymentOf(terms: Terms): string | undefined {
  const { frequency, expiryDate, useCase } = terms.recurring ?? {}
  if (expiryDate === undefined || frequency === undefined || useCase === 'FLEXIBLE_FREQUENCY')
    return expiryDate
  return lastDueDay({ anchor: anchorOf(terms), frequency }, expiryDate)
}

/** A plan that has begun and not ended. */
export const isAlive = ({ status }: Pick<Plan, 'status'>): boolean =>
  status === 'ACTIVE' || status === 'PAUSED' || status === 'SUSPENDED'

/** The plan still covers the whole of its last day. */
export const isOver = ({ recurring }: Pick<Plan, 'recurring'>, day: string): boolean =>
  recurring?.expiryDate !== undefined && day > recurring.expiryDate

/**
 * The amount that every payment of a FIXED plan must have. An initial payment of 0, which verifies the card, fixes
 * none.
 */
export const fixedAmount = ({ recurring, amount }: Pick<Plan, 'recurring' | 'amount'>): Money | undefined =>
  recurring?.useCase === 'FIXED' && amount.value > 0 ? amount : undefined

/** Whether the plan may be charged that much on that day. */
export function decidePlanCharge(plan: Plan, amount: Money, day: string): Decision {
  const over = plan.status === 'COMPLETED' || (plan.status === 'ACTIVE' && isOver(plan, day))
  if (over) return refuse('OUTSIDE_PLAN_PERIOD')
  if (plan.status !== 'ACTIVE') return refuse('PLAN_NOT_ACTIVE')
  const { startDate } = plan.recurring ?? {}
  if (startDate !== undefined && day < startDate) return refuse('OUTSIDE_PLAN_PERIOD')
  const fixed = fixedAmount(plan)
  const differs = amount.currency !== plan.amount.currency || (fixed && amount.value !== fixed.value)
  return differs ? refuse('PLAN_AMOUNT_DIFFERS') : accept
}

/** Any active plan allows unscheduled payments until its last day. */
export const decideUnscheduled = (plan: Plan, day: string): Decision =>
  plan.status === 'ACTIVE' && !isOver(plan, day) ? accept : refuse('PLAN_NOT_ACTIVE')

/** Whether a cancellation changes the plan. Undefined: the plan is completed and can no longer be cancelled. */
export const isCancellable = ({ status }: Plan): boolean | undefined =>
  status === 'COMPLETED' ? undefined : status !== 'CANCELLED'

export function cancelPlan(
  plan: Plan,
  { reason, metadata }: { reason?: string; metadata?: Readonly<Record<string, unknown>> },
  now: Date,
): Plan {
  return {
    ...plan,
    status: 'CANCELLED',
    nextPaymentDate: undefined,
    cancelledAt: now,
    cancellationReason: reason,
    metadata: metadata ? { ...plan.metadata, ...metadata } : plan.metadata,
    updatedAt: now,
    version: plan.version + 1,
  }
}

export const endPlan = (plan: Plan, status: 'COMPLETED' | 'SUSPENDED', now: Date): Plan => ({
  ...plan,
  status,
  nextPaymentDate: undefined,
  updatedAt: now,
  version: plan.version + 1,
})
