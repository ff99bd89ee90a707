import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, answer } from '#http/endpoint.ts'
import { InvalidField, NotFound } from '#http/server/ports.ts'
import {
  createToy,
  DatabaseAway,
  goodBody,
  settle,
  shop,
  type Toy,
  toyDialects,
} from '#test/support/toy-http.ts'

let toy: Toy
let firstHandle: Toy['handle']
beforeAll(async () => {
  toy = await createToy()
  firstHandle = toy.handle
})
beforeEach(() => {
  toy.handle = firstHandle
  toy.keyStore.rows.clear()
  toy.lines.length = 0
})
afterAll(() => toy.app.close())

const post = (path: string, payload: unknown, headers: Record<string, string> = {}) =>
  toy.app.inject({
    method: 'POST',
    url: `/api/v2${path}`,
    payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
    headers: { 'content-type': 'application/json', ...shop, ...headers },
  })
const get = (url: string, headers: Record<string, string> = {}) =>
  toy.app.inject({ method: 'GET', url, headers })

describe('request bodies', () => {
  test.each<
    [name: string, payload: string | Buffer, headers: Record<string, string>, status: number, field?: string]
  >([
    ['good', JSON.stringify(goodBody), {}, 200],
    ['charset', JSON.stringify(goodBody), { 'content-type': 'application/json; charset=UTF-8' }, 200],
    [
      'another charset',
      JSON.stringify(goodBody),
      { 'content-type': 'application/json; charset=latin1' },
      415,
    ],
    ['another type', JSON.stringify(goodBody), { 'content-type': 'text/plain' }, 415],
    ['no type', JSON.stringify(goodBody), { 'content-type': '' }, 415],
    ['compressed', JSON.stringify(goodBody), { 'content-encoding': 'gzip' }, 415],
    ['empty', '', {}, 400, 'body'],
    ['unreadable', '{"transId":', {}, 400, 'body'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'body'],
    ['a list', '[]', {}, 400, 'body'],
    ['null', 'null', {}, 400, 'body'],
    ['U+0000', JSON.stringify({ ...goodBody, metadata: { a: '\u0000' } }), {}, 400, 'metadata.a'],
    ['huge number', '{"transId":"t","metadata":{"n":12345678901234567890}}', {}, 400, 'metadata.n'],
    ['given twice', '{"transId":"a","transId":"b"}', {}, 400, 'transId'],
    ['unknown field', JSON.stringify({ ...goodBody, extra: 1 }), {}, 400, 'extra'],
    ['path', JSON.stringify({ ...goodBody, items: [{ quantity: 1 }, {}] }), {}, 400, 'items[1].quantity'],
    [
      'exactly 1 MiB',
      `${JSON.stringify(goodBody)}${' '.repeat(1_048_576 - JSON.stringify(goodBody).length)}`,
      {},
      200,
    ],
    ['1 MiB and a byte', ' '.repeat(1_048_577), {}, 413],
  ])('%s', async (_, payload, headers, status, field) => {
    const response = await post('/payment', payload, headers)
    expect(response.statusCode).toBe(status)
    if (field !== undefined) expect(response.json()).toEqual({ field, error: expect.any(String) })
    if (status > 400) expect(response.headers['content-type']).toBe('application/problem+json')
  })

  test('the body reaches the handler as it was sent', async () => {
    const body = { ...goodBody, metadata: { deep: [1, 'x', null, { y: true }] } }
    expect((await post('/payment', body)).json()).toEqual({ got: body })
  })

  test('an endpoint without a body accepts no body or an empty object, and nothing else', async () => {
    expect(
      (await toy.app.inject({ method: 'POST', url: '/api/v2/toys/1/cancel', headers: shop })).statusCode,
    ).toBe(200)
    expect((await post('/toys/1/cancel', {})).statusCode).toBe(200)
    expect((await post('/toys/1/cancel', { a: 1 })).json()).toMatchObject({ field: 'a' })
  })

  test('a body may be missing where an empty object is valid', async () => {
    const response = await toy.app.inject({ method: 'PATCH', url: '/api/v2/toys/1', headers: shop })
    expect(response.json()).toEqual({ got: {} })
  })
})

