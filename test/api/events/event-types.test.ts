/** Event types: one line for each way in which the simulator can cause an event. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventTypeNames } from '#domain/event-types.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'
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

/** The bodies of a payment's events, the oldest first. */
const bodiesOf = async (payId: string): Promise<AnyJson[]> =>
  (await shop.call('GET', `/events?payId=${payId}`)).body.data.map(({ body }: AnyJson) => body).reverse()

const typesOf = async (payId: string): Promise<string[]> => (await bodiesOf(payId)).map(({ type }) => type)

const hosted = { urls, paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } }
const manual = { captureMethod: { type: 'MANUAL' } }

/** A follow-up whose answer is lost, so that an event reports its result. */
async function lose(
  payId: string,
  operation: string,
  path: 'captures' | 'refunds' | 'reversals',
  value: number,
) {
  await shop.fail({ operation, fault: 'lost_answer' })
  await shop.act(payId, path, value)
  await shop.advance('PT11S')
}

test.each<[type: string, way: string, happen: () => Promise<string>]>([
  [
    'payment.captured',
    'a customer pays on the page',
    async () => {
      const { body } = await shop.create('CARD', hosted)
      await shop.customer(body.payId, 'approve')
      return body.payId
    },
  ],
  [
    'payment.authorized',
    'a customer approves on the page, the capture is by hand',
    async () => {
      const { body } = await shop.create('CARD', { ...hosted, ...manual })
      await shop.customer(body.payId, 'approve')
      return body.payId
    },
  ],
  [
    'payment.failed',
    'a customer turns back',
    async () => {
      const { body } = await shop.create('CARD', hosted)
      await shop.customer(body.payId, 'cancel')
      return body.payId
    },
  ],
  [
    'capture.succeeded',
    'a capture whose answer was lost',
    async () => {
      const payId = await shop.authorize('CARD')
      await lose(payId, 'CAPTURE', 'captures', 400)
      return payId
    },
  ],
  [
    'refund.succeeded',
    'a refund whose answer was lost',
    async () => {
      const payId = await shop.sell('CARD')
      await lose(payId, 'REFUND', 'refunds', 400)
      return payId
    },
  ],
  [
    'payment.reversed',
    'all is given back',
    async () => {
      const payId = await shop.authorize('CARD')
      await lose(payId, 'REVERSAL', 'reversals', 1000)
      return payId
    },
  ],
  [
    'reversal.succeeded',
    'a part is given back',
    async () => {
      const payId = await shop.authorize('CARD')
      await lose(payId, 'REVERSAL', 'reversals', 300)
      return payId
    },
  ],
  [
    'payment.lapsed',
    'an authorisation runs out',
    async () => {
      const payId = await shop.authorize('CARD')
      await shop.advance('P8D')
      return payId
    },
  ],
])('%s: %s', async (type, _, happen) => {
  const payId = await happen()
  const record = await shop.read(payId)
  const [body, ...more] = await bodiesOf(payId)
  expect(more).toEqual([])
  expect(body).toMatchObject({ type, payId, merchantId: shop.merchantId, status: record.status })
  expect(body.amount).toEqual(record.amount)
  const operation = record.operations.find(({ xId }: AnyJson) => xId === body.operation.xId)
  expect(body.operation).toMatchObject({ type: operation.type, status: operation.status })
})

test('an approval whose AUTOMATIC capture is declined is payment.authorized and capture.failed', async () => {
  const { body } = await shop.create('CARD', hosted)
  await shop.fail({ operation: 'CAPTURE', fault: 'decline' })
  await shop.customer(body.payId, 'approve')
  expect(await bodiesOf(body.payId)).toMatchObject([
    { type: 'payment.authorized', sequence: 1, operation: { type: 'AUTHORIZATION', status: 'OK' } },
    {
      type: 'capture.failed',
      sequence: 2,
      status: 'AUTHORIZED',
      operation: { type: 'CAPTURE', status: 'FAILED', amount: { value: 1000, currency: 'EUR' } },
      amount: { authorizedValue: 1000, capturedValue: 0 },
    },
  ])
})

