/** Creates a payment as it is stored before any provider is called. */
import type { MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import {
  challengeOutstanding,
  customerActionOutstanding,
  providerResultOutstanding,
} from '#domain/response-codes.ts'
import type { OwnDetails, SentDetails } from '#lifecycle/details.ts'
import {
  type AccountInstrument,
  type Instrument,
  type KeyReference,
  noSums,
  type Operation,
  type Payment,
  type PaymentKind,
  type PaymentProvider,
  type Prepared,
} from '#lifecycle/payment.ts'
import { beginsPlan, untilPlanEnds } from '#lifecycle/plans/plan.ts'
import type { CaptureType, Flow, IntegrationType, Method } from '#methods/rows.ts'
import type { Hints } from '#schemas/parts/hints.ts'

export interface CreateCommand {
  readonly merchantId: MerchantId
  readonly transId: string
  readonly refNr?: string
  readonly method: Method
  readonly integrationType: IntegrationType
  readonly amount: Money
  readonly captureMethod: { readonly type: CaptureType; readonly delayedHours?: number }
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Fields that only connectors read. Stored with the first operation under their API names. */
  readonly hints?: Hints
  /** The request asks for a two-step payment: the merchant sends a confirm, whatever the method's usual flow. */
  readonly confirmsLater?: boolean
  /** This provider has no confirm, so the customer approves at once, whatever the method's usual flow. */
  readonly lacksConfirm?: boolean
  /** The provider asks for the card on its own page, so our page shows no card form. */
  readonly cardAtProvider?: boolean
  /** A merchant-initiated payment: no customer is present, so the provider is called at once, whatever the method's flow. */
  readonly merchantInitiated?: boolean
  /** The scheme's reference to the customer's agreement (network transaction id). */
  readonly schemeReferenceId?: string
  /** The provider account that stores the card or account, and its token for it. */
  readonly atProvider?: { readonly account: string; readonly token: string }
  /** The country of the plan's first payment, three letters: the charge takes the same route. */
  readonly planCountry?: string
  readonly expiresAt?: Date
  /** The method's own object of the request without card data, under its API names. */
  readonly methodFields?: Readonly<Record<string, unknown>>
  readonly details: SentDetails
  readonly own?: OwnDetails
}

export interface NewPayment {
  readonly command: CreateCommand
  readonly kind: PaymentKind
  readonly payId: PayId
  readonly xId: XId
  /** The capture's reference, when the method captures with the authorisation. */
  readonly captureXId?: XId
  readonly instrument?: Instrument
  readonly account?: AccountInstrument
  readonly prepared: Prepared
  readonly provider?: PaymentProvider
  readonly key?: KeyReference
  /** For methods whose confirm must carry it. */
  readonly clientToken?: string
  readonly planId?: PlanId
  readonly now: Date
}

const dayMs = 24 * 60 * 60 * 1000

/**
 * How long a customer has to act: one day on a page, three days to pay a voucher in a shop, seven days for a bank transfer,
 * because banks book transfers on working days only.
 */
const customerTimeMs: Readonly<Record<Flow, number>> = {
  direct: dayMs,
  multi_step: dayMs,
  redirect: dayMs,
  qr: dayMs,
  voucher: 3 * dayMs,
  transfer: 7 * dayMs,
}

/** When a payment that waits for its customer expires, if the request sets no deadline. */
export const customerDeadline = ({ flow }: Method, now: Date): Date =>
  new Date(now.getTime() + customerTimeMs[flow])

/**
 * Who acts first. `provider`: it is called at once, and may answer that the customer must act. `customer`: they fill in a
 * form on a hosted page, or agree there to a plan. `confirm`: the merchant sends a second request.
 */
export function firstStep({
  integrationType,
  method: { flow },
  confirmsLater,
  lacksConfirm,
  cardAtProvider,
  merchantInitiated,
  details,
}: Pick<
  CreateCommand,
  | 'integrationType'
  | 'method'
  | 'confirmsLater'
  | 'lacksConfirm'
  | 'cardAtProvider'
  | 'merchantInitiated'
  | 'details'
>): 'provider' | 'customer' | 'confirm' {
  if (merchantInitiated) return 'provider'
  if (integrationType === 'HOSTED') {
    // A customer who begins a plan agrees to it on our page first, also where the provider has a page of its own.
    return (flow === 'direct' && !cardAtProvider) || beginsPlan(details) ? 'customer' : 'provider'
  }
  // With a redirect the customer approves first, even if the merchant confirms afterwards.
  return (flow === 'multi_step' && !lacksConfirm) || (confirmsLater && flow === 'direct')
    ? 'confirm'
    : 'provider'
}

/** The response code of a payment that waits for its customer. */
export const stepCode = ({ step }: Prepared): string =>
  step === 'challenge' ? challengeOutstanding : customerActionOutstanding

/**
 * If the provider is called at once, the payment starts as PENDING, because money may move before the answer is known.
 */
export function openPayment(input: NewPayment): Payment {
  const { command, kind, payId, xId, captureXId, instrument, account, prepared, key, clientToken, now } =
    input
  const step = kind === 'CREDIT' ? 'provider' : firstStep(command)
  const asked = step === 'provider'
  const deadline = command.expiresAt ?? (asked ? undefined : customerDeadline(command.method, now))
  const first: Operation = {
    xId,
    sequence: 1,
    type: kind === 'CREDIT' ? 'CREDIT' : 'AUTHORIZATION',
    state: asked ? 'SENT' : 'AUTHORIZE_REQUEST',
    amount: command.amount.value,
    transId: command.transId,
    refNr: command.refNr,
    responseCode: asked ? providerResultOutstanding : stepCode(prepared),
    prepared,
    details: {
      metadata: command.metadata,
      ...command.hints,
      captureXId,
      clientToken,
      confirmsLater: command.confirmsLater,
    },
    key: asked ? key : undefined,
    createdAt: now,
    updatedAt: now,
  }
  return {
    merchantId: command.merchantId,
    payId,
    kind,
    transId: command.transId,
    refNr: command.refNr,
    method: command.method,
    integrationType: command.integrationType,
    status: asked ? 'PENDING' : 'AUTHORIZE_REQUEST',
    awaits: asked ? undefined : step === 'confirm' ? 'CONFIRM' : 'CUSTOMER',
    expiresAt: deadline && untilPlanEnds(command.details, deadline),
    amount: command.amount,
    sums: kind === 'CREDIT' ? { ...noSums, refunding: command.amount.value } : noSums,
    captureMethod: command.captureMethod,
    closedForCapture: false,
    provider: input.provider,
    instrument,
    account,
    planId: input.planId,
    details: command.details,
    own: { ...command.own, methodFields: command.methodFields },
    eventSequence: 0,
    operations: [first],
    createdAt: now,
    updatedAt: now,
    version: 1,
  }
}
