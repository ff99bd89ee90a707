import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createGatewayClient } from '#webhooks/gateway-client.ts'
import { listenForEvents, type ShownEvent } from '#webhooks/listen.ts'

const eventOf = (number: number): ShownEvent => ({
  id: `event-${number}`,
  payId: `payment-${number}`,
  sequence: 1,
  status: 'PENDING',
  creationDate: '2026-11-15T12:00:00.000Z',
  body: { status: 'OK', responseCode: '00000000', transId: `order-${number}` },
  attempts: [],
})

test('forwards each event once, also if new events push it to the next page while we read', async () => {
  const written: ShownEvent[] = []
  let isBusy = false
  /** Two events per page, the newest first. Each read of a page writes another event. */
  const server = createServer(({ url = '' }, response) => {
    const page = Number(new URL(url, 'http://localhost').searchParams.get('page'))
    const data = written.toReversed().slice((page - 1) * 2, page * 2)
    response.end(JSON.stringify({ data, totalNumberOfPages: Math.ceil(written.length / 2) }))
    if (isBusy && written.length < 12) written.push(eventOf(written.length))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sent: string[] = []
  await listenForEvents(
    { forwardTo: 'http://localhost:3000/webhooks', secret: Buffer.alloc(24) },
    {
      client: createGatewayClient({ baseUrl, merchantId: 'mer_1', apiKey: 'key' }),
      sender: {
        send: async ({ headers }) => {
          sent.push(headers['webhook-id'] ?? '')
          return { status: 200, answer: '', durationMs: 1, retryAfter: undefined }
        },
        close: async () => undefined,
      },
      say: () => undefined,
      nowMs: () => 0,
      async pause() {
        if (!isBusy) for (let number = 0; number < 6; number += 1) written.push(eventOf(number))
        isBusy = true
      },
      isEnding: () => sent.length >= 12,
    },
  )
  server.close()
  server.closeAllConnections()
  expect(sent).toEqual(Array.from({ length: 12 }, (_, number) => `event-${number}`))
})

test('continues after an outage of the gateway, which it reports once', async () => {
  let polls = 0
  const answers = [
    { status: 200, data: [] },
    { status: 503, data: [] },
    { status: 503, data: [] },
    // A connection that breaks off, as when the process is killed.
    undefined,
    { status: 200, data: [eventOf(1)] },
  ]
  const server = createServer((request, response) => {
    const answer = answers[polls]
    polls += 1
    if (!answer) return request.socket.destroy()
    response.statusCode = answer.status
    response.end(JSON.stringify({ data: answer.data, totalNumberOfPages: 1 }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const said: string[] = []
  const forwarded = await listenForEvents(
    { forwardTo: 'http://localhost:3000/webhooks', secret: Buffer.alloc(24), count: 1 },
    {
      client: createGatewayClient({ baseUrl, merchantId: 'mer_1', apiKey: 'key' }),
      sender: {
        send: async () => ({ status: 200, answer: '', durationMs: 1, retryAfter: undefined }),
        close: async () => undefined,
      },
      say: line => said.push(line),
      nowMs: () => 0,
      pause: async () => undefined,
      isEnding: () => polls > answers.length,
    },
  )
  server.close()
  server.closeAllConnections()
  expect(forwarded).toBe(1)
  expect(said.slice(0, 2)).toEqual([expect.stringContaining('was answered 503'), 'the gateway answers again'])
})
