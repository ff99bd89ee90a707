/** Ties an operation to its idempotency key: the key's row is part of the operation's first commit. */
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { KeyReference } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { KeyRow } from '#storage/commit/change.ts'

export interface OperationKey extends KeyReference {
  readonly fingerprint: string
}

export const keyReference = (key: OperationKey | undefined): KeyReference | undefined =>
  key && { verb: key.verb, path: key.path, key: key.key }

export function keyRow(
  key: OperationKey | undefined,
  joined: { merchant: Merchant; payId?: PayId; xId?: XId; answer?: OperationAnswer; now: Date },
): KeyRow | undefined {
  const { merchant, payId, xId, answer, now } = joined
  return key && { ...key, merchantId: merchant.merchantId, payId, xId, answer, createdAt: now }
}

/**
 * Stores an answer under its idempotency key when there is nothing else to write, so that a repeated request gets it
 * too.
 */
export async function storeAnswer(
  answer: OperationAnswer,
  { key, merchant }: { key?: OperationKey; merchant: Merchant },
  engine: Pick<Engine, 'commit' | 'clock'>,
): Promise<OperationAnswer> {
  const row = keyRow(key, { merchant, answer, now: merchantNow(engine.clock, merchant) })
  if (!row) return answer
  const committed = await engine.commit({ key: row })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return answer
}

/** A refusal writes only the row of its key. */
export const storeRefusal = storeAnswer
