/** Limits of dates and addresses from merchants. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan } from '#test/support/plans.ts'
import { done, openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

let orders = 0
const order = (change: object) => ({
  transId: `input-${++orders}`,
  amount: { value: 1, currency: 'EUR' },
  urls: { return: 'https://shop.example/paid', cancel: 'https://shop.example/basket' },
  ...change,
})
const session = (change: object) => shop.call('POST', '/payments/sessions', order(change))

test.each(['9999-12-31', '2200-01-01'])(
  '400 a plan that ends %s, and the key stays free',
  async expiryDate => {
    const begin = (day: string) =>
      beginPlan(shop, { recurring: { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: day } })
    expect(await begin(expiryDate)).toMatchObject({
      status: 400,
      body: { field: 'credentialOnFile.recurring.expiryDate', error: expect.stringContaining('2199-12-31') },
    })
    expect(await begin('2199-12-31')).toMatchObject(done('OK'))
  },
)

test.each([
  ['expirationTime', { expirationTime: '2200-01-01T00:00:00Z' }],
  ['expirationTime', { expirationTime: '2199-12-31T23:59:59-12:00' }],
  ['order.creationDate', { order: { creationDate: '9999-01-01T00:00:00Z' } }],
  ['customerInfo.birthDate', { customerInfo: { birthDate: '9999-12-31' } }],
])('400 %s after 2199', async (field, change) => {
  expect(await session(change)).toMatchObject({ status: 400, body: { field } })
})

test.each([
  'https://x;frame-ancestors',
  'https://x;frame-ancestors/',
  "https://'none'/",
  'https://x,y.example/',
  'https://shop_1.example/',
  'https://user@shop.example/',
  'javascript:alert(1)//',
])('400 %s as an address', async address => {
  for (const name of ['return', 'cancel', 'webhook']) {
    const urls = { return: 'https://a.example/', cancel: 'https://a.example/', [name]: address }
    expect(await session({ urls })).toMatchObject({ status: 400, body: { field: `urls.${name}` } })
  }
})

test('200 addresses are kept as the URL standard writes them, and the policy names their origin', async () => {
  const urls = { return: 'HTTPS://Bücher.Example:443/a/../paid?x=ü', cancel: 'https://[2001:DB8::1]' }
  const made = await session({ urls })
  expect(made.status).toBe(200)
  const [row] = await queryRows(
    gateway.databaseUrl,
    `SELECT details->'urls' AS urls FROM payment WHERE trans_id = 'input-${orders}'`,
  )
  expect(row).toEqual({
    urls: { return: 'https://xn--bcher-kva.example/paid?x=%C3%BC', cancel: 'https://[2001:db8::1]/' },
  })
  const page = await fetch(made.body._links.redirect.href)
  expect(page.headers.get('content-security-policy')).toContain(
    "form-action 'self' https://xn--bcher-kva.example https://[2001:db8::1];",
  )
})
