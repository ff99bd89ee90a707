/** Data for the history of a payment and the webhook inbox that the API does not show. */
import type { WebhookKind } from '#domain/merchant.ts'
import type { Database } from '#storage/database.ts'

export interface PaymentNotice {
  readonly account: string
  readonly kind: string
  readonly state: string
  readonly reference: string
  readonly detail: string | null
  readonly receivedAt: Date
}

/** A webhook as it would be sent now, with its sealed signing secrets. */
export interface InboxMessage {
  readonly eventId: string
  readonly payId: string
  readonly type: string | null
  readonly status: string
  readonly body: string
  readonly kind: WebhookKind
  readonly createdAt: Date
  readonly secrets: readonly Buffer[]
}

export interface StoryStore {
  /** Notices that name one of these operations by our id or the provider's, the oldest first. */
  notices(merchantId: string, references: readonly string[]): Promise<readonly PaymentNotice[]>
  /** The newest first; `before`: only those older than this event. */
  messages(
    merchantId: string,
    page: { readonly before?: string | undefined; readonly limit: number },
  ): Promise<readonly InboxMessage[]>
}

/** 200: far more notices than a provider sends about one payment. */
const noticesMax = 200

export function createStoryStore({ readers }: Pick<Database, 'readers'>): StoryStore {
  return {
    async notices(merchantId, references) {
      const { rows } = await readers.query<PaymentNotice>(
        `SELECT provider_account_id AS account, kind, state, reference, detail, received_at AS "receivedAt"
         FROM notice_item WHERE merchant_id = $1 AND reference IS NOT NULL AND reference = ANY ($2::text[])
         ORDER BY received_at LIMIT ${noticesMax}`,
        [merchantId, references],
      )
      return rows
    },
    async messages(merchantId, { before, limit }) {
      const { rows } = await readers.query<InboxMessage>(
        `SELECT e.event_id AS "eventId", e.pay_id AS "payId", e.type, e.status, e.body::text AS body,
           m.webhook_kind AS kind, e.created_at AS "createdAt",
           ARRAY(SELECT s.sealed FROM webhook_secret s WHERE s.merchant_id = e.merchant_id
             AND (s.expires_at IS NULL OR s.expires_at > now()) ORDER BY s.created_at DESC) AS secrets
         FROM event e JOIN merchant m ON m.merchant_id = e.merchant_id
         WHERE e.merchant_id = $1 AND ($3::uuid IS NULL OR e.event_id < $3::uuid) ORDER BY e.event_id DESC LIMIT $2`,
        [merchantId, limit, before ?? null],
      )
      return rows
    },
  }
}
