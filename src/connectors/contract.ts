/**
 * The complete contract between the engine and a provider's connector. A connector translates and transports; it never
 * touches storage and never decides what a payment becomes. What differs between providers is declared as facts.
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
} from '#connectors/notice.ts'
import type { CustomerDecision, PageReturn, SitePage, SiteQuestion } from '#connectors/site.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { CustomerActionOutcome, Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'

// ── A provider as the registry knows it ───────────────────────────────────────────────────────────────────────────

/** One line of the registry: everything about a provider that holds before any account exists. */
export interface ConnectorDefinition {
  readonly facts: ConnectorFacts
  /** Pure: one connector per account. Opening it makes no call. */
  open(account: ProviderAccount, tools: ConnectorTools): Connector
}

export interface ConnectorFacts {
  /** The name in `provider add --connector NAME`. */
  readonly name: string
  /** In live, calls may only go to these hosts; `*.` stands for one label. Empty: this connector makes no calls. */
  readonly liveHosts: readonly string[]
  readonly settings: Readonly<Record<string, SettingFact>>
  readonly secrets: Readonly<Record<string, SecretFact>>
  /** Which of our method types this provider can serve at all, before `types` narrows it. */
  serves(type: string): boolean
  /** What customers read for a neutral type when the account gives no label of its own. */
  label?(type: string): string | undefined
  /** Decimals of the provider's amounts; undefined: the provider does not take this currency. */
  exponent(currency: string): number | undefined
  /** In our smallest unit. */
  minimum?(currency: string): number
  readonly lostAnswer: LostAnswer
  /** One call is aborted after this long. At most 20 s. */
  readonly timeoutMs: number
  /** How long `pending` may last before a person must look: seconds for cards, days for debits and vouchers. */
  pendingMs(method: Method, operation: OperationType): number
  /** Money moves with files that commands write and read: pending operations wait for the next file. */
  readonly batched?: boolean
  /** A larger notice is refused unread. For providers whose signature can be checked only after parsing. */
  readonly noticeBytesMax?: number
  /** Where the pages of a provider without a web site lie beside ours: `/path/`, then the token of the return address. */
  readonly sitePath?: string
  /** It moves no real money and exists in the test environment only. */
  readonly testOnly?: boolean
}

/**
 * How the engine finds out the outcome of a request whose answer was lost, in this order: wait for a notice, look it up
 * by our reference, repeat the same request under the same key, undo it. Absent steps are skipped.
 */
export interface LostAnswer {
  /** Wait this long for a notice before anything else; 0 where notices are not needed. */
  readonly noticeWithinMs: number
  /** From this age on a look-up that finds nothing proves that the request never arrived. Absent: no look-up. */
  readonly lookUpSettledMs?: number
  /** The same key returns the first answer for this long. A request with a raw card is never repeated. Absent: never. */
  readonly repeatWithinMs?: number
  /** `undo` can make sure that it did not happen. */
  readonly undo: boolean
}

export interface SettingFact {
  readonly required?: boolean
  readonly environment?: 'test' | 'live'
  readonly default?: string
  /** A sentence for a wrong value; undefined: the value is fine. */
  check?(value: string): string | undefined
  /** For `provider add --help` and the docs. */
  readonly description: string
}

export interface SecretFact {
  readonly required: boolean
  readonly description: string
  check?(value: string): string | undefined
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
  /** Real time: signatures and the provider's own deadlines are judged by it, never by a test clock. */
  readonly nowMs: () => number
}

/** One HTTP exchange with a provider: no redirects, no retries, the answer bounded in size. Throws only `NotReached`. */
export interface ProviderHttp {
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>
}

export interface HttpRequest {
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Bytes where a file is sent. */
  readonly body?: string | Uint8Array
  /** Of a file that is fetched; 1 MiB unless given. */
  readonly answerBytesMax?: number
}

/** `lost`: the request may have arrived, and no whole answer came. */
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

/** What is done with an existing payment. An operation that the provider lacks is a property that the connector lacks. */
export interface FollowUps {
  readonly capture?: FollowUp
  readonly reverse?: FollowUp
  readonly refund?: FollowUp
  readonly increment?: FollowUp
}

