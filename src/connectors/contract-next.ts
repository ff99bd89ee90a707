/**
 * The whole agreement between the engine and a provider's connector. A connector translates and transports; it never
 * touches storage and never decides what a payment becomes. What differs between providers is declared as facts.
 */

import type { CheckFinding, DisputeActions, Notice, RawNotice, SettlementLine } from '#connectors/notice.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
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
  /** As in `provider add --connector NAME`. */
  readonly name: string
  /** In live, calls may only go to these hosts; `*.` stands for one label. Empty: this connector calls nobody. */
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
}

/**
 * How the engine finds out what became of a request whose answer was lost, in this order: wait for a notice, look it up
 * by our reference, repeat the same request under the same key, undo it. What is absent is skipped.
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

export interface Connector {
  readonly facts: ConnectorFacts
  /** Undefined: this account does not serve the method. */
  supports(method: Method): Capabilities | undefined
  authorize(request: AuthorizationRequest, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** The customer is back from where an action had sent them, or a notice said so. */
  complete?(returned: CustomerReturn, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Ends an open action at the provider (expires its page) before we say that the payment was cancelled. */
  cancelAction?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** Optional operations are optional properties; the absence is the statement. */
  readonly capture?: FollowUp
  readonly reverse?: FollowUp
  readonly refund?: FollowUp
  readonly increment?: FollowUp
  /** Money out without a payment behind it. */
  credit?(request: AuthorizationRequest, signal: AbortSignal): Promise<Outcome>
  /** What became of this reference? Absent: this provider only sends notices. `unreached` means surely not received. */
  inquire?(inquiry: Inquiry, signal: AbortSignal): Promise<AuthorizationOutcome>
  /** Makes sure that it did not happen. `declined`: it has not, or is undone. */
  undo?(inquiry: Inquiry, signal: AbortSignal): Promise<Outcome>
  /** Pure: verifies the signature and reads what it says. */
  readNotice?(raw: RawNotice): Notice
  readonly disputes?: DisputeActions
  /** Reads one settlement file or download of this provider into lines. */
  readSettlement?(file: AsyncIterable<Uint8Array>): AsyncIterable<SettlementLine>
  /** One harmless call: are the credentials right, does the provider reach our notice address. */
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>
}

type FollowUp = (request: FollowUpRequest, signal: AbortSignal) => Promise<Outcome>

/** What an account can do with a method; the guards and pages offer the intersection with the method's row. */
export interface Capabilities {
  /** A card number of ours may be sent. Without it CARD on our page goes to the provider's page. */
  readonly rawCards: boolean
  readonly capture: 'none' | 'one' | 'several'
  /** The rest of the authorisation is released by a partial capture. */
  readonly partialCaptureReleasesRest: boolean
  readonly partialReversal: boolean
  readonly reversal: boolean
  readonly refund: boolean
  readonly partialRefund: boolean
  readonly increment: boolean
  readonly credit: boolean
  /** Later payments without the customer. */
  readonly storedCredentials: boolean
}

// ── Questions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Everything that is known about the payment and may matter to a provider, the same for every operation. */
export interface PaymentContext {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly method: Method
  readonly transId: string
  readonly refNr?: string
  /** What the merchant asked for in all, and the sums so far. */
  readonly amount: Money
  readonly authorizedValue: number
  readonly capturedValue: number
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
  /** Which sending of it this is, from 1: more than one only after the earlier ones certainly never arrived. */
  readonly send: number
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
  /** What the provider told when it approved, `fields` included. */
  readonly authorization?: ProviderFacts
  /** The capture that a refund gives back, and the provider's id of it. */
  readonly captureReference?: XId
  readonly captureTransactionId?: string
  /** What will be authorised, captured or refunded in all once this is done: many providers want totals. */
  readonly newTotal: number
  /** A capture after which none will follow. */
  readonly final?: boolean
}

export interface Inquiry {
  readonly operation: OperationType
  readonly reference: XId
  readonly amount: Money
  readonly payment: PaymentContext
  /** What the provider has told so far: its id, its page's id. */
  readonly provider?: ProviderFacts
  readonly authorizationTransactionId?: string
  readonly captureReference?: XId
  readonly sentAt: Date
}

/** What the provider's page handed to the customer's browser on the way back. */
export interface CustomerReturn extends Inquiry {
  readonly query: Readonly<Record<string, string>>
  /** Of a form POST. */
  readonly form: Readonly<Record<string, string>>
}

export interface CardData {
  readonly number: Secret<string>
  /** YYYYMM */
  readonly expiryDate?: string
  readonly cardholderName?: string
  /** In memory between the request and the call, never stored: a call that is made again goes without it. */
  readonly securityCode?: Secret<string>
}

export interface ThreeDsRequest {
  readonly skip?: boolean
  readonly challengePreference?: string
  readonly exemption?: string
  /** An authentication that the merchant made elsewhere, with its proof. The proof is never stored. */
  readonly imported?: Readonly<Record<string, string>>
}

export interface AccountData {
  /** IBAN */
  readonly number: Secret<string>
  readonly holderName: string
  /** BIC */
  readonly code?: string
  readonly bankName?: string
  readonly mandateId?: string
  /** DD.MM.YYYY */
  readonly dateOfSignature?: string
}

export interface WalletData {
  /** Names the key that the payload was encrypted for. */
  readonly merchantIdentifier: string
  /** JSON text of an object. Passed on as it came, never stored. */
  readonly payload: Secret<string>
}

export interface ConversionTerms {
  readonly quoteId: string
  readonly cardholderAmount: Money
  readonly exchangeRate: string
  readonly markupPercentage: string
}

export interface CredentialUse {
  readonly type: 'RECURRING' | 'UNSCHEDULED'
  readonly initial: boolean
  readonly initiator: 'CUSTOMER' | 'MERCHANT'
  readonly schemeReferenceId?: string
  /** The provider's own token of the stored method, where the approving payment brought one. */
  readonly providerToken?: string
}

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CustomerActionOutcome {
  readonly kind: 'action'
  readonly action: CustomerAction
  readonly provider: ProviderFacts
  /** When the provider's page ends; a customer who comes later gets a new one. Real time. */
  readonly expiresAt?: Date
}

export type CustomerAction =
  /** Send the customer to an address of the provider or the issuer. */
  | {
      readonly type: 'redirect'
      readonly url: string
      readonly verb: 'GET' | 'POST'
      readonly fields?: Readonly<Record<string, string>>
      /** 3-D Secure: shown as such to the customer. */
      readonly challenge?: boolean
    }
  /** Show what to do: pay to this account, scan this code, take this voucher to a shop. */
  | { readonly type: 'instructions'; readonly instructions: Instructions }

export interface Instructions {
  readonly reference?: string
  /** Text for a QR code. */
  readonly qrCode?: string
  readonly barcode?: string
  readonly iban?: string
  readonly bic?: string
  readonly accountHolderName?: string
  readonly entity?: string
  readonly downloadUrl?: string
  readonly deadline?: Date
}

/** An authorisation that was asked to capture as well answers for both; the capture's answer follows an approval only. */
export interface AuthorizationOutcome {
  readonly authorization: Outcome | CustomerActionOutcome
  readonly capture?: Outcome
}

export type { ProviderDirectory } from '#connectors/directory.ts'
export type * from '#connectors/notice.ts'
/** Six words in all, with the customer's action. Unknown may have happened; unreached certainly has not. */
export type { Outcome } from '#lifecycle/outcome.ts'
