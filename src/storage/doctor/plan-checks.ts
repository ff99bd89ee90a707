/** The doctor's checks of payment plans; see payment-checks.ts. */
import { tryDays } from '#lifecycle/plans/plan-turn.ts'
import type { Check } from '#storage/doctor/check.ts'

const named = (id: string): string => `replace(${id}::text, '-', '')`

const plan = `format('plan %s is %s', ${named('pl.plan_id')}, pl.status)`

const isCharged = `pl.status = 'ACTIVE' AND (pl.next_payment_date IS NOT NULL AND pl.recurring->>'autoCharge' = 'true'
  OR pl.asked_on = pl.next_payment_date AND pl.tries = 0)`

/** The day of the next try of a charge, or the day after the end, whichever comes first. */
const actsOn = `least(CASE WHEN ${isCharged} THEN pl.next_payment_date + coalesce((ARRAY[${tryDays}])[pl.tries + 1], 0) END,
  (pl.recurring->>'expiryDate')::date + 1)`

/** Timers are in real time, days in the merchant's. One day of tolerance: a timer that fires in vain is set again. */
const hasTimer = `EXISTS (SELECT 1 FROM timer t JOIN merchant m ON m.merchant_id = t.merchant_id
  WHERE t.merchant_id = pl.merchant_id AND t.pay_id = pl.initial_pay_id AND t.x_id = pl.plan_id AND t.kind = 'PLAN'
    AND t.run_at < interval '1 day' + greatest(clock.now, (${actsOn})::timestamp AT TIME ZONE 'UTC'
      - m.clock_offset_ms * interval '1 millisecond'))`

const unapproved = `('AUTHORIZE_REQUEST', 'PENDING', 'FAILED')`

export const planChecks: readonly Check[] = [
  {
    name: 'plan-of-payment',
    sentence:
      'A plan and its initial payment lead to each other, and every payment of a plan to one that is there.',
    broken: `SELECT pl.merchant_id, pl.initial_pay_id AS pay_id, NULL::uuid AS x_id, ${plan} AS detail
      FROM payment_plan pl LEFT JOIN payment p ON p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id
      WHERE p.plan_id IS DISTINCT FROM pl.plan_id
      UNION ALL
      SELECT p.merchant_id, p.pay_id, NULL::uuid, format('no plan %s', ${named('p.plan_id')}) FROM payment p
      WHERE p.plan_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payment_plan pl WHERE pl.merchant_id = p.merchant_id
        AND pl.plan_id = p.plan_id)`,
  },
  {
    name: 'plan-starts-with-approval',
    sentence: 'A plan is PENDING while its initial payment is not approved, and only then.',
    broken: `SELECT pl.merchant_id, p.pay_id, NULL::uuid AS x_id, ${plan} || format(', its payment %s', p.status) AS detail
      FROM payment_plan pl JOIN payment p ON p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id
      WHERE pl.status <> 'CANCELLED' AND (pl.status = 'PENDING') <> (p.status IN ${unapproved})`,
  },
  {
    name: 'plan-terms',
    sentence:
      'A plan has the currency of its initial payment, a card that the vault knows, and a next day while it goes on without an end.',
    broken: `SELECT pl.merchant_id, p.pay_id, NULL::uuid AS x_id, ${plan} || format(' in %s, its payment in %s, next on %s',
        pl.currency, p.currency, pl.next_payment_date) AS detail
      FROM payment_plan pl JOIN payment p ON p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id
      WHERE pl.currency <> p.currency
        OR pl.status = 'ACTIVE' AND p.status NOT IN ${unapproved} AND pl.next_payment_date IS NULL AND pl.charging_pay_id IS NULL
          AND pl.recurring->>'frequency' IS NOT NULL AND pl.recurring->>'expiryDate' IS NULL
        OR pl.card_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vault_card v WHERE v.merchant_id = pl.merchant_id
          AND v.card_id = pl.card_id)`,
  },
  {
    name: 'plan-timer',
    sentence:
      'An active plan that is charged by itself or was asked to be charged has a timer for it or a charge under way; so has a plan that ends, also while it is paused or suspended.',
    broken: `SELECT pl.merchant_id, pl.initial_pay_id AS pay_id, NULL::uuid AS x_id, ${plan} || ' without a timer in time' AS detail
      FROM payment_plan pl CROSS JOIN clock WHERE pl.status IN ('ACTIVE', 'PAUSED', 'SUSPENDED') AND pl.charging_pay_id IS NULL
        AND ${actsOn} IS NOT NULL AND NOT ${hasTimer}`,
  },
  {
    name: 'plan-charge-under-way',
    sentence: 'The charge that a plan waits for is one of its payments, and has no outcome yet.',
    broken: `SELECT pl.merchant_id, pl.charging_pay_id AS pay_id, NULL::uuid AS x_id, ${plan} || format(', its charge %s',
        coalesce(p.status, 'is not there')) AS detail
      FROM payment_plan pl LEFT JOIN payment p ON p.merchant_id = pl.merchant_id AND p.pay_id = pl.charging_pay_id
        AND p.plan_id = pl.plan_id
      WHERE pl.charging_pay_id IS NOT NULL AND p.status IS DISTINCT FROM 'PENDING'`,
  },
  {
    name: 'plan-charged-once',
    sentence:
      'For each due day of a plan at most one automatic charge was approved or may still be, besides those that the merchant asked for and those that were paid too late and given back.',
    broken: `SELECT p.merchant_id, min(p.pay_id::text)::uuid AS pay_id, NULL::uuid AS x_id, format('plan %s: %s charges for %s',
        ${named('p.plan_id')}, count(*), p.details->'planTurn'->'automatic'->>'dueDate') AS detail
      FROM payment p WHERE p.plan_id IS NOT NULL AND p.status <> 'FAILED'
        AND p.details->'planTurn'->'automatic' IS NOT NULL
        AND p.details->'planTurn'->'automatic'->'asked' IS NULL
        AND NOT (p.status = 'REVERSED' AND EXISTS (SELECT 1 FROM operation o WHERE o.merchant_id = p.merchant_id
          AND o.pay_id = p.pay_id AND o.prepared->>'paidLate' = 'true'))
      GROUP BY p.merchant_id, p.plan_id, p.details->'planTurn'->'automatic'->>'dueDate' HAVING count(*) > 1`,
  },
]
