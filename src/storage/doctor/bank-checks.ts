/** What must be true of files for banks: sums equal those of their payments, and nothing is in two files. */
import type { Check } from '#storage/doctor/check.ts'

export const bankChecks: readonly Check[] = [
  {
    name: 'bank-file-sums',
    sentence: 'A file for the bank has as many payments, and the sum, that its items make.',
    broken: `SELECT f.merchant_id, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('%s of batch %s has %s payments of %s, its items make %s of %s', f.type, f.batch_id, f.payments, f.sum,
          coalesce(i.payments, 0), coalesce(i.sum, 0)) AS detail
      FROM bank_file f LEFT JOIN (SELECT merchant_id, batch_id,
          CASE WHEN type = 'DEBIT' THEN 'pain.008.001.08' ELSE 'pain.001.001.09' END AS type, count(*) AS payments,
          sum(amount) AS sum FROM bank_item GROUP BY 1, 2, 3) i USING (merchant_id, batch_id, type)
      WHERE f.payments <> coalesce(i.payments, 0) OR f.sum <> coalesce(i.sum, 0)`,
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
]
