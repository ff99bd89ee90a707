/** The doctor's checks of customers and stored methods: each is a query for rows that violate an invariant. */
import type { Check } from '#storage/doctor/check.ts'
import { byOtherIndex } from '#storage/planner.ts'

const named = (id: string): string => `replace(${id}::text, '-', '')`

const none = 'NULL::uuid AS pay_id, NULL::uuid AS x_id'

const leadsNowhere = (vault: string, id: string): string =>
  `SELECT m.merchant_id, ${none}, format('method %s', ${named('m.method_id')}) AS detail FROM stored_method m
    LEFT JOIN ${vault} v USING (merchant_id, ${id})
    WHERE m.${id} IS NOT NULL AND (v.sealed IS NULL OR v.delete_after_use_at IS NOT NULL)`

export const customerChecks: readonly Check[] = [
  {
    name: 'customer-places',
    sentence: 'Every mark in the order of customers knows how many are older.',
    broken: `SELECT merchant_id, ${none}, format('%s are older than %s, the mark says %s', found, first_at, older) AS detail
      FROM (SELECT b.merchant_id, b.first_at, b.older, coalesce(sum(n.count) OVER (PARTITION BY b.merchant_id
          ORDER BY b.first_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS found
        FROM (SELECT *, lead(first_at, 1, 'infinity') OVER (PARTITION BY merchant_id ORDER BY first_at) AS until
          FROM customer_block) b
        CROSS JOIN LATERAL (SELECT count(*) FROM customer c WHERE ${byOtherIndex('c.merchant_id')} = b.merchant_id
          AND c.created_at >= b.first_at AND c.created_at < b.until) n) counted
      WHERE found <> older`,
  },
  {
    name: 'customer-marks',
    sentence:
      'The order of customers begins with a mark older than all of them, and its newest mark alone is open.',
    broken: `SELECT c.merchant_id, ${none}, format('the oldest customer is of %s, the marks begin at %s', c.oldest, b.first)
        AS detail
      FROM (SELECT merchant_id, min(created_at) AS oldest FROM customer GROUP BY merchant_id) c
      LEFT JOIN (SELECT merchant_id, min(first_at) AS first FROM customer_block GROUP BY merchant_id) b USING (merchant_id)
      WHERE b.first IS NULL OR b.first > c.oldest
      UNION ALL
      SELECT b.merchant_id, ${none}, format('the newest mark is of %s, the open one of %s', max(b.first_at), max(o.open_at))
        AS detail
      FROM customer_block b LEFT JOIN customer_order o USING (merchant_id) GROUP BY b.merchant_id
      HAVING max(b.first_at) IS DISTINCT FROM max(o.open_at)`,
  },
  {
    name: 'customer-has-payment',
    sentence: 'Every customer was made by a payment that succeeded.',
    broken: `SELECT c.merchant_id, ${none}, format('customer %s', ${named('c.customer_id')}) AS detail FROM customer c
      WHERE NOT EXISTS (SELECT 1 FROM payment p WHERE p.merchant_id = c.merchant_id AND p.customer_id = c.customer_id)`,
  },
  {
    name: 'customer-of-approved',
    sentence: 'Only a payment that was approved leads to a customer.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, format('%s with a customer', p.status) AS detail
      FROM payment p WHERE {touched p} AND p.customer_id IS NOT NULL AND p.status IN ('AUTHORIZE_REQUEST', 'PENDING', 'FAILED')`,
  },
  {
    name: 'stored-card',
    sentence: 'A stored card leads to a number that the vault still has.',
    broken: leadsNowhere('vault_card', 'card_id'),
  },
  {
    name: 'stored-account',
    sentence: 'A stored bank account leads to a number that the vault still has.',
    broken: leadsNowhere('vault_account', 'account_id'),
  },
]
