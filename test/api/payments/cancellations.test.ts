/** POST /payments/{id}/cancellations: ends open payments, and no others. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, refused, type Shop, urls } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const cancel = (payId: string, body?: object, headers?: Record<string, string>) =>
  shop.call('POST', `/payments/${payId}/cancellations`, body, headers)

const amount = { value: 1000, currency: 'EUR' }
const open: Record<string, () => Promise<{ payId: string; page?: string }>> = {
  session: async () => {
    const { body } = await shop.call('POST', '/payments/sessions', { transId: 'session', amount, urls })
    return { payId: body.payId, page: body._links.redirect.href }
  },
  link: async () => {
    const { body } = await shop.call('POST', '/payments/links', { transId: 'link', amount })
    return { payId: body.payId, page: body._links.redirect.href }
  },
  HOSTED: async () => {
    const { body } = await shop.create('PROVIDERP')
    return { payId: body.payId, page: body._links.redirect.href }
  },
  'a confirm': async () => ({
    payId: (await shop.create('CARD', { card: { eventToken: 'ORDER' } })).body.payId,
  }),
}

test.each(Object.entries(open))('200 ends a payment that waits: %s', async (_, make) => {
  const { payId, page } = await make()
  const { status, body } = await cancel(payId, { reason: 'sold out', metadata: { by: 'clerk' } })
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({
      payId,
      status: 'FAILED',
      responseCode: expect.stringMatching(/^2\d{3}0704$/),
      metadata: { by: 'clerk' },
    }),
  ])
  expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: body.responseCode })
  expect((await shop.call('GET', `/events?payId=${payId}`)).body.data).toMatchObject([
    { type: 'payment.failed', body: { responseCode: body.responseCode } },
  ])
  if (page) expect((await fetch(page)).status).toBe(410)
  expect(await cancel(payId)).toMatchObject(refused('20200015'))
})

test('200 once for one key, and the transId is free again', async () => {
  const { payId } = (await open.link?.()) ?? { payId: '' }
  const headers = { 'idempotency-key': 'once' }
  const first = await cancel(payId, undefined, headers)
  expect((await cancel(payId, undefined, headers)).text).toBe(first.text)
  expect((await shop.call('POST', '/payments/links', { transId: 'link', amount })).status).toBe(200)
})

test('422 20200015 a payment that is paid, authorised or failed', async () => {
  const paid = await shop.create('CARD')
  const failed = await shop.create('CARD', { card: { number: '4000000000009995' } })
  const authorized = await shop.authorize('CARD')
  for (const payId of [paid.body.payId, failed.body.payId, authorized])
    expect(await cancel(payId)).toMatchObject(refused('20200015'))
})

test('422 20200014 a payment without an answer of its provider, as for refund, capture and a change of the amount', async () => {
  const { body } = await shop.create('CARD', { card: { number: '4000000000000101' } })
  expect(await cancel(body.payId)).toMatchObject(refused('20200014'))
  for (const path of ['captures', 'refunds', 'reversals', 'incrementals'] as const)
    expect(await shop.act(body.payId, path, 1)).toMatchObject(refused('20200014'))
  const change = (field: object) => shop.call('PATCH', `/payments/${body.payId}`, field)
  expect(await change({ amount: { value: 900, currency: 'EUR' } })).toMatchObject(refused('20200014'))
  expect((await change({ refNr: 'later' })).status).toBe(200)
})

test('422 20200014 what its customer has left open at the provider: it may still be approved there', async () => {
  const { payId } = (await open.HOSTED?.()) ?? { payId: '' }
  expect((await shop.customer(payId, 'pending')).status).toBe('PENDING')
  expect(await cancel(payId)).toMatchObject(refused('20200014'))
  expect((await shop.customer(payId, 'approve')).status).toBe('OK')
})

test('the answer echoes the metadata of its own request, and the record shows the reason', async () => {
  const request = { amount, urls, metadata: { basket: 7 } }
  const first = await shop.call('POST', '/payments/sessions', { ...request, transId: 'first' })
  const second = await shop.call('POST', '/payments/sessions', { ...request, transId: 'second' })
  const ended = await cancel(first.body.payId, { reason: 'sold out', metadata: { by: 'clerk' } })
  expect(ended.body.metadata).toEqual({ by: 'clerk' })
  expect((await cancel(second.body.payId)).body).not.toHaveProperty('metadata')
  const [told, silent] = [await shop.read(first.body.payId), await shop.read(second.body.payId)]
  expect(told).toMatchObject({ metadata: { basket: 7 }, cancellationReason: 'sold out' })
  expect(silent).toMatchObject({ metadata: { basket: 7 } })
  expect(silent).not.toHaveProperty('cancellationReason')
})

test('404 another merchant’s payment, 400 a reason that is too long', async () => {
  const { payId } = (await open.link?.()) ?? { payId: '' }
  const other = await openShop(gateway)
  expect((await other.call('POST', `/payments/${payId}/cancellations`)).status).toBe(404)
  expect(await cancel(payId, { reason: 'x'.repeat(256) })).toMatchObject({ status: 400 })
})
