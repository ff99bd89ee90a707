/**
 * Rules for the stored rows of every lifecycle, in SQL and independent of the code that wrote them. Each query returns
 * the rows that break its rule. Sums are added up from the operations alone; only a lapse moves money without an
 * operation.
 */

const sumOf = (types: string, states: string): string =>
  `(SELECT coalesce(sum(o.amount), 0) FROM operation o WHERE o.pay_id = p.pay_id AND o.type IN (${types})
    AND o.state IN (${states}))`

const done = `'OK', 'AUTHORIZED'`
const open = `'SENT', 'PENDING'`

/** A confirm approves in place of the first step, and with its own amount. */
const approved = `coalesce((SELECT o.amount FROM operation o WHERE o.pay_id = p.pay_id
    AND o.type IN ('AUTHORIZATION', 'CONFIRM') AND o.state IN (${done}) ORDER BY o.sequence DESC LIMIT 1), 0)`

export const bookRules: Readonly<Record<string, string>> = {
  'nothing is left SENT': `SELECT pay_id, x_id, type FROM operation WHERE state = 'SENT'`,
  'authorised is what was approved and raised': `SELECT pay_id, authorized FROM payment p
    WHERE authorized <> ${approved} + ${sumOf(`'INCREMENTAL'`, done)}`,
  'captured is what captures took': `SELECT pay_id, captured FROM payment p WHERE captured <> ${sumOf(`'CAPTURE'`, done)}`,
  'capturing is what captures may have taken': `SELECT pay_id FROM payment p
    WHERE capturing <> ${sumOf(`'CAPTURE'`, open)}`,
  'reversing is what reversals may have given back': `SELECT pay_id FROM payment p
    WHERE reversing <> ${sumOf(`'REVERSAL'`, open)}`,
  'reversed is at least what reversals gave back': `SELECT pay_id FROM payment p
    WHERE reversed < ${sumOf(`'REVERSAL'`, done)}`,
  'refunded is what refunds and credits paid out': `SELECT pay_id FROM payment p
    WHERE refunded <> ${sumOf(`'REFUND', 'CREDIT'`, done)}`,
  'returned is what banks took back': `SELECT pay_id FROM payment p
    WHERE returned <> ${sumOf(`'RETURN'`, done)} OR greatest(refunded + refunding, returned) > captured AND kind = 'PAYMENT'`,
  'refunding is what they may have paid out': `SELECT pay_id FROM payment p
    WHERE refunding <> ${sumOf(`'REFUND', 'CREDIT'`, open)}`,
  // A bank takes back the amount that it names, whatever was refunded before, so this limit applies to refunds and
  // returns separately.
  'no capture is refunded or returned above itself': `SELECT c.x_id FROM operation c JOIN operation r ON r.pay_id = c.pay_id
    AND r.type IN ('REFUND', 'RETURN') AND r.state <> 'FAILED' AND replace(c.x_id::text, '-', '') = r.details->>'refundOf'
    WHERE c.type = 'CAPTURE' GROUP BY c.pay_id, c.x_id, c.amount, r.type HAVING sum(r.amount) > c.amount`,
  'nothing is taken above what was authorised': `SELECT pay_id FROM payment
    WHERE captured + capturing + reversed + reversing > authorized AND capture_percent = 100`,
  // Another payment may have the transId of a payment that was paid late. That payment stays ended while its money is
  // being refunded, waits for the next try, or has been refunded or taken back by a bank.
  'the status fits the sums': `SELECT pay_id, status, authorized, captured, reversed FROM payment p WHERE kind = 'PAYMENT'
    AND amount > 0 AND NOT (status = 'REVERSED' AND EXISTS (SELECT 1 FROM operation o WHERE o.pay_id = p.pay_id
        AND o.prepared->>'paidLate' = 'true')
      AND (captured > 0 AND refunded + returned + disputed >= captured OR capturing + reversing + refunding > 0 OR EXISTS (SELECT 1
        FROM timer t WHERE t.pay_id = p.pay_id AND t.kind = 'GIVE_BACK')))
    AND ((status = 'OK') <> (captured > 0)
    OR (status = 'REVERSED') <> (authorized > 0 AND captured = 0 AND capturing = 0 AND reversed >= authorized)
    OR (status IN ('AUTHORIZE_REQUEST', 'PENDING', 'FAILED') AND authorized > 0))`,
  // A step that the customer has left open at the provider was never sent: it waits for the customer, and for the
  // deadline.
  'what is undecided waits for an inquiry': `SELECT o.x_id FROM operation o JOIN payment p ON p.pay_id = o.pay_id
    WHERE o.state = 'PENDING' AND p.awaits IS DISTINCT FROM 'CUSTOMER' AND NOT EXISTS
    (SELECT 1 FROM timer t WHERE t.x_id = o.x_id AND t.pay_id = o.pay_id AND t.kind = 'INQUIRY')`,
  'what is decided waits for none': `SELECT t.x_id FROM timer t JOIN operation o ON o.x_id = t.x_id
    AND o.pay_id = t.pay_id WHERE t.kind = 'INQUIRY' AND o.state NOT IN ('SENT', 'PENDING', 'AUTHORIZE_REQUEST')`,
  'what is open lapses some day': `SELECT p.pay_id FROM payment p WHERE p.authorization_expires_at IS NOT NULL
    AND p.authorized > p.captured + p.capturing + p.reversed + p.reversing AND NOT EXISTS
    (SELECT 1 FROM timer t WHERE t.pay_id = p.pay_id AND t.kind = 'LAPSE')`,
  'a capture that is to come has its timer': `SELECT p.pay_id FROM payment p WHERE p.status = 'CAPTURE_REQUEST'
    AND p.capturing + p.reversing = 0
    AND NOT EXISTS (SELECT 1 FROM timer t WHERE t.pay_id = p.pay_id AND t.kind = 'CAPTURE')`,
  'a customer or merchant is waited for until an hour': `SELECT p.pay_id FROM payment p
    WHERE (p.status = 'AUTHORIZE_REQUEST' OR (p.awaits = 'CUSTOMER' AND p.status = 'PENDING')) AND NOT EXISTS
    (SELECT 1 FROM timer t WHERE t.pay_id = p.pay_id AND t.kind = 'EXPIRE')`,
  'an intent is paid once': `SELECT details->>'paymentIntentId' AS intent FROM payment
    WHERE status <> 'FAILED' AND details->>'paymentIntentId' IS NOT NULL
    GROUP BY merchant_id, details->>'paymentIntentId' HAVING count(*) > 1`,
  'one live payment per transId': `SELECT trans_id FROM payment WHERE live GROUP BY merchant_id, trans_id
    HAVING count(*) > 1`,
  'operations are numbered without a gap': `SELECT pay_id FROM operation GROUP BY merchant_id, pay_id
    HAVING max(sequence) <> count(*) OR min(sequence) <> 1`,
  'an operation has one reference of its own': `SELECT x_id FROM operation GROUP BY x_id HAVING count(*) > 1`,
  'events are numbered without a gap': `SELECT p.pay_id FROM payment p LEFT JOIN event e ON p.pay_id = e.pay_id
    GROUP BY p.pay_id, p.event_sequence HAVING coalesce(max(e.sequence), 0) <> count(e.pay_id)
    OR p.event_sequence <> count(e.pay_id)`,
  // The approval may have a second event when it lapses, and an operation that a provider reverts has one when it
  // fails. Events about more than the operation itself (a debit's day, a dispute, samples of them) may come any number
  // of times.
  'an operation is told of once': `SELECT e.x_id FROM event e JOIN operation o ON o.x_id = e.x_id
    WHERE o.type NOT IN ('AUTHORIZATION', 'CONFIRM') AND coalesce(e.type, '') NOT IN ('debit.announced',
      'payment.paid_late', 'dispute.opened', 'dispute.won', 'dispute.lost', 'plan.cancelled') GROUP BY e.x_id, o.state
    HAVING count(*) > CASE o.state WHEN 'FAILED' THEN 2 ELSE 1 END`,
  'a key has its answer': `SELECT key, path FROM idempotency_key WHERE answer_status IS NULL`,
  'a key and its operation know each other': `SELECT k.key FROM idempotency_key k LEFT JOIN operation o
    ON o.pay_id = k.pay_id AND o.x_id = k.x_id AND o.key->>'key' = k.key AND o.key->>'path' = k.path
    WHERE k.x_id IS NOT NULL AND o.x_id IS NULL`,
}
