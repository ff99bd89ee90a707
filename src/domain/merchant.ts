/** A merchant as every room sees it: who calls, what it may do, and what time it is for it. Holds no secret. */
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
  /** Look of the customer's pages; what is missing is ours. */
  readonly theme?: Theme
  /** Origins whose pages may show ours in a frame; none unless given. */
  readonly frameOrigins?: readonly string[]
  /** Whether its pages offer to pay in the currency of the customer's card; not unless given. */
  readonly dcc?: boolean
  /** What becomes of money that arrives after its payment has ended; it is given back unless kept. */
  readonly paidLate?: 'keep' | 'return'
  /** How many declines of one card are let through; the environment's default unless given. */
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
