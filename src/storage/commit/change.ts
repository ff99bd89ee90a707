/**
 * A change holds everything that one operation writes atomically, under its own guards. It is made of records;
 * group-commit.ts converts them to rows and decides how many changes share one commit.
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
  PlanMethod,
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

/** The payment takes the quote; refused if another payment has taken it. */
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
  /** In the merchant's time: keys are kept for 30 days of it. */
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
  /** Whether the event is sent to the address below. Webhook endpoints get every event of their types. */
  readonly owed: boolean
  /** The payment's own webhook address; the merchant's unless given. */
  readonly url?: string
  readonly createdAt: Date
}

export interface ReplayRow {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly sequence: number
  /** The endpoint that gets the event again; all receivers unless given. */
  readonly endpointId?: string
  /** Real time. */
  readonly dueAt: Date
}

/**
 * INQUIRY: query the provider about an undecided operation. CAPTURE: the delayed capture. LAPSE: the end of an
 * authorisation. EXPIRE: the deadline of the customer's step. PLAN: the next charge of a payment plan, or its end; it
 * belongs to the plan's initial payment. RETURN: ask whether a captured debit was returned, or a capture disputed and
 * how that ended. BATCH: queued for the next file to the bank; never due. ANNOUNCE: send the event with the collection
 * date of a debit. APPROVE: approve a debit that was not returned. GIVE_BACK: try again to give back a late payment.
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
  /**
   * How far the merchant's test clock was ahead when `runAt` was computed. The commit corrects the time if the clock was
   * moved since. Absent: the time does not depend on that clock.
   */
  readonly clockOffsetMs?: number
}

export type TimerKey = Omit<Timer, 'runAt' | 'attempt' | 'clockOffsetMs'>

/** Ties an intent to the payment made from it, if its last payment is still the one that the caller saw. */
export interface IntentClaim {
  readonly merchantId: MerchantId
  readonly intentId: IntentId
  readonly payId: PayId
  /** Absent: no payment has been made from the intent. */
  readonly expectedPayId?: PayId
  /** The number of declines of all payments made from the intent. */
  readonly declines: number
}

/** Ends an intent, if its last payment is unchanged: a concurrent confirmation comes entirely before or after. */
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
  /** Events to send again at once, with a new round of attempts. */
  readonly replays?: readonly ReplayRow[]
  readonly setTimers?: readonly Timer[]
  readonly dropTimers?: readonly TimerKey[]
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
  /** Written only if the customer still has this stored method, with this card or account. */
  readonly holdMethod?: PlanMethod
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
   * The columns to write. `settled`: sums and status. `revised`: also amount, transId, capture method and the
   * merchant's own fields. `chosen`: also method, card and account, which a customer chose.
   */
  readonly extent: 'settled' | 'revised' | 'chosen'
}

export interface OperationWrite {
  readonly payment: Payment
  readonly operation: Operation
}

/**
 * The reasons why a change was refused and not written. Each means that another change succeeded, so the caller reads
 * and decides again.
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

/** It is unknown whether the statement was committed; only reading the rows can show it. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection was lost while committing', { cause })
  }
}

/** The writes that change a stored payment from `before` to `after`. */
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
  // The same card in another currency counts as another choice.
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
