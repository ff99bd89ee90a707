/**
 * The payment and its operations as plain, read-only records. Sums come in pairs: one for answered operations
 * (captured) and one for those that were sent and have no answer yet (capturing). Limits count both, because an
 * unanswered request may have moved money. Only the first one may be refunded.
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

/**
 * SENT is internal: the operation was recorded before the provider call and has no answer yet. The API shows PENDING.
 */
export type OperationState =
  | 'SENT'
  | 'AUTHORIZE_REQUEST'
  | 'PENDING'
  | 'AUTHORIZED'
  | 'CAPTURE_REQUEST'
  | 'OK'
  | 'FAILED'

/**
 * What the customer must do before the provider can decide. `page`: approve the payment on a page of the provider.
 * `challenge`: authenticate with the card issuer. `instructions`: pay a voucher, or make a transfer with the given
 * reference.
 */
export type CustomerStep = 'page' | 'challenge' | 'instructions'

/**
 * Data stored with an operation before the provider is called: what the connector needs in later calls, and what the
 * engine needs to find the operation again. Small, and never card data.
 */
export interface Prepared {
  /** Set while the provider waits for the customer. */
  readonly step?: CustomerStep
  /** The provider account that was called. Absent for a merchant without accounts, whom the simulator serves. */
  readonly account?: string
  /** The method that the customer chose for this try; later tries of the payment may use other methods. */
  readonly triedType?: string
  /** The request held data that was never stored, such as a wallet's payload, so it cannot be repeated. */
  readonly sentOnce?: boolean
  /** The provider approved this operation after the payment had ended. */
  readonly paidLate?: boolean
  /** The late money was kept and the payment continued. Stored, because the merchant may change that setting later. */
  readonly keptLate?: boolean
  /** The provider released the rest with this capture, which had not asked for that. */
  readonly restReleased?: boolean
  /**
   * When the operation was sent, if it was recorded earlier to wait for the customer: milliseconds, merchant's time.
   */
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
  /** For an authorisation that captures in the same provider call: the xId of that capture, chosen before the call. */
  readonly captureXId?: XId
  readonly manual?: { readonly currentSequence?: number; readonly total?: number; readonly final?: boolean }
  /** The client token that the confirm must carry. */
  readonly clientToken?: string
  /** The merchant must send a confirm after the customer's step. */
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
  /** Disputes that were not won. Providers report a dispute once it exists, so there is no pending sum beside it. */
  readonly disputed: number
  /** Taken back by the customer's bank. Banks report returns after the fact, so there is no pending sum beside it. */
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

/** CREDIT: a payout to a card or account that refunds no earlier payment. */
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
  /** The final capture was made, so no other may follow even if an amount is still open. */
  readonly closedForCapture: boolean
  readonly authorizationExpiresAt?: Date
  /** The deadline for the customer's step or the merchant's confirm. */
  readonly expiresAt?: Date
  /** Who must act before the payment can be approved: the customer, or the merchant with a confirm. */
  readonly awaits?: 'CUSTOMER' | 'CONFIRM'
  /** The provider account. Undefined: no provider was called yet, or the merchant has no accounts and the simulator serves it. */
  readonly provider?: PaymentProvider
  /** Masked card data, and the card's id in the vault. */
  readonly instrument?: Instrument
  /** The stored customer: set once the payment is approved, if it names a customer. */
  readonly customerId?: CustomerId
  /** The plan that this payment begins or belongs to. */
  readonly planId?: PlanId
  /** Masked bank account data, the mandate, and the account's id in the vault. */
  readonly account?: AccountInstrument
  /** The other fields of the merchant's request, without card data. */
  readonly details: SentDetails
  /** The gateway's own notes about the payment. */
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
  /** The offer to pay in the cardholder's own currency (DCC), and whether they accepted it. */
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
 * The payment was approved after it had ended, when another payment had already taken its transId or its plan's due
 * day. Two live payments cannot share these, so this one stays REVERSED while its money is given back.
 */
export const isClosedLate = ({ status, operations }: Payment): boolean =>
  status === 'REVERSED' && operations.some(isGivenBackLate)

/** The operation was approved after its payment had ended, and the merchant does not keep the money. */
export const isGivenBackLate = ({ prepared }: Operation): boolean =>
  prepared.paidLate === true && prepared.keptLate !== true

/** 100, unless the method allows captures above the authorised amount. */
export const capturePercent = ({ method }: Payment): number => method.capturePercentMax ?? 100

/** The most that may ever be captured. */
export const captureCeiling = (payment: Payment): number =>
  percentOf(payment.sums.authorized, capturePercent(payment))

/** The amount that may still be captured or reversed. Unanswered captures and reversals count as done. */
export const openAmount = (payment: Payment): number =>
  Math.max(0, payment.sums.authorized - committed(payment))

/** The amount captured and reversed, including captures and reversals that have no answer yet. */
export function committed(payment: Payment): number {
  const { capturing, captured, reversing, reversed } = payment.sums
  return add(add(capturing, captured), add(reversing, reversed))
}

export function findOperation(payment: Payment, xId: XId): Operation | undefined {
  return payment.operations.find(operation => operation.xId === xId)
}

/** When the operation was sent. That is later than its creation if the customer had to act first. */
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

/** The authorisation has no answer yet, so no rule can say what is allowed. */
export const lacksOutcome = ({ kind, status, operations }: Payment): boolean =>
  kind === 'PAYMENT' &&
  status === 'PENDING' &&
  operations.some(
    operation =>
      (operation.type === 'AUTHORIZATION' || operation.type === 'CONFIRM') && isUnanswered(operation),
  )

/**
 * A change of the authorised amount has no answer yet, at a provider that takes the new total instead of the
 * difference. Two totals computed from the same sum would overwrite each other there, while our own sums would count
 * both changes.
 */
export const lacksTotal = ({ method, operations }: Payment): boolean =>
  method.amountByTotal === true &&
  operations.some(
    operation =>
      (operation.type === 'INCREMENTAL' || operation.type === 'REVERSAL') && isUnanswered(operation),
  )

/**
 * The authorisation or confirm that approved the payment. It is not always the last one, because an earlier try may be
 * approved late. If none is approved yet: the last one, which still may be.
 */
export function approvingOperation(payment: Payment): Operation {
  const asking = payment.operations.filter(({ type }) => type === 'AUTHORIZATION' || type === 'CONFIRM')
  const approving = asking.findLast(hasApproved) ?? asking.at(-1)
  if (!approving) throw new Error(`payment ${payment.payId} has no authorisation`)
  return approving
}

/** Whether this authorisation or confirm was approved. */
export const hasApproved = ({ state }: Operation): boolean =>
  state === 'AUTHORIZED' || state === 'CAPTURE_REQUEST' || state === 'OK'

/**
 * Whether the customer must act next. PENDING counts, because they may return to a provider page that they left open.
 */
export const awaitsCustomer = ({ status, awaits }: Payment): boolean =>
  awaits === 'CUSTOMER' && (status === 'AUTHORIZE_REQUEST' || status === 'PENDING')

/** The authorisation that waits for its customer; undefined if the last try failed and no other has begun. */
export const openTry = (payment: Payment): Operation | undefined =>
  awaitsCustomer(payment)
    ? payment.operations.find(
        ({ type, state }) =>
          type === 'AUTHORIZATION' && (state === 'AUTHORIZE_REQUEST' || state === 'PENDING'),
      )
    : undefined

/** Whether the authorisation has expired before all of it was captured. */
export function isLapsed(payment: Payment, now: Date): boolean {
  const { authorizationExpiresAt, sums } = payment
  return (
    authorizationExpiresAt !== undefined &&
    authorizationExpiresAt.getTime() <= now.getTime() &&
    add(sums.captured, sums.capturing) < sums.authorized
  )
}

/** The payment with one more operation, which has no answer yet. */
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
