/** The doctor's checks of events and their deliveries; see payment-checks.ts. */
import type { Check, Sweep } from '#storage/doctor/check.ts'

/** All events, each with a summary of its attempts. */
const events: Sweep = {
  from: `event e LEFT JOIN (SELECT merchant_id, pay_id, sequence, count(*) AS count, max(number) AS last, min(number) AS first,
      count(*) FILTER (WHERE status BETWEEN 200 AND 299) AS taken FROM event_attempt WHERE {range event_attempt}
      GROUP BY merchant_id, pay_id, sequence) a USING (merchant_id, pay_id, sequence)`,
  where: '{range e}',
  ids: ['e.merchant_id', 'e.pay_id', 'e.x_id'],
}

/**
 * Whether the body has the gateway's usual form, with the payment first, and sequence and operation last. Then these
 * are members of the body itself, not of a nested object, and the JSON need not be parsed.
 */
const isUsualBody = `(e.body::text LIKE '{"type":"' || e.type || '","payId":"' || replace(e.pay_id::text, '-', '')
  || '",%,"sequence":' || e.sequence || ',"xId":"' || replace(e.x_id::text, '-', '') || '"}')`

export const eventChecks: readonly Check[] = [
  {
    name: 'event-body',
    sentence: 'Every event speaks of its own payment and operation, under its own number.',
    sweep: events,
    detail: `format('event %s speaks of payment %s, operation %s, number %s', e.sequence, e.body->>'payId', e.body->>'xId',
      e.body->>'sequence')`,
    when: `${isUsualBody} IS NOT TRUE AND (e.body->>'payId' IS DISTINCT FROM replace(e.pay_id::text, '-', '')
      OR e.body->>'xId' IS DISTINCT FROM replace(e.x_id::text, '-', '')
      OR e.body->>'sequence' IS DISTINCT FROM e.sequence::text)`,
  },
  {
    name: 'event-attempts',
    sentence:
      'The attempts of an event are numbered from 1 without a gap, and the event knows how many there are.',
    sweep: events,
    detail: `format('event %s: %s attempts, numbered to %s, the event knows of %s', e.sequence, coalesce(a.count, 0), a.last,
      e.attempts)`,
    when: `e.attempts <> coalesce(a.count, 0) OR a.first <> 1 OR a.last <> a.count
      OR (e.round = 0 AND e.tries <> e.attempts)`,
  },
  {
    name: 'event-delivered',
    sentence: 'What is delivered was taken by its receiver with a 2xx, and what has failed was tried.',
    sweep: events,
    detail: `format('event %s is %s without an attempt that says so', e.sequence, e.status)`,
    when: `(e.status = 'DELIVERED' AND e.owed AND coalesce(a.taken, 0) = 0) OR (e.status = 'FAILED' AND e.attempts = 0)`,
  },
  {
    name: 'endpoint-attempts',
    sentence:
      'The attempts at an added endpoint are numbered from 1 without a gap, and what was delivered was taken.',
    broken: `SELECT d.merchant_id, d.pay_id, NULL::uuid AS x_id, format('event %s at %s is %s: %s attempts of %s', d.sequence,
        d.endpoint_id, d.status, coalesce(a.count, 0), d.attempts) AS detail
      FROM event_delivery d LEFT JOIN (SELECT merchant_id, pay_id, sequence, endpoint_id, count(*) AS count,
          max(number) AS last, count(*) FILTER (WHERE status BETWEEN 200 AND 299) AS taken
        FROM event_delivery_attempt GROUP BY merchant_id, pay_id, sequence, endpoint_id) a
        USING (merchant_id, pay_id, sequence, endpoint_id)
      WHERE d.attempts <> coalesce(a.count, 0) OR a.last <> a.count
        OR (d.status = 'DELIVERED' AND coalesce(a.taken, 0) = 0)`,
  },
  {
    name: 'endpoint-secret',
    sentence: 'Every added endpoint has a secret that signs its webhooks.',
    broken: `SELECT w.merchant_id, NULL::uuid AS pay_id, NULL::uuid AS x_id, format('%s has none', w.endpoint_id) AS detail
      FROM webhook_endpoint w CROSS JOIN clock WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoint_secret s
        WHERE s.merchant_id = w.merchant_id AND s.endpoint_id = w.endpoint_id
          AND (s.expires_at IS NULL OR s.expires_at > clock.now))`,
  },
  {
    name: 'webhook-secret',
    sentence: 'Every merchant has a secret that signs its webhooks.',
    broken: `SELECT m.merchant_id, NULL::uuid AS pay_id, NULL::uuid AS x_id, 'no secret is valid' AS detail
      FROM merchant m CROSS JOIN clock WHERE NOT EXISTS (SELECT 1 FROM webhook_secret s
        WHERE s.merchant_id = m.merchant_id AND (s.expires_at IS NULL OR s.expires_at > clock.now))`,
  },
]
