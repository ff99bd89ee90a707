/** Tests that need a real connection: malformed requests below the routes, connection limits, draining, TLS. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { type Answer, answer } from '#http/endpoint.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { createToy, settle, shop, type Toy } from '#test/support/toy-http.ts'

const listen = async (own: Toy): Promise<number> => {
  await own.app.listen({ port: 0, host: '127.0.0.1' })
  return (own.app.server.address() as AddressInfo).port
}
/** Sends the first part at once, the rest on demand; reads until the other side closes. */
const talk = async (port: number, start: string) => {
  let heard = ''
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close')
  socket.on('data', data => {
    heard += data
  })
  await once(socket, 'connect')
  socket.write(start)
  return { say: (text: string) => socket.write(text), heard: () => closed.then(() => heard) }
}
const ask = (url: string) => `GET ${url} HTTP/1.1\r\nhost: x\r\nauthorization: ${shop.authorization}\r\n`

test('431 for headers above 16 KiB, 400 for input that is not HTTP', async () => {
  const own = await createToy()
  const port = await listen(own)
  const long = await talk(port, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`)
  expect(await long.heard()).toMatch(/^HTTP\/1\.1 431 .*application\/problem\+json/s)
  const nonsense = await talk(port, 'nonsense\r\n\r\n')
  expect(await nonsense.heard()).toMatch(/^HTTP\/1\.1 400 /)
  await own.app.close()
})

test.each([
  ['Authorization', `authorization: ${shop.authorization}\r\n`],
  ['Host', 'HOST: evil.example\r\n'],
  ['X-API-Key', 'x-api-key: a\r\nX-API-Key: b\r\n'],
  ['Idempotency-Key', 'idempotency-key: a\r\nidempotency-key: b\r\n'],
])('400 for two headers %s, of which a proxy may have taken the other', async (name, more) => {
  const own = await createToy()
  const port = await listen(own)
  const twice = await talk(port, `${ask('/api/v2/toys/1')}${more}connection: close\r\n\r\n`)
  const heard = await twice.heard()
  expect(heard).toMatch(/^HTTP\/1\.1 400 /)
  expect(heard).toContain(`${name} stands more than once`)
  expect(own.credentials.finds).toBe(0)
  await own.app.close()
})

test('400 for a request of HTTP/1.1 that names no host, 200 for one of HTTP/1.0', async () => {
  const own = await createToy()
  const port = await listen(own)
  const unnamed = await (await talk(port, 'GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n')).heard()
  expect(unnamed).toMatch(/^HTTP\/1\.1 400 .*application\/problem\+json.*"Host is missing/s)
  const old = await (await talk(port, 'GET /health/live HTTP/1.0\r\n\r\n')).heard()
  expect(old).toMatch(/^HTTP\/1\.1 200 /)
  await own.app.close()
})

test.each([
  ['HTTP/1.0', 'chunked', 'not part of HTTP'],
  ['HTTP/1.1', 'gzip, chunked', 'send chunked alone'],
])(
  '400 for a body in %s that is %s, and the bytes after it are not answered',
  async (version, coding, text) => {
    const own = await createToy()
    const port = await listen(own)
    const head = `POST /api/v2/payment ${version}\r\nhost: x\r\nconnection: keep-alive\r\ntransfer-encoding: ${coding}\r\n\r\n`
    const heard = await (await talk(port, `${head}0\r\n\r\n${ask('/health/live')}\r\n`)).heard()
    expect(heard.split('HTTP/1.1 ')).toEqual([
      '',
      expect.stringMatching(new RegExp(`^400 .*connection: close.*${text}`, 'is')),
    ])
    await own.app.close()
  },
)

test('431 in answer to HEAD has no body, also when the method came in an earlier packet', async () => {
  const own = await createToy()
  const port = await listen(own)
  const line = `x-long: ${'x'.repeat(20_000)}\r\n\r\n`
  const empty = /^HTTP\/1\.1 431 .*\r\ncontent-length: 0\r\n.*\r\nconnection: close\r\n\r\n$/s
  expect(await (await talk(port, `HEAD / HTTP/1.1\r\nhost: x\r\n${line}`)).heard()).toMatch(empty)
  const connected = once(own.app.server, 'connection')
  const inTwo = await talk(port, 'HEAD / HTTP/1.1\r\nhost: x\r\n')
  const [socket] = (await connected) as [Socket]
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(0)
  inTwo.say(line)
  expect(await inTwo.heard()).toMatch(empty)
  await own.app.close()
})

test('a client that is still sending gets its 431 once', async () => {
  const own = await createToy()
  const port = await listen(own)
  // 8 MiB exceed the buffers of a connection, so most of it arrives after the answer.
  const long = await talk(port, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(8 * 1_048_576)}`)
  expect((await long.heard()).split('HTTP/1.1 ')).toEqual(['', expect.stringMatching(/^431 .*"traceId"/s)])
  await own.app.close()
})