export interface Connector extends FollowUps, RefundList {
  readonly facts: ConnectorFacts
  /** Undefined: this account does not serve the method. */
  supports(method: Method): Capabilities | undefined
  /** The creditor of mandates, which our page must show before the customer agrees to one. */
  readonly creditor?: { readonly name: string; readonly creditorId: string }
  /** Pure. A field that this provider needs or cannot take, here and in a capture: 400 before anything is written. */
  findMisfit?(request: Unsent<AuthorizationRequest>): FieldMisfit | undefined
  findCaptureMisfit?(fields: Readonly<Record<string, unknown>>, at: Date): FieldMisfit | undefined
  /**
   * Pure. Whether the customer of this card will certainly be challenged, so that a return address must be known
   * beforehand: at Stripe and Adyen when the merchant demands it, at the simulator also by the card's number.
   */
  willChallenge?(request: Unsent<AuthorizationRequest>): boolean
  /**
   * Data that is stored with the operation before it is sent and passed to every later call about it: Adyen's merchant
   * account, which may be changed meanwhile; what the simulator has decided. Called before each first commit; a
   * follow-up or the completion of an action also gets what was kept for its approval, and replaces it.
   */
  keep?(question: KeepQuestion): Kept | Promise<Kept>
  /** Asks for the approval. May answer that the customer has to act first. */
  authorize(request: AuthorizationRequest, signal: AbortSignal): Promise<AuthorizationOutcome>
  /**
   * Pure. For a page whose return parameters are proof: it signs them, as those of several acquirers do, or it is the
   * simulator's. Undefined: it returned no decision. Absent: the parameters prove nothing, and the provider is asked
   * with `complete`.
   */
  readReturn?(returned: PageReturn): CustomerDecision | undefined
  /** Pure. The content of a page under `facts.sitePath`; its form posts to the return address. */
  drawPage?(question: SiteQuestion): SitePage
  /** The customer has returned from an action, or a notice reports that they completed it. */
  complete?(returned: CustomerReturn, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Ends an open action at the provider (expires its page) before the payment is cancelled. */
  cancelAction?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** Money out without a payment behind it. */
  credit?(request: AuthorizationRequest, signal: AbortSignal): Promise<Outcome>
  /** Asks for the outcome. Absent: this provider only sends notices. `unreached`: certainly not received. */
  inquire?(inquiry: Inquiry, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Makes sure that the operation did not happen. `declined`: it has not happened, or is undone. */
  undo?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** The test data that the provider publishes for its sandbox. Shown and used in the test environment only. */
  readonly sandbox?: SandboxData
  /** The instalments that the customer would pay for a purchase at that time. Pure: called while a page is rendered. */
  instalments?(method: Method, amount: Money, at: Date): InstalmentPlan | undefined
  /** Asks the schemes about many cards at once; one answer each, in the order of the questions. Moves no money. */
  updateCards?(merchantId: MerchantId, cards: readonly CardQuestion[]): Promise<readonly CardUpdate[]>
  /** How long after a capture to check whether the customer's bank has returned it; undefined: it will not. */
  returnCheckMs?(capture: Inquiry): number | undefined
  /** The bank's reason for returning the capture; undefined: it was not returned. */
  findReturn?(capture: Inquiry): Promise<DebitReturn | undefined>
  /** Pure: verifies the signature and reads what it says. */
  readNotice?(raw: RawNotice): Notice
  readonly disputes?: DisputeActions
  /** Reads one settlement file or download of this provider into lines. */
  readSettlement?(file: AsyncIterable<Uint8Array>): AsyncIterable<SettlementLine>
  /** Downloads a settlement file that a notice has announced, for `readSettlement`. */
  fetchReport?(report: AnnouncedReport, signal: AbortSignal): Promise<FetchedReport>
  /** One harmless call: are the credentials right, does the provider reach our notice address. */
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>
  /** A fixed script of payments in the provider's sandbox, never in live: proves what no double can. */
  checkPayments?(signal: AbortSignal): Promise<readonly CheckFinding[]>
}

type FollowUp = (request: FollowUpRequest, signal: AbortSignal) => Promise<Outcome>

/** What an account can do with a method; the guards and pages offer the intersection with the method's row. */
export interface Capabilities {
  /** Card numbers may be sent to the provider. Without it CARD on our page continues on the provider's page. */
  readonly rawCards: boolean
  readonly capture: 'none' | 'one' | 'several'
  /** The rest of the authorisation is released by a partial capture. */
  readonly partialCaptureReleasesRest: boolean
  readonly partialReversal: boolean
  readonly reversal: boolean
  readonly refund: boolean
  readonly partialRefund: boolean
  readonly increment: boolean
  /** The provider is told the new authorised total and not the difference, so its amount changes once at a time. */
  readonly amountByTotal?: boolean
  readonly credit: boolean
  /** Later payments without the customer. */
  readonly storedCredentials: boolean
  /**
   * The customer's approval and the merchant's confirm are two steps at the provider. Without it the customer approves on the
   * provider's page at once, and only a card that we keep ourselves can wait for a confirm.
   */
  readonly confirm?: boolean
  /** The customer gets an account to transfer the money to, whatever the method's row says about its flow. */
  readonly instructs?: boolean
}

// ── Questions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Everything that is known about the payment and may matter to a provider, the same for every operation. */
export interface PaymentContext {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly method: Method
  readonly transId: string
  readonly refNr?: string
  /** The total amount of the payment, and the sums so far. */
  readonly amount: Money
  /** What the amount of this request is made of: taxes, shipping, discounts. If it does not say, that of the payment. */
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
  /** Of captures and refunds: level 2 and 3, airline, lodging. */
  readonly enhancedData?: Readonly<Record<string, unknown>>
  /** BCP 47. */
  readonly language?: string
  /** Where the provider sends the customer back: `{origin}/pay/return/…`. */
  readonly returnUrl?: string
  readonly captureMethod: 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
  /** HOSTED: the customer is on a page of ours. */
  readonly integrationType?: 'HOSTED' | 'DIRECT'
  /** ECOM or MOTO, as the merchant said. */
  readonly channel?: string
  /** What else the method's own object says, by the names of the contract. */
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
  /** The number of this sending, from 1; more than 1 only if the earlier ones certainly never arrived. */
  readonly send: number
  /** What `keep` returned for this operation. */
  readonly kept?: Kept
  /** Values that only the connector reads, such as those that choose an outcome in a sandbox. */
  readonly hints?: Hints
}

/** A request as it is known before its first commit. */
export type Unsent<Request extends OperationRequest> = Omit<Request, 'send' | 'kept'>

/** Fields of a request, by their names on the wire. */
export type Hints = Readonly<Record<string, string>>

/** Small and free of card data. */
export type Kept = Readonly<Record<string, string | number | boolean | undefined>>

export interface KeepQuestion {
  readonly request: Unsent<OperationRequest> & Partial<AuthorizationRequest>
  /** What was kept for the approval that a follow-up builds on, or for the action that the customer has taken. */
  readonly approval?: Kept
  /** Set when the customer is back from an action. */
  readonly returned?: PageReturn
}

/** The path of a field as the merchant wrote it, and a sentence about it. */
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
  /** Set when the authorisation is to be captured in the same message, under a reference of its own. */
  readonly captureReference?: XId
  /** The customer is on a page of ours or can be sent to one: an action may be answered. */
  readonly customerPresent: boolean
}

export interface FollowUpRequest extends OperationRequest {
  readonly authorizationReference: XId
  /** The provider's id of the approved payment. */
  readonly authorizationTransactionId?: string
  /** What the provider returned when it approved, `fields` included. */
  readonly authorization?: ProviderFacts
  /** The capture that a refund gives back, and the provider's id of it. */
  readonly captureReference?: XId
  readonly captureTransactionId?: string
  /** The total that will be authorised, captured or refunded after this operation: many providers require totals. */
  readonly newTotal: number
  /** This is the last capture. */
  readonly final?: boolean
}

export interface Inquiry {
  readonly operation: OperationType
  readonly reference: XId
  readonly amount: Money
  readonly payment: PaymentContext
  /** What the provider has returned so far: its id, its page's id. */
  readonly provider?: ProviderFacts
  readonly authorizationTransactionId?: string
  readonly captureReference?: XId
  readonly sentAt: Date
  /** The amounts of the payment's other operations of this kind that have no answer either. */
  readonly unansweredBeside?: readonly number[]
  readonly kept?: Kept
}

export interface CustomerReturn extends Inquiry, PageReturn {
  /** As of an authorisation: set when it is to be captured as well. */
  readonly captureReference?: XId
  /** As of any request; 1 unless given. */
  readonly send?: number
}

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** An authorisation that was asked to capture as well answers for both; the capture's answer follows an approval only. */
export interface AuthorizationOutcome {
  readonly authorization: Outcome | CustomerActionOutcome
  readonly capture?: Outcome
}

export type * from '#connectors/card-services.ts'
export type * from '#connectors/instruments.ts'
export type * from '#connectors/notice.ts'
export type * from '#connectors/site.ts'
/** Six kinds, including the customer's action. Unknown may have happened; unreached certainly has not. */
export type {
  CustomerAction,
  CustomerActionOutcome,
  Instructions,
  Outcome,
  ProviderFacts,
} from '#lifecycle/outcome.ts'
