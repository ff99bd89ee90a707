/**
 * What must be true of the stored data at any moment, whatever crashed before: each check is a query for the rows that
 * break it. Sums and statuses are held against the operations, never against the code that wrote them.
 */

import { inquiryAfterOneDay } from '#lifecycle/inquiry.ts'
import { bankChecks } from '#storage/doctor/bank-checks.ts'
import { customerChecks } from '#storage/doctor/customer-checks.ts'
import { eventChecks } from '#storage/doctor/event-checks.ts'
import { intentChecks } from '#storage/doctor/intent-checks.ts'
import { planChecks } from '#storage/doctor/plan-checks.ts'
import { providerChecks } from '#storage/doctor/provider-checks.ts'
import { vaultChecks } from '#storage/doctor/vault-checks.ts'

export interface Check {
  readonly name: string
  readonly sentence: string
  /** Gives merchant_id, pay_id, x_id and detail of what is wrong. `clock.now` is the time. */
  readonly broken: string
}

const unanswered = `state IN ('SENT', 'PENDING')`
const approved = `state IN ('AUTHORIZED', 'CAPTURE_REQUEST', 'OK')`

const raised = `type = 'INCREMENTAL' AND state = 'OK'`

/** A confirm approves what it was confirmed with; the first step before it tells only what was created. */
const approvedAmount = `coalesce(max(amount) FILTER (WHERE type = 'CONFIRM' AND ${approved}),
  max(amount) FILTER (WHERE type = 'AUTHORIZATION' AND ${approved}), 0)
  + coalesce(sum(amount) FILTER (WHERE ${raised}), 0)`

/** Payments whose sum is not what these of their operations make it. */
function sumCheck(sum: string, operations: string, { made = 'sum(amount)', comparison = '<>' } = {}): string {
  return `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
      format('${sum} is %s, the operations make %s', p.${sum}, coalesce(o.made, 0)) AS detail
    FROM payment p LEFT JOIN (SELECT merchant_id, pay_id, ${made} AS made FROM operation WHERE ${operations}
      GROUP BY merchant_id, pay_id) o USING (merchant_id, pay_id)
    WHERE p.${sum} ${comparison} coalesce(o.made, 0)`
}

const timerOf = (kind: string): string =>
  `EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = p.merchant_id AND t.pay_id = p.pay_id AND t.kind = '${kind}')`

const open = 'p.authorized - p.capturing - p.captured - p.reversing - p.reversed'

/** Payments that wait for a timer which is not there. */
const timerCheck = (kind: string, condition: string): string =>
  `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, format('%s without a timer ${kind}', p.status) AS detail
   FROM payment p WHERE ${condition} AND NOT ${timerOf(kind)}`

/**
 * Waits for the next file to a bank, or lies in one: the bank's own files answer it, up to 60 days after its day. A debit may
 * be announced weeks ahead, and statements come late.
 */
const waitsForBank = `(o.state = 'PENDING' AND (EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id
    AND t.pay_id = o.pay_id AND t.x_id = o.x_id AND t.kind = 'BATCH')
  OR EXISTS (SELECT 1 FROM bank_item i WHERE i.merchant_id = o.merchant_id AND i.x_id = o.x_id
    AND i.due_on + 60 > clock.now + m.clock_offset_ms * interval '1 millisecond')))`

/**
 * Operations without an answer. A customer may leave a payment open until it expires; and what was sent within the last
 * 10 minutes (three sends, reconnecting, and a wide margin) may be on its way right now. Both clocks are asked: the test
 * clock jumps, and the time of recording says nothing about a step that the customer took later. `asked_on`: the
 * provider is asked beyond the first day, because its connector declares a longer time for pending answers.
 */
const unansweredOperations = `SELECT o.merchant_id, o.pay_id, o.x_id,
    format('%s is %s since %s', o.type, o.state, to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      AS detail,
    clock.now + m.clock_offset_ms * interval '1 millisecond' - coalesce(
      to_timestamp((o.prepared->>'sentAtMs')::bigint / 1000.0), o.created_at) > interval '24 hours' AS old,
    EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id AND t.pay_id = o.pay_id AND t.x_id = o.x_id
      AND t.kind = 'INQUIRY') AS asked,
    EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id AND t.pay_id = o.pay_id AND t.x_id = o.x_id
      AND t.kind = 'INQUIRY' AND t.attempt >= ${inquiryAfterOneDay} AND t.run_at > clock.now - interval '1 hour') AS asked_on
  FROM operation o JOIN payment p USING (merchant_id, pay_id) JOIN merchant m USING (merchant_id) CROSS JOIN clock
  WHERE o.${unanswered} AND NOT (p.awaits IS NOT DISTINCT FROM 'CUSTOMER' AND ${timerOf('EXPIRE')})
    AND NOT ${waitsForBank}
    AND NOT (o.state = 'SENT' AND least(clock.now - o.sent_at,
      clock.now + m.clock_offset_ms * interval '1 millisecond' - o.updated_at) < interval '10 minutes')`

