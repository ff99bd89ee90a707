/** Reads payments in the form of the contract's payment record. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Engine } from '#operations/engine.ts'
import { toRecord } from '#operations/payments/answer.ts'

type Reading = Pick<Engine, 'payments'>
type Record = ReturnType<typeof toRecord>

export async function retrieveByPayId(
  merchant: Merchant,
  payId: PayId,
  { payments }: Reading,
): Promise<Record | undefined> {
  const payment = await payments.byPayId(merchant.merchantId, payId)
  return payment && toRecord(payment)
}

export async function retrieveByTransId(
  merchant: Merchant,
  transId: string,
  { payments }: Reading,
): Promise<Record | undefined> {
  const payment = await payments.byTransId(merchant.merchantId, transId)
  return payment && toRecord(payment)
}
