/** Reads and cancels payment plans, in the form of the contract. */
import type { CustomerId, PlanId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { describe, refusalCodes } from '#domain/response-codes.ts'
import { cancelPlan as cancel, isCancellable } from '#lifecycle/plans/plan.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey, storeAnswer } from '#operations/key.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { cancelPayment } from '#operations/payments/cancel.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { planTimer } from '#operations/plans/plan-book.ts'
import { commitWithPlanEvent } from '#operations/plans/plan-event.ts'
import { pageSize } from '#schemas/customer.ts'
import { checkMetadata } from '#schemas/parts/metadata.ts'
import type { Page, PlanPayment } from '#storage/plans/plan-payments.ts'
import type { PlanConditions, PlanEntry, PlanReader } from '#storage/plans/plans.ts'

export const toRecord = (plan: PlanEntry) => ({
  paymentPlanId: plan.planId,
  merchantId: plan.merchantId,
  gatewayCustomerId: plan.customerId,
  merchantCustomerId: plan.merchantCustomerId,
  paymentMethodId: plan.methodId,
  type: plan.type,
  status: plan.status,
  amount: plan.amount,
  recurring: plan.recurring,
  initialPayId: plan.initialPayId,
  schemeReferenceId: plan.schemeReferenceId,
  numberOfPayments: plan.numberOfPayments,
  // A plan that is not active has no next payment date.
  nextPaymentDate: plan.status === 'ACTIVE' ? plan.nextPaymentDate : undefined,
  lastPayment: plan.lastPayment && {
    payId: plan.lastPayment.payId,
    status: plan.lastPayment.status,
    responseCode: plan.lastPayment.responseCode,
    creationDate: plan.lastPayment.createdAt.toISOString(),
  },
  metadata: plan.metadata,
  createdAt: plan.createdAt.toISOString(),
  updatedAt: plan.updatedAt.toISOString(),
  cancelledAt: plan.cancelledAt?.toISOString(),
  cancellationReason: plan.cancellationReason,
})

const toPaymentItem = (payment: PlanPayment) => ({
  payId: payment.payId,
  xId: payment.xId,
  transId: payment.transId,
  refNr: payment.refNr,
  status: payment.status,
  responseCode: payment.responseCode,
  responseDescription: describe(payment.responseCode).description,
  amount: payment.amount,
  sequence: payment.sequence,
  initialPayment: payment.sequence === 1,
  creationDate: payment.createdAt.toISOString(),
})

const wrap = <Item, Shown>({ total, items }: Page<Item>, page: number, show: (item: Item) => Shown) => ({
  totalNumberOfPages: Math.ceil(total / pageSize),
  totalNumberOfItems: total,
  page,
  pageSize,
  data: items.map(show),
})

export async function listPlans(
  { merchantId }: Merchant,
  { page, conditions }: { page: number; conditions: PlanConditions },
  { plans }: { plans: PlanReader },
) {
  return wrap(await plans.list(merchantId, page, conditions), page, toRecord)
}

/** Undefined, here and below: the merchant has no such plan, or no such customer. */
export async function listCustomerPlans(
  merchant: Merchant,
  { page, customerId }: { page: number; customerId: CustomerId },
  { plans, customers }: Pick<Engine, 'plans' | 'customers'>,
) {
  if (!(await customers.find(merchant.merchantId, customerId))) return undefined
  return listPlans(merchant, { page, conditions: { customerId } }, { plans })
}

export async function getPlan({ merchantId }: Merchant, planId: PlanId, { plans }: { plans: PlanReader }) {
  const plan = await plans.find(merchantId, planId)
  return plan && toRecord(plan)
}

export async function listPlanPayments(
  { merchantId }: Merchant,
  { planId, page }: { planId: PlanId; page: number },
  { plans }: { plans: PlanReader },
) {
  const payments = await plans.listPayments(merchantId, planId, page)
  return payments && wrap(payments, page, toPaymentItem)
}

export interface Cancellation {
  readonly merchant: Merchant
  readonly planId: PlanId
  readonly reason?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly key?: OperationKey
}

/** 50: when many processes change one plan, each round lets at least one of them through. */
const maximumRounds = 50

/** A charge under way is not cancelled: it completes and is the plan's last. */
export async function cancelPlan(
  request: Cancellation,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant } = request
  const done = await writeCancellation(request, engine)
  // The customer would pay for a plan that never begins. Also at a repetition: the first one may have been cut off here.
  if (done?.plan.numberOfPayments === 0)
    await cancelPayment({ merchant, payId: done.plan.initialPayId }, engine)
  return done?.answer
}

interface Cancelled {
  readonly answer: OperationAnswer
  readonly plan: PlanEntry
}

async function writeCancellation(request: Cancellation, engine: Engine): Promise<Cancelled | undefined> {
  const { merchant, planId, key } = request
  for (let round = 0; round < maximumRounds; round += 1) {
    const plan = await engine.plans.find(merchant.merchantId, planId)
    if (!plan) return undefined
    const cancellable = isCancellable(plan)
    if (!cancellable) {
      const answer = cancellable === undefined ? refusePlan(merchant) : toAnswer(plan)
      return { answer: await storeAnswer(answer, request, engine), plan }
    }
    const now = merchantNow(engine.clock, merchant)
    const cancelled = { ...plan, ...cancel(plan, request, now) }
    // Merged with what the plan has, the metadata may be more than the limits allow.
    const wrong = request.metadata && checkMetadata(cancelled.metadata)
    if (wrong) throw new MethodMisfit({ field: 'metadata', error: wrong })
    const answer = toAnswer(cancelled)
    const committed = await commitWithPlanEvent(
      plan,
      {
        updatePlan: { plan: cancelled, expectedVersion: plan.version },
        dropTimers: [planTimer(plan, plan.initialPayId)],
        key: keyRow(key, { merchant, answer, now }),
      },
      { event: { type: 'plan.cancelled', owed: false, now }, engine },
    )
    if (committed.committed) return { answer, plan }
    if (committed.conflict !== 'plan_changed') throw new CommitRefused(committed.conflict)
  }
  throw new Error(`plan ${planId} was changed by others in each of ${maximumRounds} tries to write it`)
}

const toAnswer = (plan: PlanEntry): OperationAnswer => ({
  status: 200,
  json: JSON.stringify(toRecord(plan)),
})

/** The response to a request that the plan does not allow. */
export function refusePlan(
  { merchantId }: Merchant,
  refusal: 'PLAN_NOT_ACTIVE' | 'OUTSIDE_PLAN_PERIOD' = 'PLAN_NOT_ACTIVE',
): OperationAnswer {
  const { code, description } = describe(refusalCodes[refusal])
  const body = { merchantId, status: 'FAILED', responseCode: code, responseDescription: description }
  return { status: 422, json: JSON.stringify(body) }
}
