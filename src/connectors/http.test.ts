import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { createServer as createSocketServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createProviderHttp, isHost } from '#connectors/http.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function listen(
  handle: RequestListener,
): Promise<{ server: Server; url: string; connections: () => number }> {
  const server = createServer(handle)
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(resolve))
    },
  })
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
  }
}

function connect(hosts?: readonly string[], lookup?: LookupFunction) {
  const pool = createProviderHttp(lookup ? { lookup } : {})
  open.push(pool)
  const { exchange } = pool.forHosts(hosts)
  return (url: string, body?: string, signal = new AbortController().signal) =>
    exchange({ verb: body === undefined ? 'GET' : 'POST', url, headers: { 'x-sent': 'yes' }, body }, signal)
}

test('the answer has status, headers and text, and the connection is reused', async () => {
  const { url, connections } = await listen((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      response.writeHead(402, { 'X-Echo': String(request.headers['x-sent']) })
      response.end(`${request.method} ${request.url} ${body}`)
    })
  })
  const call = connect()
  for (const number of [1, 2, 3, 4, 5, 6])
    expect(await call(`${url}/v1/pay?n=${number}`, 'amount=1')).toMatchObject({
      kind: 'answered',
      status: 402,
      headers: { 'x-echo': 'yes' },
      body: `POST /v1/pay?n=${number} amount=1`,
    })
  // A connection is free again one turn of the event loop after its answer, so a second one may have been opened.
  expect(connections()).toBeLessThanOrEqual(2)
})

test('a redirect is an answer and is not followed', async () => {
  let asked = 0
  const { url } = await listen((_, response) => {
    asked += 1
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  expect(await connect()(url, 'x')).toMatchObject({ kind: 'answered', status: 302 })
  expect(asked).toBe(1)
})

describe('the outcome is “unreached”, because nothing was sent', () => {
  test('the connection is refused', async () => {
    const server = createSocketServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise(resolve => server.close(resolve))
    expect(await connect()(`http://127.0.0.1:${port}/`, 'x')).toEqual({
      kind: 'unreached',
      reason: 'ECONNREFUSED',
    })
  })

  test('the host name does not resolve', async () => {
    const lookup: LookupFunction = (_, __, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '')
    expect(await connect(undefined, lookup)('http://provider.example/', 'x')).toEqual({
      kind: 'unreached',
      reason: 'ENOTFOUND',
    })
  })

  test('the other side does not speak TLS', async () => {
    const { url } = await listen((_, response) => response.end())
    expect(await connect()(url.replace('http', 'https'), 'x')).toMatchObject({ kind: 'unreached' })
  })

  test('the call was aborted before it began', async () => {
    let asked = 0
    const { url } = await listen((_, response) => {
      asked += 1
      response.end()
    })
    expect(await connect()(url, 'x', AbortSignal.abort())).toMatchObject({ kind: 'unreached' })
    expect(asked).toBe(0)
  })

  test('the host is not one of the provider', async () => {
    const call = connect(['api.stripe.com'])
    for (const url of [
      'https://api.stripe.com.evil.example/',
      'http://api.stripe.com/',
      'https://api.stripe.com:8443/',
      'https://127.0.0.1/',
      'https://user:word@api.stripe.com/',
      'file:///etc/passwd',
      'nonsense',
    ])
      expect(await call(url, 'x')).toMatchObject({ kind: 'unreached' })
  })
})

describe('the outcome is “lost”, because the request may have arrived', () => {
  test('the connection ends without an answer', async () => {
    const { url } = await listen(request => request.socket.destroy())
    expect(await connect()(url, 'x')).toMatchObject({ kind: 'lost' })
  })

  test('the answer is cut off in the middle', async () => {
    const { url } = await listen((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.socket?.destroy())
    })
    expect(await connect()(url, 'x')).toMatchObject({ kind: 'lost' })
  })

  test('the answer is longer than a mebibyte', async () => {
    const { url } = await listen((_, response) => response.end('x'.repeat(1_048_577)))
    expect(await connect()(url, 'x')).toMatchObject({
      kind: 'lost',
      reason: expect.stringContaining('1048576'),
    })
  })

  test('the call times out without an answer', async () => {
    const controller = new AbortController()
    const { url } = await listen(() => controller.abort())
    expect(await connect()(url, 'x', controller.signal)).toMatchObject({ kind: 'lost' })
  })
})

test('a star in the list of hosts stands for one label of the name', () => {
  expect(isHost('a.live.example', '*.live.example')).toBe(true)
  expect(isHost('a.b.live.example', '*.live.example')).toBe(false)
  expect(isHost('live.example', '*.live.example')).toBe(false)
  expect(isHost('.live.example', '*.live.example')).toBe(false)
  expect(isHost('evil-live.example', '*.live.example')).toBe(false)
})
