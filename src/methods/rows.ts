/**
 * The payment methods as rows. Whatever is special about a method is a column or a named flow; no other room asks for a
 * method by name. Adding a row here is all it takes to offer one more.
 */
import type { MethodFamily } from '#domain/response-codes.ts'

export type IntegrationType = 'HOSTED' | 'DIRECT'
export type CaptureType = 'AUTOMATIC' | 'MANUAL' | 'DELAYED'
/** How the customer gets from the request to the approval. */
export type Flow = 'direct' | 'multi_step' | 'redirect' | 'qr' | 'voucher' | 'transfer'
export type MethodOperation =
  | 'capture'
  | 'partial_capture'
  | 'multi_capture'
  | 'increment'
  | 'reverse'
  | 'refund'
  | 'partial_refund'
  | 'credit'
  | 'recurring'

export interface Method {
  /** The wire name in `paymentMethods.type`. */
  readonly type: string
  /** The name of the method's own object under `paymentMethods`. */
  readonly key: string
  /** The name shown to customers. */
  readonly label: string
  readonly family: MethodFamily
  /** ISO 3166-1 alpha-3 codes; `*` for anywhere. */
  readonly countries: '*' | readonly string[]
  /** ISO 4217 codes; `*` for any. */
  readonly currencies: '*' | readonly string[]
  readonly integration: readonly IntegrationType[]
  readonly flow: Flow
  /** The first is the default where the method lacks AUTOMATIC. */
  readonly capture: readonly CaptureType[]
  readonly operations: readonly MethodOperation[]
  /** How long an authorisation lives; absent for methods that take the money at once. */
  readonly authorizationDays?: number
  /** How much of the authorised amount may be captured in all; 100 where absent. */
  readonly capturePercentMax?: number
  /** The create answer carries a client token that the confirm must bring back within the hour. */
  readonly clientToken?: boolean
  /** Offered on hosted pages unless the merchant chooses otherwise. */
  readonly core: boolean
}

export const rows: readonly Method[] = [
  {
    type: 'CARD',
    key: 'card',
    label: 'Credit or debit card',
    family: 'card',
    countries: '*',
    currencies: '*',
    // HOSTED joins with the hosted pages, DELAYED with the timers that fire it: a row offers only what works.
    integration: ['DIRECT'],
    flow: 'direct',
    capture: ['AUTOMATIC', 'MANUAL'],
    operations: [
      'capture',
      'partial_capture',
      'multi_capture',
      'increment',
      'reverse',
      'refund',
      'partial_refund',
      'credit',
      'recurring',
    ],
    authorizationDays: 7,
    core: true,
  },
]
