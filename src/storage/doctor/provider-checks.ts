/** The doctor's checks of provider accounts, notices, disputes and settlement lines; see payment-checks.ts. */
import type { Check } from '#storage/doctor/check.ts'

/** 7 days: a capture that is older than the newest line by this much must have a line. */
const settledWithinDays = 7

/**
 * The total of chargebacks and returned debits of each payment. Dispute inquiries move no money, and won disputes are
 * paid back.
 */
export const takenBack = `SELECT merchant_id, pay_id, min(x_id::text)::uuid AS x_id, sum(amount) AS amount,
    max(currency) AS currency, max(at) AS at
  FROM (SELECT d.merchant_id, d.pay_id, d.x_id, CASE WHEN d.status = 'WON' THEN 0 ELSE d.amount END AS amount, d.currency,
      d.updated_at AS at FROM dispute d WHERE d.stage <> 'INQUIRY'
    UNION ALL SELECT o.merchant_id, o.pay_id, o.x_id, o.amount, q.currency, o.updated_at
      FROM operation o JOIN payment q USING (merchant_id, pay_id) WHERE o.type = 'RETURN') taken
  GROUP BY merchant_id, pay_id`

/**
 * The id under which a provider settles an operation. Operations with the same provider id, such as several captures of
 * one charge, share their lines.
 */
export const settledAs = (operation: string): string =>
  `coalesce(${operation}.provider->>'transactionId', ${operation}.x_id::text)`

/**
 * The amount of a settlement line in a currency: its gross amount if it is settled in that currency, else the amount
 * that the customer paid. NULL if the line states neither.
 */
export const statedIn = (line: string, currency: string): string =>
  `CASE ${currency} WHEN ${line}.currency THEN ${line}.gross WHEN ${line}.paid_currency THEN ${line}.paid END`

/** The sum of the stated amounts of several lines; NULL if one states none, because the sum would be incomplete. */
export const sumOfStated = (stated: string, over = ''): string =>
  `CASE WHEN count(*) ${over} = count(${stated}) ${over} THEN sum(${stated}) ${over} END`

/**
 * Whether the lines of an undone operation add up to zero. In another currency, a refund that goes out and comes back
 * at different rates does not: then its lines must state the customer's amounts, or be equally many in each direction.
 */
export const addsUpToZero = (line: string, stated: string, over = ''): string =>
  `coalesce(${sumOfStated(stated, over)} = 0, sum(${line}.gross) ${over} = 0 OR bool_and(${line}.type = 'REFUND') ${over}
    AND count(*) FILTER (WHERE ${line}.gross > 0) ${over} = count(*) FILTER (WHERE ${line}.gross < 0) ${over})`

const newestLines = `(SELECT merchant_id, provider_account_id, max(date) AS newest FROM settlement_line GROUP BY 1, 2) latest`

/** Captures, refunds and chargebacks without a settlement line, of accounts whose provider sends such lines. */
export const unsettled = `SELECT o.merchant_id, o.pay_id, o.x_id, format('%s of %s is in no settlement line of %s', o.type,
    o.amount, p.provider_account) AS detail
  FROM ${newestLines}
  JOIN payment p ON p.merchant_id = latest.merchant_id AND p.provider_account = latest.provider_account_id
  JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
  WHERE o.state = 'OK' AND o.type IN ('CAPTURE', 'REFUND') AND o.amount > 0
    AND (o.updated_at AT TIME ZONE 'UTC')::date < latest.newest - ${settledWithinDays}
    AND NOT EXISTS (SELECT 1 FROM settlement_line l
      JOIN operation s ON s.merchant_id = l.merchant_id AND s.pay_id = l.pay_id AND s.x_id = l.x_id AND s.type = l.type
      WHERE l.merchant_id = o.merchant_id AND l.provider_account_id = p.provider_account AND l.pay_id = o.pay_id
        AND l.type = o.type AND ${settledAs('s')} = ${settledAs('o')})
  UNION ALL SELECT p.merchant_id, p.pay_id, t.x_id, format('CHARGEBACK of %s is in no settlement line of %s', t.amount,
    p.provider_account)
  FROM ${newestLines}
  JOIN payment p ON p.merchant_id = latest.merchant_id AND p.provider_account = latest.provider_account_id
  JOIN (${takenBack}) t ON t.merchant_id = p.merchant_id AND t.pay_id = p.pay_id
  WHERE t.amount > 0 AND (t.at AT TIME ZONE 'UTC')::date < latest.newest - ${settledWithinDays}
    AND NOT EXISTS (SELECT 1 FROM settlement_line l WHERE l.merchant_id = p.merchant_id
      AND l.provider_account_id = p.provider_account AND l.pay_id = p.pay_id AND l.type = 'CHARGEBACK')`

