/** Sending an event again because its merchant asks for it: the same id and body, at once, whatever became of it before. */
import type { Merchant } from '#domain/merchant.ts'
import type { Engine } from '#operations/engine.ts'
import { merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import { CommitRefused } from '#operations/payment-queue.ts'
import type { StoredAnswer } from '#storage/change.ts'
import type { EventStore, StoredEvent } from '#storage/events.ts'

export interface EventReplay {
  readonly merchant: Merchant
  readonly eventId: string
  readonly key?: OperationKey
  readonly show: (event: StoredEvent) => StoredAnswer
}

export interface ReplayDeps {
  readonly engine: Pick<Engine, 'commit' | 'clock'>
  readonly store: EventStore
  readonly onEvents: () => void
}

/** Undefined when the merchant has no such event. */
export async function replayEvent(
  { merchant, eventId, key, show }: EventReplay,
  { engine, store, onEvents }: ReplayDeps,
): Promise<StoredAnswer | undefined> {
  const { merchantId } = merchant
  const found = await store.requeue(merchantId, eventId, new Date(engine.clock.nowMs()))
  const event = found ? await store.find(merchantId, eventId) : undefined
  if (!event) return undefined
  const answer = show(event)
  // After the deed: a crash in between sends the event twice, which receivers must be ready for anyway. The other way
  // round it would not be sent at all.
  const row = keyRow(key, { merchant, answer, now: merchantNow(engine.clock, merchant) })
  const committed = row && (await engine.commit({ key: row }))
  onEvents()
  if (committed?.committed === false) throw new CommitRefused(committed.conflict)
  return answer
}
