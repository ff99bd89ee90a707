/** Changes, pauses and resumes plans: one commit each, guarded by the plan's version; a charge may follow a resume. */

import type { PlanId, StoredMethodId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { dayOf } from '#domain/time/calendar.ts'
import { isStoredCard } from '#lifecycle/customer.ts'
import { type Decision, refuse } from '#lifecycle/decision.ts'
import { fixedAmount, type Plan } from '#lifecycle/plans/plan.ts'
import {
  decidePatch,
  decidePause,
  decideResume,
  type PlanPatch,
  patchPlan,
  pausePlan,
  resumePlan,
} from '#lifecycle/plans/plan-change.ts'
import { findCurrencyMisfit, findStoredMethod } from '#methods/catalogue.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey, storeAnswer } from '#operations/key.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { runPlan } from '#operations/plans/charge-due-plan.ts'
import { hasInstrument } from '#operations/plans/charge-plan.ts'
import { planTimer, planTimers } from '#operations/plans/plan-book.ts'
import { refusePlan, toRecord } from '#operations/plans/plans.ts'
import { checkMetadata } from '#schemas/parts/metadata.ts'
import type { PlanMethod } from '#storage/commit/plan-change.ts'
import type { PlanEntry } from '#storage/plans/plans.ts'

export interface PlanRequest {
  readonly merchant: Merchant
  readonly planId: PlanId
  readonly key?: OperationKey
}

interface PlanStep {
  readonly decide: (plan: Plan, now: Date) => Decision | Promise<Decision>
  readonly change: (plan: PlanEntry, now: Date) => Plan | Promise<Plan>
  /** The stored method that the changed plan is moved to, if it is. */
  readonly methodOf?: (changed: Plan) => PlanMethod | undefined
}

/** 50: when many processes change one plan, each round lets at least one of them through. */
const maximumRounds = 50

/** Undefined: the merchant has no such plan. */
async function changePlan(
  request: PlanRequest,
  { decide, change, methodOf }: PlanStep,
  engine: Engine,
): Promise<{ readonly answer: OperationAnswer; readonly plan?: Plan } | undefined> {
  const { merchant, planId, key } = request
  for (let round = 0; round < maximumRounds; round += 1) {
    const plan = await engine.plans.find(merchant.merchantId, planId)
    if (!plan) return undefined
    const now = merchantNow(engine.clock, merchant)
    const decision = await decide(plan, now)
    if (!decision.accepted) {
      const isOver = decision.refusal === 'OUTSIDE_PLAN_PERIOD'
      const refused = refusePlan(merchant, isOver ? 'OUTSIDE_PLAN_PERIOD' : 'PLAN_NOT_ACTIVE')
      return { answer: await storeAnswer(refused, request, engine) }
    }
    const changed = { ...plan, ...(await change(plan, now)) }
    const answer = { status: 200, json: JSON.stringify(toRecord(changed)) }
    const committed = await engine.commit({
      changePlan: { plan: changed, expectedVersion: plan.version },
      holdMethod: methodOf?.(changed),
      ...planTimers(changed, merchant),
      key: keyRow(key, { merchant, answer, now }),
    })
    if (committed.committed) return { answer, plan: changed }
    // The stored method was deleted, or its card replaced: it is looked up again.
    if (committed.conflict !== 'plan_changed' && committed.conflict !== 'card_gone')
      throw new CommitRefused(committed.conflict)
  }
  throw new Error(`plan ${planId} was changed by others in each of ${maximumRounds} tries to write it`)
}

export interface PatchRequest extends PlanRequest {
  readonly patch: Omit<PlanPatch, 'moveTo'>
  readonly paymentMethodId?: StoredMethodId
}

export async function updatePlan(
  request: PatchRequest,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const done = await changePlan(
    request,
    {
      decide: decidePatch,
      async change(plan, now) {
        const moveTo = await findMethodToCharge(plan, request, engine)
        checkPatch(plan, request.patch, now)
        const patched = patchPlan(plan, { ...request.patch, moveTo }, now)
        const wrong = request.patch.metadata && checkMetadata(patched.metadata)
        if (wrong) throw new MethodMisfit({ field: 'metadata', error: wrong })
        return patched
      },
      methodOf: changed => (request.paymentMethodId === undefined ? undefined : methodOf(changed)),
    },
    engine,
  )
  return done?.answer
}

function methodOf({ merchantId, customerId, methodId, cardId, charged }: Plan): PlanMethod | undefined {
  const heldId = cardId ?? charged?.account?.accountId
  return customerId && methodId && heldId ? { merchantId, customerId, methodId, heldId } : undefined
}

function checkPatch(plan: Plan, { amount, expiryDate }: PatchRequest['patch'], now: Date): void {
  if (amount && !fixedAmount(plan))
    throw new MethodMisfit({
      field: 'amount',
      error: 'only a plan with a fixed amount (useCase FIXED) has one to change',
    })
  if (amount && amount.currency !== plan.amount.currency) {
    const error = `is ${amount.currency}; the plan is charged in ${plan.amount.currency}`
    throw new MethodMisfit({ field: 'amount.currency', error })
  }
  if (expiryDate !== undefined && expiryDate < dayOf(now)) {
    const error = `is ${expiryDate}; it must not lie before today, ${dayOf(now)}`
    throw new MethodMisfit({ field: 'recurring.expiryDate', error })
  }
  const { startDate } = plan.recurring ?? {}
  if (expiryDate !== undefined && startDate !== undefined && expiryDate < startDate) {
    const error = `is ${expiryDate}; it must not lie before startDate, ${startDate}`
    throw new MethodMisfit({ field: 'recurring.expiryDate', error })
  }
}

/** Finds another stored method of the plan's customer that can be charged without them being present. */
async function findMethodToCharge(
  plan: Plan,
  { paymentMethodId }: PatchRequest,
  engine: Engine,
): Promise<PlanPatch['moveTo']> {
  if (paymentMethodId === undefined) return undefined
  const { merchantId, customerId } = plan
  const stored = customerId && (await engine.storedMethods.findAny(merchantId, customerId, paymentMethodId))
  if (!stored) {
    const error = `is ${paymentMethodId}; it must be a stored payment method of the plan's customer`
    throw new MethodMisfit({ field: 'paymentMethodId', error })
  }
  const method = findStoredMethod(stored.type)
  const wrong = method ? findCurrencyMisfit(method, plan.amount.currency) : undefined
  if (!method?.operations.includes('recurring') || wrong) {
    const error = `is a ${stored.type}, which cannot be charged by this plan`
    throw new MethodMisfit({ field: 'paymentMethodId', error })
  }
  const { methodId, type } = stored
  if (!isStoredCard(stored)) {
    const { accountId } = stored
    const last = await engine.plans.findLastAccount(merchantId, stored)
    const { code, bankName, mandateId, dateOfSignature } = last ?? {}
    return { methodId, charged: { type, account: { accountId, code, bankName, mandateId, dateOfSignature } } }
  }
  const { cardId } = stored
  const schemeReferenceId = await engine.plans.findSchemeReference(merchantId, customerId, cardId)
  return { methodId, cardId, schemeReferenceId, charged: { type } }
}

export async function pause(request: PlanRequest, engine: Engine): Promise<OperationAnswer | undefined> {
  const step = { decide: decidePause, change: (plan: PlanEntry, now: Date) => pausePlan(plan, now) }
  return (await changePlan(request, step, engine))?.answer
}

export async function resume(
  request: PlanRequest & { readonly chargeNow: boolean },
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { chargeNow, merchant } = request
  const step = {
    async decide(plan: Plan, now: Date) {
      const decision = decideResume(plan, { chargeNow, now })
      if (!decision.accepted) return decision
      // Without its card or account an ACTIVE plan would refuse every charge as not active.
      const found = await engine.plans.findChargeable(merchant.merchantId, plan.planId)
      return found && hasInstrument(found) ? decision : refuse('PLAN_NOT_ACTIVE')
    },
    change(plan: PlanEntry, now: Date) {
      if (chargeNow && plan.amount.value === 0) {
        const error = 'is true; this plan began without an amount, so resume it and then charge one'
        throw new MethodMisfit({ field: 'chargeNow', error })
      }
      return resumePlan(plan, { chargeNow, now })
    },
  }
  const done = await changePlan(request, step, engine)
  if (done?.plan && chargeNow) await charge(done.plan, merchant, engine)
  return done?.answer
}

/**
 * Charges the resumed plan at once. If this process dies before that, the timer that was set with the resume charges
 * it.
 */
async function charge(plan: Plan, merchant: Merchant, engine: Engine): Promise<void> {
  const at = merchantNow(engine.clock, merchant)
  const timer = { ...planTimer(plan, plan.initialPayId), attempt: 0 }
  await runPlan({ timer, merchant, dueAt: at, at }, engine)
}
