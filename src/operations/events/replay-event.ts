/**
 * Sends an event again at the merchant's request: the same id and body, at once, whether or not it was delivered
 * before.
 */
import type { Merchant } from '#domain/merchant.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { StoredAnswer } from '#storage/commit/change.ts'
import type { EndpointStore, WebhookEndpoint } from '#storage/events/endpoints.ts'
import type { EventStore, StoredEvent } from '#storage/events/events.ts'

export interface EventReplay {
  readonly merchant: Merchant
  readonly eventId: string
  /** The endpoint to send it to; unless given, every endpoint that wants the event. */
  readonly endpointId?: string
  readonly key?: OperationKey
  readonly show: (event: StoredEvent) => StoredAnswer
}

/** The merchant has no such endpoint: the caller names the field. */
export class UnknownEndpoint extends Error {}

export interface ReplayDeps {
  readonly engine: Pick<Engine, 'commit' | 'clock'>
  readonly store: EventStore
  readonly endpoints: Pick<EndpointStore, 'list'>
  readonly onEvents: () => void
}

/** Undefined when the merchant has no such event. */
export async function replayEvent(
  { merchant, eventId, endpointId, key, show }: EventReplay,
  { engine, store, endpoints, onEvents }: ReplayDeps,
): Promise<StoredAnswer | undefined> {
  const { merchantId } = merchant
  const event = await store.find(merchantId, eventId)
  if (!event) return undefined
  const { payId, sequence } = event
  const known = await endpoints.list(merchantId)
  if (endpointId !== undefined && !known.some(one => one.endpointId === endpointId))
    throw new UnknownEndpoint(`${endpointId} is no endpoint of this merchant`)
  const answer = show(asReplayed(event, { merchant, known, endpointId }))
  const committed = await engine.commit({
    key: keyRow(key, { merchant, answer, now: merchantNow(engine.clock, merchant) }),
    replays: [{ merchantId, payId, sequence, endpointId, dueAt: new Date(engine.clock.nowMs()) }],
  })
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  onEvents()
  return answer
}

/** The event as the commit is going to leave it: the same receivers as in `src/storage/commit/event-parts.ts`. */
function asReplayed(
  event: StoredEvent,
  {
    merchant,
    known,
    endpointId,
  }: Pick<EventReplay, 'merchant' | 'endpointId'> & { readonly known: readonly WebhookEndpoint[] },
): StoredEvent {
  const { type, owed } = event
  const chosen = known.filter(one =>
    endpointId === undefined
      ? !one.types || (type !== undefined && one.types.includes(type))
      : one.endpointId === endpointId,
  )
  const again = chosen.map(one => ({ endpointId: one.endpointId, url: one.url, status: 'PENDING' as const }))
  const others = event.deliveries.filter(
    one => !chosen.some(({ endpointId }) => one.endpointId === endpointId),
  )
  const isSentToAddress = owed && endpointId === undefined
  return {
    ...event,
    // Without a receiver nothing is sent: all endpoints that the event was for are gone.
    status: isSentToAddress || again.length > 0 ? 'PENDING' : event.status,
    ...(isSentToAddress ? { url: event.ownUrl ?? merchant.webhookUrl } : {}),
    deliveries: [...others, ...again].sort((one, other) => (one.endpointId < other.endpointId ? -1 : 1)),
  }
}