test('garbage after a request in flight closes the connection without an answer', async () => {
  const own = await createToy()
  const port = await listen(own)
  own.handle = () => new Promise(() => {})
  const first = await talk(port, `${ask('/api/v2/toys/1')}\r\n`)
  await expect.poll(() => own.credentials.finds).toBe(1)
  first.say('nonsense\r\n\r\n')
  expect(await first.heard()).toBe('')
  await own.app.close()
})

test('drain: requests in flight finish with Connection: close, new ones are refused, and the server is not ready', async () => {
  const own = await createToy()
  const port = await listen(own)
  let finish: (value: Answer) => void = () => {}
  own.handle = () =>
    new Promise(resolve => {
      finish = resolve
    })
  const late = await talk(port, ask('/api/v2/toys/1'))
  const probe = await talk(port, ask('/health/ready'))
  const first = await talk(port, `${ask('/api/v2/toys/1')}\r\n`)
  await expect.poll(() => own.credentials.finds).toBe(1)
  await settle()
  const drained = own.app.drain({ serveForMs: 0, deadlineMs: 10_000 })
  await settle()
  late.say('\r\n')
  probe.say('\r\n')
  expect(await late.heard()).toMatch(/^HTTP\/1\.1 503 .*\r\nconnection: close\r\n.*\r\nretry-after: 1\r\n/s)
  expect(await probe.heard()).toMatch(/^HTTP\/1\.1 503 .*the gateway is stopping/s)
  finish(answer(200, { done: true }))
  expect(await first.heard()).toMatch(/^HTTP\/1\.1 200 .*connection: close\r\n.*\{"done":true\}$/s)
  await drained
  expect(own.clock.waiting).toBe(0)
})

test('drain: a request that is unfinished at the deadline is cut off', async () => {
  const own = await createToy()
  const port = await listen(own)
  own.handle = () => new Promise(() => {})
  const first = await talk(port, `${ask('/api/v2/toys/1')}\r\n`)
  await expect.poll(() => own.credentials.finds).toBe(1)
  const drained = own.app.drain({ serveForMs: 0, deadlineMs: 10_000 })
  await settle()
  await own.clock.advance(10_000)
  expect(await first.heard()).toBe('')
  await drained
})

test('417 for an Expect other than 100-continue, with our own error body', async () => {
  const own = await createToy()
  const port = await listen(own)
  const asked = await talk(port, `${ask('/api/v2/toys/1')}expect: tea\r\n\r\n`)
  expect(await asked.heard()).toMatch(
    /^HTTP\/1\.1 417 .*application\/problem\+json.*"status":417.*"traceId"/s,
  )
  await own.app.close()
})

const dropped = async (own: Toy): Promise<string> =>
  (await own.metrics.registry.metrics())
    .split('\n')
    .filter(line => line.startsWith('tollgate_connections_dropped'))
    .join()

