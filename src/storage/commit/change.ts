/**
 * A change is what one operation wants to write, all or nothing, under its own guards. It is made of records;
 * group-commit.ts decides how they become rows and how many changes share one commit.
 */
import type { EventType } from '#domain/event-types.ts'
import type { IntentId, MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Dispute } from '#lifecycle/dispute.ts'
import type { Intent } from '#lifecycle/intent.ts'
import type { AccountInstrument, Instrument, Operation, Payment } from '#lifecycle/payment.ts'
import type { CustomerUpdate, CustomerWrite } from '#storage/commit/customer-change.ts'
import { type Mark, markBetween, type Unmark } from '#storage/commit/marks.ts'
import type {
  PlanBirth,
  PlanGuard,
  PlanHold,
  PlanProgress,
  PlanResult,
  PlanStart,
  PlanTurnStart,
  PlanUpdate,
} from '#storage/commit/plan-change.ts'
import type { Quote } from '#storage/payments/quotes.ts'

export interface CardRow {
  readonly merchantId: MerchantId
  readonly cardId: string
  readonly pseudoNumber: string
  readonly keyVersion: number
  readonly sealed: Buffer
  readonly expiryDate?: string
}

export interface AccountRow {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly pseudoNumber: string
  readonly keyVersion: number
  readonly sealed: Buffer
}

/** A quote that this change's payment takes; refused when another payment was faster. */
export interface QuoteUse {
  readonly merchantId: MerchantId
  readonly quoteId: string
  readonly payId: PayId
}

export interface KeyRow {
  readonly merchantId: MerchantId
  readonly verb: string
  readonly path: string
  readonly key: string
  readonly fingerprint: string
  readonly payId?: PayId
  readonly xId?: XId
  readonly answer?: StoredAnswer
  /** In the merchant's time: keys are kept for 30 of its days. */
  readonly createdAt: Date
}

export interface StoredAnswer {
  readonly status: number
  readonly json: string
}

export interface KeyAnswer {
  readonly merchantId: MerchantId
  readonly verb: string
  readonly path: string
  readonly key: string
  readonly answer: StoredAnswer
}

export interface EventRow {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  readonly eventId: string
  readonly xId: XId
  readonly type: EventType
  readonly body: unknown
  /** Whether it is sent to the address below; added endpoints get every event. */
  readonly owed: boolean
  /** The payment's own address for events; the merchant's unless given. */
  readonly url?: string
  readonly createdAt: Date
}

export interface ReplayRow {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  /** The endpoint that it is sent to again; all its receivers unless given. */
  readonly endpointId?: string
  /** Real time. */
  readonly dueAt: Date
}

/**
 * INQUIRY: ask what became of an operation. CAPTURE: a delayed one. LAPSE: of an authorisation. EXPIRE: of a request.
 * PLAN: the next charge of a payment plan, or its end; it belongs to the plan's initial payment. RETURN: ask whether a
 * captured debit was returned, or a capture disputed and how that ended. BATCH: waits for the next file to the bank;
 * never due. ANNOUNCE: send the merchant the collection date of a debit. APPROVE: a debit that nobody has returned
 * counts as paid. GIVE_BACK: money that was paid too late and could not be given back at once.
 */
export type TimerKind =
  | 'INQUIRY'
  | 'CAPTURE'
  | 'LAPSE'
  | 'EXPIRE'
  | 'PLAN'
  | 'RETURN'
  | 'BATCH'
  | 'ANNOUNCE'
  | 'APPROVE'
  | 'GIVE_BACK'

export interface Timer {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly xId: XId
  readonly kind: TimerKind
  readonly runAt: Date
  readonly attempt: number
}

/** Ties an intent to the payment made from it, if its last payment is still the one that was seen to have failed. */
export interface IntentClaim {
  readonly merchantId: MerchantId
  readonly intentId: IntentId
  readonly payId: PayId
  /** Absent: none was made so far. */
  readonly expectedPayId?: PayId
  /** Of all payments that were made from it so far. */
  readonly declines: number
}

/** Ends an intent, if its last payment has not changed: a concurrent confirmation comes wholly before or after. */
export interface IntentEnd {
  readonly merchantId: MerchantId
  readonly intentId: IntentId
  readonly expectedPayId?: PayId
  readonly now: Date
}

