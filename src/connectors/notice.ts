/**
 * What a provider reports on its own: notices, disputes, settlement lines. Part of the connector contract; the rest is
 * in contract.ts, which re-exports these types.
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
  /** Unique per account: the same item delivered twice has the same key. */
  readonly key: string
  /** The provider's time, for the record only. */
  readonly occurredAt?: Date
  readonly fact: NoticeFact
}

/**
 * How a notice says which operation it means; the first that is known decides. Names of different payments match none,
 * and an approval under a reference that is not ours is not trusted, whatever else it names.
 */
export interface NoticeSubject {
  /** Our xId of the operation itself. */
  readonly reference?: XId
  /** The provider's id of the operation itself. */
  readonly transactionId?: string
  /** The provider's id of the payment it belongs to. */
  readonly paymentTransactionId?: string
  /**
   * What `keep` must have kept with the payment for the notice to be about it, else it is ignored: notices of a merchant
   * account at Adyen that the setting no longer names concern only the payments that were made there.
   */
  readonly kept?: Kept
}

export type NoticeFact =
  /** The outcome of an operation that we asked for; or, where nothing matches, one that was made elsewhere. */
  | {
      readonly kind: 'outcome'
      readonly operation: OperationType
      readonly subject: NoticeSubject
      readonly amount?: Money
      /**
       * What is captured in all after a capture whose author the notice does not name; then the amount does not count. One
       * that adds nothing to our sum is ours; what it adds was captured elsewhere.
       */
      readonly total?: Money
      readonly outcome: Outcome
      readonly capture?: Outcome
    }
  /** A capture or refund that had been approved has failed after all. */
  | {
      readonly kind: 'takenBack'
      readonly operation: OperationType
      readonly subject: NoticeSubject
      /** The amount of the operation; a notice with another amount is not trusted. */
      readonly amount?: Money
      readonly detail: string
      readonly provider?: ProviderFacts
    }
  /** The provider no longer holds what is left of an authorisation: its time ran out there. */
  | { readonly kind: 'lapsed'; readonly subject: NoticeSubject }
  /**
   * Money was refunded, and the notice does not name the refunds: they are asked for with `listRefunds`. `told`: it names one,
   * which may be what was released of an authorisation, unless all of that has been captured.
   */
  | { readonly kind: 'refunds'; readonly subject: NoticeSubject; readonly told?: RefundFact }
  /** Captured money went back to the customer's bank. */
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
      /** As of a return: set by providers that report a debit which came back as a dispute. */
      readonly returnDetail?: string
    }
  | ({ readonly kind: 'report' } & AnnouncedReport)
  /** Understood but without consequences for us. */
  | { readonly kind: 'ignored'; readonly name: string }

export type RefundFact = Extract<NoticeFact, { kind: 'outcome' | 'takenBack' }>

/** Of a provider whose notices do not always name the refunds that they tell of. */
export interface RefundList {
  /** The refunds of a payment that have not failed, by the provider's id of it; undefined: it did not say. */
  listRefunds?(paymentId: string, signal: AbortSignal): Promise<readonly RefundFact[] | undefined>
}

/** What some providers let a merchant do about disputes, and how those without notices are asked about them. */
export interface DisputeActions {
  /** Pure. The part of the submitted evidence that is passed to `findDecision`. */
  keep?(evidence: Evidence): Readonly<Record<string, string | number | boolean>>
  /** Of a provider without notices: how long after a capture to look for a dispute; undefined: there will be none. */
  checkMs?(capture: Inquiry): number | undefined
  findOpened?(capture: Inquiry, at: Date): Promise<DisputeFacts | undefined>
  /** How long after it was opened a dispute is decided. */
  readonly decisionMs?: number
  findDecision?(
    dispute: DisputeFacts,
    kept: Readonly<Record<string, string | number | boolean>>,
    at: Date,
  ): Promise<DisputeFacts | undefined>
  accept?(dispute: DisputeFacts, key: string, signal: AbortSignal): Promise<Outcome>
  submitEvidence?(
    dispute: DisputeFacts,
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
  /** What the customer paid or got back, with the sign of `gross`, where that is another currency and the provider says it. */
  readonly paid?: Money
  readonly providerReference: string
  /** No other line has this `providerReference`, also where another file counts the line to another settlement. */
  readonly isNamedOnce?: true
  /** The entry of a bank's statement that the line repeats: once the entry is applied, the payments have its lines. */
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

/** As announced in a notice; the address may be anywhere, so no key may be sent to it unchecked. */
export interface AnnouncedReport {
  readonly url: string
  readonly name: string
}

/**
 * `none`: not a settlement file, or the account has no key for it; it must be imported manually. `foreign`: the address
 * is not the provider's and was not called. `failed`: to be tried again.
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
