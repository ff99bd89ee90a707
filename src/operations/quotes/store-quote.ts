/** Keeps a quote and, in the same commit, the answer under its key: a repeated request gets the same quote. */
import type { Merchant } from '#domain/merchant.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Quoted } from '#operations/quotes/quote-conversion.ts'

export interface QuoteToStore {
  readonly quoted: Quoted
  readonly answer: OperationAnswer
  readonly merchant: Merchant
  readonly key?: OperationKey
}

export async function storeQuote(
  { quoted, answer, merchant, key }: QuoteToStore,
  { commit, clock }: Pick<Engine, 'commit' | 'clock'>,
): Promise<OperationAnswer> {
  const change = {
    insertQuote: quoted.eligible ? quoted.quote : undefined,
    key: keyRow(key, { merchant, answer, now: merchantNow(clock, merchant) }),
  }
  // Where there is no offer there is nothing to keep but the key.
  if (!change.insertQuote && !change.key) return answer
  const committed = await commit(change)
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return answer
}
