/** A merchant: id, settings and test clock. Holds no secret. */
import type { MerchantId } from '#domain/ids.ts'
import type { DeclineLimit, noLimit, PayoutLimit } from '#domain/velocity.ts'

export type WebhookKind = 'BASIC' | 'ENHANCED'

/** The look of a merchant's hosted pages. */
export interface Theme {
  readonly logoUrl?: string
  /** `#rrggbb`: buttons, links and selections. */
  readonly accent?: string
  /** `#rrggbb`: behind the order summary. */
  readonly background?: string
  /** One of the fonts that devices have preinstalled. */
  readonly font?: string
}

export interface Merchant {
  readonly merchantId: MerchantId
  readonly name: string
  /** A disabled merchant's credentials are valid but give no access: 403, not 401. */
  readonly disabled: boolean
  readonly webhookKind: WebhookKind
  readonly webhookUrl?: string
  readonly requestsPerSecond: number
  /** The method types that the merchant accepts, in its order. Absent: the whole catalogue; on pages, its core. */
  readonly methods?: readonly string[]
  /** The look of the hosted pages; defaults apply where a value is missing. */
  readonly theme?: Theme
  /** Origins that may embed our pages in a frame; none by default. */
  readonly frameOrigins?: readonly string[]
  /** Whether the hosted pages offer to pay in the card's currency (DCC); false by default. */
  readonly dcc?: boolean
  /** Whether money that arrives after the payment has ended is kept or given back; given back by default. */
  readonly paidLate?: 'keep' | 'return'
  /** The limit of declines per card; the environment's default if absent. */
  readonly declinesPerCard?: DeclineLimit | typeof noLimit
  /** The limit of declines per customer address; no limit by default. */
  readonly declinesPerAddress?: DeclineLimit | typeof noLimit
  /** Limits for payouts that refund no payment, one per currency; no limit by default. */
  readonly payoutLimits?: readonly PayoutLimit[]
  /** How long personal data of payments is kept (ISO 8601 duration); forever by default. */
  readonly personalDataFor?: string
  /** How far this merchant's clock runs ahead of real time. Always 0 in live. */
  readonly clockOffsetMs: number
}
