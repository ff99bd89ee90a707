/**
 * The doctor's checks of bank files and of customers' transfers: sums equal those of the payments, nothing is in two
 * files, files are complete, and surplus is paid back.
 */
import { type Check, type Sweep, some } from '#storage/doctor/check.ts'
import { lookUp } from '#storage/planner.ts'

/** The reference of a surplus payment, as it is derived from the entry. */
const surplusId = (row: string, reason: string): string =>
  `encode(substr(sha256(convert_to(${row}.merchant_id, 'UTF8') || '\\x00'::bytea
    || convert_to(${row}.provider_account_id, 'UTF8') || '\\x00'::bytea || convert_to(${reason}, 'UTF8')), 1, 16), 'hex')::uuid`

/**
 * The transfers that were counted for the payment of a row: each with its id and the part to pay back. That is the part
 * beyond the payment's amount, or all of it if the payment has failed.
 */
const receiptsOf = (
  row: string,
): string => `SELECT r.key, r.value, r.is_late, p.currency, count(*) FILTER (WHERE NOT r.is_late) OVER () AS timely,
    CASE WHEN p.status = 'FAILED' THEN r.value WHEN r.sequence = min(r.sequence) OVER () THEN
      greatest(sum(r.value) OVER (PARTITION BY r.sequence ORDER BY r.place) - p.amount, 0)
      - greatest(sum(r.value) OVER (PARTITION BY r.sequence ORDER BY r.place) - r.value - p.amount, 0) ELSE 0 END AS back
  FROM (SELECT sequence, place, receipt->>'key' AS key, (receipt->>'value')::bigint AS value,
      coalesce(receipt->>'late' = 'true', false) AS is_late
    FROM (SELECT o.sequence, json_array_elements(o.receipts) AS receipt, generate_series(1, json_array_length(o.receipts)) AS place
      FROM (SELECT sequence, provider->'fields'->'receipts' AS receipts FROM operation WHERE merchant_id = ${row}.merchant_id
        AND pay_id = ${row}.pay_id AND type = 'AUTHORIZATION') o WHERE o.receipts IS NOT NULL) one) r
  CROSS JOIN (SELECT status, amount, currency FROM payment WHERE merchant_id = ${row}.merchant_id AND pay_id = ${row}.pay_id) p`

/** The key that an entry had when it was applied. */
const keyThen = 'coalesce(e.former_key, e.entry_key)'

/** Entries that were received for a payment, with the payment's record of them. */
const received: Sweep = {
  from: `bank_entry e LEFT JOIN LATERAL ${lookUp(`SELECT r.* FROM (${receiptsOf('e')}) r WHERE r.key = ${keyThen}`)} r ON true
    LEFT JOIN LATERAL ${lookUp(`SELECT sum(l.gross) AS gross FROM settlement_line l WHERE l.merchant_id = e.merchant_id
      AND l.provider_account_id = e.provider_account_id AND l.settlement_id = e.booked_on::text
      AND l.type IN ('CAPTURE', 'RESERVE', 'CORRECTION') AND l.provider_reference = ${keyThen}`)} l ON true`,
  where: `e.state = 'APPLIED' AND e.result = 'RECEIVED'`,
  ids: ['e.merchant_id', 'e.pay_id', 'e.x_id'],
}

/**
 * Whether the bank named the payer, as far as this can be known without decrypting: a late transfer is counted only if
 * it did, and a single transfer gives the payment its account.
 */
const isPayerKnown = `(r.is_late OR r.timely = 1 AND ${some(`payment p WHERE p.merchant_id = e.merchant_id
  AND p.pay_id = e.pay_id AND p.account_id IS NOT NULL`)})`

/** Whether the ended payment is in the queue: then the next batch makes the rows of its surplus. */
const isQueued = some(
  `timer t WHERE t.merchant_id = e.merchant_id AND t.pay_id = e.pay_id AND t.kind = 'BATCH'`,
)

