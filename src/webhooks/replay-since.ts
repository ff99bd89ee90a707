/** Replays events that a merchant's receiver missed: all events since a time, the oldest first. */

import type { GatewayClient } from '#webhooks/gateway-client.ts'
import type { EventPage, ShownEvent } from '#webhooks/listen.ts'

export interface ReplayRequest {
  /** The merchant's time in milliseconds. */
  readonly sinceMs: number
  readonly status?: string
}

/** One line of progress per 100 events. */
const progressEvery = 100

/** Returns the number of events replayed. */
export async function replaySince(
  { sinceMs, status }: ReplayRequest,
  { client, say }: { client: GatewayClient; say: (line: string) => void },
): Promise<number> {
  const found = await findSince(sinceMs, status, client)
  say(`${found.length} events since ${new Date(sinceMs).toISOString()}`)
  for (const [index, { id }] of found.entries()) {
    await client.post(`/events/${id}/replays`)
    if ((index + 1) % progressEvery === 0) say(`${index + 1} of ${found.length} sent again …`)
  }
  return found.length
}

/** Finds all events before the first is replayed, because a replay may change the list that is being read. */
async function findSince(
  sinceMs: number,
  status: string | undefined,
  client: GatewayClient,
): Promise<readonly ShownEvent[]> {
  // By id, because new events that are written while we read push events from one page to the next.
  const found = new Map<string, ShownEvent>()
  const filter = status === undefined ? '' : `&status=${status}`
  for (let page = 1; ; page += 1) {
    const { data, totalNumberOfPages } = await client.get<EventPage>(`/events?page=${page}${filter}`)
    const young = data.filter(({ creationDate }) => Date.parse(creationDate) >= sinceMs)
    for (const event of young) found.set(event.id, event)
    // Within a page the dates may be slightly out of order; a page without a match is the end.
    if (young.length === 0 || page >= totalNumberOfPages) return [...found.values()].reverse()
  }
}
