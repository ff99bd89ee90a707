/** What the pages of the console show and do, over HTTP: lists, links, endpoints, the inbox, settings, search, the story. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { provesBody } from '#console/sections/inbox.ts'
import { type Person, signUp } from '#test/support/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'

let gateway: TestGateway
let owner: Person
let payId: string
let transId: string

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  const payment = cardPayment({ customerInfo: { email: 'Ada@Example.com' } })
  const paid = await gateway.call('POST', '/payments', payment)
  payId = paid.body.payId
  transId = paid.body.transId
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()

const actsOf = async (object: string) =>
  (
    await queryRows<{ act: string; actor: string }>(
      gateway.databaseUrl,
      `SELECT act, actor FROM audit WHERE object = '${object}' ORDER BY number`,
    )
  ).map(({ act, actor }) => `${act} by ${actor === owner.email ? 'the owner' : actor}`)

test('200 a list asks the API, and its export is what the API answers', async () => {
  expect(await read(at('/payments?status=OK'))).toContain(transId)
  expect(await read(at('/payments?status=FAILED'))).not.toContain(transId)
  const exported = await owner.get(at('/payments.json?status=OK&limit=5'))
  const { text } = await gateway.call('GET', '/payments?status=OK&limit=5')
  expect(await exported.text()).toBe(text)
})

test('400 a filter that the API refuses is told on the page', async () => {
  const page = await owner.get(at('/payments?amountFrom=much'))
  expect(page.status).toBe(400)
  expect(await page.text()).toContain('role="alert"')
})

test.each([
  ['payId', () => payId],
  ['transId', () => transId],
  ['e-mail in any case', () => 'ada@example.COM'],
  ['last four digits', () => '1111'],
  ['amount in the smallest unit', () => '1000'],
  ['amount as people write it', () => '10.00'],
])('200 the search finds a payment by its %s', async (_, typed) => {
  expect(await read(`/console/search?q=${encodeURIComponent(typed())}`)).toContain(`/payments/${payId}`)
})

test('303 a link is made, and its page has the address and a QR code until it is cancelled', async () => {
  const made = await owner.post(at('/links/new'), { amount: '1234', currency: 'EUR', key: 'k1' })
  const address = (made.headers.get('location') ?? '').split('?')[0] ?? ''
  const page = await read(address)
  expect(page).toMatch(/<code data-copy>http[^<]+\/pay\/[^<]+<\/code>/)
  expect(page).toContain('<svg')
  expect((await owner.post(`${address}/cancel`)).status).toBe(303)
  expect(await read(address)).toContain('CANCELLED')
  expect(await actsOf(address.split('/').at(-1) ?? '')).toEqual([
    'link.create by the owner',
    'link.cancel by the owner',
  ])
})

test('422 a link for an amount that is none is refused with what was typed', async () => {
  const refused = await owner.post(at('/links/new'), { amount: 'ten', currency: 'EUR', key: 'k2' })
  expect([refused.status, (await refused.text()).includes('value="ten"')]).toEqual([422, true])
})

test('200 an endpoint is added with its secret shown once, gets a new secret, and is removed', async () => {
  const url = 'http://127.0.0.1:9/hook'
  const added = await (await owner.post(at('/endpoints'), { url, types: 'payment.captured' })).text()
  const endpointId = /we_[0-9a-f]{32}/.exec(added)?.[0] ?? ''
  expect(added).toMatch(/whsec_/)
  expect(await read(at('/endpoints'))).not.toMatch(/whsec_/)
  expect(await (await owner.post(at('/endpoints/rotate'), { endpointId })).text()).toMatch(/whsec_/)
  expect((await owner.post(at('/endpoints/remove'), { endpointId })).status).toBe(303)
  expect(await read(at('/endpoints'))).not.toContain(endpointId)
  expect(await actsOf(endpointId)).toEqual([
    'webhook.add by the owner',
    'webhook.rotate-secret by the owner',
    'webhook.remove by the owner',
  ])
})

test.each([
  { url: 'ftp://shop.example', types: '' },
  { url: 'https://user:secret@shop.example', types: '' },
  { url: 'https://shop.example', types: 'payment.exploded' },
])('422 an endpoint like $url $types is refused', async fields => {
  expect((await owner.post(at('/endpoints'), fields)).status).toBe(422)
})

test('303 retention is set, and a duration that is none is 422', async () => {
  expect((await owner.post(at('/settings/retention'), { personalData: 'soon' })).status).toBe(422)
  expect((await owner.post(at('/settings/retention'), { personalData: 'P2Y' })).status).toBe(303)
  expect(await read(at('/settings'))).toContain('value="P2Y"')
})

test('422 a route to an account that is not there is refused', async () => {
  const refused = await owner.post(at('/providers/routes'), { accountId: 'acc_none', types: 'CARD' })
  expect(refused.status).toBe(422)
  expect((await owner.post(at('/providers/routes'), { types: 'TELEPATHY' })).status).toBe(422)
})

test('200 the inbox shows a webhook that nobody receives, with a signature that proves it', async () => {
  expect((await owner.post(at('/inbox'), { payId, type: 'payment.captured', key: 'k3' })).status).toBe(303)
  const inbox = await read(at('/inbox'))
  expect(inbox).toContain('signature is right')
  expect(inbox).toContain('webhook-signature')
  expect(inbox).toContain('&quot;type&quot;:&quot;payment.captured&quot;')
})

test('a signature of another body, of another secret or of none proves nothing', async () => {
  const headers = { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA v2,x' }
  expect(provesBody(headers, '{}', Buffer.alloc(32))).toBe(false)
  expect(provesBody({}, '{}', Buffer.alloc(32))).toBe(false)
})

test('200 an event is sent again, and the story of its payment tells of it and of who did it', async () => {
  const { body } = await gateway.call('GET', `/events?payId=${payId}`)
  const eventId = body.data[0].id
  const sent = await owner.post(at(`/events/${eventId}/replay`), { key: 'k4' })
  expect(sent.status).toBe(303)
  const story = await read(at(`/payments/${payId}`))
  expect(story).toContain('Event payment.captured')
  expect(story).toContain(`by ${owner.email}`)
  expect(await actsOf(eventId)).toEqual(['event.replay by the owner'])
})

test('303 a plan is paused, resumed, and cancelled only when asked twice', async () => {
  const { body } = await gateway.call(
    'POST',
    '/payments',
    cardPayment({
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
      customerInfo: { merchantCustomerId: 'the plan', email: 'plan@example.com' },
      card: { expiryDate: '209912' },
    }),
  )
  const plan = at(`/plans/${body.paymentPlanId}`)
  expect(await read(at('/plans'))).toContain(body.paymentPlanId)
  for (const act of ['pause', 'resume']) expect((await owner.post(`${plan}/${act}`)).status).toBe(303)
  expect((await owner.post(`${plan}/cancel`)).status).toBe(200)
  expect(await read(plan)).toContain('ACTIVE')
  expect((await owner.post(`${plan}/cancel`, { sure: 'yes' })).status).toBe(303)
  expect(await read(plan)).toContain('CANCELLED')
})

test('200 an API key is made for some scopes and shown once', async () => {
  const made = await owner.post(at('/keys'), { name: 'reader', scopes: 'read' })
  const key = /tg_test_[\w-]+/.exec(await made.text())?.[0] ?? ''
  const authorization = `Basic ${Buffer.from(`${gateway.merchantId}:${key}`).toString('base64')}`
  const list = await fetch(`${gateway.url}/api/v2/payments`, { headers: { authorization } })
  expect(list.status).toBe(200)
  expect(await read(at('/keys'))).not.toContain(key)
})

test('404 ids that the merchant does not have', async () => {
  for (const path of ['/payments/x', '/links/x', '/plans/x', '/disputes/x', '/events/x', '/customers/x'])
    expect((await owner.get(at(path))).status).toBe(404)
})
