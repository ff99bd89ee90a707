/**
 * Notices (a provider's webhooks), disputes and settlement lines. Part of the connector contract; contract.ts
 * re-exports these types.
 */
import type { Inquiry, Kept } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { DisputeFacts } from '#lifecycle/dispute.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { OperationType } from '#lifecycle/payment.ts'

// ── Notices ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface RawNotice {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly query: Readonly<Record<string, string>>
}

export type Notice =
  | { readonly verdict: 'forged'; readonly reason: string }
  | {
      readonly verdict: 'genuine'
      readonly items: readonly NoticeItem[]
      /** The answer that the provider expects. */
      readonly answer: { readonly status: number; readonly body: string; readonly type: string }
    }

export type { DisputeFacts, DisputeReason, DisputeStage, DisputeStatus } from '#lifecycle/dispute.ts'

export interface NoticeItem {
  /** Deduplicates deliveries: unique within the account, and the same when the item is delivered again. */
  readonly key: string
  /** The provider's time: of two results of one dispute, the later counts. */
  readonly occurredAt?: Date
  readonly fact: NoticeFact
}

/**
 * How a notice identifies its operation: the first known id decides. Ids of different payments match nothing, and an
 * approval with a foreign reference is not trusted, even if another id matches.
 */
export interface NoticeSubject {
  /** Our xId of the operation itself. */
  readonly reference?: XId
  /** The provider's id of the operation itself. */
  readonly transactionId?: string
  /** The provider's id of the payment it belongs to. */
  readonly paymentTransactionId?: string
  /**
   * Data that `keep` must have stored with the payment; otherwise the notice is ignored. Used for notices of an Adyen
   * merchant account that is no longer configured: they concern only payments that were made there.
   */
  readonly kept?: Kept
}

export type NoticeFact =
  /** The outcome of an operation that we requested or, if none matches, of one made elsewhere, e.g. in a dashboard. */
  | {
      readonly kind: 'outcome'
      readonly operation: OperationType
      readonly subject: NoticeSubject
      readonly amount?: Money
      /**
       * For captures whose originator the notice does not name: the captured total after it, used instead of the
       * amount. A total equal to our own sum reports a capture of ours; the excess over it was captured elsewhere.
       */
      readonly total?: Money
      readonly outcome: Outcome
      readonly capture?: Outcome
      /**
       * The notice lacks facts that a look-up has, such as the token of a stored card, so the approval is looked up. If
       * the outcome is pending, the look-up may find an approval; otherwise the notice changes nothing.
       */
      readonly isBrief?: true
    }
  /** An approved capture or refund has failed after all. */
  | {
      readonly kind: 'takenBack'
      readonly operation: OperationType
      readonly subject: NoticeSubject
      /** The amount of the operation; a notice with another amount is not trusted. */
      readonly amount?: Money
      readonly detail: string
      readonly provider?: ProviderFacts
    }
  /** The authorisation has expired at the provider, so the uncaptured rest is no longer held. */
  | { readonly kind: 'lapsed'; readonly subject: NoticeSubject }
  /**
   * Money was refunded, but the notice does not list the refunds, so they are fetched with `listRefunds`. `told`: the
   * one refund that the notice names. It may be released authorisation, unless the whole authorisation was captured.
   */
  | { readonly kind: 'refunds'; readonly subject: NoticeSubject; readonly told?: RefundFact }
  /** The customer's bank took captured money back. */
  | {
      readonly kind: 'return'
      readonly subject: NoticeSubject
      readonly amount: Money
      /** The last four digits of the response code. */
      readonly detail: string
      readonly transactionId: string
    }
  | {
      readonly kind: 'dispute'
      readonly subject: NoticeSubject
      readonly dispute: DisputeFacts
      /** As for `return`. Set by providers that report returned debits as disputes. */
      readonly returnDetail?: string
      /** Types that are no debits, but whose later payments are: their disputes are returns too. */
      readonly chargedAsDebits?: readonly string[]
      /** For a debit the event means nothing, because the return of its money has an event of its own. */
      readonly isNoneOfDebits?: true
    }
  | ({ readonly kind: 'report' } & AnnouncedReport)
  /** A known event without consequences for us. */
  | { readonly kind: 'ignored'; readonly name: string }

