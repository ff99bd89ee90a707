/** A merchant as every room sees it: who calls, what it may do, and what time it is for it. Holds no secret. */
import type { MerchantId } from '#domain/ids.ts'

export type WebhookKind = 'BASIC' | 'ENHANCED'

export interface Merchant {
  readonly merchantId: MerchantId
  readonly name: string
  /** A disabled merchant's credentials are right but open nothing: 403, not 401. */
  readonly disabled: boolean
  readonly webhookKind: WebhookKind
  readonly webhookUrl?: string
  readonly requestsPerSecond: number
  /** How far this merchant's clock runs ahead of real time. Always 0 in live. */
  readonly clockOffsetMs: number
}
