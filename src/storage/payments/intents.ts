/** Reads payment intents, and converts them to rows for the group commit. Every query is scoped by merchant. */
import { type IntentId, type MerchantId, type PayId, parseIntentId } from '#domain/ids.ts'
import { isDecline } from '#domain/response-codes.ts'
import type { Intent } from '#lifecycle/intent.ts'
import type { PaymentStatus } from '#lifecycle/payment.ts'
import type { IntentClaim, IntentEnd } from '#storage/commit/change.ts'
import type { PartRow } from '#storage/commit/statement.ts'
import type { Database } from '#storage/database.ts'

export interface IntentReader {
  find(merchantId: MerchantId, intentId: IntentId): Promise<Intent | undefined>
  /** Accepts any text; a malformed id does not exist. */
  exists(merchantId: MerchantId, text: string): Promise<boolean>
  /** Counts a try as declined although no provider was called. */
  countDecline(merchantId: MerchantId, intentId: IntentId): Promise<void>
}

interface IntentRow {
  readonly request: Intent['request']
  readonly expires_at: Date
  readonly created_at: Date
  readonly cancelled_at: Date | null
  readonly pay_id: PayId | null
  readonly status: PaymentStatus | null
  readonly declines: number
  readonly refused_tries: number
  readonly payments: string | null
  readonly failures: readonly string[]
}

export function createIntentReader({ readers, writers }: Database): IntentReader {
  async function find(merchantId: MerchantId, intentId: IntentId): Promise<Intent | undefined> {
    const { rows } = await readers.query<IntentRow>({
      name: 'intent_by_id',
      text: `SELECT i.request, i.expires_at, i.created_at, i.cancelled_at, i.declines, i.refused_tries, p.pay_id, p.status,
               p.details -> 'intentTerms' ->> 'payments' AS payments,
               ARRAY(SELECT o.response_code FROM operation o WHERE o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
                 AND o.type IN ('AUTHORIZATION', 'CONFIRM') AND o.state = 'FAILED') AS failures
             FROM payment_intent i
             LEFT JOIN payment p ON p.merchant_id = i.merchant_id AND p.pay_id = i.pay_id
             WHERE i.merchant_id = $1 AND i.intent_id = $2`,
      values: [merchantId, intentId],
    })
    return rows[0] && { merchantId, intentId, ...toIntent(rows[0]) }
  }
  return {
    find,
    async countDecline(merchantId, intentId) {
      await writers.query(
        `UPDATE payment_intent SET refused_tries = refused_tries + 1
         WHERE merchant_id = $1 AND intent_id = $2 AND refused_tries < 10`,
        [merchantId, intentId],
      )
    },
    async exists(merchantId, text) {
      const intentId = parseIntentId(text)
      return intentId !== undefined && (await find(merchantId, intentId)) !== undefined
    },
  }
}

const toIntent = (row: IntentRow): Omit<Intent, 'merchantId' | 'intentId'> => ({
  request: row.request,
  expiresAt: row.expires_at,
  createdAt: row.created_at,
  ...(row.cancelled_at === null ? {} : { cancelledAt: row.cancelled_at }),
  refusedTries: row.refused_tries,
  payments: Number(row.payments ?? 0),
  declines: row.declines + row.failures.filter(isDecline).length,
  payment: row.pay_id && row.status ? { payId: row.pay_id, status: row.status } : undefined,
})

/** `c` is the change's number in its batch. */
export const fromIntent = (intent: Intent, c: number): PartRow<'intent'> => ({
  c,
  merchant_id: intent.merchantId,
  intent_id: intent.intentId,
  request: intent.request,
  expires_at: intent.expiresAt,
  created_at: intent.createdAt,
})

export const fromIntentClaim = (claim: IntentClaim, c: number): PartRow<'intentClaim'> => ({
  c,
  merchant_id: claim.merchantId,
  intent_id: claim.intentId,
  pay_id: claim.payId,
  expected_pay_id: claim.expectedPayId,
  declines: claim.declines,
})

export const fromIntentEnd = (end: IntentEnd, c: number): PartRow<'intentEnd'> => ({
  c,
  merchant_id: end.merchantId,
  intent_id: end.intentId,
  expected_pay_id: end.expectedPayId,
  cancelled_at: end.now,
})
