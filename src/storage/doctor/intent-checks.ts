/** The doctor's checks of payment intents and the payments made from them; see payment-checks.ts. */
import type { Check } from '#storage/doctor/check.ts'

/** A text search before the details are parsed, which costs more; most payments have no intent. */
const mayHaveIntent = `p.details::text LIKE '%paymentIntentId%'`

const intentId = `p.details->>'paymentIntentId'`

export const intentChecks: readonly Check[] = [
  {
    name: 'intent-has-payment',
    sentence: 'The payment that an intent leads to was made from that intent.',
    broken: `SELECT i.merchant_id, i.pay_id, NULL::uuid AS x_id, format('intent %s leads to it', i.intent_id) AS detail
      FROM payment_intent i JOIN payment p USING (merchant_id, pay_id)
      WHERE ${intentId} IS DISTINCT FROM i.intent_id`,
  },
  {
    name: 'intent-paid-once',
    sentence:
      'Of the payments made from an intent only the last, to which it leads, may be other than failed.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s, but intent %s leads to %s', p.status, ${intentId}, coalesce(i.pay_id::text, 'none')) AS detail
      FROM payment p LEFT JOIN payment_intent i ON i.merchant_id = p.merchant_id AND i.intent_id = ${intentId}
      WHERE {touched p} AND ${mayHaveIntent} AND ${intentId} IS NOT NULL AND p.status <> 'FAILED' AND i.pay_id IS DISTINCT FROM p.pay_id`,
  },
]
