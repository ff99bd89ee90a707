/**
 * The doctor's checks of payments: invariants that hold at any moment, also after a crash. Each check is a query for
 * the rows that violate it. Sums and statuses are computed from the operations in SQL, not by the code that wrote them.
 */

import { allMethods } from '#methods/catalogue.ts'
import { bankChecks } from '#storage/doctor/bank-checks.ts'
import { type Check, type RowCheck, type Sweep, some, timerOf, unanswered } from '#storage/doctor/check.ts'
import { customerChecks } from '#storage/doctor/customer-checks.ts'
import { eventChecks } from '#storage/doctor/event-checks.ts'
import { intentChecks } from '#storage/doctor/intent-checks.ts'
import { keyChecks } from '#storage/doctor/key-checks.ts'
import { planChecks } from '#storage/doctor/plan-checks.ts'
import { providerChecks } from '#storage/doctor/provider-checks.ts'
import { unansweredChecks } from '#storage/doctor/unanswered-checks.ts'
import { vaultChecks } from '#storage/doctor/vault-checks.ts'

const approved = `state IN ('AUTHORIZED', 'CAPTURE_REQUEST', 'OK')`

const raised = `type = 'INCREMENTAL' AND state = 'OK'`

/** The approved amount: that of the confirm if there is one, because the first step only has the amount at creation. */
const approvedAmount = `coalesce(max(amount) FILTER (WHERE type = 'CONFIRM' AND ${approved}),
  max(amount) FILTER (WHERE type = 'AUTHORIZATION' AND ${approved}), 0)
  + coalesce((sum(amount) FILTER (WHERE ${raised}))::bigint, 0)`

/** The sums and state that follow from the operations of each payment. */
const operationFacts: Readonly<Record<string, string>> = {
  authorized: approvedAmount,
  captured: `(sum(amount) FILTER (WHERE type = 'CAPTURE' AND state = 'OK'))::bigint`,
  capturing: `(sum(amount) FILTER (WHERE type = 'CAPTURE' AND ${unanswered}))::bigint`,
  reversed: `(sum(amount) FILTER (WHERE type = 'REVERSAL' AND state = 'OK'))::bigint`,
  reversing: `(sum(amount) FILTER (WHERE type = 'REVERSAL' AND ${unanswered}))::bigint`,
  refunded: `(sum(amount) FILTER (WHERE type IN ('REFUND', 'CREDIT') AND state = 'OK'))::bigint`,
  refunding: `(sum(amount) FILTER (WHERE type IN ('REFUND', 'CREDIT') AND ${unanswered}))::bigint`,
  returned: `(sum(amount) FILTER (WHERE type = 'RETURN'))::bigint`,
  reopeners: `count(*) FILTER (WHERE type = 'INCREMENTAL' OR type = 'CAPTURE' AND state = 'FAILED')`,
  asked: `max(amount) FILTER (WHERE type = 'AUTHORIZATION' AND ${approved})`,
  // The currency that the provider approved. Read for these types only, because the JSON must be parsed.
  currency: `max(CASE WHEN type IN ('AUTHORIZATION', 'CONFIRM', 'CREDIT') AND ${approved}
    THEN provider->'echo'->'amount'->>'currency' END)`,
  approved_at: `max(updated_at) FILTER (WHERE type IN ('AUTHORIZATION', 'CONFIRM') AND ${approved})`,
  sent: `bool_or(state = 'SENT')`,
  undecided: `bool_or(type IN ('AUTHORIZATION', 'CONFIRM', 'CREDIT') AND ${unanswered})`,
  waits: `bool_or(state = 'AUTHORIZE_REQUEST')`,
  failed: `bool_or(state = 'FAILED')`,
  count: 'count(*)',
  first: 'min(sequence)',
  last: 'max(sequence)',
}

const operationColumns = Object.entries(operationFacts)
  .map(([name, sql]) => `${sql} AS ${name}`)
  .join(', ')

/** All payments, each with a summary of its operations and events. */
const payments: Sweep = {
  from: `payment p LEFT JOIN (SELECT merchant_id, pay_id, ${operationColumns} FROM operation WHERE {range operation}
      GROUP BY merchant_id, pay_id) o USING (merchant_id, pay_id)
    LEFT JOIN (SELECT merchant_id, pay_id, count(*) AS count, min(sequence) AS first, max(sequence) AS last FROM event
      WHERE {range event} GROUP BY merchant_id, pay_id) e USING (merchant_id, pay_id) CROSS JOIN clock`,
  where: '{range p}',
  ids: ['p.merchant_id', 'p.pay_id', 'NULL::uuid'],
}

