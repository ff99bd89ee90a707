/** PATCH /payments/{id} over HTTP: the fields that may still change, and when. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { done, openShop, refused, type Shop, tokenOf, urls } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const patch = (payId: string, body: object, headers?: Record<string, string>) =>
  shop.call('PATCH', `/payments/${payId}`, body, headers)

let names = 0
const newTransId = () => `patched-${++names}`

async function begin() {
  const { body } = await shop.create('PROVIDERK', { captureMethod: { type: 'MANUAL' } })
  return { payId: body.payId as string, token: tokenOf(body) }
}

describe('while nothing is approved', () => {
  test('200 transId and amount, which then apply to the confirmation', async () => {
    const { payId, token } = await begin()
    const transId = newTransId()
    const patched = await patch(payId, { transId, amount: { value: 800, currency: 'EUR', taxTotal: 128 } })
    expect(patched).toMatchObject({
      status: 200,
      body: { payId, transId, status: 'AUTHORIZE_REQUEST', amount: { value: 800, taxTotal: 128 } },
    })
    expect(patched.body.operations).toMatchObject([{ type: 'AUTHORIZATION', amount: { value: 800 } }])
    expect(await shop.read(payId)).toEqual(patched.body)
    const { body: found } = await shop.call('GET', `/payments/getByTransId/${transId}`)
    expect(found.payId).toBe(payId)
    expect(await shop.act(payId, 'confirms', 801, token)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'confirms', 800, token)).toMatchObject(done('AUTHORIZED'))
  })

  test('20200005 a confirmation in the old currency', async () => {
    const { payId, token } = await begin()
    expect((await patch(payId, { amount: { value: 1000, currency: 'SEK' } })).status).toBe(200)
    expect(await shop.act(payId, 'confirms', 1000, token)).toMatchObject(refused('20200005'))
    const right = { ...token, amount: { value: 1000, currency: 'SEK' } }
    expect(await shop.act(payId, 'confirms', 1000, right)).toMatchObject(done('AUTHORIZED'))
  })

  test('400 a currency that the method lacks', async () => {
    const { payId } = await begin()
    expect(await patch(payId, { amount: { value: 1000, currency: 'JPY' } })).toMatchObject({
      status: 400,
      body: { field: 'amount.currency' },
    })
  })

  test('400 a currency that no method of the customer’s page supports', async () => {
    const allowedPaymentMethod = ['IDEAL', 'TWINT']
    const amount = { value: 1000, currency: 'EUR' }
    const session = { transId: newTransId(), amount, urls, allowedPaymentMethod }
    const { body } = await shop.call('POST', '/payments/sessions', session)
    expect(await patch(body.payId, { amount: { value: 1000, currency: 'USD' } })).toMatchObject({
      status: 400,
      body: { field: 'amount.currency', error: expect.stringContaining('1000 USD') },
    })
    expect((await shop.read(body.payId)).amount).toMatchObject({ value: 1000, currency: 'EUR' })
    const francs = { value: 900, currency: 'CHF' }
    expect(await patch(body.payId, { amount: francs })).toMatchObject({
      status: 200,
      body: { amount: francs },
    })
  })

  test('20170001 a transId that is live already, and the payment stays as it was', async () => {
    const { payId } = await begin()
    const taken = (await shop.create('CARD')).body.transId
    const before = await shop.read(payId)
    const answer = await patch(payId, { transId: taken, refNr: 'lost' })
    expect(answer).toMatchObject(refused('20170001'))
    expect(answer.body.payId).toBe(payId)
    expect(await shop.read(payId)).toEqual(before)
  })

  test('200 its own transId again', async () => {
    const { payId } = await begin()
    const { transId } = await shop.read(payId)
    expect((await patch(payId, { transId })).status).toBe(200)
  })

  test('the old transId is free again', async () => {
    const { payId } = await begin()
    const { transId } = await shop.read(payId)
    await patch(payId, { transId: newTransId() })
    expect(await shop.create('CARD', { transId })).toMatchObject(done('OK'))
  })
})

describe('a new transId and refNr before the customer has paid', () => {
  const amount = { value: 1000, currency: 'EUR' }
  const named = async () => {
    const session = { transId: newTransId(), refNr: 'before', amount, urls }
    const { body } = await shop.call('POST', '/payments/sessions', session)
    const changed = { transId: newTransId(), refNr: 'after' }
    return { payId: body.payId as string, changed }
  }
  const customer = (payId: string, action: string) =>
    shop.call('POST', `/test/payments/${payId}/customer-action`, { action })

  test('name its authorisation and capture, in the record and in the book of movements', async () => {
    const { payId, changed } = await named()
    await patch(payId, changed)
    const paid = await customer(payId, 'approve')
    expect(paid.body.operations).toMatchObject([
      { type: 'AUTHORIZATION', ...changed },
      { type: 'CAPTURE', ...changed },
    ])
    expect((await shop.call('GET', `/operations?payId=${payId}`)).body.data).toMatchObject([changed, changed])
  })

  test('name the tries after it; a failed one keeps the names under which it was made', async () => {
    const { payId, changed } = await named()
    const { transId } = await shop.read(payId)
    await customer(payId, 'decline')
    await patch(payId, changed)
    const paid = await customer(payId, 'approve')
    const [failed, ...later] = paid.body.operations
    expect(failed).toMatchObject({ status: 'FAILED', transId, refNr: 'before' })
    expect(later).toMatchObject([
      { type: 'AUTHORIZATION', ...changed },
      { type: 'CAPTURE', ...changed },
    ])
  })

  test.each(['no try', 'a failed try'])('name its cancellation after %s', async tries => {
    const { payId, changed } = await named()
    if (tries === 'a failed try') await customer(payId, 'decline')
    await patch(payId, changed)
    const { status, body } = await shop.call('POST', `/payments/${payId}/cancellations`, {})
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'FAILED', ...changed })])
  })
})

describe('once the customer has approved and the merchant is to confirm', () => {
  const approved = async (change: object) => {
    const { body } = await shop.call('POST', '/payments', {
      transId: newTransId(),
      amount: { value: 1000, currency: 'EUR' },
      urls,
      ...change,
    })
    await shop.call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'approve' })
    return body.payId as string
  }
  const methods = [
    ['a wallet', { integrationType: 'HOSTED', type: 'PROVIDERP', providerP: { confirm: true } }],
    ['a card on our page', { integrationType: 'HOSTED', type: 'CARD', card: { eventToken: 'ORDER' } }],
  ] as const

  test.each(methods)(
    '20200011 more than was approved, or another currency: %s',
    async (_, paymentMethods) => {
      const payId = await approved({ paymentMethods })
      const before = await shop.read(payId)
      for (const amount of [
        { value: 1001, currency: 'EUR' },
        { value: 1000, currency: 'USD' },
      ])
        expect(await patch(payId, { amount })).toMatchObject(refused('20200011'))
      expect(await shop.read(payId)).toEqual(before)
      expect(await shop.act(payId, 'confirms', 1000)).toMatchObject(done('OK'))
    },
  )

  test.each(methods)('200 less than was approved: %s', async (_, paymentMethods) => {
    const payId = await approved({ paymentMethods })
    expect((await patch(payId, { amount: { value: 900, currency: 'EUR' } })).status).toBe(200)
    expect(await shop.act(payId, 'confirms', 1000)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'confirms', 900)).toMatchObject(done('OK'))
  })
})

describe('afterwards', () => {
  const changes = [{ transId: 'later' }, { amount: { value: 1, currency: 'EUR' } }]
  const states: [string, () => Promise<string>][] = [
    ['AUTHORIZED', () => shop.authorize('CARD')],
    ['OK', () => shop.sell('CARD')],
    ['FAILED', () => shop.authorize('CARD', { card: { number: '4000000000000002' } })],
    ['PENDING', () => shop.authorize('CARD', { card: { number: '4000000000000101' } })],
    [
      'CAPTURE_REQUEST',
      () => shop.authorize('CARD', { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } }),
    ],
    [
      'REVERSED',
      async () => {
        const payId = await shop.authorize('CARD')
        await shop.act(payId, 'reversals', 1000)
        return payId
      },
    ],
  ]

  test.each(states)('20200011 transId and amount of a payment that is %s', async (status, prepare) => {
    const payId = await prepare()
    const before = await shop.read(payId)
    expect(before.status).toBe(status)
    for (const change of changes) {
      // While the outcome is not known, a new amount has to wait for it.
      const code = status === 'PENDING' && 'amount' in change ? '20200014' : '20200011'
      expect(await patch(payId, { ...change, refNr: 'lost' })).toMatchObject(refused(code))
    }
    expect(await shop.read(payId)).toEqual(before)
  })

  test.each(states)('200 the merchant’s own fields of a payment that is %s', async (_, prepare) => {
    const payId = await prepare()
    const patched = await patch(payId, { refNr: 'n-1', metadata: { note: 1 }, order: { invoiceId: 'i-1' } })
    expect(patched.status).toBe(200)
    expect(patched.body).toMatchObject({ refNr: 'n-1', metadata: { note: 1 }, order: { invoiceId: 'i-1' } })
    expect(await shop.read(payId)).toEqual(patched.body)
  })

  test('metadata and order are merged with the stored values', async () => {
    const { body } = await shop.create('CARD', {
      metadata: { a: 1, b: { c: 1 } },
      order: { merchantReference: 'm-1', description: 'Shoes' },
    })
    await patch(body.payId, { metadata: { b: 2, d: 3 } })
    const { body: patched } = await patch(body.payId, { order: { description: 'Boots' } })
    expect(patched.metadata).toEqual({ a: 1, b: 2, d: 3 })
    expect(patched.order).toEqual({ merchantReference: 'm-1', description: 'Boots' })
    expect(patched.operations).toHaveLength(2)
  })

  test('400 metadata that is too much only when merged', async () => {
    const fields = (from: number) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${from + i}`, i]))
    const { body } = await shop.create('CARD', { metadata: fields(0) })
    expect(await patch(body.payId, { metadata: fields(30) })).toMatchObject({
      status: 400,
      body: { field: 'metadata' },
    })
    expect((await shop.read(body.payId)).metadata).toEqual(fields(0))
  })
})

describe('idempotency', () => {
  test('the same bytes again; another body is refused', async () => {
    const payId = await shop.authorize('CARD')
    const key = { 'idempotency-key': 'patch-1' }
    const first = await patch(payId, { refNr: 'n-1' }, key)
    await patch(payId, { refNr: 'n-2' })
    const again = await patch(payId, { refNr: 'n-1' }, key)
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await shop.read(payId)).refNr).toBe('n-2')
    expect(await patch(payId, { refNr: 'n-3' }, key)).toMatchObject(refused('20170002'))
  })

  test('a refusal is kept, too', async () => {
    const payId = await shop.authorize('CARD')
    const key = { 'idempotency-key': 'patch-2' }
    const first = await patch(payId, { transId: 'x' }, key)
    const again = await patch(payId, { transId: 'x' }, key)
    expect(first).toMatchObject(refused('20200011'))
    expect(again.text).toBe(first.text)
    const { payId: open } = await begin()
    const taken = (await shop.create('CARD')).body.transId
    const refusedOnce = await patch(open, { transId: taken }, key)
    expect(refusedOnce).toMatchObject(refused('20170001'))
    expect((await patch(open, { transId: taken }, key)).text).toBe(refusedOnce.text)
  })
})

describe('bad requests, as {field, error}', () => {
  test.each([
    ['body', {}],
    ['transId', { transId: '' }],
    ['amount.currency', { amount: { value: 1 } }],
    ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
    ['status', { status: 'OK' }],
    ['metadata', { metadata: [] }],
    ['order.items', { order: { items: {} } }],
  ])('400 %s %j', async (field, change) => {
    const { payId } = await begin()
    const answer = await patch(payId, change)
    expect(answer).toMatchObject({ status: 400, body: { field, error: expect.any(String) } })
  })

  test('404 an unknown payment, and one of another merchant', async () => {
    expect((await patch('0'.repeat(32), { refNr: 'x' })).status).toBe(404)
    const stranger = await openShop(gateway)
    const payId = await shop.authorize('CARD')
    expect((await stranger.call('PATCH', `/payments/${payId}`, { refNr: 'x' })).status).toBe(404)
  })
})
