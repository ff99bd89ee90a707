/** The birth of a payment: what it looks like before anybody has been asked. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import { customerActionOutstanding, providerResultOutstanding } from '#domain/response-codes.ts'
import {
  type AccountInstrument,
  type Instrument,
  type KeyReference,
  noSums,
  type Operation,
  type Payment,
  type PaymentKind,
  type Prepared,
} from '#lifecycle/payment.ts'
import type { CaptureType, IntegrationType, Method } from '#methods/rows.ts'

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
  readonly expiresAt?: Date
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
  readonly key?: KeyReference
  /** For methods whose confirm must bring it back. */
  readonly clientToken?: string
  readonly now: Date
}

/** 24 hours: a customer who has not come back by then starts anew. */
const customerPatienceMs = 24 * 60 * 60 * 1000

/**
 * Who moves first. `provider`: it is asked at once. `customer`: on a page of ours or of the provider.
 * `confirm`: the merchant, in a second request.
 */
export function firstStep(command: CreateCommand): 'provider' | 'customer' | 'confirm' {
  if (command.integrationType === 'HOSTED') return 'customer'
  switch (command.method.flow) {
    case 'multi_step':
      return 'confirm'
    case 'direct':
      return command.confirmsLater ? 'confirm' : 'provider'
    default:
      // The customer approves first, also where the merchant confirms in the end.
      return 'customer'
  }
}

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
    responseCode: asked ? providerResultOutstanding : customerActionOutstanding,
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
    expiresAt: asked ? undefined : (command.expiresAt ?? new Date(now.getTime() + customerPatienceMs)),
    amount: command.amount,
    sums: kind === 'CREDIT' ? { ...noSums, refunding: command.amount.value } : noSums,
    captureMethod: command.captureMethod,
    closedForCapture: false,
    instrument,
    account,
    details: command.details,
    eventSequence: 0,
    operations: [first],
    createdAt: now,
    updatedAt: now,
    version: 1,
  }
}
