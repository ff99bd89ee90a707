import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const order = { merchantReference: 'basket-1' }
const amount = { value: 1000, currency: 'EUR' }

const check = (change: object = {}, who = shop, headers?: Record<string, string>) =>
  who.call('POST', '/services/duplicationCheck', { order, amount, ...change }, headers)

const nothing = {
  status: 200,
  body: { status: 'OK', responseCode: '00000000', duplicate: false, payments: [] },
}
const found = (responseCode: string, count = 1) => ({
  status: 200,
  body: {
    status: 'OK',
    responseCode,
    duplicate: true,
    payments: Array.from({ length: count }, () => ({ amount })),
  },
})

test('200 without a payment', async () => {
  expect(await check({ transId: 'ask-1' })).toMatchObject(nothing)
})

describe('what counts', () => {
  test('200 a captured payment, with all that names it', async () => {
    const { body } = await shop.create('CARD', { order: { ...order, invoiceId: 'i-1' }, refNr: 'r-1' })
    const answer = await check()
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      status: 'OK',
      responseCode: '28001550',
      responseDescription: expect.any(String),
      duplicate: true,
      payments: [
        {
          payId: body.payId,
          transId: body.transId,
          refNr: 'r-1',
          status: 'OK',
          amount,
          creationDate: (await shop.read(body.payId)).creationDate,
        },
      ],
    })
  })

  test.each([
    ['AUTHORIZED', { captureMethod: { type: 'MANUAL' } }, '28001550'],
    ['CAPTURE_REQUEST', { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 2 } } }, '28001550'],
    ['AUTHORIZE_REQUEST', { card: { eventToken: 'ORDER' } }, '28001551'],
    ['PENDING', { card: { number: '4000000000000101' } }, '28001551'],
  ])('200 a payment that is %s', async (status, change, responseCode) => {
    expect((await shop.create('CARD', { order, ...change })).body.status).toBe(status)
    const answer = await check()
    expect(answer).toMatchObject(found(responseCode))
    expect(answer.body.payments[0].status).toBe(status)
  })

  test('200 several, the newest first', async () => {
    const first = await shop.create('CARD', { order })
    const second = await shop.create('CARD', { order })
    const answer = await check()
    expect(answer).toMatchObject(found('28001552', 2))
    expect(answer.body.payments.map(({ payId }: { payId: string }) => payId)).toEqual([
      second.body.payId,
      first.body.payId,
    ])
  })

  test('200 a failed payment never counts, nor does a reversed one', async () => {
    await shop.create('CARD', { order, card: { number: '4000000000000002' } })
    const payId = await shop.authorize('CARD', { order })
    expect((await shop.act(payId, 'reversals', 1000)).status).toBe(200)
    expect(await check()).toMatchObject(nothing)
  })
})

describe('the compared fields', () => {
  test.each([
    ['the reference', { order: { merchantReference: 'basket-2' } }, nothing],
    ['its case', { order: { merchantReference: 'Basket-1' } }, nothing],
    ['the amount', { amount: { value: 1001, currency: 'EUR' } }, nothing],
    ['the currency', { amount: { value: 1000, currency: 'USD' } }, nothing],
    ['the invoice', { order: { invoiceId: 'i-1' } }, found('28001550')],
    ['another invoice', { order: { invoiceId: 'i-2' } }, nothing],
    ['both', { order: { merchantReference: 'basket-1', invoiceId: 'i-1' } }, found('28001550')],
    ['one of both', { order: { merchantReference: 'basket-1', invoiceId: 'i-2' } }, nothing],
  ])('200 %s', async (_, change, expected) => {
    await shop.create('CARD', { order: { merchantReference: 'basket-1', invoiceId: 'i-1' } })
    expect(await check(change)).toMatchObject(expected)
  })

  test('200 a reference that an update has set', async () => {
    const { body } = await shop.create('CARD', { order: { merchantReference: 'old' } })
    expect((await shop.call('PATCH', `/payments/${body.payId}`, { order })).status).toBe(200)
    expect(await check()).toMatchObject(found('28001550'))
    expect(await check({ order: { merchantReference: 'old' } })).toMatchObject(nothing)
  })

  test("200 other merchants' payments do not count", async () => {
    await (await openShop(gateway)).create('CARD', { order })
    expect(await check()).toMatchObject(nothing)
  })
})

describe("how far it looks back, in the merchant's time", () => {
  test.each([
    ['PT23H59M', undefined, '28001550'],
    ['PT24H1M', undefined, '00000000'],
    ['PT24H1M', 25, '28001550'],
    ['PT59M', 1, '28001550'],
    ['PT61M', 1, '00000000'],
    ['PT95H59M', 96, '28001550'],
  ])('200 after %s with %s hours: %s', async (duration, lookbackHours, responseCode) => {
    await shop.create('CARD', { order })
    await shop.advance(duration)
    expect((await check({ lookbackHours })).body.responseCode).toBe(responseCode)
  })
})

test.each([
  ['order', { order: undefined }],
  ['order', { order: {} }],
  ['order.merchantReference', { order: { merchantReference: '' } }],
  ['order.items', { order: { merchantReference: 'a', items: [] } }],
  ['amount', { amount: undefined }],
  ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
  ['amount.currency', { amount: { value: 1, currency: 'XXX' } }],
  ['lookbackHours', { lookbackHours: 0 }],
  ['lookbackHours', { lookbackHours: 97 }],
  ['lookbackHours', { lookbackHours: 1.5 }],
  ['surprise', { surprise: 1 }],
])('400 names %s', async (field, change) => {
  expect(await check(change)).toMatchObject({
    status: 400,
    body: { errors: { [field]: [expect.any(String)] } },
  })
})

test('200 a repeated request under a key gets the first answer', async () => {
  const headers = { 'idempotency-key': 'check-1' }
  const first = await check({}, shop, headers)
  await shop.create('CARD', { order })
  expect((await check({}, shop, headers)).text).toBe(first.text)
  expect((await check()).body.duplicate).toBe(true)
})

test('both references are found by an index, among many payments of one merchant', async () => {
  const { body } = await shop.create('CARD', { order })
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('pay_id', gen_random_uuid(),
       'trans_id', 'copy-' || i, 'order_reference', 'r-' || i, 'invoice_id', 'i-' || i))).*
     FROM payment p, generate_series(1, 1500) i WHERE merchant_id = $1 AND pay_id = $2`,
    [shop.merchantId, body.payId],
  )
  await queryRows(gateway.databaseUrl, 'ANALYZE payment')
  for (const column of ['order_reference', 'invoice_id']) {
    const rows = await queryRows<{ 'QUERY PLAN': string }>(
      gateway.databaseUrl,
      // All payments are recent, so an index on their age alone would find all of them.
      `EXPLAIN SELECT pay_id FROM payment WHERE merchant_id = $1 AND ${column} = 'r-7'
       AND created_at >= now() - interval '30 days'`,
      [shop.merchantId],
    )
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toContain(`Index Scan using payment_by_${column}`)
  }
})