/** Whether the lines of a line's charge that are no capture of ours add up to zero. */
export const isNothing = (line: string): string =>
  `coalesce((SELECT sum(c.gross) FROM settlement_line c
    WHERE c.merchant_id = ${line}.merchant_id AND c.provider_account_id = ${line}.provider_account_id
      AND c.type = 'CAPTURE' AND c.x_id IS NULL AND c.transaction_id = ${line}.transaction_id) = 0, false)`

/** Whether the line is one of a charge that failed after the provider had booked it. */
export const isOfFailedCharge = (line: string): string =>
  `(${line}.type = 'CAPTURE' AND ${line}.x_id IS NULL AND ${isNothing(line)})`

/** Whether the line has the operation's type. Providers call all outgoing money a REFUND, credits included. */
const isItsType = `(o.type = l.type OR (o.type = 'CREDIT' AND l.type = 'REFUND'))`

/**
 * Lines about an operation or a chargeback that match none of ours. Lines of an undone operation are fine if they add
 * up to zero.
 */
export const unbooked = `SELECT l.merchant_id, l.pay_id, l.x_id, format('line %s of settlement %s fits no operation',
    l.provider_reference, l.settlement_id) AS detail
  FROM settlement_line l WHERE (l.type IN ('CAPTURE', 'REFUND') AND NOT ${isOfFailedCharge('l')}
      AND NOT EXISTS (SELECT 1 FROM operation o
      WHERE o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id AND o.x_id = l.x_id AND ${isItsType}
        AND (o.state = 'OK' OR (o.state = 'FAILED' AND (SELECT ${addsUpToZero('s', statedIn('s', 'p.currency'))}
          FROM settlement_line s JOIN payment p ON p.merchant_id = s.merchant_id AND p.pay_id = s.pay_id
          WHERE s.merchant_id = o.merchant_id AND s.pay_id = o.pay_id AND s.x_id = o.x_id AND s.type = l.type)))))
    OR (l.type = 'CHARGEBACK' AND NOT EXISTS (SELECT 1 FROM dispute d
      WHERE d.merchant_id = l.merchant_id AND d.pay_id = l.pay_id AND d.stage <> 'INQUIRY')
      AND NOT EXISTS (SELECT 1 FROM operation o WHERE o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id
        AND o.type = 'RETURN'))`

/**
 * Operations whose amount differs from their lines. Several lines may belong to one operation or to one payment's
 * chargebacks: their sum is compared, in our currency, if the lines state it. Lines of a failed operation are correct
 * if they add up to zero. Several captures of one charge are compared by gross amounts only, because each line may
 * state the total paid.
 */
export const misstated = `SELECT m.merchant_id, m.pay_id, m.x_id, format('%s of %s, but the lines say %s', m.type, m.amount,
    m.told) AS detail
  FROM (SELECT l.*, booked.* FROM (SELECT o.merchant_id, o.pay_id, o.type, ${settledAs('o')} AS settled_as,
        min(o.x_id::text)::uuid AS x_id, ${sumOfStated(statedIn('l', 'p.currency'))} AS told,
        bool_and(l.currency = p.currency) AS is_gross
      FROM settlement_line l JOIN operation o ON o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id AND o.x_id = l.x_id
        AND ${isItsType}
      JOIN payment p ON p.merchant_id = o.merchant_id AND p.pay_id = o.pay_id
      WHERE l.type IN ('CAPTURE', 'REFUND') AND o.state <> 'FAILED'
      GROUP BY 1, 2, 3, 4) l
    CROSS JOIN LATERAL (SELECT sum(s.amount) AS amount, count(*) AS operations FROM operation s
      WHERE s.merchant_id = l.merchant_id AND s.pay_id = l.pay_id AND s.type = l.type AND s.state <> 'FAILED'
        AND ${settledAs('s')} = l.settled_as) booked) m
  WHERE m.told <> CASE WHEN m.type = 'CAPTURE' THEN m.amount ELSE -m.amount END AND (m.is_gross OR m.operations = 1)
  UNION ALL SELECT m.merchant_id, m.pay_id, m.x_id, format('CHARGEBACK of %s, but the lines say %s', m.amount, m.told)
  FROM (SELECT t.merchant_id, t.pay_id, t.x_id, t.amount, ${sumOfStated(statedIn('l', 't.currency'))} AS told
    FROM settlement_line l JOIN (${takenBack}) t ON t.merchant_id = l.merchant_id AND t.pay_id = l.pay_id
    WHERE l.type = 'CHARGEBACK' GROUP BY t.merchant_id, t.pay_id, t.x_id, t.amount) m
  WHERE m.told <> -m.amount`

