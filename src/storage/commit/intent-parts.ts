/**
 * The SQL for payment intents: claims an intent for a payment, or ends it. One of several concurrent changes succeeds.
 */
import { intentKey } from '#storage/commit/columns.ts'

const sameIntent = 't.merchant_id = i.merchant_id AND t.intent_id = i.intent_id'
const accepted = 'i.c NOT IN (SELECT c FROM refused)'

export const intentParts = {
  intentClaim: {
    columns: [
      ...intentKey,
      ['pay_id', 'uuid'],
      ['expected_pay_id', 'uuid'],
      ['declines', 'smallint'],
    ] as const,
    write: () => `UPDATE payment_intent t SET pay_id = i.pay_id, declines = i.declines FROM intent_claim_in i
      WHERE ${sameIntent} AND ${accepted}`,
  },
  intentEnd: {
    columns: [...intentKey, ['expected_pay_id', 'uuid'], ['cancelled_at', 'timestamptz']] as const,
    write: () => `UPDATE payment_intent t SET cancelled_at = i.cancelled_at FROM intent_end_in i
      WHERE ${sameIntent} AND ${accepted}`,
  },
}

const open = `payment_intent t WHERE ${sameIntent} AND t.pay_id IS NOT DISTINCT FROM i.expected_pay_id
  AND t.cancelled_at IS NULL`

export const intentGuards = {
  intentClaim: { row: open, why: 'intent_taken' },
  intentEnd: { row: open, why: 'intent_taken' },
} as const
