/** The doctor's checks of idempotency keys and their operations; see payment-checks.ts. */
import { type Check, type Sweep, some } from '#storage/doctor/check.ts'
import { lookUp } from '#storage/planner.ts'

const keyMatches = `o.key->>'verb' = k.verb AND o.key->>'path' = k.path AND o.key->>'key' = k.key`

/** 30 days less an hour: keys are deleted after 30 days, and clocks differ a little. */
const keyIsKept = `o.created_at > clock.now + m.clock_offset_ms * interval '1 millisecond' - interval '30 days'
  + interval '1 hour'`

/** Compares with the text that the gateway writes first, because equal texts need no parsing. */
const keyFits = `(o.key::text = '{"verb":"' || k.verb || '","path":"' || k.path || '","key":' || to_json(k.key)::text || '}'
  OR coalesce(${keyMatches}, false))`

/** A full join of the operations that name a key with the keys that name an operation. */
const keys: Sweep = {
  from: `(SELECT o.merchant_id, o.pay_id, o.x_id, o.type, o.created_at, o.key FROM operation o
      WHERE o.key IS NOT NULL AND {touched o}) o
    FULL JOIN (SELECT k.merchant_id, k.pay_id, k.x_id, k.verb, k.path, k.key FROM idempotency_key k
      WHERE k.x_id IS NOT NULL AND {touched k}) k
      ON k.merchant_id = o.merchant_id AND k.pay_id = o.pay_id AND k.x_id = o.x_id
    CROSS JOIN LATERAL ${lookUp(`SELECT o.x_id IS NOT NULL AND k.x_id IS NOT NULL AND ${keyFits} AS fits`)} f
    LEFT JOIN merchant m ON m.merchant_id = o.merchant_id CROSS JOIN clock`,
  where: 'NOT f.fits',
  ids: ['coalesce(k.merchant_id, o.merchant_id)', 'coalesce(k.pay_id, o.pay_id)', 'coalesce(k.x_id, o.x_id)'],
}

export const keyChecks: readonly Check[] = [
  {
    name: 'key-has-operation',
    sentence: 'A key that is joined to an operation leads to it, and the operation names no other key.',
    sweep: keys,
    when: `k.x_id IS NOT NULL AND (o.x_id IS NOT NULL OR NOT ${some(`operation u WHERE u.merchant_id = k.merchant_id
      AND u.pay_id = k.pay_id AND u.x_id = k.x_id AND u.key IS NULL`)})`,
    detail: `format('a key of %s %s', k.verb, k.path)`,
  },
  {
    name: 'operation-has-key',
    sentence: 'An operation that names a key has it, unless its 30 days are over.',
    sweep: keys,
    when: `o.x_id IS NOT NULL AND ${keyIsKept} AND NOT ${some(`idempotency_key i WHERE i.merchant_id = o.merchant_id
      AND i.verb = o.key->>'verb' AND i.path = o.key->>'path' AND i.key = o.key->>'key' AND i.pay_id = o.pay_id
      AND i.x_id = o.x_id`)}`,
    detail: `format('%s names a key that is not there', o.type)`,
  },
  {
    name: 'key-has-answer',
    sentence: 'A key has its answer as soon as its operation has one.',
    broken: `SELECT k.merchant_id, k.pay_id, k.x_id, format('a key of %s %s without an answer', k.verb, k.path) AS detail
      FROM idempotency_key k LEFT JOIN operation o ON o.merchant_id = k.merchant_id AND o.pay_id = k.pay_id
        AND o.x_id = k.x_id
      WHERE k.answer_status IS NULL AND (k.x_id IS NULL OR o.state <> 'SENT')`,
  },
]
