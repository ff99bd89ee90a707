/** Added endpoints: the events they get, their secrets, and their own retries and replays. */
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { NewEndpoint } from '#operations/events/endpoint-administration.ts'
import { expectWaiting } from '#test/support/database/database.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan } from '#test/support/plans.ts'
import { type Heard, type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { eventsOf, plainHeaders } from '#test/support/webhooks.ts'

let gateway: TestGateway
let shop: Shop
let receiver: Receiver
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
  receiver = await startReceiver()
})
afterEach(() => receiver.close())
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

async function add(path: string, more: Partial<NewEndpoint> = {}) {
  const wish = {
    merchantId: shop.merchantId,
    url: `${receiver.url}${path}`,
    kind: 'ENHANCED' as const,
    ...more,
  }
  const added = await gateway.gateway.merchants.endpoints.add(wish)
  if (!added) throw new Error('not added')
  return added
}

const pathsOf = (heard: readonly Heard[]) => heard.map(({ path, body }) => [path, body.type])

test('a result that the API has answered reaches an added endpoint at once, and no other address', async () => {
  await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: `${receiver.url}/own` })
  const { endpointId } = await add('/books')
  const { body } = await shop.create('CARD')
  await receiver.reached(1)
  await shop.advance('PT1S')
  expect(pathsOf(receiver.heard)).toEqual([['/books', 'payment.captured']])
  const [event] = await eventsOf(shop, body.payId)
  expect(event).toMatchObject({ type: 'payment.captured', status: 'DELIVERED' })
  expect(event).not.toHaveProperty('url')
  expect(event.attempts).toMatchObject([{ endpointId, status: 204 }])
  expect(event.deliveries).toEqual([{ endpointId, url: `${receiver.url}/books`, status: 'DELIVERED' }])
})

test('each endpoint has its own types, kind and secret; webhook-id is the same at all', async () => {
  await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: `${receiver.url}/own` })
  const all = await add('/all')
  const basic = await add('/basic', { kind: 'BASIC' })
  await add('/refunds', { types: ['refund.succeeded', 'refund.failed'] })
  await shop.create('CARD', { card: { number: '4000000000000101' } })
  await shop.advance('PT11S')
  const byPath = (path: string) => receiver.heard.find(heard => heard.path === path)
  expect(receiver.heard.map(({ path }) => path).sort()).toEqual(['/all', '/basic', '/own'])
  expect(new Set(receiver.heard.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const heard = byPath('/all')
  if (!heard) throw new Error('not heard')
  expect(new Webhook(all.webhookSecret).verify(heard.raw, plainHeaders(heard.headers))).toMatchObject({
    type: 'payment.captured',
  })
  expect(() => new Webhook(basic.webhookSecret).verify(heard.raw, plainHeaders(heard.headers))).toThrow()
  expect(Object.keys(byPath('/basic')?.body ?? {})).toEqual(['payId'])
  expect(byPath('/basic')?.headers).not.toHaveProperty('webhook-signature')
})

test('attempts are stored per endpoint; a final failure is logged, counted and shown by the readiness probe', async () => {
  receiver.behave(({ path }) => (path === '/gone' ? 410 : 204))
  const gone = await add('/gone')
  const fine = await add('/fine')
  const { body } = await shop.create('CARD')
  await shop.advance('PT1S')
  const [event] = await eventsOf(shop, body.payId)
  expect(event.status).toBe('FAILED')
  expect(event.deliveries).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ endpointId: gone.endpointId, status: 'FAILED' }),
      expect.objectContaining({ endpointId: fine.endpointId, status: 'DELIVERED' }),
    ]),
  )
  const line = gateway.logged.find(text => text.includes('WEBHOOK_FAILED'))
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    level: 'error',
    eventId: event.id,
    endpointId: gone.endpointId,
  })
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  expect(metrics).toMatch(/^tollgate_webhook_failures_total [1-9]/m)
  const ready = JSON.parse(await (await fetch(`${gateway.url}/health/ready`)).text())
  expect(ready.details.webhookFailures).toBeGreaterThan(0)
})

test('a replay goes to all, or to the endpoint that is named, also one that was added since', async () => {
  const first = await add('/first')
  const { body } = await shop.create('CARD')
  await receiver.reached(1)
  const [{ id }] = await eventsOf(shop, body.payId)
  const late = await add('/late')
  const replay = (endpointId?: string) =>
    shop.call('POST', `/events/${id}/replays`, endpointId === undefined ? undefined : { endpointId })
  expect((await replay()).body.status).toBe('PENDING')
  await receiver.reached(3)
  expect((await replay(late.endpointId)).status).toBe(200)
  await receiver.reached(4)
  expect(receiver.heard.map(({ path }) => path).sort()).toEqual(['/first', '/first', '/late', '/late'])
  expect(new Set(receiver.heard.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]))
  const unknown = await replay(`we_${'0'.repeat(32)}`)
  expect([unknown.status, JSON.stringify(unknown.body)]).toEqual([400, expect.stringContaining('endpointId')])
  expect(first.endpointId).not.toBe(late.endpointId)
})

