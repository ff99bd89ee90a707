/** A merchant's endpoint for webhooks: it records messages and answers as the test wants. */

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { AnyJson } from '#test/support/any-json.ts'

export interface Heard {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The raw bytes, as text. */
  readonly raw: string
  readonly body: AnyJson
}

/** Answers by itself when it returns a status, else by hand. */
export type Behave = (heard: Heard, response: ServerResponse) => number | undefined

export interface Receiver {
  readonly url: string
  readonly heard: Heard[]
  behave(behaviour: Behave): void
  /** Resolves when this many messages have arrived in all. */
  reached(count: number): Promise<void>
  close(): Promise<void>
}

export async function startReceiver(behaviour: Behave = () => 204): Promise<Receiver> {
  const heard: Heard[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let behave = behaviour
  const server = createServer((request, response) => {
    void text(request).then(
      raw => {
        const one = { path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw) }
        heard.push(one)
        const status = behave(one, response)
        if (status !== undefined) response.writeHead(status).end()
        for (const { count, resolve } of waiting) if (heard.length >= count) resolve()
      },
      // A message that was cut off in the middle does not count.
      () => undefined,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    behave(next) {
      behave = next
    },
    reached(count) {
      if (heard.length >= count) return Promise.resolve()
      return new Promise(resolve => waiting.push({ count, resolve }))
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
