/**
 * A try is one authorisation that a customer makes on a hosted page. These rules decide whether a payment allows
 * another try and record it: a try fills the authorisation that waits for the customer, or adds one after those that
 * failed.
 */
import type { XId } from '#domain/ids.ts'
import { providerResultOutstanding, unreachedCode } from '#domain/response-codes.ts'
import { stepCode } from '#lifecycle/create.ts'
import {
  type AccountInstrument,
  awaitsCustomer,
  type Instrument,
  lastOperation,
  type Operation,
  openTry,
  type Payment,
  type PaymentProvider,
  type Prepared,
} from '#lifecycle/payment.ts'
import { defaultCapture, findStoredMethod } from '#methods/catalogue.ts'
import { type Offerable, offeredMethods } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'

/** 10: enough for honest mistakes, and too few to test a list of stolen cards. */
export const maximumTries = 10

/**
 * 50, counting the tries that never reached the provider. A customer who waits for the end of an outage does not try
 * that often, and a payment must not grow with every form that is posted meanwhile.
 */
const maximumTriesOfAnyKind = 50

const countTries = ({ operations }: Payment): number =>
  operations.filter(({ type }) => type === 'AUTHORIZATION').length

/** Tries that the provider declined. One that never reached the provider was an outage and does not count. */
export const countDeclines = ({ operations, method }: Payment): number =>
  operations.filter(
    ({ type, state, responseCode }) =>
      type === 'AUTHORIZATION' && state === 'FAILED' && responseCode !== unreachedCode(method.family),
  ).length

export const mayTryAgain = (payment: Payment, now: Date): boolean =>
  payment.kind === 'PAYMENT' &&
  payment.integrationType === 'HOSTED' &&
  isInTime(payment, now) &&
  countDeclines(payment) < maximumTries &&
  countTries(payment) < maximumTriesOfAnyKind

/** The deadline may have passed although its timer has not run yet. */
export const isInTime = ({ expiresAt }: Payment, now: Date): boolean =>
  expiresAt === undefined || expiresAt.getTime() > now.getTime()

/** Whether the customer may try now. A try without an answer must be settled first. */
export const acceptsTry = (payment: Payment, now: Date): boolean =>
  awaitsCustomer(payment) &&
  payment.status === 'AUTHORIZE_REQUEST' &&
  payment.integrationType === 'HOSTED' &&
  isInTime(payment, now)

/**
 * An expired provider page is replaced by a new one, unless a card or account was sent with it: those are never sent
 * twice.
 */
export const mayRenew = (payment: Payment, now: Date): boolean =>
  awaitsCustomer(payment) && !payment.instrument && !payment.account && isInTime(payment, now)

export interface Try {
  readonly method: Method
  readonly instrument?: Instrument
  readonly account?: AccountInstrument
  /** Whether the card may be kept for the customer's next payment; undefined where the customer was not asked. */
  readonly keepsCard?: boolean
  /**
   * The id of the new authorisation, if this try follows a failed one. The first try fills the authorisation that
   * waits.
   */
  readonly xId: XId
  readonly captureXId: XId
  readonly prepared: Prepared
  /** The provider account that is called. */
  readonly provider?: PaymentProvider
  /** False: the merchant must confirm before the provider is called. */
  readonly asks: boolean
  readonly now: Date
}

/** The payment with this try recorded: it waits for the provider or for the merchant's confirm. */
export function recordTry(payment: Payment, begun: Try): Payment {
  const { method, instrument, account, provider, asks, now } = begun
  const prepared = { ...begun.prepared, triedType: method.type }
  const waiting = openTry(payment) ?? followingTry(payment, begun)
  const operation: Operation = {
    ...waiting,
    amount: payment.amount.value,
    state: asks ? 'SENT' : 'AUTHORIZE_REQUEST',
    responseCode: asks ? providerResultOutstanding : stepCode(prepared),
    prepared: asks ? { ...prepared, sentAtMs: now.getTime() } : prepared,
    provider: undefined,
    updatedAt: now,
  }
  const known = payment.operations.some(({ xId }) => xId === operation.xId)
  return {
    ...payment,
    method,
    provider,
    instrument,
    account,
    own: withConsent(payment, begun),
    captureMethod: captureBy(method, payment),
    status: asks ? 'PENDING' : 'AUTHORIZE_REQUEST',
    awaits: asks ? undefined : 'CONFIRM',
    operations: known
      ? payment.operations.map(other => (other.xId === operation.xId ? operation : other))
      : [...payment.operations, operation],
    updatedAt: now,
    version: payment.version + 1,
  }
}