const keyMatches = `o.key->>'verb' = k.verb AND o.key->>'path' = k.path AND o.key->>'key' = k.key`

const nothing = 'p.authorized + p.capturing + p.captured + p.reversing + p.reversed + p.refunded'

const moneyChecks: readonly Check[] = [
  {
    name: 'authorized-sum',
    sentence: 'What is authorised was approved: once, and by every raise that went through.',
    broken: sumCheck('authorized', `type IN ('AUTHORIZATION', 'CONFIRM', 'INCREMENTAL')`, {
      made: approvedAmount,
    }),
  },
  {
    name: 'captured-sum',
    sentence: 'What is captured is the sum of the captures that went through.',
    broken: sumCheck('captured', `type = 'CAPTURE' AND state = 'OK'`),
  },
  {
    name: 'capturing-sum',
    sentence: 'What may have been captured is the sum of the captures without an answer.',
    broken: sumCheck('capturing', `type = 'CAPTURE' AND ${unanswered}`),
  },
  {
    name: 'reversed-sum',
    sentence: 'At least what reversals gave back is reversed; lapses and released rests come on top.',
    broken: sumCheck('reversed', `type = 'REVERSAL' AND state = 'OK'`, { comparison: '<' }),
  },
  {
    name: 'reversing-sum',
    sentence: 'What may have been reversed is the sum of the reversals without an answer.',
    broken: sumCheck('reversing', `type = 'REVERSAL' AND ${unanswered}`),
  },
  {
    name: 'refunded-sum',
    sentence: 'What is refunded is the sum of the refunds and credits that went through.',
    broken: sumCheck('refunded', `type IN ('REFUND', 'CREDIT') AND state = 'OK'`),
  },
  {
    name: 'refunding-sum',
    sentence: 'What may have been refunded is the sum of the refunds and credits without an answer.',
    broken: sumCheck('refunding', `type IN ('REFUND', 'CREDIT') AND ${unanswered}`),
  },
  {
    name: 'returned-sum',
    sentence: 'What was taken back is the sum of the returned debits.',
    broken: sumCheck('returned', `type = 'RETURN'`),
  },
  {
    name: 'capture-ceiling',
    sentence: 'No more is captured and reversed, certainly or possibly, than the authorisation allows.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s of %s, at most %s %%', p.authorized - (${open}), p.authorized, p.capture_percent) AS detail
      FROM payment p WHERE (p.authorized - (${open})) * 100 > p.authorized * p.capture_percent`,
  },
  {
    name: 'refund-ceiling',
    sentence:
      'No more is refunded and returned, certainly or possibly, than was captured; no more is credited than was asked for.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s refunded of %s', p.refunding + p.refunded + p.returned, CASE p.kind WHEN 'CREDIT' THEN p.amount ELSE p.captured END)
          AS detail
      FROM payment p
      WHERE p.refunding + p.refunded + p.returned > CASE p.kind WHEN 'CREDIT' THEN p.amount ELSE p.captured END`,
  },
  {
    name: 'refund-per-capture',
    sentence:
      'Every refund gives back one capture of its payment, and no capture gives back more than it took.',
    broken: `SELECT r.merchant_id, r.pay_id, c.x_id, format('%s refunded of a capture of %s', r.given, coalesce(c.amount, 0))
        AS detail
      FROM (SELECT merchant_id, pay_id, details->>'refundOf' AS capture, sum(amount) AS given FROM operation
        WHERE type IN ('REFUND', 'RETURN') AND state <> 'FAILED' GROUP BY merchant_id, pay_id, details->>'refundOf') r
      LEFT JOIN operation c ON c.merchant_id = r.merchant_id AND c.pay_id = r.pay_id AND c.type = 'CAPTURE'
        AND c.state = 'OK' AND replace(c.x_id::text, '-', '') = r.capture
      WHERE c.x_id IS NULL OR r.given > c.amount`,
  },
]

