/** The columns of the catalogue. Every difference between payment methods is a column here. */
import type { MethodFamily } from '#domain/response-codes.ts'
import type { methodOperations } from '#schemas/payment-method-list.ts'

export type IntegrationType = 'HOSTED' | 'DIRECT'
export type CaptureType = 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
/** The customer's steps from the request to the approval. */
export type Flow = 'direct' | 'multi_step' | 'redirect' | 'qr' | 'voucher' | 'transfer'
export type MethodOperation = (typeof methodOperations)[number]

/** When the method can be captured, and which operations it supports. */
export interface Terms {
  /** If the method lacks AUTOMATIC, the first one is the default. */
  readonly capture: readonly CaptureType[]
  readonly operations: readonly MethodOperation[]
  /** The lifetime of an authorisation; absent for methods that take the money at once. */
  readonly authorizationDays?: number
  /** The limit for captures in percent of the authorised amount; 100 by default. */
  readonly capturePercentMax?: number
  /** How long after its creation a payment can be confirmed with its client token. */
  readonly clientTokenMinutes?: number
  /** An authorisation can only be reversed in full: set for accounts with that restriction, never in a row. */
  readonly reversesWholeOnly?: boolean
  /** A partial capture releases the rest: set for accounts that work that way, never in a row. */
  readonly partialCaptureReleasesRest?: boolean
  /** Changes of the authorised amount send the new total: set for accounts that work that way, never in a row. */
  readonly amountByTotal?: boolean
}

export interface Method extends Terms {
  /** The value of `paymentMethods.type` in requests. */
  readonly type: string
  /** The name of the method's own object under `paymentMethods`. */
  readonly key: string
  /** The name shown to customers. */
  readonly label: string
  /** `none` while the customer has not chosen a method. */
  readonly family: MethodFamily | 'none'
  /** ISO 3166-1 alpha-3 codes; `*` for anywhere. */
  readonly countries: '*' | readonly string[]
  /** ISO 4217 codes; `*` for any. */
  readonly currencies: '*' | readonly string[]
  readonly integration: readonly IntegrationType[]
  readonly flow: Flow
  /** Offered on hosted pages unless the merchant chooses otherwise. */
  readonly core: boolean
}

/**
 * The method of a payment whose customer has not chosen one yet. It is no row of the catalogue, so no request can name
 * it and no page offers it. It allows every operation, so that operations are refused for the real reason: the payment
 * is not authorised.
 */
export const undecided: Method = {
  type: 'UNDECIDED',
  key: 'undecided',
  label: '',
  family: 'none',
  countries: '*',
  currencies: '*',
  integration: ['HOSTED'],
  flow: 'direct',
  capture: ['AUTOMATIC', 'MANUAL', 'DELAYED'],
  operations: ['capture', 'reverse', 'refund', 'increment'],
  core: false,
}
