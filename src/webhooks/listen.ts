/**
 * Forwards a merchant's events to the developer's own address, such as one on localhost: polls for new events, signs
 * them like the gateway, and reports the receiver's answers, or why no events arrive.
 */
import { createHash } from 'node:crypto'
import { ClientFault, type GatewayClient } from '#webhooks/gateway-client.ts'
import { isTaken } from '#webhooks/schedule.ts'
import type { Sender, Sent } from '#webhooks/send.ts'
import { buildMessage } from '#webhooks/sign.ts'

/** The members of an event of the API that are needed here. */
export interface ShownEvent {
  readonly id: string
  readonly payId: string
  readonly sequence: number
  readonly status: string
  readonly url?: string
  readonly creationDate: string
  readonly body: {
    readonly type?: string
    readonly status: string
    readonly responseCode: string
    readonly transId: string
  }
  readonly attempts: readonly { readonly status?: number; readonly answer: string }[]
}

export interface EventPage {
  readonly totalNumberOfPages: number
  readonly data: readonly ShownEvent[]
}

export interface Listening {
  readonly forwardTo: string
  readonly secret: Uint8Array
  /** Ends after this many events; never unless given. */
  readonly count?: number
}

export interface ListenDeps {
  readonly client: GatewayClient
  readonly sender: Sender
  readonly say: (line: string) => void
  readonly nowMs: () => number
  /** Resolves after that time, or at once when the command is to end. */
  readonly pause: (milliseconds: number) => Promise<void>
  readonly isEnding: () => boolean
}

/** 500 ms: two requests a second stay below every rate limit. */
const pollMs = 500

/** After 15 s without an event the command explains why; then it prints a line every minute. */
const explainAfterMs = 15_000
const signOfLifeMs = 60_000

/** Derived from the API key, so that the secret in a developer's settings stays valid when the command is restarted. */
export const deriveSecret = (apiKey: string): Buffer =>
  createHash('sha256').update(`tollgate listen ${apiKey}`).digest()

/** Returns the number of events forwarded. */
export async function listenForEvents(listening: Listening, deps: ListenDeps): Promise<number> {
  const { client, say, nowMs, pause, isEnding } = deps
  const seen = new Set((await readPage(client, 1)).data.map(({ id }) => id))
  let forwarded = 0
  let lastSign = nowMs()
  let explained = false
  const find = survivingOutages(() => findNew(client, seen), say)
  while (!isEnding()) {
    for (const event of await find()) {
      seen.add(event.id)
      await forward(event, listening, deps)
      forwarded += 1
      lastSign = nowMs()
      if (forwarded === listening.count) return forwarded
    }
    const silentMs = nowMs() - lastSign
    if (forwarded === 0 && !explained && silentMs >= explainAfterMs) {
      explained = true
      lastSign = nowMs()
      for (const line of whyNothing) say(line)
    } else if (silentMs >= signOfLifeMs) {
      lastSign = nowMs()
      say(`still listening; ${forwarded} forwarded so far`)
    }
    await pause(pollMs)
  }
  return forwarded
}

/**
 * Survives a restart of the gateway: events that were written in the meantime are found by the next successful poll.
 */
function survivingOutages(
  find: () => Promise<readonly ShownEvent[]>,
  say: (line: string) => void,
): () => Promise<readonly ShownEvent[]> {
  let isAway = false
  return async () => {
    try {
      const found = await find()
      if (isAway) say('the gateway answers again')
      isAway = false
      return found
    } catch (error) {
      if (error instanceof ClientFault && error.status !== undefined && error.status < 500) throw error
      // Includes an answer that broke off.
      if (!isAway) say(`${error instanceof Error ? error.message : error}; trying again`)
      isAway = true
      return []
    }
  }
}

const whyNothing = [
  'Nothing so far. The gateway answers and knows the credentials, so either there was no event or it is another merchant’s.',
  'An event is written when a result comes later than the answer to the request: an unknown outcome that is settled, a',
  'delayed capture, an authorisation that lapses, a customer who does not come back. What a request has been answered at',
  'once needs no event. "tollgate trigger payment.captured" makes one.',
]

const readPage = (client: GatewayClient, page: number): Promise<EventPage> =>
  client.get(`/events?page=${page}`)

/** Returns new events, the oldest first. Reads page after page until one holds a known event. */
async function findNew(client: GatewayClient, seen: ReadonlySet<string>): Promise<readonly ShownEvent[]> {
  // By id, because new events that are written while we read push events from one page to the next.
  const found = new Map<string, ShownEvent>()
  for (let page = 1; ; page += 1) {
    const { data, totalNumberOfPages } = await readPage(client, page)
    const fresh = data.filter(({ id }) => !seen.has(id))
    for (const event of fresh) found.set(event.id, event)
    if (fresh.length < data.length || page >= totalNumberOfPages) return [...found.values()].reverse()
  }
}

async function forward(event: ShownEvent, { forwardTo, secret }: Listening, deps: ListenDeps): Promise<void> {
  const { sender, say, nowMs } = deps
  const { id: eventId, payId, body } = event
  const { type = '', status, responseCode, transId } = body
  say(
    `${event.creationDate}  ${type} ${status} ${responseCode}  transId ${transId}  payId ${payId}  sequence ${event.sequence}`,
  )
  const forwarded = { eventId, payId, body: JSON.stringify(body), kind: 'ENHANCED' as const, url: forwardTo }
  say(
    `  ${describeSent(await sender.send(buildMessage(forwarded, { secrets: [secret], nowMs: nowMs() })), forwardTo)}`,
  )
}

function describeSent({ status, answer, durationMs }: Sent, forwardTo: string): string {
  const first = answer.replace(/\s+/g, ' ').slice(0, 200)
  if (status === undefined) return `not delivered: ${first}; does your shop listen at ${forwardTo}?`
  const verdict = isTaken(status) ? 'taken' : 'not taken (only 2xx counts)'
  return `${status} ${verdict} in ${durationMs} ms${first === '' ? '' : `: ${first}`}`
}