/** Payments whose sum differs from that of their operations. */
const sumCheck = (sum: string, sentence: string, comparison = '<>'): RowCheck => ({
  name: `${sum}-sum`,
  sentence,
  sweep: payments,
  when: `p.${sum} ${comparison} coalesce(o.${sum}, 0)`,
  detail: `format('${sum} is %s, the operations make %s', p.${sum}, coalesce(o.${sum}, 0))`,
})

/**
 * The condition that a timer runs in time for an end. Timers are in real time, ends in the merchant's. One day of
 * tolerance, because a timer that fires in vain is set again a little later.
 */
const inTimeFor = (end: string): string =>
  `t.run_at < interval '1 day' + greatest(clock.now, ${end} - (SELECT m.clock_offset_ms * interval '1 millisecond'
    FROM merchant m WHERE m.merchant_id = p.merchant_id))`

const open = 'p.authorized - p.capturing - p.captured - p.reversing - p.reversed'

/** Finds payments that lack a timer they need. */
const timerCheck = (
  kind: string,
  condition: string,
  due?: string,
): Pick<RowCheck, 'sweep' | 'when' | 'detail'> => ({
  sweep: payments,
  when: `${condition} AND NOT ${timerOf(kind, due)}`,
  detail: `format('%s without a timer ${kind}${due === undefined ? '' : ' in time'}', p.status)`,
})

const nothing = 'p.authorized + p.capturing + p.captured + p.reversing + p.reversed + p.refunded'

const creditable = `CASE WHEN p.kind = 'CREDIT' THEN p.amount ELSE p.captured END`

/** Whether the payment `p` has an operation `u` that meets the condition. */
const operationOf = (condition: string): string =>
  some(`operation u WHERE u.merchant_id = p.merchant_id AND u.pay_id = p.pay_id AND (${condition})`)

/** Whether a capture ends the capturing. */
const isLast = (capture: string): string =>
  `(${capture}.details->'manual'->>'final' = 'true' OR ${capture}.details->>'closes' = 'true'
    OR ${capture}.details->>'releasesRest' = 'true' OR ${capture}.prepared->>'restReleased' = 'true')`

/**
 * If more than the authorised amount may be captured, reaching that amount closes the payment; an increment may follow.
 */
const mayHaveReached = `p.capture_percent > 100 AND (p.captured >= p.authorized OR ${operationOf(`u.type = 'INCREMENTAL'`)})`

/** Methods by which more than the authorised amount may be captured. */
const higherCeilings = allMethods
  .flatMap(({ type, capturePercentMax }) =>
    capturePercentMax === undefined ? [] : [`WHEN '${type}' THEN ${capturePercentMax}`],
  )
  .join(' ')

