/** Lets operators look up and replay events of all merchants without a running server. */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { createGroupCommit } from '#storage/commit/group-commit.ts'
import type { Database } from '#storage/database.ts'
import {
  createEventStore,
  type EventStatus,
  type EventStore,
  type StoredEvent,
} from '#storage/events/events.ts'
import { createMerchantStore } from '#storage/merchants.ts'

/** 1,000 events of one merchant: the longest list without a start time, and the page size with one. */
export const eventsMax = 1_000

/** 100 in one commit: their deliveries begin while the next ones are written. */
const replaysMax = 100

export interface EventFilter {
  readonly merchant?: string
  readonly since?: Date
  readonly status?: EventStatus
  /** Called for a merchant that has more events than are shown. */
  readonly onCut: (merchantId: MerchantId, shown: number) => void
}

/** Events of one merchant or of all. `since` gets the merchant's time and returns the start of the period. */
export interface ReplayFilter {
  readonly merchant?: string
  readonly since: (nowMs: number) => number
  readonly status?: EventStatus
}

export type ListedEvent = StoredEvent & { readonly merchantId: MerchantId }

/** An operator named a merchant that does not exist. */
export class UnknownMerchant extends Error {}

export async function findMerchants(database: Database, wanted?: string): Promise<readonly Merchant[]> {
  const all = await createMerchantStore(database).list()
  if (wanted === undefined) return all
  const found = all.filter(({ merchantId }) => merchantId === wanted)
  if (found.length === 0) throw new UnknownMerchant(`there is no merchant "${wanted}"`)
  return found
}

export const newestFirst = (a: { createdAt: Date }, b: { createdAt: Date }): number =>
  b.createdAt.getTime() - a.createdAt.getTime()

interface Since {
  readonly sinceMs: number
  readonly status?: EventStatus | undefined
}

/** All events since then, the newest first. */
async function eventsSince(
  merchantId: MerchantId,
  { sinceMs, status }: Since,
  events: EventStore,
): Promise<readonly StoredEvent[]> {
  // By id, because new events that are written while we read push events from one page to the next.
  const found = new Map<string, StoredEvent>()
  for (let offset = 0; ; offset += eventsMax) {
    const { total, events: page } = await events.list(merchantId, { status }, { offset, limit: eventsMax })
    const young = page.filter(({ createdAt }) => createdAt.getTime() >= sinceMs)
    for (const event of young) found.set(event.id, event)
    // Within a page the dates may be slightly out of order; a page without a match is the end.
    if (young.length === 0 || offset + eventsMax >= total) return [...found.values()]
  }
}

export function createEventFinder(database: Database) {
  const events = createEventStore(database)

  async function findEvent(id: string): Promise<ListedEvent | undefined> {
    if (!/^[0-9a-f]{32}$/.test(id)) return undefined
    for (const { merchantId } of await findMerchants(database)) {
      const event = await events.find(merchantId, id)
      if (event) return { ...event, merchantId }
    }
    return undefined
  }

  async function newestEvents(merchantId: MerchantId, { status, onCut }: EventFilter) {
    const newest = await events.list(merchantId, { status }, { offset: 0, limit: eventsMax })
    if (newest.total > eventsMax) onCut(merchantId, eventsMax)
    return newest.events
  }

  return {
    findEvent,

    async listEvents(filter: EventFilter): Promise<readonly ListedEvent[]> {
      const { merchant, since, status } = filter
      const found: ListedEvent[] = []
      for (const { merchantId } of await findMerchants(database, merchant)) {
        const listed = since
          ? await eventsSince(merchantId, { sinceMs: since.getTime(), status }, events)
          : await newestEvents(merchantId, filter)
        found.push(...listed.map(event => ({ ...event, merchantId })))
      }
      return found.sort(newestFirst)
    },

    /** False: there is no such event. */
    async replay(id: string): Promise<boolean> {
      const event = await findEvent(id)
      if (!event) return false
      const { merchantId, payId, sequence } = event
      const { commit } = createGroupCommit(database.writers)
      await commit({ replays: [{ merchantId, payId, sequence, dueAt: new Date() }] })
      return true
    },

    /** Replays the events, the oldest first, and returns how many. */
    async replaySince({ merchant, since, status }: ReplayFilter): Promise<number> {
      const { commit } = createGroupCommit(database.writers)
      let count = 0
      for (const { merchantId, clockOffsetMs } of await findMerchants(database, merchant)) {
        const nowMs = Date.now()
        const found = await eventsSince(merchantId, { sinceMs: since(nowMs + clockOffsetMs), status }, events)
        // Due a millisecond apart, so that they are sent in order.
        const replays = found.toReversed().map(({ payId, sequence }, index) => {
          return { merchantId, payId, sequence, dueAt: new Date(nowMs + index) }
        })
        for (let start = 0; start < replays.length; start += replaysMax)
          await commit({ replays: replays.slice(start, start + replaysMax) })
        count += found.length
      }
      return count
    },
  }
}
