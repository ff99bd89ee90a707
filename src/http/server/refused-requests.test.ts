import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createToy, goodBody, shop, type Toy } from '#test/support/toy-http.ts'

let toy: Toy
beforeAll(async () => {
  toy = await createToy()
})
afterAll(() => toy.app.close())

describe('415 names the header, its value and what the endpoint takes', () => {
  test.each<[name: string, headers: Record<string, string>, detail: string]>([
    [
      'another type',
      { 'content-type': 'text/plain' },
      'Content-Type is "text/plain"; send application/json.',
    ],
    ['no type', { 'content-type': '' }, 'Content-Type is missing; send application/json.'],
    [
      'another charset',
      { 'content-type': 'Application/JSON; charset=latin1' },
      'Content-Type is "Application/JSON; charset=latin1"; send application/json in UTF-8.',
    ],
    [
      'an encoding',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      'Content-Encoding is "gzip"; send the body without encoding.',
    ],
    [
      'a card number',
      { 'content-type': 'text/4111111111111111' },
      'Content-Type is "text/411111******1111"; send application/json.',
    ],
  ])('%s', async (_, headers, detail) => {
    const response = await toy.app.inject({
      ...{ method: 'POST', url: '/api/v2/payment', payload: JSON.stringify(goodBody) },
      headers: { ...shop, ...headers },
    })
    expect([response.statusCode, response.json().detail]).toEqual([415, detail])
  })

  test('the encoding identity in any case is none', async () => {
    const response = await toy.app.inject({
      ...{ method: 'POST', url: '/api/v2/payment', payload: JSON.stringify(goodBody) },
      headers: { ...shop, 'content-type': 'application/json', 'content-encoding': 'Identity' },
    })
    expect(response.statusCode).toBe(200)
  })

  test('JSON at the token endpoint', async () => {
    const response = await toy.app.inject({ method: 'POST', url: '/api/v2/token', payload: {} })
    expect([response.statusCode, response.json().error_description]).toEqual([
      415,
      'Content-Type is "application/json"; send application/x-www-form-urlencoded.',
    ])
  })
})

describe('404 for an address that does not exist names it, without its query', () => {
  test.each([
    ['/payments?email=a@shop.example', '"/payments"'],
    ['/api/v2/toys/1/', '"/api/v2/toys/1/"'],
    ['/api/v2/cards/4111111111111111', '"/api/v2/cards/411111******1111"'],
  ])('%s', async (url, shown) => {
    const response = await toy.app.inject({ url, headers: shop })
    expect([response.statusCode, response.json().detail]).toEqual([
      404,
      `Nothing has the address ${shown}; addresses of the API begin with /api/v2/, and /docs lists them.`,
    ])
  })
})

/** A proxy that hides /metrics compares the address as it was sent. */
test.each([
  ['/metrics', 200],
  ['http://pay.example/metrics?x=1', 200],
  ['/%6detrics', 404],
  ['/metric%73', 404],
  ['/metrics#x', 404],
  ['/health/%6cive', 404],
])('an address of the origin has one spelling: %s', async (path, status) => {
  if (!toy.app.server.listening) await toy.app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((toy.app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('400 for a path with a part that is too long says how long it may be', async () => {
  const response = await toy.app.inject({ url: `/api/v2/toys/${'a'.repeat(1_025)}`, headers: shop })
  expect(response.json().errors).toEqual({
    path: ['A part of the path is too long; allowed are 1024 characters.'],
  })
})

describe('answers to what is no readable request say what is wrong', () => {
  test.each<[name: string, sent: string, status: number, detail: string]>([
    [
      'long headers',
      `GET / HTTP/1.1\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'may have 16 KiB together.',
    ],
    ['a letter with an accent', 'GET /api/v2/toys/é HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'Invalid char'],
    ['a line break in a header', 'GET / HTTP/1.1\r\nhost: x\r\nx-a: b\nc\r\n\r\n', 400, 'header value'],
    ['no HTTP', 'nonsense\r\n\r\n', 400, 'This is no readable HTTP/1.1: '],
  ])('%s', async (_, sent, status, detail) => {
    if (!toy.app.server.listening) await toy.app.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect((toy.app.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(sent)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(JSON.parse(body).detail).toContain(detail)
  })

  test('a request that does not arrive in time', async () => {
    const own = await createToy({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 200 } })
    await own.app.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect((own.app.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `POST /api/v2/payment HTTP/1.1\r\nhost: x\r\nauthorization: ${shop.authorization}\r\n` +
        'content-type: application/json\r\ncontent-length: 10\r\n\r\n{',
    )
    const heard = await text(socket)
    expect(heard).toContain('The headers must arrive within 0.1 s and the body within 0.2 s.')
    await own.app.close()
  })
})
