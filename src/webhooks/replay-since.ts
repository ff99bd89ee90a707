/** Sends events again that a merchant's receiver missed: all events since a time, the oldest first. */

import type { GatewayClient } from '#webhooks/gateway-client.ts'
import type { EventPage, ShownEvent } from '#webhooks/listen.ts'

export interface ReplayRequest {
  /** The merchant's time in milliseconds. */
  readonly sinceMs: number
  readonly status?: string
}

/** 100: a line now and then shows progress. */
const progressEvery = 100

/** Returns how many were sent again. */
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

/** All are found before the first is sent: a replay may change the list that is being read. */
async function findSince(
  sinceMs: number,
  status: string | undefined,
  client: GatewayClient,
): Promise<readonly ShownEvent[]> {
  // By id: while pages are read, new events push those of one page on to the next.
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
