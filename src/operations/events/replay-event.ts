/** Sending an event again because its merchant asks for it: the same id and body, at once, whatever became of it before. */
import type { Merchant } from '#domain/merchant.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { StoredAnswer } from '#storage/commit/change.ts'
import type { EventStore, StoredEvent } from '#storage/events/events.ts'

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
  const event = await store.find(merchantId, eventId)
  if (!event) return undefined
  const { payId, sequence } = event
  const answer = show({ ...event, status: 'PENDING', url: event.ownUrl ?? merchant.webhookUrl })
  const committed = await engine.commit({
    key: keyRow(key, { merchant, answer, now: merchantNow(engine.clock, merchant) }),
    replays: [{ merchantId, payId, sequence, dueAt: new Date(engine.clock.nowMs()) }],
  })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  onEvents()
  return answer
}
