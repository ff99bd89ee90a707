/**
 * Marks payments that are not simply paid, so that they can be found by status and response code. Most payments are
 * paid at once and write no mark.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import { success } from '#domain/response-codes.ts'
import { lastOperation, type Payment, type PaymentStatus } from '#lifecycle/payment.ts'
import type { BatchRow } from '#storage/commit/columns.ts'

export interface Mark {
  readonly merchantId: MerchantId
  readonly payId: PayId
  readonly createdAt: Date
  readonly status: PaymentStatus
  readonly responseCode: string
}

export type Unmark = Pick<Mark, 'merchantId' | 'payId'>

/** The change of the mark when the payment goes from `before` to `after`. */
export function markBetween(
  before: Payment | undefined,
  after: Payment,
): { readonly mark?: Mark; readonly unmark?: Unmark } {
  // Leave the mark as it is while a call is under way; its outcome decides.
  if (after.operations.some(({ state }) => state === 'SENT')) return {}
  const { merchantId, payId, createdAt, status } = after
  const { responseCode } = lastOperation(after)
  if (status !== 'OK' || responseCode !== success)
    return { mark: { merchantId, payId, createdAt, status, responseCode } }
  return before && mayBeMarked(before) ? { unmark: { merchantId, payId } } : {}
}

/** A payment whose provider is called at once has no mark before its first answer. */
function mayBeMarked({ operations }: Payment): boolean {
  const [first, ...more] = operations
  return more.length > 0 || first?.state !== 'SENT' || first.prepared.sentAtMs !== undefined
}

const key = [
  ['merchant_id', 'text'],
  ['pay_id', 'uuid'],
] as const

const columns = [
  ...key,
  ['created_at', 'timestamptz'],
  ['status', 'text'],
  ['response_code', 'text'],
] as const

const names = columns.map(([name]) => name).join(', ')

export const markParts = {
  mark: {
    columns,
    write: () => `INSERT INTO payment_mark (${names}) SELECT ${names} FROM mark_in
      WHERE c NOT IN (SELECT c FROM refused) ORDER BY merchant_id, pay_id
      ON CONFLICT (merchant_id, pay_id) DO UPDATE SET status = excluded.status, response_code = excluded.response_code`,
  },
  unmark: {
    columns: key,
    write: () => `DELETE FROM payment_mark t USING unmark_in i
      WHERE t.merchant_id = i.merchant_id AND t.pay_id = i.pay_id AND i.c NOT IN (SELECT c FROM refused)`,
  },
}

export const fromMark = (mark: Mark, c: number): BatchRow<typeof columns> => ({
  c,
  merchant_id: mark.merchantId,
  pay_id: mark.payId,
  created_at: mark.createdAt,
  status: mark.status,
  response_code: mark.responseCode,
})

export const fromUnmark = ({ merchantId, payId }: Unmark, c: number): BatchRow<typeof key> => ({
  c,
  merchant_id: merchantId,
  pay_id: payId,
})