describe('request addresses', () => {
  test.each<[name: string, url: string, status: number, field?: string]>([
    ['query', '/customers?page=1', 200],
    ['query wrong', '/customers?page=0', 400, 'page'],
    ['query missing', '/customers', 400, 'page'],
    ['query unknown', '/customers?page=1&size=3', 400, 'size'],
    ['query twice', '/customers?page=1&page=2', 400, 'page'],
    ['query with U+0000', '/customers?page=%00', 400, 'page'],
    ['query where none is known', '/toys/1?x=1', 400],
    ['path with U+0000', '/toys/a%00', 400],
    ['path that is not UTF-8', '/toys/%ff', 400, 'path'],
    ['unknown path', '/nothing', 404],
    ['slash at the end', '/toys/1/', 404],
    ['outside of the base', '/../../x', 404],
  ])('%s', async (_, url, status, field) => {
    const response = await get(`/api/v2${url}`, shop)
    expect(response.statusCode).toBe(status)
    if (field !== undefined) expect(Object.keys(response.json().errors)).toEqual([field])
  })

  test('parameters in the path are decoded', async () => {
    toy.handle = async ({ params }) => answer(200, params)
    expect((await get('/api/v2/toys/a%2Fb%C3%A4', shop)).json()).toEqual({ id: 'a/bä' })
  })

  test.each([
    ['PUT', '/api/v2/toys/1', 'GET, PATCH, HEAD, OPTIONS'],
    ['GET', '/api/v2/payment', 'POST, OPTIONS'],
    ['DELETE', '/api/v2/token', 'POST, OPTIONS'],
    ['POST', '/health/live', 'GET, HEAD, OPTIONS'],
  ] as const)('405 %s %s', async (method, url, allow) => {
    const response = await toy.app.inject({ method, url })
    expect([response.statusCode, response.headers.allow]).toEqual([405, allow])
  })

  test('OPTIONS lists the allowed methods, HEAD is GET without its body', async () => {
    const options = await toy.app.inject({ method: 'OPTIONS', url: '/api/v2/toys/1' })
    expect([options.statusCode, options.headers.allow]).toEqual([204, 'GET, PATCH, HEAD, OPTIONS'])
    const head = await toy.app.inject({ method: 'HEAD', url: '/api/v2/toys/1', headers: shop })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })
})

describe('errors thrown by handlers, in every dialect', () => {
  const thrown: readonly [name: string, error: Error, status: number][] = [
    ['NotFound', new NotFound(), 404],
    ['InvalidField', new InvalidField('amount.value', 'too much 4111111111111111'), 400],
    ['lost database', new DatabaseAway(), 503],
    ['anything else', new Error('secret internals 4111111111111111'), 500],
  ]
  const cases = thrown.flatMap(([name, error, status]) =>
    toyDialects.map(dialect => [name, dialect, error, status] as const),
  )
  test.each(cases)('%s in %s', async (_, dialect, error, status) => {
    toy.handle = () => Promise.reject(error)
    const response = await post(`/${dialect}`, goodBody)
    expect(response.statusCode).toBe(status)
    expect(response.body).not.toMatch(/4111111111111111|internals|no database/)
    expect(toy.lines.join('')).not.toContain('4111111111111111')
    if (status === 503) expect(response.headers['retry-after']).toBe('2')
  })

  test.each([
    ['is too high', 'amount is too high'],
    ['is not known; send an amount', 'amount is not known; send an amount'],
    ['the amount is too high', 'the amount is too high'],
    ['IDEAL takes EUR only', 'amount: IDEAL takes EUR only'],
  ])('an error text names its field: %s', async (message, error) => {
    toy.handle = () => Promise.reject(new InvalidField('amount', message))
    expect((await post('/payment', goodBody)).json()).toEqual({ field: 'amount', error })
  })

  test('an unexpected error is logged once, with the trace id of its answer', async () => {
    toy.handle = () => Promise.reject(new Error('boom'))
    const response = await post('/customer', goodBody)
    const faults = toy.lines.filter(line => line.includes('"level":"error"'))
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(response.json().traceId)
    expect(faults[0]).toContain('boom')
  })

  test('404s differ in their trace id only', async () => {
    toy.handle = () => Promise.reject(new NotFound())
    const bodies = await Promise.all(
      ['a'.repeat(32), 'b'.repeat(32)].map(async id => {
        const response = await get(`/api/v2/toys/${id}`, shop)
        return response.body.replace(response.json().traceId, '')
      }),
    )
    expect(bodies[0]).toBe(bodies[1])
  })
})

