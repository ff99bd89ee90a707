/**
 * Finds payments of the same order. Each of the two look-ups has a partial index of payments with that reference.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { PaymentStatus } from '#lifecycle/payment.ts'
import type { Database } from '#storage/database.ts'

export interface OrderQuestion {
  readonly merchantId: MerchantId
  /** At least one of the two; a payment must have all that are given. */
  readonly merchantReference?: string
  readonly invoiceId?: string
  readonly amount: Money
  /** In the merchant's time. */
  readonly since: Date
}

export interface PaymentOfOrder {
  readonly payId: string
  readonly transId: string
  readonly refNr?: string
  readonly status: PaymentStatus
  readonly amount: Money
  readonly createdAt: Date
}

export interface DuplicateFinder {
  /** Payments that hold or may hold money for the order, the newest first. */
  find(question: OrderQuestion): Promise<readonly PaymentOfOrder[]>
}

/** 100: enough to see that an order was paid many times. */
const shownMax = 100

interface FoundRow {
  readonly pay_id: string
  readonly trans_id: string
  readonly ref_nr: string | null
  readonly status: PaymentStatus
  readonly amount: number
  readonly currency: string
  readonly created_at: Date
}

/** `live`: neither failed nor reversed. A payout is not a payment of an order. */
const statement = (by: 'order_reference' | 'invoice_id', and: 'order_reference' | 'invoice_id') => ({
  name: `payment_by_${by}`,
  text: `SELECT pay_id, trans_id, ref_nr, status, amount, currency, created_at FROM payment
         WHERE merchant_id = $1 AND ${by} = $2 AND created_at >= $3 AND amount = $4 AND currency = $5
           AND ($6::text IS NULL OR ${and} = $6) AND live AND kind = 'PAYMENT'
         ORDER BY created_at DESC LIMIT ${shownMax}`,
})

const byReference = statement('order_reference', 'invoice_id')
const byInvoice = statement('invoice_id', 'order_reference')

export function createDuplicateFinder({ readers }: Database): DuplicateFinder {
  return {
    async find({ merchantId, merchantReference, invoiceId, amount, since }) {
      const chosen = merchantReference === undefined ? byInvoice : byReference
      const [first, second] =
        merchantReference === undefined ? [invoiceId, null] : [merchantReference, invoiceId ?? null]
      const values = [merchantId, first, since, amount.value, amount.currency, second]
      const { rows } = await readers.query<FoundRow>({ ...chosen, values })
      return rows.map(toFound)
    },
  }
}

const toFound = (row: FoundRow): PaymentOfOrder => ({
  payId: row.pay_id,
  transId: row.trans_id,
  refNr: row.ref_nr ?? undefined,
  status: row.status,
  amount: { value: row.amount, currency: row.currency },
  createdAt: row.created_at,
})