test('the answer to a replay names the receivers that the event goes to again, and no other', async () => {
  await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: `${receiver.url}/own` })
  const first = await add('/first', { types: ['payment.captured'] })
  const { body } = await shop.create('CARD')
  await shop.advance('PT1S')
  const [{ id }] = await eventsOf(shop, body.payId)
  const late = await add('/late', { types: ['refund.succeeded'] })
  const at = ({ endpointId }: typeof first, status: string) => expect.objectContaining({ endpointId, status })
  const one = await shop.call('POST', `/events/${id}/replays`, { endpointId: late.endpointId })
  expect(one.body).toMatchObject({
    status: 'PENDING',
    deliveries: expect.arrayContaining([at(first, 'DELIVERED'), at(late, 'PENDING')]),
  })
  // The result was in the answer to the request, so the event is for endpoints alone.
  expect(one.body).not.toHaveProperty('url')
  await shop.advance('PT1S')
  const all = await shop.call('POST', `/events/${id}/replays`)
  expect(all.body).not.toHaveProperty('url')
  expect(all.body.deliveries).toEqual(expect.arrayContaining([at(first, 'PENDING'), at(late, 'DELIVERED')]))
  await shop.advance('PT1S')
  await gateway.gateway.merchants.endpoints.remove(first.endpointId)
  const none = await shop.call('POST', `/events/${id}/replays`)
  expect([none.status, none.body.status]).toEqual([200, 'DELIVERED'])
})

test('a removed endpoint gets no more events, and its waiting deliveries have failed', async () => {
  receiver.behave(() => 500)
  const { endpointId } = await add('/books')
  const { body } = await shop.create('CARD')
  await receiver.reached(1)
  expect(await gateway.gateway.merchants.endpoints.remove(endpointId)).toBe(true)
  await shop.advance('P4D')
  await shop.create('CARD')
  await shop.advance('PT1S')
  expect(receiver.heard).toHaveLength(1)
  expect((await eventsOf(shop, body.payId))[0]).toMatchObject({
    deliveries: [{ endpointId, status: 'FAILED' }],
  })
})

test('what a commit under way writes for an endpoint that is removed meanwhile fails like the rest', async () => {
  const { endpointId } = await add('/books')
  const { body } = await shop.create('CARD')
  await receiver.reached(1)
  const holder = new pg.Client(gateway.databaseUrl)
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM payment WHERE pay_id = $1 FOR UPDATE', [body.payId])
  const sampled = shop.call('POST', `/test/payments/${body.payId}/events`, { type: 'payment.captured' })
  await expectWaiting(gateway.databaseUrl)
  expect(await gateway.gateway.merchants.endpoints.remove(endpointId)).toBe(true)
  await holder.query('COMMIT')
  await holder.end()
  expect((await sampled).status).toBe(200)
  expect((await shop.call('POST', '/test/clock', { advance: 'PT1S' })).status).toBe(200)
  expect(receiver.heard).toHaveLength(1)
  expect((await eventsOf(shop, body.payId))[0]).toMatchObject({
    status: 'FAILED',
    deliveries: [{ endpointId, status: 'FAILED' }],
  })
})

test('without any address of its own, a merchant with endpoints has no failed events', async () => {
  await add('/books')
  const { body } = await shop.create('CARD', { card: { number: '4000000000000101' } })
  await shop.advance('PT11S')
  expect(await eventsOf(shop, body.payId)).toMatchObject([{ status: 'DELIVERED' }])
})

test('a second process learns of a new endpoint with its next commit', async () => {
  const beside = await startTestGateway({ beside: gateway })
  const { endpointId } = await add('/books')
  const authorization = shop.authorization
  const { body } = await beside.call(
    'POST',
    '/payments',
    {
      transId: 'beside',
      amount: { value: 500, currency: 'EUR' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: '4111111111111111', expiryDate: '203012' },
      },
    },
    { authorization },
  )
  await receiver.reached(1)
  expect(receiver.heard[0]?.body.payId).toBe(body.payId)
  await beside.stop()
  expect(endpointId).toMatch(/^we_/)
})

test('the end of a plan reaches an endpoint that another process has just added', async () => {
  const { body } = await beginPlan(shop)
  const beside = await startTestGateway({ beside: gateway })
  await add('/books')
  // The only commit of this request, and the first of the process since the endpoint was added.
  const path = `/payment-plans/${body.paymentPlanId}/cancel`
  const { status } = await beside.call('POST', path, {}, { authorization: shop.authorization })
  expect(status).toBe(200)
  await receiver.reached(1)
  expect(receiver.heard[0]?.body).toMatchObject({ type: 'plan.cancelled', paymentPlanId: body.paymentPlanId })
  await beside.stop()
})
