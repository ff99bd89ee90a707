/** The doctor's checks of unanswered operations: each needs a pending inquiry, or an operator must act. */

import { inquiryAfterOneDay } from '#lifecycle/inquiry.ts'
import { type Check, type Sweep, timerOf, unanswered } from '#storage/doctor/check.ts'

/**
 * The condition that the operation waits for the next file to a bank, or is in one: then the bank's files bring its
 * outcome, up to 60 days after its due day. A debit may be announced weeks ahead, and statements come late.
 */
const waitsForBank = `(o.state = 'PENDING' AND (EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id
    AND t.pay_id = o.pay_id AND t.x_id = o.x_id AND t.kind = 'BATCH')
  OR EXISTS (SELECT 1 FROM bank_item i WHERE i.merchant_id = o.merchant_id AND i.x_id = o.x_id
    AND i.due_on + 60 > clock.now + m.clock_offset_ms * interval '1 millisecond')))`

/** The time at which an operation was sent, in the merchant's time. */
const sentAt = `coalesce(to_timestamp((o.prepared->>'sentAtMs')::bigint / 1000.0), o.created_at)`

/**
 * Operations without an answer. A customer may leave a payment open until it expires, and an operation sent within the
 * last 10 minutes (three sends, reconnecting, and a wide margin) may still be under way. Both clocks are checked: the
 * test clock jumps, and the time of recording says nothing about a later step of the customer. `asked_on`: inquiries
 * continue after the first day, because the connector declares a longer time for pending answers. A timer further ahead
 * than six hours per inquiry and a day was tampered with, because inquiries are more frequent.
 */
const unansweredOperations: Sweep = {
  from: `(SELECT o.merchant_id, o.pay_id, o.x_id,
    format('%s is %s since %s', o.type, o.state, to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      AS detail,
    clock.now + m.clock_offset_ms * interval '1 millisecond' - ${sentAt} > interval '24 hours' AS old,
    EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id AND t.pay_id = o.pay_id AND t.x_id = o.x_id
      AND t.kind = 'INQUIRY' AND t.run_at < (t.attempt + 5) * interval '6 hours'
        + greatest(clock.now, ${sentAt} - m.clock_offset_ms * interval '1 millisecond')) AS asked,
    EXISTS (SELECT 1 FROM timer t WHERE t.merchant_id = o.merchant_id AND t.pay_id = o.pay_id AND t.x_id = o.x_id
      AND t.kind = 'INQUIRY' AND t.attempt >= ${inquiryAfterOneDay} AND t.run_at > clock.now - interval '1 hour') AS asked_on
  FROM operation o JOIN payment p USING (merchant_id, pay_id) JOIN merchant m USING (merchant_id) CROSS JOIN clock
  WHERE o.${unanswered} AND {range o} AND {range p} AND NOT (p.awaits IS NOT DISTINCT FROM 'CUSTOMER' AND ${timerOf('EXPIRE')})
    AND NOT ${waitsForBank}
    AND NOT (o.state = 'SENT' AND least(clock.now - o.sent_at,
      clock.now + m.clock_offset_ms * interval '1 millisecond' - o.updated_at) < interval '10 minutes')) o`,
  where: 'true',
  ids: ['o.merchant_id', 'o.pay_id', 'o.x_id'],
}

export const unansweredChecks: readonly Check[] = [
  {
    name: 'unanswered-asked',
    sentence:
      'What has no answer is on its way, or its provider is going to be asked; a started gateway sees to it.',
    sweep: unansweredOperations,
    when: 'NOT o.asked AND NOT o.old',
    detail: 'o.detail',
  },
  {
    name: 'needs-a-person',
    sentence:
      'Nothing is without an answer for more than 24 hours, or longer than its provider declares for slow methods: what is needs a person who asks the provider.',
    sweep: unansweredOperations,
    when: 'o.old AND NOT o.asked_on',
    detail: 'o.detail',
  },
]
