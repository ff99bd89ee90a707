/** One attempt against receivers that fail in every possible way: each ends in time with the reason. */
import { once } from 'node:events'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { makeCertificate } from '#test/support/certificate.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createSender, type Limits } from '#webhooks/send.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

function makeSender(limits: Partial<Limits> = {}) {
  const sender = createSender({ policy: addressPolicies.test, limits })
  open.push(() => sender.close())
  return (url: string) => sender.send({ url, headers: { 'webhook-id': 'x' }, body: '{}' })
}

/** A raw TCP server. */
async function startRaw(serve: (socket: Socket) => void): Promise<{ url: string; closed: Promise<unknown> }> {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.once('data', () => serve(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, closed }
}

/** 30 ms instead of 15 s, for receivers that never answer. */
const short = { attemptMs: 30 }

test('a receiver that never answers times out, and its connection is closed', async () => {
  const { url, closed } = await startRaw(() => undefined)
  expect(await makeSender(short)(url)).toMatchObject({ status: undefined, answer: 'no answer within 0.03 s' })
  await closed
})

test('a receiver that sends its headers byte by byte times out', async () => {
  const { url, closed } = await startRaw(socket => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x-drip: 1\r\n'), 5)
    socket.on('close', () => clearInterval(timer))
  })
  expect(await makeSender(short)(url)).toMatchObject({ status: undefined, answer: 'no answer within 0.03 s' })
  await closed
})

test('a receiver that sends its body byte by byte counts as answered', async () => {
  const { url, closed } = await startRaw(socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nthank you')
    const timer = setInterval(() => socket.write('.'), 5)
    socket.on('close', () => clearInterval(timer))
  })
  const { status, answer } = await makeSender({ bodyMs: 30 })(url)
  expect([status, answer.slice(0, 9)]).toEqual([200, 'thank you'])
  await closed
})

test('a receiver whose body never ends is cut off at 64 KiB', async () => {
  let written = 0
  const { url, closed } = await startRaw(socket => {
    socket.write('HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n')
    const pour = () => {
      while (!socket.destroyed && socket.write(`1000\r\n${'y'.repeat(4096)}\r\n`)) written += 4096
      socket.once('drain', pour)
    }
    pour()
  })
  const { status, answer } = await makeSender({ bodyMs: 60_000 })(url)
  expect([status, answer]).toEqual([500, 'y'.repeat(1000)])
  await closed
  // The buffers of the operating system come on top.
  expect(written).toBeLessThan(20 * 1024 * 1024)
})

test.each([
  ['closes at once', '', /^no answer: /],
  ['speaks another language', 'SSH-2.0-OpenSSH_9.9\r\n', /^no answer: /],
  ['sends headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`, /^no answer: /],
  [
    'switches protocols',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    /^no answer/,
  ],
])('a receiver that %s has not answered', async (_, bytes, expected) => {
  const { url } = await startRaw(socket => socket.end(bytes))
  const { status, answer } = await makeSender()(url)
  expect(status).toBeUndefined()
  expect(answer).toMatch(expected)
})

test('early hints (103) are not the answer', async () => {
  const { url } = await startRaw(socket =>
    socket.end('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 202 OK\r\ncontent-length: 2\r\n\r\nok'),
  )
  expect(await makeSender()(url)).toMatchObject({ status: 202, answer: 'ok' })
})

test('a certificate without a trusted issuer is refused', async () => {
  let requests = 0
  const server = createSecureServer(makeCertificate(), (_, response) => {
    requests += 1
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(() => server.close())
  const { status, answer } = await makeSender()(
    `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  )
  expect([status, requests]).toEqual([undefined, 0])
  expect(answer).toMatch(/^no answer: .*certificate/)
})

test('a receiver that does not speak TLS is named as such, without the insides of our library', async () => {
  const { url } = await startRaw(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const { status, answer } = await makeSender()(url.replace('http:', 'https:'))
  expect([status, answer]).toEqual([undefined, 'no answer: TLS: wrong version number'])
})

test('path, query, headers and body arrive unchanged', async () => {
  const receiver = await startReceiver()
  open.push(() => receiver.close())
  const sender = createSender({ policy: addressPolicies.test })
  open.push(() => sender.close())
  await sender.send({
    url: `${receiver.url}/a/b?c=d&e=%20f#fragment`,
    headers: { 'webhook-id': 'x', 'content-type': 'application/json' },
    body: '{"ü":1}',
  })
  expect(receiver.heard).toMatchObject([
    { path: '/a/b?c=d&e=%20f', raw: '{"ü":1}', headers: { 'webhook-id': 'x', 'content-length': '8' } },
  ])
})
