/** Sessions and links: their requests and answers, and the payment behind them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop

beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const urls = { return: 'https://shop.example/return?basket=1', cancel: 'https://shop.example/cancel' }
let orders = 0
const session = (change: object = {}) => {
  orders += 1
  return { transId: `session-${orders}`, amount: { value: 4999, currency: 'EUR' }, urls, ...change }
}
const open = (body: object, headers?: Record<string, string>) =>
  shop.call('POST', '/payments/sessions', body, headers)
const link = (body: object) => shop.call('POST', '/payments/links', body)

const pageAddress = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/pay\/[\w-]{100,}$/)

test('200 a session answers with its page, and without a method', async () => {
  const before = Date.now()
  const request = session({ refNr: 'r-1', metadata: { a: 1 } })
  const { status, body } = await open(request)
  expect([status, body]).toEqual([
    200,
    {
      payId: expect.stringMatching(/^[0-9a-f]{32}$/),
      transId: request.transId,
      refNr: 'r-1',
      status: 'AUTHORIZE_REQUEST',
      responseCode: '60000100',
      responseDescription: 'The customer has a step to take.',
      expirationTime: expect.any(String),
      metadata: { a: 1 },
      _links: { redirect: { href: pageAddress, type: 'text/html' } },
    },
  ])
  expect(body._links.redirect.href).not.toContain(body.payId)
  const livesMs = Date.parse(body.expirationTime) - before
  expect(Math.round(livesMs / 3_600_000)).toBe(24)
  expect(await shop.read(body.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', urls, refNr: 'r-1' })
})

test('200 a link answers with its id', async () => {
  const { status, body } = await link({
    transId: 'link-1',
    amount: { value: 100, currency: 'EUR' },
    description: 'Consulting',
    linkType: 'TOKENIZE',
  })
  expect([status, body]).toEqual([
    200,
    {
      id: expect.stringMatching(/^pl_[\w-]{22}$/),
      payId: expect.any(String),
      transId: 'link-1',
      amount: { value: 100, currency: 'EUR' },
      description: 'Consulting',
      linkType: 'TOKENIZE',
      status: 'ACTIVE',
      creationDate: expect.any(String),
      expirationTime: expect.any(String),
      _links: { redirect: { href: pageAddress, type: 'text/html' } },
    },
  ])
  expect(await shop.read(body.payId)).toMatchObject({ description: 'Consulting', linkType: 'TOKENIZE' })
})

test('200 the same key gives the same page', async () => {
  const request = session()
  const first = await open(request, { 'idempotency-key': 'session-key' })
  const again = await open(request, { 'idempotency-key': 'session-key' })
  expect(again.text).toBe(first.text)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})

test('422 the transId of an open page is taken', async () => {
  const request = session()
  await open(request)
  const { status, body } = await open(request)
  expect([status, body.responseCode]).toEqual([422, '20170001'])
})

describe('400', () => {
  const far = '2099-01-01T00:00:00Z'
  const past = '2020-01-01T00:00:00Z'
  // Each line: the field that is named, and what is wrong with the request.
  test.each<[string, object]>([
    ['urls', session({ urls: undefined })],
    ['urls.cancel', session({ urls: { return: urls.return } })],
    ['amount.value', session({ amount: { value: 0, currency: 'EUR' } })],
    ['amount', session({ amount: undefined })],
    ['transId', session({ transId: undefined })],
    ['expirationTime', session({ expirationTime: far })],
    ['expirationTime', session({ expirationTime: past })],
    ['allowedPaymentMethod[1]', session({ allowedPaymentMethod: ['CARD', 'CRAD'] })],
    ['allowedPaymentMethod', session({ allowedPaymentMethod: ['PIX'] })],
    ['allowedPaymentMethod', session({ allowedPaymentMethod: [] })],
    ['paymentMethods.card.number', session({ paymentMethods: { card: { number: '4111111111111111' } } })],
    ['paymentMethods.type', session({ paymentMethods: { type: 'CARD' } })],
    ['description', session({ description: 'only links have one' })],
    ['template', session({ template: '../x' })],
  ])('a session: %s', async (field, request) => {
    const { status, body } = await open(request)
    expect([status, body.field]).toEqual([400, field])
  })

  test.each<[string, object]>([
    ['description', { description: 'x'.repeat(281) }],
    ['linkType', { linkType: 'OFTEN' }],
    ['expirationTime', { expirationTime: far }],
  ])('a link: %s', async (field, change) => {
    const { status, body } = await link({ ...session(), urls: undefined, ...change })
    expect([status, body.field]).toEqual([400, field])
  })
})

test('an unknown method is answered with the nearest known ones', async () => {
  const { body } = await open(session({ allowedPaymentMethod: ['IDEEL'] }))
  expect(body.error).toContain('IDEAL')
})

test('200 the amount may change until the customer has paid', async () => {
  const { body } = await open(session())
  const changed = await shop.call('PATCH', `/payments/${body.payId}`, {
    amount: { value: 1000, currency: 'EUR' },
  })
  expect([changed.status, changed.body.amount.value]).toEqual([200, 1000])
  await shop.call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'approve' })
  expect((await shop.read(body.payId)).amount.capturedValue).toBe(1000)
  const late = await shop.call('PATCH', `/payments/${body.payId}`, { amount: { value: 1, currency: 'EUR' } })
  expect([late.status, late.body.responseCode]).toEqual([422, '20200011'])
})

test('an unpaid session expires', async () => {
  const expirationTime = new Date(Date.now() + 90_000).toISOString()
  const { body } = await open(session({ expirationTime }))
  expect(body.expirationTime).toBe(expirationTime)
  await shop.advance('PT2M')
  expect(await shop.read(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '29000402' })
  expect((await shop.events(body.payId)).map(({ responseCode }) => responseCode)).toEqual(['29000402'])
})

test('200 MANUAL and DELAYED apply to every method that the customer chooses', async () => {
  for (const [captureMethod, status] of [
    [{ type: 'MANUAL' }, 'AUTHORIZED'],
    [{ type: 'DELAYED', delayed: { delayedHours: 2 } }, 'CAPTURE_REQUEST'],
  ] as const) {
    const { body } = await open(session({ captureMethod }))
    const paid = await shop.call('POST', `/test/payments/${body.payId}/customer-action`, {
      action: 'approve',
    })
    expect(paid.body.status).toBe(status)
  }
})
