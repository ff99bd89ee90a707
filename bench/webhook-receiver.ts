/**
 * A receiver of webhooks that is as fast as Node can be, a process of its own: it finds where each request ends, notes its
 * id and the time, and answers 204. It parses nothing else.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { answerJobs } from '#bench/peer.ts'

/** `arrivals`: what came since it was last asked, by webhook-id, in milliseconds since 1970. */
export type ReceiverJob = 'open' | 'arrivals'

export interface ReceiverResult {
  readonly port: number
  readonly arrivals: Readonly<Record<string, number>>
  readonly count: number
}

const answer = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')
let arrivals: Record<string, number> = {}
let count = 0

function serve(socket: Socket): void {
  let rest = ''
  socket.on('error', () => socket.destroy())
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    rest += chunk
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = rest.slice(0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (rest.length < end + 4 + length) return
      rest = rest.slice(end + 4 + length)
      const id = /webhook-id: (\w+)/i.exec(head)?.[1] ?? ''
      arrivals[id] ??= performance.timeOrigin + performance.now()
      count += 1
      socket.write(answer)
    }
  })
}

const server = createServer({ noDelay: true }, serve)

answerJobs<ReceiverJob, ReceiverResult>(async job => {
  if (job === 'open') {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const result = { port: (server.address() as AddressInfo).port, arrivals, count }
  arrivals = {}
  count = 0
  return result
})