/**
 * The payment with the method of this earlier try, if the customer has since chosen another method. The card or account
 * of that try is no longer known.
 */
export function asTried(payment: Payment, { xId, prepared: { triedType } }: Operation): Payment {
  const last = payment.operations.findLast(({ prepared }) => prepared.triedType !== undefined)
  if (triedType === undefined || last?.xId === xId) return payment
  const method = findStoredMethod(triedType) ?? payment.method
  const captureMethod = captureBy(method, payment)
  return { ...payment, method, captureMethod, instrument: undefined, account: undefined }
}

/** The customer may change their mind about saving the card between two tries; the last answer counts. */
const withConsent = ({ own }: Payment, { keepsCard }: Try): Payment['own'] =>
  keepsCard === undefined || keepsCard === own.keepCard ? own : { ...own, keepCard: keepsCard }

/** The capture method of the request if the payment method supports it, otherwise the method's default. */
function captureBy(method: Method, payment: Payment): Payment['captureMethod'] {
  const asked = askedCapture(payment)
  return method.capture.includes(asked.type) ? asked : { type: defaultCapture(method) }
}

/** Whether a try with this method captures in the same provider call. */
export const capturesWith = (payment: Payment, method: Method): boolean =>
  captureBy(method, payment).type === 'AUTOMATIC'

/**
 * The capture method that the merchant asked for. The payment may hold another one, stored by a failed try whose method
 * did not support it. A capture reference is created with the payment only for AUTOMATIC, so its presence tells what
 * was asked.
 */
export const askedCapture = ({
  operations,
  captureMethod,
}: Pick<Payment, 'captureMethod'> & Partial<Pick<Payment, 'operations'>>): Payment['captureMethod'] =>
  operations?.[0]?.details.captureXId === undefined ? captureMethod : { type: 'AUTOMATIC' }

/**
 * The methods that the customer may choose from: those that the merchant selected, or else all that fit the payment.
 */
export const offerFor = (
  payment: Offerable & Pick<Payment, 'captureMethod'> & Partial<Pick<Payment, 'operations'>>,
  chosen?: readonly string[],
): readonly Method[] => offeredMethods({ ...payment, captureMethod: askedCapture(payment) }, chosen)

function followingTry(payment: Payment, { xId, captureXId, now }: Try): Operation {
  const { sequence } = lastOperation(payment)
  const [{ details } = lastOperation(payment)] = payment.operations
  // The merchant may have changed transId and refNr since the first try.
  const { transId, refNr } = payment
  return {
    xId,
    sequence: sequence + 1,
    type: 'AUTHORIZATION',
    state: 'AUTHORIZE_REQUEST',
    amount: payment.amount.value,
    transId,
    refNr,
    responseCode: providerResultOutstanding,
    prepared: {},
    details: { ...details, captureXId: details.captureXId && captureXId },
    createdAt: now,
    updatedAt: now,
  }
}

/** The state of a payment link, which follows from its payment. */
export type LinkState = 'ACTIVE' | 'COMPLETED' | 'EXPIRED' | 'CANCELLED'

export function linkState(payment: Payment, now: Date): LinkState {
  switch (payment.status) {
    case 'AUTHORIZE_REQUEST':
      // The timer that ends the payment may not have run yet.
      return isInTime(payment, now) ? 'ACTIVE' : 'EXPIRED'
    case 'PENDING':
      return 'ACTIVE'
    case 'FAILED':
      return /070[34]$/.test(lastOperation(payment).responseCode) ? 'CANCELLED' : 'EXPIRED'
    default:
      return 'COMPLETED'
  }
}