export type RefundFact = Extract<NoticeFact, { kind: 'outcome' | 'takenBack' }>

/** For a provider whose notices do not always list the refunds that they report. */
export interface RefundList {
  /** The refunds of a payment that have not failed; undefined: the provider gave no answer. */
  listRefunds?(paymentId: string, signal: AbortSignal): Promise<readonly RefundFact[] | undefined>
}

/** For a provider on whose page a customer may try again after a decline that its notices report. */
export interface TriesOnPages {
  /**
   * Pure. Whether a declined try ends an authorisation that has no outcome yet; `known` is what is stored of that.
   * Absent: it does.
   */
  isLastTry?(declined: ProviderFacts, known: ProviderFacts | undefined): boolean
}

/** A dispute that the merchant answers. */
export interface AnsweredDispute extends DisputeFacts {
  /** The data kept for the approval of the disputed payment. */
  readonly approval?: Kept
}

/** The merchant's actions on disputes, where the provider has them, and how disputes are found without notices. */
export interface DisputeActions {
  /** Pure. The part of the submitted evidence to store for `findDecision`. */
  keep?(evidence: Evidence): Readonly<Record<string, string | number | boolean>>
  /** For a provider without notices: how long after a capture to look for a dispute; undefined: there will be none. */
  checkMs?(capture: Inquiry): number | undefined
  findOpened?(capture: Inquiry, at: Date): Promise<DisputeFacts | undefined>
  /** How long after its opening a dispute is decided. */
  readonly decisionMs?: number
  /** Undefined: not decided yet; the provider is asked again as long after this. */
  findDecision?(
    dispute: DisputeFacts,
    kept: Readonly<Record<string, string | number | boolean>>,
    at: Date,
  ): Promise<DisputeFacts | undefined>
  accept?(dispute: AnsweredDispute, key: string, signal: AbortSignal): Promise<Outcome>
  submitEvidence?(
    dispute: AnsweredDispute,
    evidence: Evidence,
    key: string,
    signal: AbortSignal,
  ): Promise<Outcome>
}

export interface Evidence {
  readonly text?: string
  readonly files: readonly { readonly name: string; readonly type: string; readonly content: Uint8Array }[]
}

// ── Settlement and checks ─────────────────────────────────────────────────────────────────────────────────────────

export interface SettlementLine {
  readonly settlementId: string
  readonly date: string
  readonly type: 'CAPTURE' | 'REFUND' | 'CHARGEBACK' | 'FEE' | 'RESERVE' | 'PAYOUT' | 'CORRECTION'
  readonly reference?: XId
  readonly transactionId?: string
  /** Smallest unit; positive to the merchant, negative from them. */
  readonly gross: number
  readonly fee: number
  readonly net: number
  readonly currency: string
  /** The amount in the customer's currency, with the sign of `gross`, if that differs and the provider reports it. */
  readonly paid?: Money
  readonly providerReference: string
  /** No other line has this `providerReference`, even if another file assigns the same line to another settlement. */
  readonly isNamedOnce?: true
  /**
   * The bank statement entry that this line repeats. Once the entry is imported, its payments have lines of their own.
   */
  readonly entry?: StatementEntry
}

export interface StatementEntry {
  readonly key: string
  /** The key by which an earlier release may have stored it. */
  readonly formerKey?: string
  readonly bookedOn: string
  /** Positive to the merchant, negative from them. */
  readonly amount: number
  readonly currency: string
}

/** A report announced in a notice. The address may be anywhere, so no key may be sent to it unchecked. */
export interface AnnouncedReport {
  readonly url: string
  readonly name: string
}

/**
 * `none`: not a settlement file, or the account has no key for reports; it must be imported manually. `foreign`: the
 * address is not the provider's and was not called. `failed`: try again later.
 */
export type FetchedReport =
  | { readonly kind: 'fetched'; readonly file: Iterable<Uint8Array> }
  | { readonly kind: 'none' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'failed'; readonly reason: string }

export interface CheckFinding {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}
