/** Payment intents: their status, cancellation by the merchant, and the return to an app. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, refused, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const open = async (more: object = {}): Promise<string> =>
  (await shop.call('POST', '/payment-intents', { amount: { value: 500, currency: 'EUR' }, ...more })).body.id
const read = async (id: string) => (await shop.call('GET', `/payment-intents/${id}`)).body
const pay = (id: string, number = '4111111111111111') =>
  shop.call('POST', `/payment-intents/${id}/confirm`, {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number, expiryDate: '203012' },
  })
const cancel = (id: string) => shop.call('POST', `/payment-intents/${id}/cancel`)

test('200 OPEN, then SUCCEEDED; metadata for the merchant and not for the intent’s own token', async () => {
  const id = await open({ transId: 'app-1', refNr: 'r-1', metadata: { secret: 'margin' } })
  expect(await read(id)).toEqual({
    id,
    status: 'OPEN',
    amount: { value: 500, currency: 'EUR' },
    transId: 'app-1',
    refNr: 'r-1',
    expirationTime: expect.any(String),
    creationDate: expect.any(String),
    metadata: { secret: 'margin' },
  })
  const form = new URLSearchParams({ grant_type: 'payment_intents', payment_intent_id: id })
  const token = await fetch(`${gateway.url}/api/v2/authorization/oauth/token`, {
    method: 'POST',
    headers: { authorization: shop.authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
  })
  const { access_token: bearer } = JSON.parse(await token.text())
  if (bearer) {
    const shown = await gateway.call('GET', `/payment-intents/${id}`, undefined, {
      authorization: `Bearer ${bearer}`,
    })
    expect([shown.status, shown.body.metadata]).toEqual([200, undefined])
  }
  const paid = await pay(id)
  expect(await read(id)).toMatchObject({ status: 'SUCCEEDED', payId: paid.body.payId })
  expect(await cancel(id)).toMatchObject(refused('20200015'))
})

test('200 CANCELLED by the merchant: it cannot be confirmed any more', async () => {
  const id = await open()
  expect(await cancel(id)).toMatchObject({ status: 200, body: { id, status: 'CANCELLED' } })
  expect(await pay(id)).toMatchObject(refused('20200010'))
  expect(await cancel(id)).toMatchObject(refused('20200015'))
})

test('200 PROCESSING while the outcome is open, EXPIRED when its time is over, FAILED after ten declines', async () => {
  const waiting = await open()
  await pay(waiting, '4000000000000101')
  expect((await read(waiting)).status).toBe('PROCESSING')
  expect(await cancel(waiting)).toMatchObject(refused('20200015'))
  const tried = await open()
  for (let count = 0; count < 10; count += 1) await pay(tried, '4000000000009995')
  expect((await read(tried)).status).toBe('FAILED')
  const old = await open()
  await shop.advance('P2D')
  expect((await read(old)).status).toBe('EXPIRED')
})

test('404 another merchant’s intent', async () => {
  const id = await open()
  const other = await openShop(gateway)
  expect((await other.call('GET', `/payment-intents/${id}`)).status).toBe(404)
  expect((await other.call('POST', `/payment-intents/${id}/cancel`)).status).toBe(404)
})

test('200 an app’s own scheme, and the page’s policy names that scheme alone', async () => {
  const id = await open({
    urls: { return: 'myapp://done', cancel: 'myapp://back', webhook: 'https://hooks.shop.example/x' },
  })
  const { status, body } = await shop.call('POST', `/payment-intents/${id}/confirm`, {
    integrationType: 'HOSTED',
    type: 'CARD',
  })
  expect(status).toBe(200)
  const page = await fetch(body._links.redirect.href)
  expect(page.headers.get('content-security-policy')).toMatch(/form-action 'self' myapp:;/)
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'vbscript:x',
  'about:blank',
  'blob:x',
])('400 %s', async address => {
  const { status, body } = await shop.call('POST', '/payment-intents', { urls: { return: address } })
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('urls.return')])
})
