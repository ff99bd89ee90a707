/** The members of a change that concern a payment plan, and their conversion to rows. */
import type { CustomerId, MerchantId, PayId, PlanId, StoredMethodId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Plan, PlanStatus } from '#lifecycle/plans/plan.ts'
import type { TurnResult } from '#lifecycle/plans/plan-turn.ts'
import type { Change } from '#storage/commit/change.ts'
import type { BatchRow } from '#storage/commit/columns.ts'
import type { planParts } from '#storage/commit/plan-parts.ts'

interface PlanKey {
  readonly merchantId: MerchantId
  readonly planId: PlanId
}

/** Creates the plan, in the first commit of the payment that begins it. */
export interface PlanBirth
  extends PlanKey,
    Pick<Plan, 'initialPayId' | 'type' | 'amount' | 'recurring' | 'metadata' | 'createdAt'> {}

export interface PlanStart extends PlanKey {
  readonly status: PlanStatus
  readonly amount: Money
  readonly customerId?: CustomerId
  readonly merchantCustomerId?: string
  readonly cardId?: string
  readonly schemeReferenceId?: string
  readonly beganOn: string
  readonly nextPaymentDate?: string
  readonly now: Date
}

export interface PlanGuard extends PlanKey {}

export interface PlanHold extends PlanKey {
  readonly expectedVersion: number
}

/** A stored method that a plan is moved to. */
export interface PlanMethod {
  readonly merchantId: MerchantId
  readonly customerId: CustomerId
  readonly methodId: StoredMethodId
  /** Its card or account. */
  readonly heldId: string
}

export interface PlanTurnStart extends PlanKey {
  readonly payId: PayId
  readonly expectedVersion: number
  readonly now: Date
}

/** The plan after an automatic charge. If the plan has ended in the meantime, only the end of the charge is written. */
export interface PlanResult extends PlanKey, Omit<TurnResult, 'wakeAt'> {
  readonly payId: PayId
  readonly now: Date
}

/** The next due day after an approved charge by the merchant. */
export interface PlanProgress extends PlanKey {
  readonly nextPaymentDate?: string
  readonly paidUntil?: string
  readonly now: Date
}

export interface PlanUpdate {
  readonly plan: Plan
  readonly expectedVersion: number
}

type Row<Part extends keyof typeof planParts> = BatchRow<(typeof planParts)[Part]['columns']>

const keyOf = ({ merchantId, planId }: PlanKey, c: number): Row<'planCharge'> => ({
  c,
  merchant_id: merchantId,
  plan_id: planId,
})

const fromBirth = (plan: PlanBirth, c: number): Row<'plan'> => ({
  ...keyOf(plan, c),
  initial_pay_id: plan.initialPayId,
  type: plan.type,
  currency: plan.amount.currency,
  amount: plan.amount.value,
  recurring: plan.recurring,
  metadata: plan.metadata,
  created_at: plan.createdAt,
})

const fromStart = (start: PlanStart, c: number): Row<'planStart'> => ({
  ...keyOf(start, c),
  status: start.status,
  currency: start.amount.currency,
  amount: start.amount.value,
  customer_id: start.customerId,
  merchant_customer_id: start.merchantCustomerId,
  card_id: start.cardId,
  scheme_reference_id: start.schemeReferenceId,
  began_on: start.beganOn,
  next_payment_date: start.nextPaymentDate,
  updated_at: start.now,
})

const fromMethod = (method: PlanMethod, c: number): Row<'planMethod'> => ({
  c,
  merchant_id: method.merchantId,
  customer_id: method.customerId,
  method_id: method.methodId,
  held_id: method.heldId,
})

const fromTurnStart = (turn: PlanTurnStart, c: number): Row<'planTurn'> => ({
  ...keyOf(turn, c),
  pay_id: turn.payId,
  expected_version: turn.expectedVersion,
  updated_at: turn.now,
})

const fromResult = (result: PlanResult, c: number): Row<'planResult'> => ({
  ...keyOf(result, c),
  pay_id: result.payId,
  status: result.status,
  next_payment_date: result.nextPaymentDate,
  tries: result.tries,
  updated_at: result.now,
})

const fromProgress = (progress: PlanProgress, c: number): Row<'planProgress'> => ({
  ...keyOf(progress, c),
  next_payment_date: progress.nextPaymentDate,
  paid_until: progress.paidUntil,
  updated_at: progress.now,
})

const fromUpdate = ({ plan, expectedVersion }: PlanUpdate, c: number): Row<'planUpdate'> => ({
  ...keyOf(plan, c),
  status: plan.status,
  cancelled_at: plan.cancelledAt,
  cancellation_reason: plan.cancellationReason,
  metadata: plan.metadata,
  updated_at: plan.updatedAt,
  version: plan.version,
  expected_version: expectedVersion,
})

const fromChange = ({ plan, expectedVersion }: PlanUpdate, c: number): Row<'planChange'> => ({
  ...keyOf(plan, c),
  status: plan.status,
  amount: plan.amount.value,
  recurring: plan.recurring,
  metadata: plan.metadata,
  card_id: plan.cardId,
  scheme_reference_id: plan.schemeReferenceId,
  charged_method: plan.charged?.type,
  charged_account: plan.charged?.account,
  next_payment_date: plan.nextPaymentDate,
  asked_on: plan.askedOn,
  paid_until: plan.paidUntil,
  tries: plan.tries,
  updated_at: plan.updatedAt,
  version: plan.version,
  expected_version: expectedVersion,
})

type PlanRows = { readonly [Part in keyof typeof planParts]: Row<Part>[] }

export function pushPlan(rows: PlanRows, change: Change, c: number): void {
  if (change.insertPlan) rows.plan.push(fromBirth(change.insertPlan, c))
  if (change.startPlan) rows.planStart.push(fromStart(change.startPlan, c))
  if (change.chargePlan) rows.planCharge.push(keyOf(change.chargePlan, c))
  if (change.beginTurn) rows.planTurn.push(fromTurnStart(change.beginTurn, c))
  if (change.endTurn) rows.planResult.push(fromResult(change.endTurn, c))
  if (change.movePlan) rows.planProgress.push(fromProgress(change.movePlan, c))
  if (change.holdPlan) {
    const { expectedVersion } = change.holdPlan
    rows.planHold.push({ ...keyOf(change.holdPlan, c), expected_version: expectedVersion })
  }
  if (change.holdMethod) rows.planMethod.push(fromMethod(change.holdMethod, c))
  if (change.changePlan) rows.planChange.push(fromChange(change.changePlan, c))
  if (change.updatePlan) rows.planUpdate.push(fromUpdate(change.updatePlan, c))
}