describe('headers of answers', () => {
  test('are on every answer of the API', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    for (const url of ['/api/v2/toys/1', '/api/v2/nothing', '/api/v2/payment']) {
      const { headers } = await get(url, { ...shop, traceparent: `00-${trace}-00f067aa0ba902b7-01` })
      expect(headers).toMatchObject({
        'x-api-version': '2.5.0',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'cache-control': 'no-store',
        traceparent: expect.stringMatching(new RegExp(`^00-${trace}-`)),
      })
      expect(headers['strict-transport-security']).toBeUndefined()
    }
  })

  test('Strict-Transport-Security behind a trusted proxy that terminates TLS, whose forwarded address is used', async () => {
    const proxied = await createToy({ trustedProxies: 1 })
    proxied.handle = async ({ address }) => answer(200, { address })
    const response = await proxied.app.inject({
      url: '/api/v2/toys/1',
      headers: { ...shop, 'x-forwarded-for': '6.6.6.6, 9.9.9.9' },
    })
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000')
    expect(response.json()).toEqual({ address: '9.9.9.9' })
  })

  test('headers and bytes of an answer are sent unchanged', async () => {
    toy.handle = async () => ({ status: 201, json: '{"a" : 1}', headers: { location: '/x' } })
    const response = await post('/payment', goodBody)
    expect([response.statusCode, response.body, response.headers.location]).toEqual([201, '{"a" : 1}', '/x'])
  })
})

describe('Idempotency-Key over HTTP', () => {
  const handleOnce = (work: () => Promise<Answer>): void => {
    toy.handle = ({ merchant, key }) => toy.keyStore.once(merchant.merchantId, key, work)
  }
  const key = { 'idempotency-key': '"k-1"' }

  test('replay, also with another credential and other spacing', async () => {
    let calls = 0
    handleOnce(async () => answer(200, { calls: ++calls }))
    const { accessToken } = await toy.accessTokens.issue(
      (await toy.credentials.find('shop'))?.merchant as never,
    )
    const first = await post('/payment', goodBody, key)
    const second = await post('/payment', JSON.stringify(goodBody, null, 2), {
      'idempotency-key': 'k-1',
      authorization: `Bearer ${accessToken}`,
    })
    expect([first.body, first.headers['idempotent-replayed']]).toEqual(['{"calls":1}', undefined])
    expect([second.body, second.headers['idempotent-replayed']]).toEqual(['{"calls":1}', 'true'])
  })

  test.each([
    [
      'payment',
      {
        merchantId: 'shop',
        status: 'FAILED',
        responseCode: '20170002',
        responseDescription: expect.any(String),
      },
    ],
    [
      'followUp',
      {
        merchantId: 'shop',
        status: 'FAILED',
        responseCode: '20170002',
        responseDescription: expect.any(String),
      },
    ],
    [
      'customer',
      expect.objectContaining({ status: 422, responseCode: '20170002', traceId: expect.any(String) }),
    ],
    [
      'service',
      expect.objectContaining({ status: 422, responseCode: '20170002', traceId: expect.any(String) }),
    ],
  ])('another body in %s', async (dialect, body) => {
    handleOnce(async () => answer(200, { secret: 'of the first call' }))
    await post(`/${dialect}`, goodBody, key)
    const response = await post(`/${dialect}`, { ...goodBody, transId: 't-2' }, key)
    expect(response.statusCode).toBe(422)
    expect(response.json()).toEqual(body)
  })

  test('a malformed key: 400 in the dialect', async () => {
    expect((await post('/payment', goodBody, { 'idempotency-key': '' })).json()).toMatchObject({
      field: 'Idempotency-Key',
    })
    expect((await post('/customer', goodBody, { 'idempotency-key': 'a b' })).json().errors).toHaveProperty(
      'Idempotency-Key',
    )
  })

  test('the normalised path is the scope', async () => {
    let seen = ''
    toy.handle = async call => {
      seen = call.key?.path ?? ''
      return answer(200, {})
    }
    await post('/toys/%61b/cancel', {}, key)
    expect(seen).toBe('/toys/ab/cancel')
  })

  test('409 with Retry-After when the first call takes too long', async () => {
    handleOnce(() => new Promise(() => {}))
    void post('/payment', goodBody, key)
    await settle()
    const second = post('/payment', goodBody, key)
    await settle()
    await toy.clock.advance(5_000)
    const response = await second
    expect([response.statusCode, response.headers['retry-after']]).toEqual([409, '1'])
  })

  test('a GET request ignores it', async () => {
    toy.handle = async call => answer(200, { key: call.key ?? null })
    expect((await get('/api/v2/toys/1', { ...shop, ...key })).json()).toEqual({ key: null })
  })
})

