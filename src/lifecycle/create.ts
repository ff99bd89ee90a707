/** The birth of a payment: what it looks like before anybody has been asked. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import {
  type Instrument,
  type KeyReference,
  noSums,
  type Operation,
  type Payment,
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
  readonly details: Readonly<Record<string, unknown>>
}

export interface NewPayment {
  readonly command: CreateCommand
  readonly payId: PayId
  readonly xId: XId
  /** Given when the method captures with the authorisation. */
  readonly captureXId?: XId
  readonly instrument?: Instrument
  readonly prepared: Prepared
  readonly key?: KeyReference
  readonly now: Date
}

/** PENDING from the first record on: from this commit until the answer, money may be on the move. */
export function openPayment({
  command,
  payId,
  xId,
  captureXId,
  instrument,
  prepared,
  key,
  now,
}: NewPayment): Payment {
  const authorization: Operation = {
    xId,
    sequence: 1,
    type: 'AUTHORIZATION',
    state: 'SENT',
    amount: command.amount.value,
    transId: command.transId,
    refNr: command.refNr,
    responseCode: providerResultOutstanding,
    prepared,
    details: { metadata: command.metadata, simulationMode: command.simulationMode, captureXId },
    key,
    createdAt: now,
    updatedAt: now,
  }
  return {
    merchantId: command.merchantId,
    payId,
    transId: command.transId,
    refNr: command.refNr,
    method: command.method,
    integrationType: command.integrationType,
    status: 'PENDING',
    amount: command.amount,
    sums: noSums,
    captureMethod: command.captureMethod,
    closedForCapture: false,
    instrument,
    details: command.details,
    eventSequence: 0,
    operations: [authorization],
    createdAt: now,
    updatedAt: now,
    version: 1,
  }
}
