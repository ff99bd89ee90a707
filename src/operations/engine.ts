/** The dependencies of every operation: storage, vault, providers, clock and randomness. Nothing here is global. */
import type { ProviderDirectory } from '#connectors/directory.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { CustomerBook } from '#operations/customers/customer-book.ts'
import type { CustomerVault } from '#operations/customers/customers.ts'
import type { EndpointBook } from '#operations/events/endpoint-book.ts'
import type { PaymentQueue } from '#operations/payments/payment-queue.ts'
import type { Sendings } from '#operations/payments/provider-calls/sendings.ts'
import type { Turns } from '#operations/payments/turns.ts'
import type { Velocity } from '#operations/payments/velocity.ts'
import type { DebitReader } from '#storage/bank/items.ts'
import type { Change, Committed } from '#storage/commit/change.ts'
import type { ReferenceReader } from '#storage/commit/provider-references.ts'
import type { Erasure } from '#storage/customers/erasure.ts'
import type { StoredMethods } from '#storage/customers/stored-methods.ts'
import type { DisputeStore } from '#storage/disputes/disputes.ts'
import type { PaymentFinder } from '#storage/payments/finding.ts'
import type { IntentReader } from '#storage/payments/intents.ts'
import type { MovementReader } from '#storage/payments/movements.ts'
import type { PaymentReader } from '#storage/payments/payments.ts'
import type { QuoteReader } from '#storage/payments/quotes.ts'
import type { PlanReader } from '#storage/plans/plans.ts'
import type { AccountVault } from '#vault/accounts.ts'
import type { CardVault } from '#vault/cards.ts'
import type { OneTimeCards } from '#vault/one-time-cards.ts'

export interface Engine {
  readonly commit: (change: Change) => Promise<Committed>
  readonly payments: PaymentReader
  readonly intents: IntentReader
  readonly queue: PaymentQueue
  readonly vault: CardVault
  readonly customers: CustomerVault
  readonly customerBook: CustomerBook
  readonly storedMethods: StoredMethods
  readonly accounts: AccountVault
  readonly quotes: QuoteReader
  /** Cards that customers typed into fields inside a shop's page. */
  readonly oneTimeCards: OneTimeCards
  readonly plans: PlanReader
  readonly disputes: DisputeStore
  /** Finds the operation that a provider's notice refers to. */
  readonly references: ReferenceReader
  readonly endpoints: EndpointBook
  readonly finder: PaymentFinder
  readonly movements: MovementReader
  readonly debits: DebitReader
  readonly providers: ProviderDirectory
  readonly velocity: Velocity
  /** Answers to one dispute are sent one after the other. */
  readonly disputeTurns: Turns
  readonly erasure: Erasure
  readonly clock: Clock
  readonly environment: 'test' | 'live'
  readonly newId: () => string
  /** The page on which the customer of this payment continues. */
  readonly pageAddress: (payment: Pick<Payment, 'merchantId' | 'payId' | 'operations'>) => string
  /** The address to which a provider redirects the customer of this try. */
  readonly returnAddress: (subject: ReturnSubject) => string
  /** Called after every provider call, settled or undecided, for the metrics. */
  readonly onOutcome: (operation: string, outcome: string) => void
  /** Called for faults that no caller sees: an answer that did not belong to its request, a connector that threw. */
  readonly onAlarm: (alarm: Alarm) => void
  readonly testCrash: CrashPoint
  /**
   * False when this process was frozen or cut off from the database, so that other processes may have taken over its
   * operations. It must not send them any more, because the others may have concluded that they were never sent.
   */
  readonly isAlive: () => boolean
  /** The operations that this process has recorded and may still send. Even a short absence revokes them for good. */
  readonly sendings: Sendings
}

export interface ReturnSubject {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly xId: XId
  /** The type of the method that was tried. */
  readonly type: string
}

export interface Clock {
  /** Real time in milliseconds. */
  readonly nowMs: () => number
  /** Injected so that tests need not wait. */
  readonly waitMs: (milliseconds: number) => Promise<void>
}

/** The codes that operators set alarms on; docs/operating.md explains each. */
export const alarmCodes = [
  'ANSWER_MISMATCH',
  'ANSWER_NOT_UNDERSTOOD',
  'CREDENTIALS_REFUSED',
  'CONNECTOR_THREW',
  'DECLINE_NOT_COUNTED',
  'SETTLE_FAILED',
  'OUTCOME_NOT_WRITTEN',
  'TIMER_FAILED',
  'PROCESS_CUT_OFF',
  'PARTIAL_APPROVAL',
  'PAID_TWICE',
  'UNDONE_NOT_RECORDED',
  'NOT_GIVEN_BACK',
  'PLAN_NOT_CHARGED',
] as const

export interface Alarm {
  readonly code: (typeof alarmCodes)[number]
  readonly message: string
  readonly payId?: PayId
  readonly xId?: XId
  readonly error?: unknown
}

/** Named gaps between two writes, where recovery tests let the process die. Does nothing elsewhere. */
export type CrashPoint = (point: 'afterRecord' | 'afterCall' | 'afterSettle') => void | Promise<void>

/** The merchant's time: real time plus how far its test clock was moved. */
export const merchantNow = (clock: Clock, merchant: Pick<Merchant, 'clockOffsetMs'>): Date =>
  new Date(clock.nowMs() + merchant.clockOffsetMs)

/**
 * When something is dated that a timer does which was set for `dueAt`. In test at that time, because moving the clock
 * shows what days of waiting would have shown. In live when it happens, since the timer may run late: providers' own
 * time limits count from then, and an export of the movements of the time before must stay complete.
 */
export const effectTime = (
  { clock, environment }: Pick<Engine, 'clock' | 'environment'>,
  merchant: Pick<Merchant, 'clockOffsetMs'>,
  dueAt: Date | undefined,
): Date => (dueAt === undefined || environment === 'live' ? merchantNow(clock, merchant) : dueAt)

/**
 * The casts here and below hold because newId makes 32 hex digits, sortable by time, which is the form of these ids.
 */
export const newPayId = (engine: Pick<Engine, 'newId'>): PayId => engine.newId() as PayId

export const newXId = (engine: Pick<Engine, 'newId'>): XId => engine.newId() as XId