test('one address can hold only a limited number of connections', async () => {
  const own = await createToy({ limits: { openPerAddress: 3 } })
  const port = await listen(own)
  const sockets = Array.from({ length: 5 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  // Waits for the connections that are cut; which ones is not defined.
  await expect.poll(() => sockets.filter(socket => socket.closed || socket.readableEnded).length).toBe(2)
  expect(await dropped(own)).toContain('{reason="address_open"} 2')
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  other.write(`${ask('/api/v2/toys/1')}connection: close\r\n\r\n`)
  const [answered] = (await once(other, 'data')) as [Buffer]
  expect(answered.toString()).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of sockets) socket.destroy()
  await own.app.close()
})

test('a client that sends many requests without waiting for answers is cut off, and few of them are handled', async () => {
  const own = await createToy({ limits: { pipelinedPerConnection: 3 } })
  const port = await listen(own)
  let finish: (value: Answer) => void = () => {}
  const held = new Promise<Answer>(resolve => {
    finish = resolve
  })
  let handled = 0
  own.handle = () => {
    handled += 1
    return held
  }
  const one = `${ask('/api/v2/toys/1')}\r\n`
  const last = `${ask('/api/v2/toys/1')}connection: close\r\n\r\n`
  const allowed = await talk(port, one.repeat(2) + last)
  await expect.poll(() => handled).toBe(3)
  const greedy = await talk(port, one.repeat(100))
  expect(await greedy.heard()).toBe('')
  expect(await dropped(own)).toContain('{reason="pipelined"} 1')
  expect(handled).toBeLessThanOrEqual(6)
  finish(answer(200, { done: true }))
  expect((await allowed.heard()).match(/HTTP\/1\.1 200 /g)).toHaveLength(3)
  await own.app.close()
})

test('a client that does not read its answer is cut off', async () => {
  const own = await createToy()
  const port = await listen(own)
  expect(own.app.server.timeout).toBe(300_000)
  const unread = connect(port, '127.0.0.1')
  const [held]: Socket[] = await once(own.app.server, 'connection')
  // More than the buffers of both ends hold.
  const large = answer(200, { done: 'x'.repeat(20_000_000) })
  own.handle = async () => {
    held?.setTimeout(50)
    return large
  }
  unread.pause()
  unread.write(`${ask('/api/v2/toys/1')}\r\n`)
  if (held) await once(held, 'close')
  expect(await dropped(own)).toContain('{reason="stalled"} 1')
  unread.destroy()
  await own.app.close()
})

test('a connection whose client has its answers and is idle ends without being counted as stalled', async () => {
  const own = await createToy()
  const port = await listen(own)
  const idle = connect(port, '127.0.0.1')
  const [held]: Socket[] = await once(own.app.server, 'connection')
  idle.write(`${ask('/api/v2/toys/1')}\r\n`)
  await once(idle, 'data')
  await settle()
  held?.setTimeout(1)
  if (held) await once(held, 'close')
  expect(await dropped(own)).not.toContain('stalled')
  idle.destroy()
  await own.app.close()
})

test('Keep-Alive tells clients to close an idle connection long before the server does', async () => {
  const own = await createToy()
  const port = await listen(own)
  const answered = await fetch(`http://127.0.0.1:${port}/api/v2/toys/1`, {
    headers: { authorization: shop.authorization },
  })
  await answered.text()
  expect(answered.headers.get('keep-alive')).toBe('timeout=5')
  const { keepAliveTimeout, keepAliveTimeoutBuffer = 0 } = own.app.server
  expect(keepAliveTimeout + keepAliveTimeoutBuffer).toBe(10_000)
  await own.app.close()
})

test('above the limit of an address its oldest idle connections are closed, after the idle time all of them', async () => {
  const own = await createToy({ limits: { idlePerAddress: 2 } })
  const port = await listen(own)
  const open: Socket[] = []
  for (let count = 0; count < 4; count++) {
    const connected = once(own.app.server, 'connection')
    open.push(connect(port, '127.0.0.1').on('error', () => {}))
    await connected
  }
  const left = () => open.map(socket => !(socket.closed || socket.readableEnded))
  for (const socket of open) socket.resume()
  await own.clock.advance(500)
  expect(left()).toEqual([true, true, true, true])
  await own.clock.advance(500)
  await expect.poll(left).toEqual([false, false, true, true])
  await own.clock.advance(10_500)
  await expect.poll(left).toEqual([false, false, false, false])
  expect(await dropped(own)).toMatch(/address_idle"} 2.*idle_time"} 2/)
  expect(own.clock.waiting).toBe(0)
  await own.app.close()
})

test('a connection with a request is not idle, and one of a trusted proxy does not count towards an address', async () => {
  for (const trustedProxies of [undefined, ['127.0.0.0/8']]) {
    const own = await createToy({
      limits: { idlePerAddress: 0, openPerAddress: trustedProxies ? 0 : 1 },
      trustedProxies,
    })
    const port = await listen(own)
    let finish: (value: Answer) => void = () => {}
    own.handle = () =>
      new Promise(resolve => {
        finish = resolve
      })
    const first = await talk(port, `${ask('/api/v2/toys/1')}connection: close\r\n\r\n`)
    await expect.poll(() => own.credentials.finds).toBe(1)
    await settle()
    await own.clock.advance(20_000)
    finish(answer(200, { done: true }))
    expect(await first.heard()).toMatch(/^HTTP\/1\.1 200 /)
    await own.app.close()
  }
})

