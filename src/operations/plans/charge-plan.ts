/**
 * Charges a plan: an ordinary payment with the customer's stored card or account, without the customer being present.
 * The merchant requests it, the gateway makes it on the due day, or it is unscheduled.
 */

import { detectBrand } from '#domain/cards/card-brands.ts'
import { maskCard } from '#domain/cards/card-numbers.ts'
import type { MerchantId, PlanId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import type { Refusal } from '#domain/response-codes.ts'
import { dayOf } from '#domain/time/calendar.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import type { Decision } from '#lifecycle/decision.ts'
import type { PlanTurn, SentDetails } from '#lifecycle/details.ts'
import type { AccountInstrument } from '#lifecycle/payment.ts'
import { decidePlanCharge, decideUnscheduled, fixedAmount, type Plan } from '#lifecycle/plans/plan.ts'
import { manualTurn } from '#lifecycle/plans/plan-turn.ts'
import { findCurrencyMisfit, findStoredMethod } from '#methods/catalogue.ts'
import type { Method } from '#methods/rows.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { type OperationKey, storeRefusal } from '#operations/key.ts'
import { answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { type CreatePayment, createPayment } from '#operations/payments/create-payment.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { ChargeablePlan } from '#storage/plans/plans.ts'
import type { AdmittedCard } from '#vault/cards.ts'

/** The optional fields of a request for a charge. */
export interface ChargeRequest {
  readonly merchant: Merchant
  readonly transId: string
  readonly refNr?: string
  readonly amount?: Money
  readonly captureMethod?: CreateCommand['captureMethod']
  readonly hints?: CreateCommand['hints']
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Order, statement descriptor, addresses: stored with the payment. */
  readonly details: SentDetails
  readonly key?: OperationKey
}

export type PlanCharge = ChargeRequest & {
  readonly planId: PlanId
  /** Unscheduled: any amount, at any time while the plan is active. */
  readonly unscheduled?: boolean
}

/**
 * 5: each lost round means that another request has charged or changed the plan, and the next usually refuses this
 * charge.
 */
const maximumRounds = 5

/** Undefined: the merchant has no such plan. */
export async function chargePlan(request: PlanCharge, engine: Engine): Promise<OperationAnswer | undefined> {
  const { merchant, planId } = request
  for (let round = 1; ; round += 1) {
    const found = await engine.plans.findChargeable(merchant.merchantId, planId)
    if (!found) return undefined
    const amount = request.amount ?? fixedAmount(found.plan)
    if (!amount)
      throw new MethodMisfit({ field: 'amount', error: 'is missing; this plan has no fixed amount' })
    const decision = decide(request, found.plan, amount, engine)
    if (!decision.accepted) return refuse(decision.refusal, request, engine)
    const prepared = await prepareCharge(found, { ...request, amount }, engine)
    if (!prepared) return refuse('PLAN_NOT_ACTIVE', request, engine)
    try {
      return await createPayment({ ...prepared, key: request.key }, engine)
    } catch (error) {
      const conflict = error instanceof CommitRefused ? error.conflict : undefined
      if (conflict === 'card_gone') return refuse('PLAN_NOT_ACTIVE', request, engine)
      if (conflict !== 'plan_changed' || round === maximumRounds) throw error
    }
  }
}

function decide(request: PlanCharge, plan: Plan, amount: Money, engine: Engine): Decision {
  const day = dayOf(merchantNow(engine.clock, request.merchant))
  return request.unscheduled ? decideUnscheduled(plan, day) : decidePlanCharge(plan, amount, day)
}

/** The merchant's charge as a payment. Undefined: the plan's card or account was deleted. */
async function prepareCharge(
  found: ChargeablePlan,
  request: PlanCharge & { readonly amount: Money },
  engine: Engine,
): Promise<CreatePayment | undefined> {
  const { plan } = found
  const { merchant, unscheduled } = request
  const instruments = await openInstruments(found, engine)
  const planTurn = unscheduled ? undefined : manualTurn(plan, dayOf(merchantNow(engine.clock, merchant)))
  return (
    instruments && {
      merchant,
      command: toChargeCommand(found, { ...request, planTurn }),
      ...instruments,
      plan: { planId: plan.planId },
    }
  )
}

/** The command of any charge of a plan. */
export function toChargeCommand(
  { plan, method: type, captureMethod, atProvider, country }: ChargeablePlan,
  request: Omit<ChargeRequest, 'key'> & {
    readonly amount: Money
    readonly unscheduled?: boolean
    readonly planTurn?: PlanTurn
  },
): CreateCommand {
  const { merchant, amount, unscheduled, details, planTurn } = request
  const method = findStoredMethod(type)
  if (!method)
    throw new Error(`the plan was made with ${type}, which is not a payment method of this version`)
  const isUnscheduled = unscheduled || plan.type === 'UNSCHEDULED'
  checkCharge(method, request)
  return {
    ...commonCommand({ ...request, amount }),
    merchantId: merchant.merchantId,
    method,
    captureMethod: request.captureMethod ?? captureMethod,
    schemeReferenceId: plan.schemeReferenceId,
    atProvider,
    planCountry: country,
    own: { planTurn, chargedCustomerId: plan.customerId },
    details: {
      ...details,
      credentialOnFile: {
        type: isUnscheduled ? 'UNSCHEDULED' : plan.type,
        initialPayment: false,
        ...(isUnscheduled ? { unscheduled: { subType: 'MIT' } } : { recurring: plan.recurring }),
      },
    },
  }
}

/** Throws if the method does not support this currency or capture method. */
export function checkCharge(
  method: Method,
  { amount, captureMethod }: Pick<ChargeRequest, 'captureMethod'> & { readonly amount: Money },
): void {
  const misfit = findCurrencyMisfit(method, amount.currency)
  if (misfit) throw new MethodMisfit(misfit)
  if (!captureMethod || method.capture.includes(captureMethod.type)) return
  const error = `${captureMethod.type} is not offered by ${method.type}; allowed: ${method.capture.join(', ')}`
  throw new MethodMisfit({ field: 'captureMethod.type', error })
}

/** The fields that all merchant-initiated payments share. */
export const commonCommand = ({
  transId,
  refNr,
  amount,
  metadata,
  hints,
}: Omit<ChargeRequest, 'key'> & { readonly amount: Money }) => ({
  transId,
  refNr,
  integrationType: 'DIRECT' as const,
  amount: { value: amount.value, currency: amount.currency },
  metadata,
  hints,
  merchantInitiated: true,
})

/**
 * False once the plan's stored card or account was deleted. A wallet needs neither; only a card has a scheme reference.
 */
export const hasInstrument = ({ plan, card, account, methodDeleted }: ChargeablePlan): boolean =>
  !methodDeleted && (card !== undefined || account !== undefined || plan.schemeReferenceId === undefined)

/** Opens the card or account of a plan. Undefined: its number was deleted. */
export async function openInstruments(
  found: ChargeablePlan,
  engine: Engine,
): Promise<Instruments | undefined> {
  const { plan, card, account } = found
  const { merchantId } = plan
  if (!hasInstrument(found)) return undefined
  if (card) {
    const storedCard = await openStoredCard(merchantId, card, engine)
    return storedCard && { storedCard, cardholderName: card.cardHolderName }
  }
  return account ? openStoredAccount(merchantId, account, engine) : {}
}

export type Instruments = Pick<CreatePayment, 'storedCard' | 'cardholderName' | 'account' | 'storedAccount'>

/** Opens an account on file. Like a card it is never stored again: a deleted number stays deleted. */
export async function openStoredAccount(
  merchantId: MerchantId,
  account: AccountInstrument,
  { accounts }: Pick<Engine, 'accounts'>,
): Promise<Instruments | undefined> {
  const { accountId, last4Digits, accountHolderName, ...rest } = account
  const number = await accounts.reopen(merchantId, accountId)
  if (!number) return undefined
  const { code, bankName, mandateId, dateOfSignature } = rest
  return {
    account: { number, holderName: accountHolderName ?? '', code, bankName, mandateId, dateOfSignature },
    storedAccount: { accountId, number, last4Digits },
  }
}

/** Opens a card on file, in the form of an admitted card. It is never stored again: a deleted number stays deleted. */
export async function openStoredCard(
  merchantId: MerchantId,
  { cardId, expiryDate }: { readonly cardId: string; readonly expiryDate?: string },
  { vault }: Pick<Engine, 'vault'>,
): Promise<AdmittedCard | undefined> {
  const number = await vault.reopen(merchantId, cardId)
  if (!number) return undefined
  const digits = number.reveal()
  return { cardId, number, ...maskCard(digits), brand: detectBrand(digits), expiryDate }
}

function refuse(refusal: Refusal, request: PlanCharge, engine: Engine): Promise<OperationAnswer> {
  const { merchant, transId, refNr, metadata } = request
  const { merchantId } = merchant
  const answer = answerRefusal(refusal, { merchantId, transId, xId: newXId(engine), refNr, metadata })
  return storeRefusal(answer, request, engine)
}