const statusChecks: readonly Check[] = [
  {
    name: 'status-fits-sums',
    sentence: 'The status of a payment is the one its sums stand for.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s with authorized %s, captured %s, reversed %s, refunded %s', p.status, p.authorized, p.captured,
          p.reversed, p.refunded) AS detail
      FROM payment p WHERE p.live <> (p.status NOT IN ('FAILED', 'REVERSED')) OR NOT CASE p.status
        WHEN 'AUTHORIZE_REQUEST' THEN ${nothing} + p.refunding = 0
        WHEN 'PENDING' THEN ${nothing} = 0 AND p.refunding = CASE p.kind WHEN 'CREDIT' THEN p.amount ELSE 0 END
        WHEN 'AUTHORIZED' THEN p.captured = 0 AND (p.reversed < p.authorized OR p.amount = 0)
        WHEN 'CAPTURE_REQUEST' THEN p.captured = 0 AND (p.capture_method = 'DELAYED' OR p.capturing > 0)
          AND (p.reversed < p.authorized OR p.amount = 0)
        WHEN 'OK' THEN CASE p.kind WHEN 'CREDIT' THEN p.refunded = p.amount ELSE p.captured > 0 OR p.amount = 0 END
        WHEN 'FAILED' THEN ${nothing} + p.refunding = 0
        WHEN 'REVERSED' THEN p.authorized > 0 AND (p.reversed = p.authorized AND p.captured + p.capturing = 0
          OR (p.captured > 0 AND p.refunded = p.captured OR p.capturing + p.reversing + p.refunding > 0) AND EXISTS (SELECT 1 FROM operation o WHERE
            o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id AND o.prepared->>'paidLate' = 'true'))
        ELSE false END`,
  },
  {
    name: 'status-fits-operations',
    sentence: 'A payment is undecided exactly as long as the operation that decides it is.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, format('%s, but its operations say otherwise', p.status)
        AS detail
      FROM payment p JOIN (SELECT merchant_id, pay_id,
          bool_or(type IN ('AUTHORIZATION', 'CONFIRM', 'CREDIT') AND ${unanswered}) AS undecided,
          bool_or(state = 'AUTHORIZE_REQUEST') AS waits, bool_or(state = 'FAILED') AS failed
        FROM operation GROUP BY merchant_id, pay_id) o USING (merchant_id, pay_id)
      WHERE (p.status = 'PENDING') <> o.undecided
        OR (p.status = 'AUTHORIZE_REQUEST' AND NOT o.waits AND NOT (p.integration_type = 'HOSTED' AND o.failed))
        OR (o.waits AND p.status NOT IN ('AUTHORIZE_REQUEST', 'PENDING'))`,
  },
  {
    name: 'live-trans-ids',
    sentence: 'A transId belongs to one live payment of a merchant.',
    broken: `SELECT merchant_id, min(pay_id::text)::uuid AS pay_id, NULL::uuid AS x_id,
        format('%s live payments share a transId', count(*)) AS detail
      FROM payment WHERE live GROUP BY merchant_id, trans_id HAVING count(*) > 1`,
  },
]

