/** Creates a payment intent: one commit, no provider call. */
import { randomBytes } from 'node:crypto'
import type { IntentId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Intent, intentEnd } from '#lifecycle/intent.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { CreateIntent } from '#schemas/payment-intent.ts'

export interface IntentRequest {
  readonly merchant: Merchant
  readonly request: CreateIntent
  readonly expiresAt?: Date
  readonly key?: OperationKey
}

/** 16 bytes: the 128 bits that the contract demands, too many to guess. */
const idBytes = 16

/** Answers 201 with the id only. */
export async function createIntent(
  { merchant, request, expiresAt, key }: IntentRequest,
  engine: Pick<Engine, 'commit' | 'clock'>,
): Promise<OperationAnswer> {
  const now = merchantNow(engine.clock, merchant)
  const intent: Intent = {
    merchantId: merchant.merchantId,
    // The form that parseIntentId accepts.
    intentId: `pi_${randomBytes(idBytes).toString('hex')}` as IntentId,
    request,
    expiresAt: expiresAt ?? intentEnd(now),
    createdAt: now,
    declines: 0,
  }
  const answer = { status: 201, json: JSON.stringify({ id: intent.intentId }) }
  const committed = await engine.commit({ insertIntent: intent, key: keyRow(key, { merchant, answer, now }) })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return answer
}
