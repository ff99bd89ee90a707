/**
 * What the engine and a provider's connector say to each other. A connector translates and transports; it never
 * touches storage, and it never decides what a payment becomes. Facts about a provider are declared, not asked by name.
 */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import type { OperationType, Prepared } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'

export interface CardData {
  readonly number: Secret<string>
  /** YYYYMM */
  readonly expiryDate?: string
  readonly cardholderName?: string
  /** In memory between the request and the call, never stored: a call that is made again goes without it. */
  readonly securityCode?: Secret<string>
  readonly threeDs?: ThreeDsRequest
}

/** What the merchant says about 3-D Secure: what it wants, or what it has done already. */
export interface ThreeDsRequest {
  readonly skip?: boolean
  readonly challengePreference?: string
  readonly exemption?: string
  /** An authentication made elsewhere, without its proof. */
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

/** What the wallet on the customer's phone hands over. Passed on as it came, never stored. */
export interface WalletData {
  /** Names the key that the payload was encrypted for. */
  readonly merchantIdentifier: string
  /** JSON text of an object. */
  readonly payload: Secret<string>
}

/** The cardholder pays in its own currency: what was promised to it. The acquirer settles with the merchant as ever. */
export interface ConversionTerms {
  readonly quoteId: string
  readonly cardholderAmount: Money
  readonly exchangeRate: string
  readonly markupPercentage: string
}

/** A card or account that is put on file with this payment, or that is charged because it is. */
export interface CredentialUse {
  readonly type: 'RECURRING' | 'UNSCHEDULED'
  /** Whether the customer agrees to later payments by this one. */
  readonly initial: boolean
  /** Whether the customer is there. */
  readonly initiator: 'CUSTOMER' | 'MERCHANT'
  /** The scheme's reference of the payment by which the customer agreed. */
  readonly schemeReferenceId?: string
}

/** A card that the schemes are asked about: has it got a new number or date? */
export interface CardQuestion {
  readonly number: Secret<string>
  readonly expiryDate?: string
}

export type CardUpdate =
  | { readonly status: 'CARD_UPDATED'; readonly number: Secret<string>; readonly expiryDate?: string }
  | { readonly status: 'EXPIRY_UPDATED'; readonly expiryDate: string }
  | { readonly status: 'NO_CHANGE' | 'CARD_CLOSED' | 'CONTACT_CARDHOLDER' | 'NOT_FOUND' | 'FAILED' }

/** How an amount is paid in parts, as the customer is shown it before it decides. */
export interface InstalmentPlan {
  readonly currency: string
  /** YYYY-MM-DD, the first one first. */
  readonly instalments: readonly { readonly dueDate: string; readonly value: number }[]
  /** Interest and fees of all parts. */
  readonly cost: number
  /** What the customer pays in all. */
  readonly total: number
}

export interface OperationRequest {
  readonly operation: OperationType
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly method: Method
  /** Our reference: stored before the call and sent with it, so that the outcome can always be asked for. */
  readonly reference: XId
  readonly amount: Money
  readonly simulationMode?: string
  /** The merchant's time. */
  readonly at: Date
  /** What `prepare` returned for this operation, stored with it before the call. */
  readonly prepared: Prepared
  /** Which sending of it this is, from 1: more than one only after the earlier ones certainly never arrived. */
  readonly send: number
}

/** What approves a payment, or pays out without one. */
export interface AuthorizationRequest extends OperationRequest {
  readonly card?: CardData
  readonly account?: AccountData
  readonly wallet?: WalletData
  readonly conversion?: ConversionTerms
  readonly credentialOnFile?: CredentialUse
  /** Set when the authorisation is to be captured in the same message, under a reference of its own. */
  readonly captureReference?: XId
  /** The customer is on a page of ours, and can be sent on to one of the provider. */
  readonly hosted?: boolean
  /** What else the method's own object says, by the names of the contract. */
  readonly methodFields?: Readonly<Record<string, unknown>>
}

/** An authorisation that was asked to capture as well answers for both; the capture's answer follows an approval only. */
export interface AuthorizationOutcome {
  readonly authorization: Outcome
  readonly capture?: Outcome
}

export interface FollowUpRequest extends OperationRequest {
  /** The approval this builds on. */
  readonly authorizationReference: XId
  readonly authorizationTransactionId?: string
  /** The capture a refund gives back. */
  readonly captureReference?: XId
}

export interface Inquiry {
  readonly operation: OperationType
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly method: Method
  readonly reference: XId
  readonly amount: Money
  readonly prepared: Prepared
}

/** Money that was collected and has gone back without the merchant's doing. */
export interface DebitReturn {
  /** The last four digits of the response code that tells why. */
  readonly detail: string
  readonly provider: ProviderFacts
}

type FollowUp = (request: FollowUpRequest) => Promise<Outcome>

export interface Connector {
  readonly name: string
  readonly facts: {
    /** Sending the same reference twice has one effect. */
    readonly idempotentByReference: boolean
    /** After this long a reference that cannot be found was certainly never received. */
    readonly settleTimeMs: number
  }
  /** Asked before the operation is recorded; what it returns is stored with it. Follow-ups see their approval's. */
  prepare(request: Omit<AuthorizationRequest, 'prepared' | 'send'>, approval?: Prepared): Prepared
  /** What the customer must know to take the step that `prepare` asked for: a reference, an account to pay to. */
  instruct?(request: Omit<AuthorizationRequest, 'send'>): ProviderFacts | undefined
  /** The parts in which the customer of this method would pay, bought at that moment. Pure: a page asks it while it is drawn. */
  instalments?(method: Method, amount: Money, at: Date): InstalmentPlan | undefined
  /** What a customer of the test environment would type into a form. No other environment has such customers. */
  testInstrument?(method: Method): { readonly card?: CardData; readonly account?: AccountData }
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>
  /** Optional operations are optional properties; the absence is the statement. */
  readonly capture?: FollowUp
  readonly reverse?: FollowUp
  readonly refund?: FollowUp
  readonly increment?: FollowUp
  /** Money out without a payment behind it. */
  readonly credit?: (request: AuthorizationRequest) => Promise<Outcome>
  /** Asks the schemes about many cards at once; one answer each, in the order of the questions. Moves no money. */
  readonly updateCards?: (
    merchantId: MerchantId,
    cards: readonly CardQuestion[],
  ) => Promise<readonly CardUpdate[]>
  /** How long after a capture to look whether the customer's bank has sent it back; undefined: it will not. */
  readonly returnCheckMs?: (capture: Inquiry) => number | undefined
  /** What the customer's bank said when it sent the capture back; undefined: it has not. */
  readonly findReturn?: (capture: Inquiry) => Promise<DebitReturn | undefined>
  /** Mandatory: what became of this reference? `unreached` means surely not received. */
  inquire(inquiry: Inquiry): Promise<Outcome>
}
