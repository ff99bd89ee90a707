/**
 * Payment plans: permission to charge a customer again. Which payments begin a plan, when the next payment is due, and what
 * may be charged. Pure.
 */

import type { CustomerId, MerchantId, PayId, PlanId, StoredMethodId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import { dayOf, type Frequency, lastDueDay, nextDueDay } from '#domain/time/calendar.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import type { AccountInstrument, Payment, PaymentStatus } from '#lifecycle/payment.ts'

/** PAUSED: the merchant wants nothing charged for now. COMPLETED: its last day is over. SUSPENDED: it can no longer be charged, and was not ended by the merchant. */
export type PlanStatus = 'PENDING' | 'ACTIVE' | 'PAUSED' | 'SUSPENDED' | 'CANCELLED' | 'COMPLETED'

export type PlanType = 'RECURRING' | 'UNSCHEDULED'

/** What was agreed with the customer, as it was sent. */
export interface RecurringTerms {
  readonly frequency?: Frequency
  readonly startDate?: string
  readonly expiryDate?: string
  readonly useCase?: 'FIXED' | 'FLEXIBLE_AMOUNT' | 'FLEXIBLE_FREQUENCY'
  readonly autoCharge?: boolean
}

/** The type of the stored method; for an account also the data that the vault does not hold, such as the mandate. */
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
  /** The vault's key to the card that is charged. */
  readonly cardId?: string
  readonly schemeReferenceId?: string
  /** Where the plan was moved to another stored method: how it is charged since. */
  readonly charged?: ChargedMethod
  readonly nextPaymentDate?: string
  /** The day on which the merchant last asked for a charge at once, whether that day was charged before or not. */
  readonly askedOn?: string
  /** The automatic charge that is under way. */
  readonly chargingPayId?: PayId
  /** How often the payment of that date has been declined. */
  readonly tries: number
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly cancelledAt?: Date
  readonly cancellationReason?: string
  readonly version: number
}

/** The last payment of a plan and how many were approved, as its record shows them. */
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

/** Only the payment that the customer makes begins a plan; those made within it do not. */
export const beginsPlan = (details: Payment['details']): boolean =>
  credentialTerms(details)?.initialPayment === true

/** A later payment under an agreement that the merchant starts: so they say, or it is one of a series. */
export const isMerchantInitiated = ({ type, initialPayment, unscheduled }: CredentialTerms): boolean =>
  type === 'RECURRING' ? initialPayment === false : initialPayment !== true && unscheduled?.subType === 'MIT'

type Terms = Pick<Plan, 'recurring' | 'createdAt'>

/** Due days are counted from the agreed start; without one, from the day of the initial payment. */
const anchorOf = ({ recurring, createdAt }: Terms): string => recurring?.startDate ?? dayOf(createdAt)

/** The first due day after the given one that lies within the plan. None without a frequency. */
export function nextPaymentAfter(terms: Terms, day: string): string | undefined {
  const { frequency, expiryDate } = terms.recurring ?? {}
  if (frequency === undefined) return undefined
  const due = nextDueDay({ anchor: anchorOf(terms), frequency }, day)
  return due === undefined || (expiryDate !== undefined && due > expiryDate) ? undefined : due
}

/** The last day on which a plan with an end charges; its end itself where the days are not agreed. */
export function lastPaymentOf(terms: Terms): string | undefined {
  const { frequency, expiryDate, useCase } = terms.recurring ?? {}
  if (expiryDate === undefined || frequency === undefined || useCase === 'FLEXIBLE_FREQUENCY')
    return expiryDate
  return lastDueDay({ anchor: anchorOf(terms), frequency }, expiryDate)
}

/** A day counts to its end. */
export const isOver = ({ recurring }: Pick<Plan, 'recurring'>, day: string): boolean =>
  recurring?.expiryDate !== undefined && day > recurring.expiryDate

/** The amount that every payment must have. A zero-amount first payment, made to verify the card, sets none. */
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

/** An unscheduled payment: any active plan allows it until its last day. */
export const decideUnscheduled = (plan: Plan, day: string): Decision =>
  plan.status === 'ACTIVE' && !isOver(plan, day) ? accept : refuse('PLAN_NOT_ACTIVE')

/** Whether a cancellation changes anything. Undefined: the plan has completed and can no longer be cancelled. */
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