test('an incremental that is declined late is payment.authorized with the sums as they were', async () => {
  const payId = await shop.authorize('CARD')
  await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_answer' })
  await shop.act(payId, 'incrementals', 500, { simulationMode: '0305' })
  await shop.advance('PT11S')
  expect(await bodiesOf(payId)).toMatchObject([
    {
      type: 'payment.authorized',
      status: 'AUTHORIZED',
      operation: { type: 'INCREMENTAL', status: 'FAILED' },
      amount: { authorizedValue: 1000 },
    },
  ])
})

test('a lapse carries the authorisation with the amount that lapsed', async () => {
  const payId = await shop.authorize('CARD')
  await shop.act(payId, 'captures', 400)
  await shop.advance('P8D')
  expect(await bodiesOf(payId)).toMatchObject([
    {
      type: 'payment.lapsed',
      operation: { type: 'AUTHORIZATION', amount: { value: 600, currency: 'EUR' } },
      amount: { authorizedValue: 1000, capturedValue: 400, reversedValue: 600 },
    },
  ])
})

test('debit.returned carries the RETURN with the amount that left, and the status of the payment stays', async () => {
  const { body } = await shop.create('DIRECTDEBIT', {
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: { account: { number: 'DE35370400440532013002', accountHolderName: 'Ada Lovelace' } },
    },
  })
  await shop.act(body.payId, 'refunds', 300)
  await shop.advance('P2D')
  expect(await bodiesOf(body.payId)).toMatchObject([
    {
      type: 'debit.returned',
      status: 'OK',
      responseCode: '23000351',
      operation: { type: 'RETURN', status: 'OK', amount: { value: 700 }, responseCode: '23000351' },
      amount: { capturedValue: 1000, refundedValue: 300, returnedValue: 700 },
    },
  ])
})

describe('an intent', () => {
  const card = (number: string) => ({
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number, expiryDate: '203012', securityCode: '123' },
  })
  const declined = '4000000000009995'

  async function openIntent(more: object = {}): Promise<string> {
    const amount = { value: 1000, currency: 'EUR' }
    const { body } = await shop.call('POST', '/payment-intents', {
      amount,
      metadata: { basket: '7' },
      ...more,
    })
    return body.id
  }

  test('that was declined and is still open: intent.attempt_failed, then payment.captured', async () => {
    const intent = await openIntent()
    const first = await shop.call('POST', `/payment-intents/${intent}/confirm`, card(declined))
    expect(first.status).toBe(422)
    expect(await bodiesOf(first.body.payId)).toMatchObject([
      { type: 'intent.attempt_failed', paymentIntentId: intent, metadata: { basket: '7' }, status: 'FAILED' },
    ])
    const second = await shop.call('POST', `/payment-intents/${intent}/confirm`, card('4111111111111111'))
    expect(await typesOf(second.body.payId)).toEqual(['payment.captured'])
  })

  test('whose tenth try is declined: payment.failed, because it is over', async () => {
    const intent = await openIntent()
    const types: string[] = []
    for (let count = 0; count < 10; count += 1) {
      const { body } = await shop.call('POST', `/payment-intents/${intent}/confirm`, card(declined))
      types.push(...(await typesOf(body.payId)))
    }
    expect(types).toEqual([...Array(9).fill('intent.attempt_failed'), 'payment.failed'])
  })
})

test('a link and a plan are named by their ids', async () => {
  const { body } = await shop.call('POST', '/payments/links', {
    transId: 'linked',
    amount: { value: 1000, currency: 'EUR' },
    urls,
  })
  await shop.customer(body.payId, 'approve')
  expect(await bodiesOf(body.payId)).toMatchObject([{ type: 'payment.captured', linkId: body.id }])
})

test('every type is in the list once', () => {
  expect(new Set(eventTypeNames).size).toBe(23)
})
