/** Reading payments back, with the pseudo card number the vault holds for them. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { toRecord } from '#operations/answer.ts'
import type { Engine } from '#operations/engine.ts'

type Reading = Pick<Engine, 'payments' | 'vault'>
type Record = ReturnType<typeof toRecord>

export async function retrieveByPayId(
  merchant: Merchant,
  payId: PayId,
  engine: Reading,
): Promise<Record | undefined> {
  return present(await engine.payments.byPayId(merchant.merchantId, payId), engine)
}

export async function retrieveByTransId(
  merchant: Merchant,
  transId: string,
  engine: Reading,
): Promise<Record | undefined> {
  return present(await engine.payments.byTransId(merchant.merchantId, transId), engine)
}

async function present(payment: Payment | undefined, { vault }: Reading): Promise<Record | undefined> {
  if (!payment) return undefined
  const cardId = payment.instrument?.cardId
  return toRecord(payment, cardId && (await vault.pseudoNumberOf(payment.merchantId, cardId)))
}
