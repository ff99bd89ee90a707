/** The birth of a payment: what it looks like before anybody has been asked. */
import type { MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import {
  challengeOutstanding,
  customerActionOutstanding,
  providerResultOutstanding,
} from '#domain/response-codes.ts'
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
import type { CaptureType, Flow, IntegrationType, Method } from '#methods/rows.ts'

export interface CreateCommand {
  readonly merchantId: MerchantId
  readonly transId: string
  readonly refNr?: string
  readonly method: Method
  readonly integrationType: IntegrationType
  readonly amount: Money
  readonly captureMethod: { readonly type: CaptureType; readonly delayedHours?: number }
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly simulationMode?: string
  /** The merchant takes the second step itself, by a confirm: asked for by the request, whatever the method. */
  readonly confirmsLater?: boolean
  /** The customer is not there and has agreed before: the provider is asked at once, whatever the method's usual way. */
  readonly merchantInitiated?: boolean
  /** The scheme's reference of the agreement that such a payment rests on. */
  readonly schemeReferenceId?: string
  /** The provider account that keeps what is charged, and its token for it. */
  readonly atProvider?: { readonly account: string; readonly token: string }
  readonly expiresAt?: Date
  /** What the method's own object says besides card data, by the names of the contract. */
  readonly methodFields?: Readonly<Record<string, unknown>>
  readonly details: Readonly<Record<string, unknown>>
}

export interface NewPayment {
  readonly command: CreateCommand
  readonly kind: PaymentKind
  readonly payId: PayId
  readonly xId: XId
  /** Given when the method captures with the authorisation. */
  readonly captureXId?: XId
  readonly instrument?: Instrument
  readonly account?: AccountInstrument
  readonly prepared: Prepared
  readonly provider?: PaymentProvider
  readonly key?: KeyReference
  /** For methods whose confirm must bring it back. */
  readonly clientToken?: string
  readonly planId?: PlanId
  readonly now: Date
}

const dayMs = 24 * 60 * 60 * 1000

/**
 * How long a customer may take. A day for whoever sits at a screen; three for the way to a shop with a voucher; seven for a
 * transfer, which banks carry out on working days only.
 */
const patienceMs: Readonly<Record<Flow, number>> = {
  direct: dayMs,
  multi_step: dayMs,
  redirect: dayMs,
  qr: dayMs,
  voucher: 3 * dayMs,
  transfer: 7 * dayMs,
}

/** When a request that waits for its customer is over, unless the merchant said so itself. */
export const customerDeadline = ({ flow }: Method, now: Date): Date =>
  new Date(now.getTime() + patienceMs[flow])

/**
 * Who moves first. `provider`: it is asked at once, and may answer that the customer has to act. `customer`: fills in a form
 * on a page of ours. `confirm`: the merchant, in a second request.
 */
export function firstStep({
  integrationType,
  method: { flow },
  confirmsLater,
  merchantInitiated,
}: Pick<CreateCommand, 'integrationType' | 'method' | 'confirmsLater' | 'merchantInitiated'>):
  | 'provider'
  | 'customer'
  | 'confirm' {
  if (merchantInitiated) return 'provider'
  if (integrationType === 'HOSTED') return flow === 'direct' ? 'customer' : 'provider'
  // Where the customer is sent away, they approve first, also where the merchant confirms in the end.
  return flow === 'multi_step' || (confirmsLater && flow === 'direct') ? 'confirm' : 'provider'
}

/** What a payment says while it waits for its customer. */
export const stepCode = ({ step }: Prepared): string =>
  step === 'challenge' ? challengeOutstanding : customerActionOutstanding

/** Asked at once, a payment is PENDING from its first record on: until the answer, money may be on the move. */
export function openPayment(birth: NewPayment): Payment {
  const { command, kind, payId, xId, captureXId, instrument, account, prepared, key, clientToken, now } =
    birth
  const step = kind === 'CREDIT' ? 'provider' : firstStep(command)
  const asked = step === 'provider'
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
      simulationMode: command.simulationMode,
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
    expiresAt: command.expiresAt ?? (asked ? undefined : customerDeadline(command.method, now)),
    amount: command.amount,
    sums: kind === 'CREDIT' ? { ...noSums, refunding: command.amount.value } : noSums,
    captureMethod: command.captureMethod,
    closedForCapture: false,
    provider: birth.provider,
    instrument,
    account,
    planId: birth.planId,
    details: command.methodFields
      ? { ...command.details, methodFields: command.methodFields }
      : command.details,
    eventSequence: 0,
    operations: [first],
    createdAt: now,
    updatedAt: now,
    version: 1,
  }
}