const operationChecks: readonly Check[] = [
  {
    name: 'operation-numbers',
    sentence: 'Every payment has operations, numbered from 1 without a gap.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s operations, numbered %s to %s', coalesce(o.count, 0), o.first, o.last) AS detail
      FROM payment p LEFT JOIN (SELECT merchant_id, pay_id, count(*) AS count, min(sequence) AS first,
          max(sequence) AS last FROM operation GROUP BY merchant_id, pay_id) o USING (merchant_id, pay_id)
      WHERE o.count IS NULL OR o.first <> 1 OR o.last <> o.count`,
  },
  {
    name: 'operation-references',
    sentence: 'Every operation has a reference of its own.',
    broken: `SELECT merchant_id, min(pay_id::text)::uuid AS pay_id, x_id, format('%s operations share it', count(*)) AS detail
      FROM operation GROUP BY merchant_id, x_id HAVING count(*) > 1`,
  },
  {
    name: 'unanswered-asked',
    sentence:
      'What has no answer is on its way, or its provider is going to be asked; a started gateway sees to it.',
    broken: `SELECT merchant_id, pay_id, x_id, detail FROM (${unansweredOperations}) o WHERE NOT asked AND NOT old`,
  },
  {
    name: 'needs-a-person',
    sentence:
      'Nothing is without an answer for more than 24 hours, or longer than its provider declares for slow methods: what is needs a person who asks the provider.',
    broken: `SELECT merchant_id, pay_id, x_id, detail FROM (${unansweredOperations}) o WHERE old AND NOT asked_on`,
  },
]

/** 30 days less an hour: keys are forgotten after 30 days, and clocks differ a little. */
const keyIsKept = `o.created_at > clock.now + m.clock_offset_ms * interval '1 millisecond' - interval '30 days'
  + interval '1 hour'`

const keyChecks: readonly Check[] = [
  {
    name: 'key-has-operation',
    sentence: 'A key that is joined to an operation leads to it, and the operation names no other key.',
    broken: `SELECT k.merchant_id, k.pay_id, k.x_id, format('a key of %s %s', k.verb, k.path) AS detail
      FROM idempotency_key k WHERE k.x_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM operation o
        WHERE o.merchant_id = k.merchant_id AND o.pay_id = k.pay_id AND o.x_id = k.x_id
          AND (o.key IS NULL OR (${keyMatches})))`,
  },
  {
    name: 'operation-has-key',
    sentence: 'An operation that names a key has it, unless its 30 days are over.',
    broken: `SELECT o.merchant_id, o.pay_id, o.x_id, format('%s names a key that is not there', o.type) AS detail
      FROM operation o JOIN merchant m USING (merchant_id) CROSS JOIN clock
      WHERE o.key IS NOT NULL AND ${keyIsKept} AND NOT EXISTS (SELECT 1 FROM idempotency_key k
        WHERE k.merchant_id = o.merchant_id AND ${keyMatches} AND k.pay_id = o.pay_id AND k.x_id = o.x_id)`,
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

const followUpChecks: readonly Check[] = [
  {
    name: 'event-numbers',
    sentence:
      'The events of a payment are numbered from 1 without a gap, and the payment knows how many there are.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('%s events, numbered %s to %s, the payment knows of %s', coalesce(e.count, 0), e.first, e.last,
          p.event_sequence) AS detail
      FROM payment p LEFT JOIN (SELECT merchant_id, pay_id, count(*) AS count, min(sequence) AS first,
          max(sequence) AS last FROM event GROUP BY merchant_id, pay_id) e USING (merchant_id, pay_id)
      WHERE p.event_sequence <> coalesce(e.count, 0) OR e.first <> 1 OR e.last <> e.count`,
  },
  {
    name: 'event-has-operation',
    sentence: 'Every event tells of an operation of its payment.',
    broken: `SELECT e.merchant_id, e.pay_id, e.x_id, format('event %s', e.sequence) AS detail FROM event e
      WHERE NOT EXISTS (SELECT 1 FROM operation o WHERE o.merchant_id = e.merchant_id AND o.pay_id = e.pay_id
        AND o.x_id = e.x_id)`,
  },
  {
    name: 'lapse-timer',
    sentence: 'An authorisation with something open and an end has a timer for its end.',
    broken: timerCheck(
      'LAPSE',
      `p.status IN ('AUTHORIZED', 'CAPTURE_REQUEST') AND p.authorization_expires_at IS NOT NULL AND ${open} > 0`,
    ),
  },
  {
    name: 'capture-timer',
    sentence: 'A delayed capture that has not begun has a timer.',
    broken: timerCheck('CAPTURE', `p.status = 'CAPTURE_REQUEST' AND p.capturing = 0 AND ${open} > 0`),
  },
  {
    name: 'expire-timer',
    sentence: 'A payment that waits for its customer or its confirm has a timer for the end of its patience.',
    broken: timerCheck('EXPIRE', `p.status = 'AUTHORIZE_REQUEST'`),
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
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, 'the vault knows nothing of its account' AS detail
      FROM payment p WHERE p.account_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vault_account v
        WHERE v.merchant_id = p.merchant_id AND v.account_id = p.account_id)`,
  },
  {
    name: 'quote-of-its-payment',
    sentence: 'A quote that was used leads to its payment.',
    broken: `SELECT q.merchant_id, q.pay_id, NULL::uuid AS x_id, 'the payment of its quote is not there' AS detail
      FROM dcc_quote q WHERE q.pay_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payment p
        WHERE p.merchant_id = q.merchant_id AND p.pay_id = q.pay_id)`,
  },
  {
    name: 'card-in-vault',
    sentence: 'A payment by card leads to its row in the vault.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, 'the vault knows nothing of its card' AS detail
      FROM payment p WHERE p.card_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vault_card v
        WHERE v.merchant_id = p.merchant_id AND v.card_id = p.card_id)`,
  },
]

export const checks: readonly Check[] = [
  ...moneyChecks,
  ...statusChecks,
  ...operationChecks,
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
