/** What a row of the catalogue says about a payment method. Whatever is special about a method is a column here. */
import type { MethodFamily } from '#domain/response-codes.ts'
import type { methodOperations } from '#schemas/payment-method-list.ts'

export type IntegrationType = 'HOSTED' | 'DIRECT'
export type CaptureType = 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
/** How the customer gets from the request to the approval. */
export type Flow = 'direct' | 'multi_step' | 'redirect' | 'qr' | 'voucher' | 'transfer'
export type MethodOperation = (typeof methodOperations)[number]

/** When the method takes the money, and what can be done with it afterwards. */
export interface Terms {
  /** The first is the default where the method lacks AUTOMATIC. */
  readonly capture: readonly CaptureType[]
  readonly operations: readonly MethodOperation[]
  /** How long an authorisation lives; absent for methods that take the money at once. */
  readonly authorizationDays?: number
  /** How much of the authorised amount may be captured in all; 100 where absent. */
  readonly capturePercentMax?: number
  /** How long after the creation a payment can be confirmed with the client token it came with. */
  readonly clientTokenMinutes?: number
  /** An authorisation can only be reversed in full: set for accounts with that restriction, never in a row. */
  readonly reversesWholeOnly?: boolean
  /** A partial capture releases the rest: set for accounts that work that way, never in a row. */
  readonly partialCaptureReleasesRest?: boolean
  /** The authorised amount is changed by naming the new total: set for accounts that work that way, never in a row. */
  readonly amountByTotal?: boolean
}

export interface Method extends Terms {
  /** The wire name in `paymentMethods.type`. */
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
 * The method of a payment whose customer has not chosen one yet. It is not a row of the catalogue: no request can name
 * it, and no page offers it. It allows every operation, so that operations on such a payment are refused for the real
 * reason: it is not authorised.
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
