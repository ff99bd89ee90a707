/**
 * The contract between the engine and a provider's connector. A connector translates and transports; it never touches
 * storage and never decides the state of a payment. Differences between providers are declared as facts.
 */

import type { CardQuestion, CardUpdate, DebitReturn, InstalmentPlan } from '#connectors/card-services.ts'
import type {
  AccountData,
  CardData,
  ConversionTerms,
  CredentialUse,
  SandboxData,
  ThreeDsRequest,
  WalletData,
} from '#connectors/instruments.ts'
import type {
  AnnouncedReport,
  CheckFinding,
  DisputeActions,
  FetchedReport,
  Notice,
  RawNotice,
  RefundList,
  SettlementLine,
  TriesOnPages,
} from '#connectors/notice.ts'
import type { CustomerDecision, PageReturn, SitePage, SiteQuestion } from '#connectors/site.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { CustomerActionOutcome, Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'

// ── A provider in the registry ────────────────────────────────────────────────────────────────────────────────────

/** One line of the registry: everything about a provider that does not depend on an account. */
export interface ConnectorDefinition {
  readonly facts: ConnectorFacts
  /** Pure: one connector per account. Opening it makes no call. */
  open(account: ProviderAccount, tools: ConnectorTools): Connector
}

export interface ConnectorFacts {
  /** The name in `provider add --connector NAME`. */
  readonly name: string
  /** In live, calls may go only to these hosts; `*.` stands for one label. Empty: this connector makes no calls. */
  readonly liveHosts: readonly string[]
  readonly settings: Readonly<Record<string, SettingFact>>
  readonly secrets: Readonly<Record<string, SecretFact>>
  /** Whether this provider can serve a method type at all; the `types` of an account narrow this further. */
  serves(type: string): boolean
  /** The name that customers see for a neutral type, if the account sets no label of its own. */
  label?(type: string): string | undefined
  /** Decimals of the provider's amounts; undefined: the provider does not take this currency. */
  exponent(currency: string): number | undefined
  /** The least amount in our smallest unit. Absent: the provider also takes a zero amount, which only verifies the card. */
  minimum?(currency: string): number
  readonly lostAnswer: LostAnswer
  /** One call is aborted after this long. At most 20 s. */
  readonly timeoutMs: number
  /** How long `pending` may last before an operator must look: seconds for cards, days for debits and vouchers. */
  pendingMs(method: Method, operation: OperationType): number
  /** Money moves with files that commands write and read, so pending operations wait for the next file. */
  readonly batched?: boolean
  /** Larger notices are refused unread. For providers whose signature can be checked only after parsing. */
  readonly noticeBytesMax?: number
  /** The path of the pages that we serve for a provider without a web site; the token of the return address follows. */
  readonly sitePath?: string
  /** The provider moves no real money and exists in the test environment only. */
  readonly testOnly?: boolean
}

/**
 * How the engine finds the outcome of a request whose answer was lost, in this order: wait for a notice, look the
 * request up by our reference, repeat it under the same key, undo it. Absent steps are skipped.
 */
export interface LostAnswer {
  /** How long to wait for a notice before anything else; 0 if notices are not needed. */
  readonly noticeWithinMs: number
  /** From this age of the request on, a look-up that finds nothing proves that it never arrived. Absent: no look-up. */
  readonly lookUpSettledMs?: number
  /** How long the same key returns the first answer. Absent: never. A request with a raw card is never repeated. */
  readonly repeatWithinMs?: number
  /** Whether `undo` can make sure that the operation did not happen. */
  readonly undo: boolean
}

export interface SettingFact {
  readonly required?: boolean
  readonly environment?: 'test' | 'live'
  readonly default?: string
  /** The error text for a wrong value; undefined: the value is valid. */
  check?(value: string): string | undefined
  /** For `provider add --help` and the docs. */
  readonly description: string
}

export interface SecretFact {
  readonly required: boolean
  readonly description: string
  check?(value: string, environment: 'test' | 'live'): string | undefined
}

/** One contract of a merchant with a provider, opened for use. */
export interface ProviderAccount {
  /** acc_… */
  readonly accountId: string
  readonly merchantId: MerchantId
  readonly connector: string
  readonly name: string
  readonly environment: 'test' | 'live'
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Secret<string>>>
}