test('a renewed certificate is loaded while the server runs, one without its key is not', async () => {
  const [first, second, foreign] = [makeCertificate(), makeCertificate(), makeCertificate()]
  let onDisk = first
  const own = await createToy({ tls: { ...first, readAgain: () => onDisk } })
  const port = await listen(own)
  const shows = async ({ cert }: { cert: string }): Promise<boolean> => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: cert, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    socket.destroy()
    return socket.authorized
  }
  const aMinuteLater = () => own.clock.advance(60_000)
  expect(await shows(first)).toBe(true)
  onDisk = second
  await aMinuteLater()
  expect([await shows(first), await shows(second)]).toEqual([false, true])
  onDisk = { ...second, cert: foreign.cert }
  await aMinuteLater()
  expect(await shows(second)).toBe(true)
  expect(own.lines.join('')).not.toContain('CERTIFICATE_NOT_RENEWED')
  await aMinuteLater()
  expect(own.lines.join('')).toContain('CERTIFICATE_NOT_RENEWED')
  onDisk = foreign
  await aMinuteLater()
  expect([await shows(second), await shows(foreign)]).toEqual([false, true])
  await own.app.close()
})

test('a certificate that is about to end is named in the log, the readiness and the metrics, until it is renewed', async () => {
  const hour = 60 * 60_000
  const own = await createToy()
  expect((await own.app.inject('/metrics')).body).not.toMatch(/^tollgate_certificate_end/m)
  const endsAfter = (hours: number) => makeCertificate(new Date(own.clock.nowMs() + hours * hour))
  await own.app.close()
  let onDisk = endsAfter(14 * 24 + 1)
  const { app, clock, lines } = await createToy({ tls: { ...onDisk, readAgain: () => onDisk } })
  const said = (): readonly string[] =>
    lines.flatMap(line => line.match(/"level":"(?:warn|error)".*certificate (?:ends|has ended)/) ?? [])
  const levels = () => said().map(line => line.slice(9, 14))
  await clock.advance(59 * 60_000)
  expect(levels()).toEqual([])
  await clock.advance(2 * 60_000)
  expect(levels()).toEqual(['warn"'])
  await clock.advance(25 * hour)
  expect(levels()).toEqual(['warn"', 'warn"'])
  const { details } = (await app.inject('/health/ready')).json()
  expect(details.certificateEndsAt).toMatch(/^\d{4}-\d\d-\d\dT/)
  const shown = `tollgate_certificate_end_timestamp_seconds ${Date.parse(details.certificateEndsAt) / 1000}`
  expect((await app.inject('/metrics')).body).toContain(shown)
  onDisk = endsAfter(100 * 24)
  await clock.advance(30 * hour)
  expect(levels()).toEqual(['warn"', 'warn"'])
  await app.close()
})

test('a certificate that has ended is an error in the log at the start and every hour', async () => {
  const first = await createToy()
  const ended = makeCertificate(new Date(first.clock.nowMs() - 1_000))
  await first.app.close()
  const own = await createToy({ tls: ended })
  const count = () => own.lines.join('').split('"code":"CERTIFICATE_ENDED"').length - 1
  expect(count()).toBe(1)
  await own.clock.advance(61 * 60_000)
  expect(count()).toBe(2)
  await own.app.close()
})

test('TLS 1.2 without CBC ciphers, TLS 1.3 with its defaults', async () => {
  const own = await createToy({ tls: makeCertificate() })
  const port = await listen(own)
  const shake = async (options: object): Promise<string> => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    try {
      await once(socket, 'secureConnect')
      return `${socket.getProtocol()} ${socket.getCipher().name}`
    } catch (error) {
      return (error as { code: string }).code
    } finally {
      socket.destroy()
    }
  }
  const old = { maxVersion: 'TLSv1.2' }
  expect(await shake({ ...old, ciphers: 'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384' })).toMatch(
    /HANDSHAKE_FAILURE|ECONNRESET/,
  )
  expect(await shake({ ...old, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).toBe(
    'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256',
  )
  expect(await shake({})).toMatch(/^TLSv1\.3 /)
  await own.app.close()
})