const surplusChecks: readonly Check[] = [
  {
    name: 'transfer-is-counted',
    sentence: 'Money that arrived for a payment is counted by it with the same amount and currency.',
    sweep: received,
    when: 'r.value IS DISTINCT FROM e.amount OR r.currency <> e.currency',
    detail: `format('%s %s arrived, the payment counts %s %s', e.amount, e.currency, coalesce(r.value, 0), r.currency)`,
  },
  {
    name: 'transfer-is-settled',
    sentence: 'The settlement lines of money that arrived for a payment add up to it.',
    sweep: received,
    when: 'l.gross IS DISTINCT FROM e.amount',
    detail: `format('%s arrived, the settlement lines make %s', e.amount, coalesce(l.gross, 0))`,
  },
  {
    name: 'surplus-goes-back',
    sentence: 'What a customer sent beyond the amount, or for a payment that has ended, goes back.',
    sweep: received,
    when: `r.back > 0 AND ${isPayerKnown} AND NOT ${isQueued} AND NOT ${some(`bank_surplus s WHERE s.merchant_id = e.merchant_id
      AND s.x_id = ${surplusId('e', `'surplus ' || ${keyThen}`)}`)}`,
    detail: `format('%s of %s are to go back, and nothing does', r.back, e.amount)`,
  },
  {
    name: 'surplus-fits-transfer',
    sentence:
      'What goes back to a customer is what their transfer had too much, or an earlier try that did not arrive.',
    broken: `SELECT s.merchant_id, s.pay_id, s.x_id, format('%s go back, of a transfer of which %s are too much', s.amount,
        coalesce(s.back, 0)) AS detail
      FROM (SELECT s.*, coalesce(a.amount, (SELECT r.back FROM (${receiptsOf('s')}) r
          WHERE ${surplusId('s', `'surplus ' || r.key`)} = s.x_id)) AS back
        FROM bank_surplus s LEFT JOIN (SELECT i.merchant_id, i.pay_id, i.amount,
            ${surplusId('i', `'again ' || replace(i.x_id::text, '-', '')`)} AS x_id
          FROM bank_item i WHERE i.type = 'SURPLUS' AND i.closed_at IS NOT NULL) a
        ON a.merchant_id = s.merchant_id AND a.x_id = s.x_id AND a.pay_id = s.pay_id) s
      WHERE s.back IS DISTINCT FROM s.amount`,
  },
  {
    name: 'surplus-in-its-file',
    sentence: 'What goes back to a customer lies in the file that it names with the same amount, or waits.',
    broken: `SELECT merchant_id, coalesce(s.pay_id, i.pay_id) AS pay_id, x_id, format('%s in batch %s, its item %s in batch %s',
        s.amount, s.batch_id, i.amount, i.batch_id) AS detail
      FROM bank_surplus s FULL JOIN (SELECT * FROM bank_item WHERE type = 'SURPLUS') i USING (merchant_id, x_id)
      WHERE s.batch_id IS DISTINCT FROM i.batch_id OR s.batch_id IS NOT NULL
        AND (s.amount, s.pay_id, s.provider_account_id) <> (i.amount, i.pay_id, i.provider_account_id)`,
  },
]

/** The file of the batch that an item is in. */
const fileType = `CASE WHEN type = 'DEBIT' THEN 'pain.008.001.08' ELSE 'pain.001.001.09' END AS type`

/** Files for the bank with their items and parts. An outer join, because each may be missing. */
const files: Sweep = {
  from: `(SELECT merchant_id, batch_id, type, message_id, payments, sum FROM bank_file) f
    FULL JOIN (SELECT merchant_id, batch_id, ${fileType}, count(*) AS payments, sum(amount) AS sum,
        count(DISTINCT block_id) AS blocks, min(block_id) AS block_id, min(x_id::text)::uuid AS x_id FROM bank_item GROUP BY 1, 2, 3) i
      USING (merchant_id, batch_id, type)
    FULL JOIN (SELECT merchant_id, batch_id, type, count(*) AS count, min(position) AS first, max(position) AS last,
        min(part_id::text) AS part_id FROM bank_file_part GROUP BY 1, 2, 3) p USING (merchant_id, batch_id, type)
    LEFT JOIN bank_batch b USING (merchant_id, batch_id)`,
  where: 'true',
  ids: ['merchant_id', 'NULL::uuid', 'i.x_id'],
}

/**
 * Releases before this migration split a file by length alone, and a short one had a single part. The first twelve hex
 * digits of an id are the time of its creation in milliseconds.
 */
const isCutByLength = `to_timestamp(('x' || left(replace(p.part_id, '-', ''), 12))::bit(48)::bigint / 1000.0)
  < (SELECT m.applied_at FROM schema_migration m WHERE m.name = '0041-bank-entries-waiting.sql')`

/** If a block is returned as one sum, each item is booked under its own id and the key of the entry. */
const ownName = `'^[0-9a-f]{32}[|]'`

const bookingEntry = `regexp_replace(booked_by, ${ownName}, '')`

/** 250: longer names are truncated, and the entry cannot be found by the rest. */
const isCutOff = `(char_length(booked_by) >= 250 AND booked_by ~ ${ownName})`

