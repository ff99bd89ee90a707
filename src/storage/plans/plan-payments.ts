/** Reads the payments of a plan, and the bank data of a stored account from its last payment. */
import type { MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import type { StoredAccount } from '#lifecycle/customer.ts'
import type { AccountInstrument, PaymentStatus } from '#lifecycle/payment.ts'
import { pageSize } from '#schemas/customer.ts'
import type { Database } from '#storage/database.ts'
import { lastDigits } from '#storage/payments/found-by.ts'
import { byOtherIndex } from '#storage/planner.ts'

export interface PlanPayment {
  readonly payId: PayId
  readonly xId: XId
  readonly transId: string
  readonly refNr?: string
  readonly status: PaymentStatus
  readonly responseCode: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly sequence: number
  readonly createdAt: Date
}

export interface Page<Item> {
  readonly total: number
  readonly items: readonly Item[]
}

export interface PlanPaymentReader {
  /** The newest first; undefined if the merchant has no such plan. */
  listPayments(merchantId: MerchantId, planId: PlanId, page: number): Promise<Page<PlanPayment> | undefined>
  /** Whether another payment has paid, or is paying, that due day. Extra charges by the merchant do not count. */
  isDayTaken(merchantId: MerchantId, planId: PlanId, dueDate: string, payId: PayId): Promise<boolean>
  /**
   * The bank data and mandate of the customer's last payment of this type from the stored account. Other customers may share
   * it with mandates of their own; a transfer from it has no mandate, and a payout to it has no customer.
   */
  findLastAccount(
    merchantId: MerchantId,
    account: Pick<StoredAccount, 'customerId' | 'type' | 'accountId' | 'last4Digits'>,
  ): Promise<AccountInstrument | undefined>
}

interface PaymentItemRow {
  pay_id: PayId
  x_id: XId
  trans_id: string
  ref_nr: string | null
  status: PaymentStatus
  response_code: string
  amount: number
  currency: string
  sequence: number
  created_at: Date
  total: number
}

export function createPlanPaymentReader({
  readers,
  lists,
}: Pick<Database, 'readers' | 'lists'>): PlanPaymentReader {
  return {
    async listPayments(merchantId, planId, page) {
      const statement = {
        name: 'plan_payments',
        text: `WITH mine AS MATERIALIZED (SELECT plan_id FROM payment_plan WHERE merchant_id = $1 AND plan_id = $2),
                 totals AS MATERIALIZED (SELECT (SELECT count(*) FROM payment c WHERE c.plan_id = mine.plan_id
                   AND ${byOtherIndex('c.merchant_id')} = $1) AS total FROM mine)
               SELECT totals.total, i.*, totals.total - $3::bigint - i.place + 1 AS sequence FROM totals
               LEFT JOIN LATERAL (SELECT c.pay_id, c.trans_id, c.ref_nr, c.status, c.amount, c.currency, c.created_at,
                   row_number() OVER (ORDER BY c.pay_id DESC) AS place, o.x_id, o.response_code
                 FROM (SELECT * FROM payment c WHERE c.plan_id = $2 AND ${byOtherIndex('c.merchant_id')} = $1
                   ORDER BY c.pay_id DESC OFFSET $3 LIMIT ${pageSize}) c
                 CROSS JOIN LATERAL (SELECT o.x_id, o.response_code FROM operation o WHERE o.merchant_id = c.merchant_id
                   AND o.pay_id = c.pay_id ORDER BY o.sequence DESC LIMIT 1) o) i ON true
               ORDER BY i.pay_id DESC`,
        values: [merchantId, planId, (page - 1) * pageSize],
      }
      const { rows } = await lists.run(merchantId, () => readers.query<PaymentItemRow>(statement))
      if (!rows[0]) return undefined
      return { total: rows[0].total, items: rows.filter(row => row.pay_id !== null).map(toPlanPayment) }
    },

    isDayTaken: askForDay(readers),

    async findLastAccount(merchantId, { customerId, type, accountId, last4Digits }) {
      const { rows } = await readers.query<{ account: AccountInstrument }>({
        name: 'plan_last_account',
        text: `SELECT p.account FROM payment p WHERE p.merchant_id = $1 AND p.account_id = $2
                 AND ${lastDigits} IS NOT NULL AND ${lastDigits} = $3
                 AND p.customer_id = $4 AND p.method = $5
               ORDER BY p.created_at DESC, p.pay_id DESC LIMIT 1`,
        values: [merchantId, accountId, last4Digits, customerId, type],
      })
      return rows[0]?.account
    },
  }
}

const askForDay =
  (readers: Database['readers']): PlanPaymentReader['isDayTaken'] =>
  async (merchantId, planId, dueDate, payId) => {
    const turn = `c.details->'planTurn'->'automatic'`
    const { rowCount } = await readers.query({
      name: 'plan_day_taken',
      text: `SELECT 1 FROM payment c WHERE c.plan_id = $2 AND ${byOtherIndex('c.merchant_id')} = $1 AND c.pay_id <> $4
               AND c.status NOT IN ('FAILED', 'REVERSED') AND ${turn}->>'dueDate' = $3 AND ${turn}->'asked' IS NULL`,
      values: [merchantId, planId, dueDate, payId],
    })
    return rowCount !== 0
  }

const toPlanPayment = (row: PaymentItemRow): PlanPayment => ({
  payId: row.pay_id,
  xId: row.x_id,
  transId: row.trans_id,
  refNr: row.ref_nr ?? undefined,
  status: row.status,
  responseCode: row.response_code,
  amount: { value: row.amount, currency: row.currency },
  sequence: row.sequence,
  createdAt: row.created_at,
})
