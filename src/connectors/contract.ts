/**
 * What the engine and a provider's connector say to each other. A connector translates and transports; it never
 * touches storage, and it never decides what a payment becomes. Facts about a provider are declared, not asked by name.
 */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { OperationType, Prepared } from '#lifecycle/payment.ts'

export interface CardData {
  readonly number: Secret<string>
  /** YYYYMM */
  readonly expiryDate?: string
  readonly cardholderName?: string
  /** In memory between the request and the call, never stored: a call that is made again goes without it. */
  readonly securityCode?: Secret<string>
}

export interface OperationRequest {
  readonly merchantId: MerchantId
  readonly payId: PayId
  /** Our reference: stored before the call and sent with it, so that the outcome can always be asked for. */
  readonly reference: XId
  readonly amount: Money
  readonly simulationMode?: string
  /** The merchant's time. */
  readonly at: Date
  /** What `prepare…` returned for this operation, stored with it before the call. */
  readonly prepared: Prepared
}

export interface AuthorizationRequest extends OperationRequest {
  readonly card?: CardData
  /** Set when the authorisation is to be captured in the same message, under a reference of its own. */
  readonly captureReference?: XId
}

/** An authorisation that was asked to capture as well answers for both; the capture's answer follows an approval only. */
export interface AuthorizationOutcome {
  readonly authorization: Outcome
  readonly capture?: Outcome
}

export interface CaptureRequest extends OperationRequest {
  /** The authorisation this takes from. */
  readonly authorizationReference: XId
  readonly authorizationTransactionId?: string
}

export interface Inquiry {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly operation: OperationType
  readonly reference: XId
  readonly amount: Money
  readonly prepared: Prepared
}

export interface Connector {
  readonly name: string
  readonly facts: {
    /** Sending the same reference twice has one effect. */
    readonly idempotentByReference: boolean
    /** After this long a reference that cannot be found was certainly never received. */
    readonly settleTimeMs: number
  }
  prepareAuthorization(request: Omit<AuthorizationRequest, 'prepared'>): Prepared
  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome>
  /** Optional operations are optional properties; the absence is the statement. */
  prepareCapture?(request: Omit<CaptureRequest, 'prepared'>, authorization: Prepared): Prepared
  capture?(request: CaptureRequest): Promise<Outcome>
  /** Mandatory: what became of this reference? `unreached` means surely not received. */
  inquire(inquiry: Inquiry): Promise<Outcome>
}
