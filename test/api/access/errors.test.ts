/** Errors of a request before an operation begins: status, dialect, field. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ requestsPerSecond: 100_000 })
})
afterAll(() => gateway.stop())

const send = (body: unknown, headers?: Record<string, string>) =>
  gateway.call('POST', '/payments', body, headers)

const withCard = (card: object) => cardPayment({ card })
const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))
const without = (name: string) => {
  const { [name]: _, ...rest } = cardPayment()
  return rest
}

describe('400 names the field', () => {
  test.each([
    ['body', '{'],
    ['body', ''],
    ['body', '[]'],
    ['body', '"text"'],
    ['body', 'null'],
    ['transId', '{}'],
    ['transId', without('transId')],
    ['amount', without('amount')],
    ['paymentMethods', without('paymentMethods')],
    ['transId', cardPayment({ transId: 7 })],
    ['transId', cardPayment({ transId: 'a\nb' })],
    ['transId', cardPayment({ transId: 'x'.repeat(65) })],
    ['amount.value', cardPayment({ amount: { currency: 'EUR' } })],
    ['amount.value', cardPayment({ amount: { value: -1, currency: 'EUR' } })],
    ['amount.value', cardPayment({ amount: { value: 10.5, currency: 'EUR' } })],
    ['amount.value', cardPayment({ amount: { value: '10', currency: 'EUR' } })],
    ['amount.value', cardPayment({ amount: { value: 1e12, currency: 'EUR' } })],
    ['amount.value', cardPayment({ amount: { value: 1e300, currency: 'EUR' } })],
    ['amount.currency', cardPayment({ amount: { value: 1, currency: 'DEM' } })],
    ['amount', cardPayment({ amount: [1, 'EUR'] })],
    ['paymentMethods.type', cardPayment({ paymentMethods: { integrationType: 'DIRECT', type: 'NOPE' } })],
    ['paymentMethods.card', cardPayment({ paymentMethods: { integrationType: 'DIRECT', type: 'CARD' } })],
    ['paymentMethods.card.number', withCard({ number: undefined })],
    ['paymentMethods.card.number', withCard({ number: '4111111111111112' })],
    ['paymentMethods.card.number', withCard({ number: '4111 1111 1111 1111' })],
    ['paymentMethods.card.number', withCard({ number: 4111111111111111 })],
    ['paymentMethods.card.number', withCard({ number: '42' })],
    ['paymentMethods.card.expiryDate', withCard({ expiryDate: undefined })],
    ['paymentMethods.card.expiryDate', withCard({ expiryDate: '203013' })],
    ['paymentMethods.card.expiryDate', withCard({ expiryDate: '12/30' })],
    ['paymentMethods.card.securityCode', withCard({ securityCode: '12' })],
    ['paymentMethods.card.securityCode', withCard({ securityCode: 123 })],
    ['paymentMethods.card.cardholderName', withCard({ cardholderName: 'x' })],
    ['paymentMethods.card.cvv', withCard({ cvv: '123' })],
    ['captureMethod.type', cardPayment({ captureMethod: { type: 'LATER' } })],
    [
      'captureMethod.delayed.delayedHours',
      cardPayment({ captureMethod: { type: 'DELAYED', delayed: { delayedHours: 697 } } }),
    ],
    ['metadata', cardPayment({ metadata: many(51) })],
    [`metadata.${'k'.repeat(41)}`, cardPayment({ metadata: { ['k'.repeat(41)]: 1 } })],
    ['metadata', cardPayment({ metadata: { a: 'x'.repeat(17_000) } })],
    ['metadata.big', cardPayment({ metadata: { big: 2 ** 53 } })],
    ['metadata', cardPayment({ metadata: [] })],
    ['order.items[0].quantity', cardPayment({ order: { items: [{ name: 'a', quantity: 'two' }] } })],
    ['billingAddress.country', cardPayment({ billingAddress: { country: 'XXX' } })],
    ['customerInfo.email', cardPayment({ customerInfo: { email: 'nobody' } })],
    ['urls.webhook', cardPayment({ urls: { webhook: 'javascript:alert(1)' } })],
    ['surprise', cardPayment({ surprise: true })],
    ['transID', cardPayment({ transID: 'x' })],
  ])('%s', async (field, body) => {
    const answer = await send(body)
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body).toEqual({ field, error: expect.stringMatching(/\w/) })
    expect(answer.headers.get('content-type')).toBe('application/json')
  })

  test.each([
    ['U+0000 in a value', '{"transId":"a\\u0000b"}', 'transId'],
    ['U+0000 in a name', '{"metadata":{"a\\u0000b":1}}', 'metadata.a␀b'],
    ['half a surrogate pair', '{"transId":"\\ud800"}', 'transId'],
    ['a name twice', '{"transId":"a","amount":{"value":1,"value":2}}', 'amount.value'],
    ['__proto__', '{"metadata":{"__proto__":{"admin":true}}}', 'metadata.__proto__'],
    ['constructor.prototype', '{"constructor":{"prototype":{}}}', 'constructor.prototype'],
    ['a number beyond 2^53', '{"metadata":{"n":9007199254740993}}', 'metadata.n'],
    ['a number beyond all', '{"amount":{"value":1e999}}', 'amount.value'],
    ['21 levels', JSON.stringify({ metadata: nested(20) }), `metadata${'.a'.repeat(19)}`],
  ])('%s', async (_, body, field) => {
    expect(await send(body)).toMatchObject({ status: 400, body: { field } })
  })

  test('a body that is not UTF-8 is refused', async () => {
    const bytes = Buffer.concat([Buffer.from('{"transId":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
    expect(await send(bytes)).toMatchObject({ status: 400, body: { field: 'body' } })
  })

  test('nothing of a refused request is stored', async () => {
    const request = cardPayment({ surprise: true })
    await send(request)
    const found = await gateway.call('GET', `/payments/getByTransId/${request.transId}`)
    expect(found.status).toBe(404)
  })

  test('an error names the given and the allowed values, but never card data', async () => {
    const wrong = await send(cardPayment({ channel: 'FAX' }))
    expect(wrong.body.error).toMatch(/"FAX".*ECOM, MOTO, APP, PAYBYLINK, POS/)
    const card = await send(withCard({ number: '4111111111111112', securityCode: '98765' }))
    expect(card.text).not.toMatch(/4111111111111112|98765/)
  })
})

describe('problem details', () => {
  const problem = (status: number) => ({
    type: expect.stringMatching(/^urn:/),
    title: expect.stringMatching(/\w/),
    status,
    detail: expect.stringMatching(/\w/),
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
  })

  test('404 an unknown path', async () => {
    const answer = await gateway.call('GET', '/nowhere')
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual(problem(404))
  })

  test.each([
    ['DELETE', '/payments', 'POST'],
    ['POST', '/payments/getByPayId/x', 'GET'],
    ['PATCH', '/payments/x/captures', 'POST'],
  ])('405 %s %s', async (verb, path, allowed) => {
    const answer = await gateway.call(verb, path, verb === 'GET' ? undefined : {})
    expect(answer.status).toBe(405)
    expect(answer.body).toEqual(problem(405))
    expect(answer.headers.get('allow')?.split(', ')).toContain(allowed)
  })

  test('413 a body above 1 MiB', async () => {
    const answer = await send(`{"transId":"${'x'.repeat(1024 * 1024)}"}`)
    expect(answer.status).toBe(413)
    expect(answer.body).toEqual(problem(413))
  })

  test('400 a body just below 1 MiB is read', async () => {
    const answer = await send(`{"transId":"${'x'.repeat(1024 * 1024 - 20)}"}`)
    // For so long a body only the first error is reported.
    expect(answer).toMatchObject({ status: 400, body: { field: 'amount' } })
  })

  test.each(['text/plain', 'application/xml', 'application/json; charset=latin1', 'multipart/form-data'])(
    '415 %s',
    async type => {
      const answer = await send(JSON.stringify(cardPayment()), { 'content-type': type })
      expect(answer.status).toBe(415)
      expect(answer.body).toEqual(problem(415))
    },
  )

  test('415 a compressed body', async () => {
    expect((await send(cardPayment(), { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  test('429 above the limit of the merchant, and again within it', async () => {
    const { merchantId, apiKey } = await gateway.gateway.merchants.create('Slow')
    await gateway.gateway.merchants.set(merchantId, { requestsPerSecond: 2 })
    const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
    const ask = () => gateway.call('GET', '/payments/getByTransId/x', undefined, { authorization })
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    const refused = answers.find(answer => answer.status === 429)
    expect(refused?.body).toEqual(problem(429))
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused?.headers.get('ratelimit-policy')).toContain('q=2')
    expect(answers.filter(answer => answer.status === 404).length).toBeGreaterThanOrEqual(2)
  })
})
