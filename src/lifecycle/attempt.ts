/**
 * A try is one authorisation that a customer makes on a hosted page. These rules say which payments allow another try and
 * what the payment looks like with it: the try fills the authorisation that waits for the customer, or follows failed ones.
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

/** 10: enough for any honest mistake, and too few to find out which of many stolen cards work. */
export const maximumTries = 10

/**
 * 50 of any kind: nobody who waits for the end of an outage tries as often, and a payment must not grow with every form that
 * somebody sends meanwhile.
 */
const maximumTriesOfAnyKind = 50

const countTries = ({ operations }: Payment): number =>
  operations.filter(({ type }) => type === 'AUTHORIZATION').length

/** Counts tries that the provider declined. A try that never reached the provider is our outage and does not count. */
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

/** Whether the customer may try now. A try whose answer is outstanding must end first. */
export const acceptsTry = (payment: Payment, now: Date): boolean =>
  awaitsCustomer(payment) &&
  payment.status === 'AUTHORIZE_REQUEST' &&
  payment.integrationType === 'HOSTED' &&
  isInTime(payment, now)

/** An expired provider page is replaced by a new one, unless a card was sent with it: a card is never sent twice. */
export const mayRenew = (payment: Payment, now: Date): boolean =>
  awaitsCustomer(payment) && !payment.instrument && !payment.account && isInTime(payment, now)

export interface Try {
  readonly method: Method
  readonly instrument?: Instrument
  readonly account?: AccountInstrument
  /** Whether the card may be kept for the customer's next payment; undefined where the customer was not asked. */
  readonly keepsCard?: boolean
  /** The id of the new authorisation, where this try follows a failed one; the first try fills the one that waits. */
  readonly xId: XId
  readonly captureXId: XId
  readonly prepared: Prepared
  /** The provider account that is called. */
  readonly provider?: PaymentProvider
  /** False: the merchant must confirm before the provider is called. */
  readonly asks: boolean
  readonly now: Date
}

/** The payment with this try begun: waiting for the provider, or for the merchant's confirm. */
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
 * The payment with the method of this try, where its customer has gone on with another one. The card or account that was
 * entered for it is not known any more.
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

/** Whether a try by this method captures in the same message. */
export const capturesWith = (payment: Payment, method: Method): boolean =>
  captureBy(method, payment).type === 'AUTOMATIC'

/**
 * The capture method that the merchant asked for. A failed try may have stored another one, because its method supported no
 * other. The capture reference is created with the payment only for AUTOMATIC, so its presence shows what the request asked for.
 */
export const askedCapture = ({
  operations,
  captureMethod,
}: Pick<Payment, 'captureMethod'> & Partial<Pick<Payment, 'operations'>>): Payment['captureMethod'] =>
  operations?.[0]?.details.captureXId === undefined ? captureMethod : { type: 'AUTOMATIC' }

/** The methods that the customer may try next: those the merchant chose, or all that fit if the merchant chose none. */
export const offerFor = (
  payment: Offerable & Pick<Payment, 'captureMethod'> & Partial<Pick<Payment, 'operations'>>,
  chosen?: readonly string[],
): readonly Method[] => offeredMethods({ ...payment, captureMethod: askedCapture(payment) }, chosen)

function followingTry(payment: Payment, { xId, captureXId, now }: Try): Operation {
  const { sequence } = lastOperation(payment)
  const [{ details } = lastOperation(payment)] = payment.operations
  // The merchant may have changed both since the first try.
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
      // Its timer may not have run yet.
      return isInTime(payment, now) ? 'ACTIVE' : 'EXPIRED'
    case 'PENDING':
      return 'ACTIVE'
    case 'FAILED':
      return /070[34]$/.test(lastOperation(payment).responseCode) ? 'CANCELLED' : 'EXPIRED'
    default:
      return 'COMPLETED'
  }
}