const moneyChecks: readonly Check[] = [
  {
    name: 'asked-amount',
    sentence: 'The amount of a payment is the one that was authorised first, before any raise.',
    sweep: payments,
    when: 'p.amount <> o.asked',
    detail: `format('amount is %s, the authorisation was for %s', p.amount, o.asked)`,
  },
  {
    name: 'asked-currency',
    sentence: 'The currency of a payment is the one that its provider approved.',
    sweep: payments,
    when: 'p.currency <> o.currency',
    detail: `format('currency is %s, the provider approved %s', p.currency, o.currency)`,
  },
  sumCheck('authorized', 'What is authorised was approved: once, and by every raise that went through.'),
  sumCheck('captured', 'What is captured is the sum of the captures that went through.'),
  sumCheck('capturing', 'What may have been captured is the sum of the captures without an answer.'),
  sumCheck(
    'reversed',
    'At least what reversals gave back is reversed; lapses and released rests come on top.',
    '<',
  ),
  sumCheck('reversing', 'What may have been reversed is the sum of the reversals without an answer.'),
  sumCheck('refunded', 'What is refunded is the sum of the refunds and credits that went through.'),
  sumCheck(
    'refunding',
    'What may have been refunded is the sum of the refunds and credits without an answer.',
  ),
  sumCheck('returned', 'What was taken back is the sum of the returned debits.'),
  {
    name: 'reversed-rest',
    sentence:
      'What is reversed beyond the reversals is the whole rest of an authorisation that has ended or was closed.',
    sweep: payments,
    // An increment that was under way at the authorisation's end may open an amount again, with a later end. So may a
    // capture that released the rest and was then taken back by its provider.
    when: `p.reversed > coalesce(o.reversed, 0) AND ${open} > 0 AND NOT p.closed_for_capture AND o.reopeners = 0
      AND (p.authorization_expires_at > p.updated_at) IS NOT FALSE`,
    detail: `format('reversed is %s, the operations make %s, and %s is still open', p.reversed, coalesce(o.reversed, 0),
      ${open})`,
  },
  {
    name: 'closed-for-capture',
    sentence:
      'A payment is closed for further captures exactly if its last capture was declared or made to be the last.',
    // A separate statement: reading details in the summary of all operations would double the time of the sweep. A
    // capture that its provider takes back opens the payment again; one made in the provider's dashboard may have
    // released the rest.
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, 'closed for capture, but its captures say otherwise' AS detail
      FROM payment p WHERE {touched p} AND p.closed_for_capture AND NOT (${mayHaveReached})
        AND NOT ${operationOf(`u.type = 'CAPTURE' AND u.state = 'OK' AND (${isLast('u')} OR u.details->>'origin' = 'PROVIDER')`)}
      UNION ALL
      SELECT p.merchant_id, p.pay_id, c.x_id, 'open for capture, but this capture was the last'
      FROM operation c JOIN payment p ON p.merchant_id = c.merchant_id AND p.pay_id = c.pay_id
      WHERE {touched c} AND c.type = 'CAPTURE' AND c.state = 'OK'
        AND (c.details::text LIKE '%true%' OR c.prepared::text LIKE '%restReleased%') AND ${isLast('c')}
        AND NOT p.closed_for_capture
        AND NOT ${operationOf(`u.type = 'CAPTURE' AND u.state = 'FAILED' AND u.updated_at >= c.updated_at`)}`,
  },
  {
    name: 'capture-ceiling',
    sentence: 'No more is captured and reversed, certainly or possibly, than the authorisation allows.',
    sweep: payments,
    when: `(p.authorized - (${open})) * 100 > p.authorized * p.capture_percent`,
    detail: `format('%s of %s, at most %s %%', p.authorized - (${open}), p.authorized, p.capture_percent)`,
  },
  {
    name: 'capture-percent',
    sentence: 'No payment allows more to be captured than its method does.',
    sweep: payments,
    when: `p.capture_percent > CASE p.method ${higherCeilings} ELSE 100 END`,
    detail: `format('%s %% with %s', p.capture_percent, p.method)`,
  },
  {
    name: 'refund-ceiling',
    sentence:
      'No more is refunded, certainly or possibly, than was captured, and no more is returned; no more is credited than was asked for.',
    sweep: payments,
    // The customer's bank returns a debit in full, even if it was refunded before.
    when: `greatest(p.refunding + p.refunded, p.returned) > ${creditable}`,
    detail: `format('%s refunded and %s returned of %s', p.refunding + p.refunded, p.returned, ${creditable})`,
  },
  {
    name: 'refund-per-capture',
    sentence:
      'Every refund of ours gives back one capture of its payment, and no capture gives back or has returned more than it took.',
    broken: `SELECT r.merchant_id, r.pay_id, c.x_id, format('%s of %s for a capture of %s', r.type, r.given,
        coalesce(c.amount, 0)) AS detail
      FROM (SELECT merchant_id, pay_id, type, details->>'refundOf' AS capture, sum(amount) AS given FROM operation
        WHERE type IN ('REFUND', 'RETURN') AND state <> 'FAILED' AND {range operation}
          AND (details->>'refundOf' IS NOT NULL OR details->>'origin' IS DISTINCT FROM 'PROVIDER')
        GROUP BY merchant_id, pay_id, type, details->>'refundOf') r
      LEFT JOIN operation c ON {range c} AND c.merchant_id = r.merchant_id AND c.pay_id = r.pay_id
        AND c.type = 'CAPTURE' AND c.state = 'OK' AND replace(c.x_id::text, '-', '') = r.capture
      WHERE c.x_id IS NULL OR r.given > c.amount`,
  },
]

const oldest = 'min(pay_id::text)::uuid AS pay_id'

const transIdHash = 'hashtextextended(trans_id, hashtextextended(merchant_id, 0))'

const sharedTransId = `format('%s live payments share a transId', count(*))`

const sharedReference = `format('%s operations share it', count(*))`

const statusChecks: readonly Check[] = [
  {
    name: 'status-fits-sums',
    sentence: 'The status of a payment is the one its sums stand for.',
    sweep: payments,
    detail: `format('%s with authorized %s, captured %s, reversed %s, refunded %s', p.status, p.authorized, p.captured,
      p.reversed, p.refunded)`,
    when: `p.live <> (p.status NOT IN ('FAILED', 'REVERSED')) OR NOT CASE p.status
        WHEN 'AUTHORIZE_REQUEST' THEN ${nothing} + p.refunding = 0
        WHEN 'PENDING' THEN ${nothing} = 0 AND p.refunding = CASE WHEN p.kind = 'CREDIT' THEN p.amount ELSE 0 END
        WHEN 'AUTHORIZED' THEN p.captured = 0 AND (p.reversed < p.authorized OR p.amount = 0)
        WHEN 'CAPTURE_REQUEST' THEN p.captured = 0 AND (p.capture_method = 'DELAYED' OR p.capturing > 0)
          AND (p.reversed < p.authorized OR p.amount = 0)
        WHEN 'OK' THEN CASE WHEN p.kind = 'CREDIT' THEN p.refunded = p.amount ELSE p.captured > 0 OR p.amount = 0 END
        WHEN 'FAILED' THEN ${nothing} + p.refunding = 0
        WHEN 'REVERSED' THEN p.authorized > 0 AND (p.reversed = p.authorized AND p.captured + p.capturing = 0
          OR (p.captured > 0 AND p.refunded + p.returned + p.disputed >= p.captured OR p.capturing + p.reversing + p.refunding > 0
              OR ${timerOf('GIVE_BACK')})
            AND ${some(`operation o WHERE
            o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id AND o.prepared->>'paidLate' = 'true'`)})
        ELSE false END`,
  },
  {
    name: 'status-fits-operations',
    sentence: 'A payment is undecided exactly as long as the operation that decides it is.',
    sweep: payments,
    detail: `format('%s, but its operations say otherwise', p.status)`,
    when: `(p.status = 'PENDING') <> o.undecided
      OR (p.status = 'AUTHORIZE_REQUEST' AND NOT o.waits AND NOT (p.integration_type = 'HOSTED' AND o.failed))
      OR (o.waits AND p.status NOT IN ('AUTHORIZE_REQUEST', 'PENDING'))`,
  },
  {
    name: 'status-found',
    sentence: 'A payment that is not simply paid has the mark by which lists find its status.',
    sweep: payments,
    // The mark is written together with the deciding answer.
    when: `p.status <> 'OK' AND NOT o.sent AND NOT ${some(`payment_mark m WHERE m.merchant_id = p.merchant_id
      AND m.pay_id = p.pay_id AND m.status = p.status`)}`,
    detail: `format('%s without a mark that says so', p.status)`,
  },
  {
    name: 'live-trans-ids',
    sentence: 'A transId belongs to one live payment of a merchant.',
    // Search by a hash first, which sorts only eight bytes per row.
    broken: `SELECT merchant_id, ${oldest}, NULL::uuid AS x_id, ${sharedTransId} AS detail
      FROM payment WHERE live AND ${transIdHash} = ANY (ARRAY(SELECT ${transIdHash} FROM payment WHERE live
        GROUP BY 1 HAVING count(*) > 1))
      GROUP BY merchant_id, trans_id HAVING count(*) > 1`,
    brokenOfListed: `SELECT merchant_id, ${oldest}, NULL::uuid AS x_id, ${sharedTransId} AS detail
      FROM payment WHERE live AND (merchant_id, trans_id) IN (SELECT p.merchant_id, p.trans_id FROM payment p WHERE {touched p})
      GROUP BY merchant_id, trans_id HAVING count(*) > 1`,
  },
]

const operationChecks: readonly Check[] = [
  {
    name: 'operation-numbers',
    sentence: 'Every payment has operations, numbered from 1 without a gap.',
    sweep: payments,
    detail: `format('%s operations, numbered %s to %s', coalesce(o.count, 0), o.first, o.last)`,
    when: 'o.count IS NULL OR o.first <> 1 OR o.last <> o.count',
  },
  {
    name: 'operation-references',
    sentence: 'Every operation has a reference of its own.',
    // Search by x_id alone first, which sorts only sixteen bytes per row.
    broken: `SELECT merchant_id, ${oldest}, x_id, ${sharedReference} AS detail
      FROM operation WHERE x_id = ANY (ARRAY(SELECT x_id FROM operation GROUP BY x_id HAVING count(*) > 1))
      GROUP BY merchant_id, x_id HAVING count(*) > 1`,
    brokenOfListed: `SELECT merchant_id, ${oldest}, x_id, ${sharedReference} AS detail
      FROM operation WHERE x_id IN (SELECT o.x_id FROM operation o WHERE {touched o})
      GROUP BY merchant_id, x_id HAVING count(*) > 1`,
  },
]

const followUpChecks: readonly Check[] = [
  {
    name: 'payment-has-merchant',
    sentence: 'Every payment belongs to a merchant that is there.',
    sweep: payments,
    when: 'p.merchant_id NOT IN (SELECT m.merchant_id FROM merchant m)',
    detail: `'its merchant is not there'`,
  },
  {
    name: 'open-payment-has-account',
    sentence: 'The provider account of a payment that is under way is there.',
    sweep: payments,
    when: `p.provider_account IS NOT NULL AND p.status IN ('AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST')
      AND (p.merchant_id, p.provider_account) NOT IN (SELECT a.merchant_id, a.provider_account_id FROM provider_account a)`,
    detail: `format('%s at %s, which is not there', p.status, p.provider_account)`,
  },
  {
    name: 'event-numbers',
    sentence:
      'The events of a payment are numbered from 1 without a gap, and the payment knows how many there are.',
    sweep: payments,
    detail: `format('%s events, numbered %s to %s, the payment knows of %s', coalesce(e.count, 0), e.first, e.last,
      p.event_sequence)`,
    when: 'p.event_sequence <> coalesce(e.count, 0) OR e.first <> 1 OR e.last <> e.count',
  },
  {
    name: 'event-has-operation',
    sentence: 'Every event tells of an operation of its payment.',
    broken: `SELECT e.merchant_id, e.pay_id, e.x_id, format('event %s', e.sequence) AS detail FROM event e
      WHERE {range e} AND NOT EXISTS (SELECT 1 FROM operation o WHERE {range o} AND o.merchant_id = e.merchant_id
        AND o.pay_id = e.pay_id AND o.x_id = e.x_id)`,
  },
  {
    name: 'lapse-timer',
    sentence: 'An authorisation with something open and an end has a timer for its end.',
    ...timerCheck(
      'LAPSE',
      `p.status IN ('AUTHORIZED', 'CAPTURE_REQUEST') AND p.authorization_expires_at IS NOT NULL AND ${open} > 0`,
      inTimeFor('p.authorization_expires_at'),
    ),
  },
  {
    name: 'capture-timer',
    sentence: 'A delayed capture that has not begun has a timer.',
    ...timerCheck(
      'CAPTURE',
      `p.status = 'CAPTURE_REQUEST' AND p.capturing = 0 AND ${open} > 0`,
      inTimeFor(`o.approved_at + p.delayed_hours * interval '1 hour'`),
    ),
  },
  {
    name: 'expire-timer',
    sentence: 'A payment that waits for its customer or its confirm has a timer for the end of its patience.',
    ...timerCheck('EXPIRE', `p.status = 'AUTHORIZE_REQUEST'`, inTimeFor('p.expires_at')),
  },
  {
    name: 'timer-has-operation',
    sentence: 'Every timer belongs to an operation, or to a plan.',
    broken: `SELECT t.merchant_id, t.pay_id, t.x_id, format('a timer %s', t.kind) AS detail FROM timer t
      WHERE NOT EXISTS (SELECT 1 FROM operation o WHERE o.merchant_id = t.merchant_id AND o.pay_id = t.pay_id
        AND o.x_id = t.x_id)
      AND NOT (t.kind = 'PLAN' AND EXISTS (SELECT 1 FROM payment_plan pl WHERE pl.merchant_id = t.merchant_id
        AND pl.plan_id = t.x_id AND pl.initial_pay_id = t.pay_id))`,
  },
  {
    name: 'account-in-vault',
    sentence: 'A payment by bank account leads to its row in the vault.',
    sweep: payments,
    when: `p.account_id IS NOT NULL AND NOT ${some(`vault_account v WHERE v.merchant_id = p.merchant_id
      AND v.account_id = p.account_id`)}`,
    detail: `'the vault knows nothing of its account'`,
  },
]

export const checks: readonly Check[] = [
  ...moneyChecks,
  ...statusChecks,
  ...operationChecks,
  ...unansweredChecks,
  ...keyChecks,
  ...followUpChecks,
  ...intentChecks,
  ...vaultChecks,
  ...providerChecks,
  ...customerChecks,
  ...eventChecks,
  ...planChecks,
  ...bankChecks,
]