export interface ConnectorTools {
  readonly http: ProviderHttp
  /** Real time: signatures and the provider's deadlines must not depend on a test clock. */
  readonly nowMs: () => number
}

/** One HTTP exchange with a provider: no redirects, no retries, the answer bounded in size. */
export interface ProviderHttp {
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>
}

export interface HttpRequest {
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Bytes, if a file is sent. */
  readonly body?: string | Uint8Array
  /** The largest answer, for a file to be fetched. Defaults to 1 MiB. */
  readonly answerBytesMax?: number
}

/** `lost`: the request may have arrived, but no complete answer was received. */
export type HttpAnswer =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | { readonly kind: 'lost'; readonly reason: string }
  /** Certainly never sent: no connection, no name, TLS refused. */
  | { readonly kind: 'unreached'; readonly reason: string }

// ── A connector for one account ───────────────────────────────────────────────────────────────────────────────────

/** Operations on an existing payment. A connector omits the operations that its provider does not have. */
export interface FollowUps {
  readonly capture?: FollowUp
  readonly reverse?: FollowUp
  readonly refund?: FollowUp
  readonly increment?: FollowUp
}

export interface Connector extends FollowUps, RefundList, TriesOnPages {
  readonly facts: ConnectorFacts
  /** Undefined: this account does not serve the method. */
  supports(method: Method): Capabilities | undefined
  /** The creditor of SEPA mandates, which our page must show before the customer agrees to one. */
  readonly creditor?: { readonly name: string; readonly creditorId: string }
  /** Pure. A field (also of a capture) that this provider requires or cannot take: 400 before anything is written. */
  findMisfit?(request: Unsent<AuthorizationRequest>): FieldMisfit | undefined
  findCaptureMisfit?(fields: Readonly<Record<string, unknown>>, at: Date): FieldMisfit | undefined
  /** Pure. Whether a 3-D Secure challenge is certain, so that the request must contain a return address. */
  willChallenge?(request: Unsent<AuthorizationRequest>): boolean
  /**
   * Data to store with the operation before it is sent and to pass to every later call about it, e.g. Adyen's merchant
   * account. Called before each first commit. Follow-ups and completed actions get and replace that of their approval.
   */
  keep?(question: KeepQuestion): Kept | Promise<Kept>
  /** Undoes `keep` for an operation that was not recorded, such as one that repeats another. */
  release?(unrecorded: Pick<OperationRequest, 'reference'> & { merchantId: MerchantId }): Promise<void>
  /** Requests the authorisation. The answer may be that the customer must act first. */
  authorize(request: AuthorizationRequest, signal: AbortSignal): Promise<AuthorizationOutcome>
  /**
   * Pure. For pages whose return parameters are proof of the customer's decision: signed ones, as several acquirers
   * send, or the simulator's. Undefined: the parameters hold no decision. Absent: they prove nothing, so the provider
   * is asked with `complete`.
   */
  readReturn?(returned: PageReturn): CustomerDecision | undefined
  /** Pure. The content of a page under `facts.sitePath`, whose form posts to the return address. */
  drawPage?(question: SiteQuestion): SitePage
  /** Finishes an authorisation after the customer returned from an action, or a notice reported its completion. */
  complete?(returned: CustomerReturn, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Ends an open action at the provider, e.g. expires its page, before the payment is cancelled. */
  cancelAction?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** A payout that refunds no payment. */
  credit?(request: AuthorizationRequest, signal: AbortSignal): Promise<Outcome>
  /** Queries the outcome of an operation. Absent: no look-up exists. `unreached`: it certainly never arrived. */
  inquire?(inquiry: Inquiry, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Makes sure that the operation does not take effect. `declined`: it did not happen, or is undone. */
  undo?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** The test data that the provider publishes for its sandbox. Shown and used in the test environment only. */
  readonly sandbox?: SandboxData
  /** Pure, because it is called while a page is rendered. The instalments for a purchase at that time. */
  instalments?(method: Method, amount: Money, at: Date): InstalmentPlan | undefined
  /** Asks the schemes for updates of many cards at once; the answers come in the same order. Moves no money. */
  updateCards?(merchantId: MerchantId, cards: readonly CardQuestion[]): Promise<readonly CardUpdate[]>
  /** How long after a capture to check whether the customer's bank has returned it; undefined: it will not. */
  returnCheckMs?(capture: Inquiry): number | undefined
  /** The bank's reason for returning the capture; undefined: it was not returned. */
  findReturn?(capture: Inquiry): Promise<DebitReturn | undefined>
  /** Pure: verifies the signature of a notice and reads it. */
  readNotice?(raw: RawNotice): Notice
  readonly disputes?: DisputeActions
  /** Parses a settlement file of this provider into lines. */
  readSettlement?(file: AsyncIterable<Uint8Array>): AsyncIterable<SettlementLine>
  /** Downloads a settlement file that a notice has announced, for `readSettlement`. */
  fetchReport?(report: AnnouncedReport, signal: AbortSignal): Promise<FetchedReport>
  /** Checks with one harmless call whether the credentials are right and notices will reach us. */
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>
  /** Makes a few payments in the provider's sandbox, never in live, to prove what no test double can. */
  checkPayments?(signal: AbortSignal): Promise<readonly CheckFinding[]>
}

type FollowUp = (request: FollowUpRequest, signal: AbortSignal) => Promise<Outcome>

/** What an account can do with a method. Rules and pages use the intersection with the method's row. */
export interface Capabilities {
  /** Card numbers may be sent to the provider. Otherwise CARD on our page continues on the provider's page. */
  readonly rawCards: boolean
  readonly capture: 'none' | 'one' | 'several'
  /** A partial capture releases the rest of the authorisation. */
  readonly partialCaptureReleasesRest: boolean
  readonly partialReversal: boolean
  readonly reversal: boolean
  readonly refund: boolean
  readonly partialRefund: boolean
  readonly increment: boolean
  /** The provider takes the new authorised total, not the difference, so only one change at a time is allowed. */
  readonly amountByTotal?: boolean
  readonly credit: boolean
  /** Merchant-initiated payments with a stored method are possible. */
  readonly storedCredentials: boolean
  /**
   * The provider has separate steps for the customer's approval and the merchant's confirm. Without them the customer
   * approves on the provider's page at once, and only a card that we store ourselves can wait for a confirm.
   */
  readonly confirm?: boolean
  /** The customer gets instructions for a bank transfer, whatever flow the method's row declares. */
  readonly instructs?: boolean
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Everything about a payment that a provider may need, the same for every operation. */
export interface PaymentContext {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly method: Method
  readonly transId: string
  readonly refNr?: string
  /** The amount of the payment. `amount` of a request is that of its operation. */
  readonly amount: Money
  /** The parts of this request's amount (taxes, shipping, …) or, if it names none, those of the payment's. */
  readonly amountDetails?: Readonly<Record<string, unknown>>
  readonly authorizedValue: number
  readonly capturedValue: number
  readonly reversedValue?: number
  readonly order?: Readonly<Record<string, unknown>>
  readonly billing?: Readonly<Record<string, unknown>>
  readonly shipping?: Readonly<Record<string, unknown>>
  readonly customer?: Readonly<Record<string, unknown>>
  readonly browser?: Readonly<Record<string, unknown>>
  readonly device?: Readonly<Record<string, unknown>>
  readonly fraudData?: Readonly<Record<string, unknown>>
  readonly descriptor?: string
  readonly paymentFacilitator?: Readonly<Record<string, unknown>>
  /** For captures and refunds: level 2 and 3 data, airline, lodging. */
  readonly enhancedData?: Readonly<Record<string, unknown>>
  /** BCP 47. */
  readonly language?: string
  /** Where the provider sends the customer back: `{origin}/pay/return/…`. */
  readonly returnUrl?: string
  readonly captureMethod: 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
  /** HOSTED: the customer is on our hosted page. */
  readonly integrationType?: 'HOSTED' | 'DIRECT'
  /** ECOM or MOTO, from the merchant's request. */
  readonly channel?: string
  /** The other fields of the method's own object, under their API names. */
  readonly methodFields?: Readonly<Record<string, unknown>>
}

export interface OperationRequest {
  readonly operation: OperationType
  /** Our xId: stored before the call, sent with it, and the idempotency key. */
  readonly reference: XId
  readonly amount: Money
  readonly payment: PaymentContext
  /** The merchant's time. */
  readonly at: Date
  /** How often the request is being sent, from 1. More than 1 only if the earlier ones certainly never arrived. */
  readonly send: number
  /** The data that `keep` returned for this operation. */
  readonly kept?: Kept
  /** Values that only the connector reads, such as those that choose an outcome in a sandbox. */
  readonly hints?: Hints
}

/** A request before its first commit. */
export type Unsent<Request extends OperationRequest> = Omit<Request, 'send' | 'kept'>

/** Fields of the merchant's request, under their API names. */
export type Hints = Readonly<Record<string, string>>

/** Small data of the connector, never card data. */
export type Kept = Readonly<Record<string, string | number | boolean | undefined>>

export interface KeepQuestion {
  readonly request: Unsent<OperationRequest> & Partial<AuthorizationRequest>
  /** The data kept for the approval that a follow-up belongs to, or for the action that the customer has completed. */
  readonly approval?: Kept
  /** Set when the customer has returned from an action. */
  readonly returned?: PageReturn
  /** The merchant's confirm is sent instead of this request, and gets what is kept here as its approval. */
  readonly awaitsConfirm?: boolean
}

/** The path of a field in the merchant's request, and what is wrong with it. */
export interface FieldMisfit {
  readonly field: string
  readonly error: string
}

export interface AuthorizationRequest extends OperationRequest {
  readonly card?: CardData
  readonly account?: AccountData
  readonly wallet?: WalletData
  readonly conversion?: ConversionTerms
  readonly credentialOnFile?: CredentialUse
  readonly threeDs?: ThreeDsRequest
  /** Set if the same call must also capture: the reference of the capture. */
  readonly captureReference?: XId
  /** The customer is on our page or can be sent to one, so the answer may be an action. */
  readonly customerPresent: boolean
}

export interface FollowUpRequest extends OperationRequest {
  readonly authorizationReference: XId
  /** The provider's id of the approved payment. */
  readonly authorizationTransactionId?: string
  /** The provider's facts of the approval, including `fields`. */
  readonly authorization?: ProviderFacts
  /** The capture to refund: our reference and the provider's id. */
  readonly captureReference?: XId
  readonly captureTransactionId?: string
  /** The authorised, captured, reversed or refunded total after this operation: many providers require totals. */
  readonly newTotal: number
  /** This is the last capture. False while another capture or an increment without an answer may leave more. */
  readonly final?: boolean
}

export interface Inquiry {
  readonly operation: OperationType
  readonly reference: XId
  readonly amount: Money
  readonly payment: PaymentContext
  /** What the provider has returned so far, such as its id of the payment or page. */
  readonly provider?: ProviderFacts
  readonly authorizationTransactionId?: string
  readonly captureReference?: XId
  readonly sentAt: Date
  /** The amounts of the payment's other unanswered operations of this kind. */
  readonly unansweredBeside?: readonly number[]
  readonly kept?: Kept
}

export interface CustomerReturn extends Inquiry, PageReturn {
  /** As in an authorisation request: set if the same call must also capture. */
  readonly captureReference?: XId
  /** As in any request; defaults to 1. */
  readonly send?: number
}

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The answer to an authorisation and, if that was approved and was also to capture, to the capture. */
export interface AuthorizationOutcome {
  readonly authorization: Outcome | CustomerActionOutcome
  readonly capture?: Outcome
}

export type * from '#connectors/card-services.ts'
export type * from '#connectors/instruments.ts'
export type * from '#connectors/notice.ts'
export type * from '#connectors/site.ts'
/** Six kinds, including the customer's action. `unknown` may have happened; `unreached` certainly has not. */
export type {
  CustomerAction,
  CustomerActionOutcome,
  Instructions,
  Outcome,
  ProviderFacts,
} from '#lifecycle/outcome.ts'