export const providerChecks: readonly Check[] = [
  {
    name: 'disputed-is-the-sum-of-disputes',
    sentence: 'What a payment counts as disputed is the sum of its disputes that are not won.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id,
        format('disputed %s, disputes say %s', p.disputed, coalesce(d.open, 0)) AS detail
      FROM payment p LEFT JOIN (SELECT merchant_id, pay_id, sum(amount) FILTER (WHERE status <> 'WON') AS open,
          bool_or(currency <> paid) AS foreign_currency
        FROM (SELECT d.*, q.currency AS paid FROM dispute d JOIN payment q USING (merchant_id, pay_id)) d
        GROUP BY merchant_id, pay_id) d
      ON d.merchant_id = p.merchant_id AND d.pay_id = p.pay_id
      WHERE {touched p} AND (p.disputed > 0 OR d.pay_id IS NOT NULL) AND p.disputed <> coalesce(d.open, 0)
        AND d.foreign_currency IS NOT TRUE`,
  },
  {
    name: 'dispute-has-capture',
    sentence: 'A dispute is about a capture of its payment.',
    broken: `SELECT d.merchant_id, d.pay_id, d.x_id, format('dispute %s', d.dispute_id) AS detail FROM dispute d
      WHERE NOT EXISTS (SELECT 1 FROM operation o WHERE o.merchant_id = d.merchant_id AND o.pay_id = d.pay_id
        AND o.x_id = d.x_id AND o.type = 'CAPTURE')`,
  },
  {
    name: 'notices-are-applied',
    sentence: 'A genuine notice is applied, or listed as unmatched, within an hour.',
    broken: `SELECT n.merchant_id, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('notice %s of %s: %s', n.item_key, n.provider_account_id, coalesce(n.detail, 'not tried')) AS detail
      FROM notice_item n CROSS JOIN clock
      WHERE n.state = 'PENDING' AND n.received_at < clock.now - interval '1 hour'`,
  },
  {
    name: 'paid-twice',
    sentence:
      'An approval that its payment no longer needs is given back; one that could not be needs a person.',
    broken: `SELECT n.merchant_id, o.pay_id, o.x_id,
        format('notice %s of %s: %s', n.item_key, n.provider_account_id,
          coalesce(n.detail, 'it says that a failed try was paid')) AS detail
      FROM notice_item n CROSS JOIN clock
      JOIN operation o ON o.merchant_id = n.merchant_id AND o.x_id = CASE WHEN n.reference ~ '^[0-9a-f]{32}$'
        THEN n.reference::uuid END
        AND (o.state = 'FAILED' OR (n.state = 'UNMATCHED' AND n.detail IS NOT NULL))
      WHERE n.state IN ('UNMATCHED', 'EXPIRED') AND n.kind = 'AUTHORIZATION approved'
        AND n.received_at < clock.now - interval '1 hour'`,
  },
  {
    name: 'settlement-has-ours',
    sentence: `Captures, refunds and chargebacks are in the provider's settlement; see "reconcile".`,
    broken: unsettled,
  },
  {
    name: 'settlement-is-ours',
    sentence: `Settlement lines about captures, refunds and chargebacks fit ours; see "reconcile".`,
    broken: unbooked,
  },
  {
    name: 'settlement-amounts',
    sentence: 'Settlement lines say the amounts that we booked; see "reconcile".',
    broken: misstated,
  },
]
