/** The SQL of a batch's payment intents: claiming one for a payment, and ending it. Of concurrent changes one succeeds. */
import { intentKey } from '#storage/commit/columns.ts'

const sameIntent = `t.merchant_id = i.merchant_id AND t.intent_id = i.intent_id
  AND t.pay_id IS NOT DISTINCT FROM i.expected_pay_id AND t.cancelled_at IS NULL`

const mayWrite = 'i.c NOT IN (SELECT c FROM taken)'

/** Both are written by their guards. */
export const intentParts = {
  intentClaim: {
    columns: [
      ...intentKey,
      ['pay_id', 'uuid'],
      ['expected_pay_id', 'uuid'],
      ['declines', 'smallint'],
    ] as const,
    write: undefined,
  },
  intentEnd: {
    columns: [...intentKey, ['expected_pay_id', 'uuid'], ['cancelled_at', 'timestamptz']] as const,
    write: undefined,
  },
}

const guards = {
  // Of several claims in one batch one wins: an update takes one of the rows that match.
  intentClaim: {
    input: 'intent_claim_in',
    updated: 'intent_claimed',
    why: 'intent_taken',
    cte: `intent_claimed AS (UPDATE payment_intent t SET pay_id = i.pay_id, declines = i.declines FROM intent_claim_in i
      WHERE ${sameIntent} AND ${mayWrite} RETURNING i.c)`,
  },
  intentEnd: {
    input: 'intent_end_in',
    updated: 'intent_ended',
    why: 'intent_taken',
    cte: `intent_ended AS (UPDATE payment_intent t SET cancelled_at = i.cancelled_at FROM intent_end_in i
      WHERE ${sameIntent} AND ${mayWrite} RETURNING i.c)`,
  },
}

export const intentGuards = (present: readonly string[]) =>
  Object.entries(guards).flatMap(([part, guard]) => (present.includes(part) ? [guard] : []))