export const bankChecks: readonly Check[] = [
  {
    name: 'bank-file-sums',
    sentence: 'A file for the bank has as many payments, and the sum, that its items make.',
    sweep: files,
    when: 'coalesce(f.payments, 0) <> coalesce(i.payments, 0) OR coalesce(f.sum, 0) <> coalesce(i.sum, 0)',
    detail: `format('%s of batch %s has %s payments of %s, its items make %s of %s', type, batch_id, coalesce(f.payments, 0),
      coalesce(f.sum, 0), coalesce(i.payments, 0), coalesce(i.sum, 0))`,
  },
  {
    name: 'bank-file-parts',
    sentence: 'A file for the bank has all its parts, so that it can be given out again, and its batch.',
    sweep: files,
    // Every block has a header part and at least one part with payments, and the file has a closing part.
    when: `b.batch_id IS NULL OR f.payments IS NULL OR p.count IS NULL OR p.first <> 0 OR p.last <> p.count - 1
      OR p.count < 2 * i.blocks + 1 AND NOT ${isCutByLength}`,
    detail: `format('%s of batch %s has %s parts, numbered %s to %s, for %s blocks', type, batch_id, coalesce(p.count, 0),
      p.first, p.last, coalesce(i.blocks, 0))`,
  },
  {
    name: 'bank-file-names',
    sentence: 'A file for the bank and its blocks have the ids of their batch, by which the bank names them.',
    sweep: files,
    when: `f.message_id <> CASE WHEN type = 'pain.008.001.08' THEN 'D' ELSE 'T' END
        || replace(batch_id::text, '-', '')
      OR left(i.block_id, -2) <> f.message_id`,
    detail: `format('%s of batch %s is %s, its first block %s', type, batch_id, f.message_id, i.block_id)`,
  },
  {
    name: 'bank-item-has-mandate',
    sentence: 'The mandate of a debit in a file is there, so that its end is known.',
    broken: `SELECT i.merchant_id, i.pay_id, i.x_id, format('mandate %s of %s is not there', i.mandate_id, i.provider_account_id)
        AS detail
      FROM bank_item i LEFT JOIN bank_mandate m ON m.merchant_id = i.merchant_id
        AND m.provider_account_id = i.provider_account_id AND m.mandate_key = upper(i.mandate_id)
      WHERE i.type = 'DEBIT' AND m.mandate_key IS NULL`,
  },
  {
    name: 'bank-booking-has-entry',
    sentence: 'What counts as booked by the bank is in an entry of the bank, and together no more than that.',
    broken: `SELECT i.merchant_id, NULL::uuid AS pay_id, i.x_id, format('%s are booked by %s, which says %s', i.sum, i.booked_by,
        coalesce(e.amount::text, 'nothing')) AS detail
      FROM (SELECT merchant_id, provider_account_id, ${bookingEntry} AS booked_by, sum(amount) AS sum, min(x_id::text)::uuid AS x_id
        FROM bank_item WHERE booked_by IS NOT NULL AND NOT ${isCutOff} GROUP BY 1, 2, 3) i
      LEFT JOIN bank_entry e ON e.merchant_id = i.merchant_id AND e.provider_account_id = i.provider_account_id
        AND ${keyThen} = i.booked_by
      WHERE e.entry_id IS NULL OR e.result = 'BOOKED' AND i.sum > abs(e.amount)`,
  },
  {
    name: 'bank-item-has-operation',
    sentence: 'A debit or transfer in a file is an operation of its payment with the same amount.',
    broken: `SELECT i.merchant_id, i.pay_id, i.x_id, format('a %s of %s without its operation', i.type, i.amount) AS detail
      FROM bank_item i WHERE i.type <> 'SURPLUS' AND NOT EXISTS (SELECT 1 FROM operation o
        WHERE o.merchant_id = i.merchant_id AND o.pay_id = i.pay_id AND o.x_id = i.x_id AND o.amount = i.amount)`,
  },
  {
    name: 'bank-item-waits-no-more',
    sentence: 'What lies in a file for the bank does not wait for the next one.',
    broken: `SELECT t.merchant_id, t.pay_id, t.x_id, 'it lies in a file and waits for another' AS detail
      FROM timer t JOIN bank_item i ON i.merchant_id = t.merchant_id AND i.x_id = t.x_id WHERE t.kind = 'BATCH'`,
  },
  {
    name: 'bank-booked-is-taken',
    sentence:
      'What the bank has booked counts as taken, and what it has rejected does not, unless it was returned.',
    broken: `SELECT i.merchant_id, i.pay_id, i.x_id, format('%s, but the operation is %s',
        CASE WHEN i.booked_by IS NULL THEN 'rejected' ELSE 'booked' END, o.state) AS detail
      FROM bank_item i JOIN operation o ON o.merchant_id = i.merchant_id AND o.pay_id = i.pay_id AND o.x_id = i.x_id
      WHERE (i.booked_by IS NOT NULL AND i.returned_by IS NULL AND o.state <> 'OK')
        OR (i.rejected IS NOT NULL AND o.state = 'OK' AND i.booked_by IS NULL AND i.returned_by IS NULL)`,
  },
  ...surplusChecks,
]
