/**
 * Forwards a merchant's events to an address of the developer's own, such as one on localhost: polls for new ones,
 * signs them as the gateway does, and reports what the receiver answered, or why nothing arrives.
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
  /** Ends after that many; never unless given. */
  readonly count?: number
}

export interface ListenDeps {
  readonly client: GatewayClient
  readonly sender: Sender
  readonly say: (line: string) => void
  readonly nowMs: () => number
  /** Resolves after that long, or at once when it is time to stop. */
  readonly pause: (milliseconds: number) => Promise<void>
  readonly isEnding: () => boolean
}

/** 500 ms: soon enough for a person, and two requests a second stay below every limit. */
const pollMs = 500

/** 15 s without an event: by then a developer wonders. Then a message every minute. */
const wonderMs = 15_000
const signOfLifeMs = 60_000

/** The same for the same API key, so that a developer's settings survive a restart of the command. */
export const deriveSecret = (apiKey: string): Buffer =>
  createHash('sha256').update(`tollgate listen ${apiKey}`).digest()

/** Returns how many events were forwarded. */
export async function listenForEvents(listening: Listening, deps: ListenDeps): Promise<number> {
  const { client, say, nowMs, pause, isEnding } = deps
  const seen = new Set((await readPage(client, 1)).data.map(({ id }) => id))
  let forwarded = 0
  let lastSign = nowMs()
  let wondered = false
  const find = overOutages(() => findNew(client, seen), say)
  while (!isEnding()) {
    for (const event of await find()) {
      seen.add(event.id)
      await forward(event, listening, deps)
      forwarded += 1
      lastSign = nowMs()
      if (forwarded === listening.count) return forwarded
    }
    const silentMs = nowMs() - lastSign
    if (forwarded === 0 && !wondered && silentMs >= wonderMs) {
      wondered = true
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

/** A gateway that is restarted answers again soon; what it writes meanwhile is found then. */
function overOutages(
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
      // Also an answer that was cut off in its middle.
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

/** The oldest first. Goes back page by page until it finds a known event. */
async function findNew(client: GatewayClient, seen: ReadonlySet<string>): Promise<readonly ShownEvent[]> {
  // By id: while pages are read, new events push those of one page on to the next.
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
