/**
 * The payment and its operations as plain, read-only records. Sums come in pairs: a settled one (captured) and one that
 * was sent but has no answer yet (capturing). Ceilings count both, because a request without an answer may have moved
 * money; what may be refunded counts only the settled sum.
 */
import type { CustomerId, MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import { add, type Money, percentOf } from '#domain/money/money.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import type { OwnDetails, SentDetails } from '#lifecycle/details.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'
import type { CaptureType, IntegrationType, Method } from '#methods/rows.ts'
import type { operationTypes } from '#schemas/payment-record.ts'

export type PaymentStatus =
  | 'AUTHORIZE_REQUEST'
  | 'PENDING'
  | 'AUTHORIZED'
  | 'CAPTURE_REQUEST'
  | 'OK'
  | 'FAILED'
  | 'REVERSED'

export type OperationType = (typeof operationTypes)[number]

/** SENT is internal: recorded before the call, no answer yet. The API shows it as PENDING. */
export type OperationState =
  | 'SENT'
  | 'AUTHORIZE_REQUEST'
  | 'PENDING'
  | 'AUTHORIZED'
  | 'CAPTURE_REQUEST'
  | 'OK'
  | 'FAILED'

/**
 * What the customer has to do before the provider can decide. `page`: approve on a page of the provider.
 * `challenge`: prove to the issuer who is paying. `instructions`: pay a voucher or a transfer by the reference given.
 */
export type CustomerStep = 'page' | 'challenge' | 'instructions'

/**
 * Small, free of card data, stored with the operation before the call: what its connector wants to have kept, and what the
 * engine needs to find the operation again.
 */
export interface Prepared {
  /** Set while the provider waits for the customer. */
  readonly step?: CustomerStep
  /** The provider account that was asked, where it is not the simulator of a merchant without accounts. */
  readonly account?: string
  /** The method that the customer chose for this try; later tries of the payment may be by other methods. */
  readonly triedType?: string
  /** The provider approved it after the payment had ended. */
  readonly paidLate?: boolean
  /** That money was kept, so the payment has gone on like any other, whatever the merchant wants of later ones. */
  readonly keptLate?: boolean
  /** When it was sent, for an operation that was recorded before: milliseconds of the merchant's time. */
  readonly sentAtMs?: number
  readonly [fact: string]: string | number | boolean | undefined
}

/** The idempotency key that gets this operation's answer if the process dies before answering. */
export interface KeyReference {
  readonly verb: string
  readonly path: string
  readonly key: string
}

export interface Operation {
  readonly xId: XId
  /** 1, 2, 3 … within the payment: the order in which operations were accepted. */
  readonly sequence: number
  readonly type: OperationType
  readonly state: OperationState
  readonly amount: number
  readonly transId: string
  readonly refNr?: string
  readonly responseCode: string
  readonly prepared: Prepared
  readonly provider?: ProviderFacts
  /** Request fields that are stored (metadata, capture sequence, order, …). They never hold card data. */
  readonly details: OperationDetails
  readonly key?: KeyReference
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface OperationDetails {
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Of an authorisation that captures in the same message: the xId of that capture, chosen before the call. */
  readonly captureXId?: XId
  readonly manual?: { readonly currentSequence?: number; readonly total?: number; readonly final?: boolean }
  /** The client token that the confirm must carry. */
  readonly clientToken?: string
  /** After the customer's step the merchant confirms. */
  readonly confirmsLater?: boolean
  /** The capture that a refund gives back. */
  readonly refundOf?: XId
  readonly [field: string]: unknown
}

export interface Sums {
  readonly authorized: number
  readonly capturing: number
  readonly captured: number
  readonly reversing: number
  readonly reversed: number
  readonly refunding: number
  readonly refunded: number
  /** Disputed and not won. A dispute is reported when it exists, so there is no pending sum beside it. */
  readonly disputed: number
  /** Returned by the customer's bank. Reported when it has happened, so there is no pending sum beside it. */
  readonly returned: number
}

export const noSums: Sums = {
  authorized: 0,
  capturing: 0,
  captured: 0,
  reversing: 0,
  reversed: 0,
  refunding: 0,
  refunded: 0,
  disputed: 0,
  returned: 0,
}

/** CREDIT: money sent to a card or account without a payment behind it. */
export type PaymentKind = 'PAYMENT' | 'CREDIT'

export interface Payment {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly kind: PaymentKind
  readonly transId: string
  readonly refNr?: string
  readonly method: Method
  readonly integrationType: IntegrationType
  readonly status: PaymentStatus
  /** The requested amount; the approved amount is sums.authorized. */
  readonly amount: Money
  readonly sums: Sums
  readonly captureMethod: { readonly type: CaptureType; readonly delayedHours?: number }
  /** No further capture, whatever is open: the final one was made. */
  readonly closedForCapture: boolean
  readonly authorizationExpiresAt?: Date
  /** The deadline for the customer's step or the merchant's confirm. */
  readonly expiresAt?: Date
  /** Who must act before the payment can be approved: the customer, or the merchant by a confirm. */
  readonly awaits?: 'CUSTOMER' | 'CONFIRM'
  /** The provider account. Undefined: no provider was called yet, or the merchant has no accounts and the simulator serves it. */
  readonly provider?: PaymentProvider
  /** Masked card data and the vault's key to the rest. */
  readonly instrument?: Instrument
  /** The customer of the vault, once the payment is approved and names one. */
  readonly customerId?: CustomerId
  /** The plan that this payment begins, or within which it was made. */
  readonly planId?: PlanId
  /** Masked account data, the mandate, and the vault's key to the number. */
  readonly account?: AccountInstrument
  /** What the merchant sent besides, without card data. */
  readonly details: SentDetails
  /** What the gateway notes about the payment. */
  readonly own: OwnDetails
  readonly eventSequence: number
  readonly operations: readonly Operation[]
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Incremented by every write; a write that expects another version is refused. */
  readonly version: number
}

export interface PaymentProvider {
  /** acc_… */
  readonly account: string
  readonly connector: string
}

export interface Instrument {
  readonly cardId: string
  readonly first6Digits: string
  readonly last4Digits: string
  readonly brand: string
  readonly expiryDate?: string
  readonly cardHolderName?: string
  /** Set on payments read from the database, not on those just created. */
  readonly pseudoCardNumber?: string
  /** An offer to pay in the cardholder's currency, and what became of it. */
  readonly dcc?: CardholderOffer
}

export interface CardholderOffer {
  readonly quoteId: string
  readonly accepted: boolean
  /** The terms, once accepted. */
  readonly cardholderAmount?: Money
  readonly exchangeRate?: string
  readonly markupPercentage?: string
  readonly rateSource?: string
}

export interface AccountInstrument {
  readonly accountId: string
  readonly last4Digits: string
  /** Absent once the personal data of the payment was erased. */
  readonly accountHolderName?: string
  readonly code?: string
  readonly bankName?: string
  readonly mandateId?: string
  readonly dateOfSignature?: string
  /** As for cards: set on payments read from the database. */
  readonly pseudoAccountNumber?: string
}

/** A live payment reserves its transId; a failed or reversed one frees it. */
export const isLive = (payment: Payment): boolean =>
  payment.status !== 'FAILED' && payment.status !== 'REVERSED'

/**
 * Paid after its end, under a transId that another payment holds by now: two live payments cannot share one, so this one
 * stays ended while its money is given back.
 */
export const isClosedLate = ({ status, operations }: Payment): boolean =>
  status === 'REVERSED' && operations.some(isGivenBackLate)

/** Approved after the end of its payment, and not kept. */
export const isGivenBackLate = ({ prepared }: Operation): boolean =>
  prepared.paidLate === true && prepared.keptLate !== true

/** 100 unless the method allows captures above what was authorised. */
export const capturePercent = ({ method }: Payment): number => method.capturePercentMax ?? 100

/** The most that may ever be captured. */
export const captureCeiling = (payment: Payment): number =>
  percentOf(payment.sums.authorized, capturePercent(payment))

/** What may still be captured or reversed, counting every unanswered request as done. */
export const openAmount = (payment: Payment): number =>
  Math.max(0, payment.sums.authorized - committed(payment))

/** Captured and reversed, certain or possible. */
export function committed(payment: Payment): number {
  const { capturing, captured, reversing, reversed } = payment.sums
  return add(add(capturing, captured), add(reversing, reversed))
}

export function findOperation(payment: Payment, xId: XId): Operation | undefined {
  return payment.operations.find(operation => operation.xId === xId)
}

/** Since when an answer is outstanding. A customer's step may lie between recording the operation and sending it. */
export const sentAt = ({ prepared, createdAt }: Operation): Date =>
  prepared.sentAtMs === undefined ? createdAt : new Date(prepared.sentAtMs)

export const isUnanswered = (operation: Operation): boolean =>
  operation.state === 'SENT' || operation.state === 'PENDING'

/** Whether an outcome can still decide the operation: it has no answer, or waits for the customer at the provider. */
export const isUndecided = (operation: Operation): boolean =>
  isUnanswered(operation) ||
  (operation.state === 'AUTHORIZE_REQUEST' && operation.prepared.step !== undefined)

/** The payment has no approved authorisation, so no operation can follow. A credit never has one. */
export const lacksAuthorization = ({ kind, status }: Payment): boolean =>
  kind === 'CREDIT' || status === 'AUTHORIZE_REQUEST' || status === 'PENDING' || status === 'FAILED'

/** The authorisation has no answer yet, so it is not known what is allowed. */
export const lacksOutcome = ({ kind, status, operations }: Payment): boolean =>
  kind === 'PAYMENT' &&
  status === 'PENDING' &&
  operations.some(
    operation =>
      (operation.type === 'AUTHORIZATION' || operation.type === 'CONFIRM') && isUnanswered(operation),
  )

/**
 * A change of the authorised amount has no answer yet, at a provider that is told totals: two totals that are counted from
 * the same sum would overwrite each other, while our own sums would count both changes.
 */
export const lacksTotal = ({ method, operations }: Payment): boolean =>
  method.amountByTotal === true &&
  operations.some(
    operation =>
      (operation.type === 'INCREMENTAL' || operation.type === 'REVERSAL') && isUnanswered(operation),
  )

/**
 * The operation that approved the payment: its confirm if it had one, else its authorisation. Not always the last one: a
 * payment may be paid late by an earlier try. While none has approved it, the last one is the one that may.
 */
export function approvingOperation(payment: Payment): Operation {
  const asking = payment.operations.filter(({ type }) => type === 'AUTHORIZATION' || type === 'CONFIRM')
  const approving = asking.findLast(hasApproved) ?? asking.at(-1)
  if (!approving) throw new Error(`payment ${payment.payId} has no authorisation`)
  return approving
}

/** Of an authorisation or a confirm. */
export const hasApproved = ({ state }: Operation): boolean =>
  state === 'AUTHORIZED' || state === 'CAPTURE_REQUEST' || state === 'OK'

/** Whether the customer must act next. They may still come back to a page that they left open. */
export const awaitsCustomer = ({ status, awaits }: Payment): boolean =>
  awaits === 'CUSTOMER' && (status === 'AUTHORIZE_REQUEST' || status === 'PENDING')

/** The authorisation that waits for its customer. None when the last try failed and no other has begun. */
export const openTry = (payment: Payment): Operation | undefined =>
  awaitsCustomer(payment)
    ? payment.operations.find(
        ({ type, state }) =>
          type === 'AUTHORIZATION' && (state === 'AUTHORIZE_REQUEST' || state === 'PENDING'),
      )
    : undefined

/** An authorisation with something left to lapse, whose time is over. */
export function isLapsed(payment: Payment, now: Date): boolean {
  const { authorizationExpiresAt, sums } = payment
  return (
    authorizationExpiresAt !== undefined &&
    authorizationExpiresAt.getTime() <= now.getTime() &&
    add(sums.captured, sums.capturing) < sums.authorized
  )
}

/** The payment with one more operation, recorded and not yet answered. */
export function withOperation(payment: Payment, operation: NewOperation, now: Date): Payment {
  const recorded: Operation = {
    ...operation,
    sequence: payment.operations.length + 1,
    state: 'SENT',
    responseCode: providerResultOutstanding,
    createdAt: now,
    updatedAt: now,
  }
  return {
    ...payment,
    operations: [...payment.operations, recorded],
    updatedAt: now,
    version: payment.version + 1,
  }
}

export type NewOperation = Omit<
  Operation,
  'sequence' | 'state' | 'responseCode' | 'provider' | 'createdAt' | 'updatedAt'
>

export function lastOperation(payment: Payment): Operation {
  const last = payment.operations.at(-1)
  if (!last) throw new Error(`payment ${payment.payId} has no operation`)
  return last
}