export interface Change {
  readonly card?: CardRow
  readonly account?: AccountRow
  readonly useQuote?: QuoteUse
  readonly insertQuote?: Quote
  readonly insertPayment?: Payment
  /** Written only while the stored version is still `expectedVersion`. */
  readonly updatePayment?: PaymentUpdate
  /** Written only while the stored version is still the expected one; the row is locked until the commit. */
  readonly holdPayment?: PaymentHold
  /** Written with the payment: see marks.ts. */
  readonly mark?: Mark
  readonly unmark?: Unmark
  readonly insertOperations?: readonly OperationWrite[]
  readonly updateOperations?: readonly OperationWrite[]
  readonly key?: KeyRow
  readonly keyAnswer?: KeyAnswer
  readonly events?: readonly EventRow[]
  /** The customer that an approved payment creates or finds. */
  readonly customer?: CustomerWrite
  /** Written only while the stored version is still the expected one. */
  readonly updateCustomer?: CustomerUpdate
  /** Events that are to be sent again at once, as if for the first time. */
  readonly replays?: readonly ReplayRow[]
  readonly setTimers?: readonly Timer[]
  readonly dropTimers?: readonly Omit<Timer, 'runAt' | 'attempt'>[]
  readonly insertIntent?: Intent
  readonly claimIntent?: IntentClaim
  readonly endIntent?: IntentEnd
  /** A dispute of the payment that is updated, new or changed. */
  readonly dispute?: Dispute
  readonly insertPlan?: PlanBirth
  /** The initial payment was approved. */
  readonly startPlan?: PlanStart
  /** Written only while the plan may be charged. */
  readonly chargePlan?: PlanGuard
  /** Written only if the plan's version is unchanged, so that a day is charged once. */
  readonly beginTurn?: PlanTurnStart
  readonly endTurn?: PlanResult
  /** Written only if the plan's version is unchanged; the row is locked until the commit. */
  readonly holdPlan?: PlanHold
  readonly movePlan?: PlanProgress
  /** Written only while the stored version is still the expected one. */
  readonly updatePlan?: PlanUpdate
  /** The same for a plan that continues or ends: other terms, a pause, its end. */
  readonly changePlan?: PlanUpdate
}

export interface PaymentHold {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly expectedVersion: number
}

export interface PaymentUpdate {
  readonly payment: Payment
  readonly expectedVersion: number
  /**
   * How much changed. `settled`: sums and status. `revised`: amount, transId, capture method, the merchant's own fields as
   * well. `chosen`: a customer chose the method or gave a card, so that these change too.
   */
  readonly extent: 'settled' | 'revised' | 'chosen'
}

export interface OperationWrite {
  readonly payment: Payment
  readonly operation: Operation
}

/**
 * Why nothing of a change was written. Each means that another change succeeded, so the caller reads again and decides
 * again.
 */
export const conflicts = [
  'key_taken',
  'trans_id_taken',
  'version_changed',
  'pseudo_number_taken',
  'intent_taken',
  /** Created, deleted or changed by another request in the meantime. */
  'customer_changed',
  /** The vault has destroyed the number of the card or account. */
  'card_gone',
  'quote_taken',
  /** Cancelled, suspended or charged by another request in the meantime. */
  'plan_changed',
] as const

export type Conflict = (typeof conflicts)[number]

export type Committed =
  | { readonly committed: true }
  | { readonly committed: false; readonly conflict: Conflict }

/** The statement may or may not have been committed: only reading the stored rows can show it. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection was lost while committing', { cause })
  }
}

/** What changed between two states of a payment, as the writes that bring one to the other. */
export function writesBetween(
  before: Payment,
  after: Payment,
): Pick<Change, 'updatePayment' | 'insertOperations' | 'updateOperations' | 'mark' | 'unmark'> {
  const known = new Map(before.operations.map(operation => [operation.xId, operation]))
  const insertOperations: OperationWrite[] = []
  const updateOperations: OperationWrite[] = []
  for (const operation of after.operations) {
    const old = known.get(operation.xId)
    if (!old) insertOperations.push({ payment: after, operation })
    else if (old !== operation) updateOperations.push({ payment: after, operation })
  }
  return {
    updatePayment: { payment: after, expectedVersion: before.version, extent: extentOf(before, after) },
    ...(insertOperations.length > 0 ? { insertOperations } : {}),
    ...(updateOperations.length > 0 ? { updateOperations } : {}),
    ...markBetween(before, after),
  }
}

function extentOf(before: Payment, after: Payment): PaymentUpdate['extent'] {
  const chosen =
    before.method !== after.method ||
    isOtherCard(before.instrument, after.instrument) ||
    isOtherAccount(before.account, after.account) ||
    before.provider?.account !== after.provider?.account
  if (chosen) return 'chosen'
  return isRevised(before, after) ? 'revised' : 'settled'
}

const isOtherCard = (before: Instrument | undefined, after: Instrument | undefined): boolean =>
  before?.cardId !== after?.cardId ||
  before?.expiryDate !== after?.expiryDate ||
  before?.cardHolderName !== after?.cardHolderName ||
  // The same card in another currency is another choice.
  before?.dcc !== after?.dcc

const isOtherAccount = (
  before: AccountInstrument | undefined,
  after: AccountInstrument | undefined,
): boolean => before?.accountId !== after?.accountId || before?.accountHolderName !== after?.accountHolderName

const isRevised = (before: Payment, after: Payment): boolean =>
  before.transId !== after.transId ||
  before.refNr !== after.refNr ||
  before.amount !== after.amount ||
  before.captureMethod !== after.captureMethod ||
  before.expiresAt !== after.expiresAt ||
  before.awaits !== after.awaits ||
  before.details !== after.details ||
  before.own !== after.own
