/**
 * One effect per Idempotency-Key for the tools of the test environment. Their effect is partly in memory, so no commit
 * contains both it and the key: the key is looked up before, and stored with the answer afterwards.
 */
import type { Merchant } from '#domain/merchant.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { type Answer, answer, type IdempotencyKey } from '#http/endpoint.ts'
import { KeyTaken } from '#http/server/ports.ts'
import { storeAnswer } from '#operations/key.ts'

export interface Done {
  readonly body: unknown
  /** The merchant after its clock was moved, because keys expire by that clock. */
  readonly merchant?: Merchant
}

export async function actOnce(
  { merchant, key }: { readonly merchant: Merchant; readonly key: IdempotencyKey | undefined },
  { engine, testTools }: Pick<Services, 'engine' | 'testTools'>,
  act: () => Promise<Done>,
): Promise<Answer> {
  if (key && (await perform(isTaken(testTools.keys.find(merchant.merchantId, key))))) throw new KeyTaken()
  const done = await act()
  const kept = { merchant: done.merchant ?? merchant, key }
  return perform(storeAnswer(answer(200, done.body), kept, engine))
}

/** An unused key is not a missing object. */
const isTaken = async (found: Promise<unknown>): Promise<boolean> => (await found) !== undefined
