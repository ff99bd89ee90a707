/** How an operation and its idempotency key are tied: in the operation's first commit, whatever that commit holds. */
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { KeyReference, Payment } from '#lifecycle/payment.ts'
import type { OperationAnswer } from '#operations/answer.ts'
import type { Engine } from '#operations/engine.ts'
import { CommitRefused } from '#operations/payment-queue.ts'
import type { KeyRow } from '#storage/change.ts'

export interface OperationKey extends KeyReference {
  readonly fingerprint: string
}

export const keyReference = (key: OperationKey | undefined): KeyReference | undefined =>
  key && { verb: key.verb, path: key.path, key: key.key }

export function keyRow(
  key: OperationKey | undefined,
  merchant: Merchant,
  payment: Pick<Payment, 'payId'>,
  xId: XId,
): KeyRow | undefined {
  return key && { ...key, merchantId: merchant.merchantId, payId: payment.payId, xId }
}

/** A refusal writes nothing but its key, so that a repeated request hears the same no. */
export async function storeRefusal(
  answer: OperationAnswer,
  { key, merchant }: { key?: OperationKey; merchant: Merchant },
  engine: Pick<Engine, 'commit'>,
): Promise<OperationAnswer> {
  if (!key) return answer
  const committed = await engine.commit({ key: { ...key, merchantId: merchant.merchantId, answer } })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return answer
}
