/** Reads payments. Every query is scoped by merchant. */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { type PaymentRow, toPayment } from '#storage/commit/rows.ts'
import type { Database } from '#storage/database.ts'
import { gatherLookUps, wantedRows, wantedValues } from '#storage/gather.ts'

export interface PaymentReader {
  byPayId(merchantId: MerchantId, payId: PayId): Promise<Payment | undefined>
  /** The newest payment with this transId, live or not. */
  byTransId(merchantId: MerchantId, transId: string): Promise<Payment | undefined>
}

/** A payment with its operations, as `toPayment` reads it. */
export const paymentColumns = `p.merchant_id, p.pay_id, p.kind, p.trans_id, p.ref_nr, p.method, p.integration_type, p.status, p.currency, p.amount,
  p.authorized, p.capturing, p.captured, p.reversing, p.reversed, p.refunding, p.refunded, p.returned, p.disputed, p.capture_method,
  p.delayed_hours, p.closed_for_capture, p.authorization_expires_at, p.expires_at, p.awaits, p.instrument, v.pseudo_number,
  p.account, a.pseudo_number AS account_pseudo_number, p.provider_account, p.connector, p.customer_id, p.plan_id, p.details, p.event_sequence,
  p.created_at, p.updated_at, p.version,
  (SELECT json_agg(json_build_object('x_id', o.x_id, 'sequence', o.sequence, 'type', o.type, 'state', o.state,
     'amount', o.amount, 'trans_id', o.trans_id, 'ref_nr', o.ref_nr, 'response_code', o.response_code,
     'prepared', o.prepared, 'provider', o.provider, 'details', o.details, 'key', o.key,
     'created_at', o.created_at, 'updated_at', o.updated_at) ORDER BY o.sequence)
   FROM operation o WHERE o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id) AS operations`

export const paymentInstruments = `LEFT JOIN vault_card v ON v.merchant_id = p.merchant_id AND v.card_id = p.card_id
  LEFT JOIN vault_account a ON a.merchant_id = p.merchant_id AND a.account_id = p.account_id`

const byPayIdStatement = {
  name: 'payments_by_pay_id',
  text: `SELECT ${paymentColumns} FROM ${wantedRows}
    JOIN payment p ON p.merchant_id = w.merchant_id AND p.pay_id = w.id ${paymentInstruments}`,
}

/** UUIDv7 sorts by time, so the greatest pay_id is the newest; each branch has its own partial index. */
const byTransIdStatement = {
  name: 'payment_by_trans_id',
  text: `SELECT ${paymentColumns} FROM payment p ${paymentInstruments} WHERE p.merchant_id = $1 AND p.pay_id = (
    SELECT pay_id FROM (
      SELECT pay_id FROM payment WHERE merchant_id = $1 AND trans_id = $2 AND live
      UNION ALL
      SELECT pay_id FROM payment WHERE merchant_id = $1 AND trans_id = $2 AND NOT live) found
    ORDER BY pay_id DESC LIMIT 1)`,
}

export function createPaymentReader(database: Database): PaymentReader {
  // Most requests begin with this read, so simultaneous reads share a query.
  const find = gatherLookUps<PaymentRow>(
    async wanted => {
      const values = wantedValues(wanted)
      return (await database.lookUps.query<PaymentRow>({ ...byPayIdStatement, values })).rows
    },
    row => ({ merchantId: row.merchant_id, id: row.pay_id }),
  )
  return {
    async byPayId(merchantId, payId) {
      const row = await find({ merchantId, id: payId })
      return row && toPayment(row)
    },
    async byTransId(merchantId, transId) {
      const values = [merchantId, transId]
      const { rows } = await database.readers.query<PaymentRow>({ ...byTransIdStatement, values })
      return rows[0] && toPayment(rows[0])
    },
  }
}
