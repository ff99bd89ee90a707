/** A merchant as all folders see it: its id, its settings and its clock. Holds no secret. */
import type { MerchantId } from '#domain/ids.ts'
import type { DeclineLimit, noLimit, PayoutLimit } from '#domain/velocity.ts'

export type WebhookKind = 'BASIC' | 'ENHANCED'

/** What a merchant may change about the pages its customers meet. */
export interface Theme {
  readonly logoUrl?: string
  /** `#rrggbb`: buttons, links, what is chosen. */
  readonly accent?: string
  /** `#rrggbb`: behind the order summary. */
  readonly background?: string
  /** One of the fonts that devices already have. */
  readonly font?: string
}

export interface Merchant {
  readonly merchantId: MerchantId
  readonly name: string
  /** A disabled merchant's credentials are right but open nothing: 403, not 401. */
  readonly disabled: boolean
  readonly webhookKind: WebhookKind
  readonly webhookUrl?: string
  readonly requestsPerSecond: number
  /** Types of the methods this merchant takes, in its order; the whole catalogue, and the core on pages, unless given. */
  readonly methods?: readonly string[]
  /** The look of the customer's pages; missing values use the default. */
  readonly theme?: Theme
  /** Origins whose pages may show ours in a frame; none unless given. */
  readonly frameOrigins?: readonly string[]
  /** Whether its pages offer to pay in the currency of the customer's card; not unless given. */
  readonly dcc?: boolean
  /** Whether money that arrives after its payment has ended is kept or given back; given back unless set. */
  readonly paidLate?: 'keep' | 'return'
  /** The limit for declines of one card; the environment's default unless given. */
  readonly declinesPerCard?: DeclineLimit | typeof noLimit
  /** The same for one address of a customer; no limit unless given. */
  readonly declinesPerAddress?: DeclineLimit | typeof noLimit
  /** How much may be paid out without a payment behind it, one limit per currency; no limit unless given. */
  readonly payoutLimits?: readonly PayoutLimit[]
  /** How long personal data of payments is kept, ISO 8601; for ever unless given. */
  readonly personalDataFor?: string
  /** How far this merchant's clock runs ahead of real time. Always 0 in live. */
  readonly clockOffsetMs: number
}