describe('addresses outside the API', () => {
  test('the health check answers', async () => {
    expect((await get('/health/live')).statusCode).toBe(200)
    expect((await get('/health/ready')).json()).toEqual({ status: 'ready' })
  })

  test('not ready, with reasons; a broken check is a reason too', async () => {
    const busy = await createToy({ readiness: async () => ['migrating'] })
    const response = await busy.app.inject('/health/ready')
    expect([response.statusCode, response.json()]).toEqual([
      503,
      { status: 'not ready', reasons: ['migrating'] },
    ])
    const broken = await createToy({ readiness: () => Promise.reject(new Error('x')) })
    expect((await broken.app.inject('/health/ready')).statusCode).toBe(503)
  })

  test('pages are rendered once, HTML may load our own files, the root redirects to the reference', async () => {
    let made = 0
    const page = () => ({ contentType: 'text/html; charset=utf-8', body: `made ${++made}` })
    const { app } = await createToy({ pages: { '/docs': page } })
    await app.inject('/docs')
    const response = await app.inject('/docs')
    expect(response.body).toBe('made 1')
    expect(response.headers['content-security-policy']).toContain("script-src 'self'")
    const home = await app.inject('/')
    expect([home.statusCode, home.headers.location]).toEqual([302, '/docs'])
  })

  test('metrics count requests by operation and class', async () => {
    const { app, metrics } = await createToy()
    const url = '/api/v2/payment'
    await app.inject({ method: 'POST', url, headers: shop, payload: goodBody })
    await app.inject({ method: 'POST', url, headers: shop, payload: {} })
    await app.inject('/api/v2/nothing')
    metrics.countOutcome('CAPTURE', 'approved')
    metrics.observeBatch(3)
    metrics.setWebhookLag(0, 1.5)
    const { body, headers } = await app.inject('/metrics')
    expect(headers['content-type']).toContain('text/plain')
    for (const line of [
      'tollgate_http_requests_total{operation_id="post-payment",status_class="2xx"} 1',
      'tollgate_http_requests_total{operation_id="post-payment",status_class="4xx"} 1',
      'tollgate_http_requests_total{operation_id="unrouted",status_class="4xx"} 1',
      'tollgate_http_request_duration_seconds_bucket{le="+Inf",operation_id="post-payment"} 2',
      'tollgate_http_request_duration_seconds_count{operation_id="post-payment"} 2',
      'tollgate_operation_outcomes_total{operation="CAPTURE",outcome="approved"} 1',
      'tollgate_commit_batch_size_sum 3',
      'tollgate_webhook_lag_seconds 1.5',
    ])
      expect(body).toContain(line)
  })
})

test('one access log line per request, with the route instead of the path', async () => {
  await get('/api/v2/toys/4111111111111111?x=4111111111111111', shop)
  await get('/api/v2/secret-4111111111111111')
  const lines = toy.lines.map(line => JSON.parse(line) as Record<string, unknown>)
  expect(lines).toMatchObject([
    {
      level: 'info',
      verb: 'GET',
      route: '/api/v2/toys/:id',
      status: 400,
      merchantId: 'shop',
      msg: 'request',
    },
    { level: 'info', verb: 'GET', route: 'none', status: 404 },
  ])
  expect(toy.lines.join('')).not.toMatch(/411111|secret|authorization/i)
})
