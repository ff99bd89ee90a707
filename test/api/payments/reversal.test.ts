/** POST /payments/{id}/reversals over HTTP: whole and in part, unknown outcomes, every guard. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import {
  declinePrefix,
  done,
  openShop,
  pending,
  refused,
  type ServedType,
  type Shop,
  servedTypes,
  toldByApproval,
} from '#test/support/shop.ts'
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

const fields: Record<ServedType, object> = {
  CARD: {
    card: {
      providerResponseCode: '00',
      providerTransactionId: expect.stringMatching(/^sim/),
      providerApprovalCode: expect.any(Number),
    },
  },
  DIRECTDEBIT: { directDebit: { providerResponseCode: '00' } },
  PROVIDERK: { providerK: { providerResponseCode: '00' } },
  PROVIDERM: { providerM: { providerResponseCode: '00' } },
  PROVIDERR: { providerR: { providerResponseCode: '00' } },
  PROVIDERP: { providerP: { providerResponseCode: '00' } },
  PROVIDERT: {
    providerT: {
      authorizationExpiry: expect.stringMatching(/^\d{4}-.*Z$/),
      paymentReference: expect.stringMatching(/^T\d+$/),
      providerTransactionId: expect.stringMatching(/^sim/),
    },
  },
  PROVIDERZ: {
    providerZ: {
      providerResponseCode: '00',
      providerStatus: 'Completed',
      chargeId: expect.stringMatching(/^S01-\d{7}-\d{7}-C\d{6}$/),
      chargePermissionId: expect.stringMatching(/^S01-\d{7}-\d{7}$/),
    },
  },
}

/** The amount that may be captured above the open amount: P allows captures up to 115 % of 1000. */
const extra = (type: ServedType): number => (type === 'PROVIDERP' ? 150 : 0)

describe.each(servedTypes)('%s', type => {
  test('a full reversal makes the payment REVERSED, and its transId is free again', async () => {
    const payId = await shop.authorize(type)
    const reversed = await shop.act(payId, 'reversals', 1000, { refNr: 'r-1', metadata: { why: 'changed' } })
    expect(reversed).toMatchObject(done('OK'))
    expect(reversed.body).toMatchObject({
      payId,
      transId: 'step',
      refNr: 'r-1',
      metadata: { why: 'changed' },
    })
    expect(reversed.body.paymentMethods).toEqual(fields[type])
    const record = await shop.read(payId)
    expect(record).toMatchObject({
      status: 'REVERSED',
      amount: { authorizedValue: 1000, capturedValue: 0, reversedValue: 1000 },
    })
    expect(record.operations.at(-1)).toMatchObject({ type: 'REVERSAL', status: 'OK', xId: reversed.body.xId })
    expect(await shop.create(type, { transId: record.transId })).toMatchObject({ status: 200 })
  })

  test('a partial reversal leaves the rest, and no more, to be captured', async () => {
    const payId = await shop.authorize(type)
    expect(await shop.act(payId, 'reversals', 300)).toMatchObject(done('OK'))
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 300 } })
    expect(await shop.act(payId, 'reversals', 701)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 701 + extra(type))).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'reversals', 200)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'captures', 500)).toMatchObject(done('OK'))
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { authorizedValue: 1000, capturedValue: 500, reversedValue: 500 },
    })
  })

  test('a decline changes nothing', async () => {
    const payId = await shop.authorize(type)
    const declined = await shop.act(payId, 'reversals', 1000, { simulationMode: '0312' })
    expect(declined).toMatchObject(refused(`${declinePrefix[type]}0312`))
    expect(Object.values(declined.body.paymentMethods)[0]).toMatchObject({
      providerResponseCode: '12',
      ...(type === 'PROVIDERP' ? {} : { providerResponseText: 'Invalid transaction' }),
    })
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 0 } })
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
  })

  test.each(['lost_answer', 'error'])('PENDING after %s counts as given back, then settles', async fault => {
    const payId = await shop.authorize(type)
    await shop.fail({ operation: 'REVERSAL', fault })
    const unheard = await shop.act(payId, 'reversals', 600)
    expect(unheard).toMatchObject(pending)
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 0 } })
    expect(await shop.act(payId, 'captures', 401 + extra(type))).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'reversals', 401)).toMatchObject(refused('20200003'))
    await shop.advance('PT10S')
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 600 } })
    const told = (await shop.events(payId)).slice(toldByApproval(type))
    expect(told).toMatchObject([{ xId: unheard.body.xId, responseCode: '00000000' }])
    expect(await shop.act(payId, 'captures', 400)).toMatchObject(done('OK'))
  })

  test('an unreached request is sent again twice, then FAILED and the amount is free', async () => {
    const payId = await shop.authorize(type)
    await shop.fail({ operation: 'REVERSAL', fault: 'lost_request', times: 3 })
    const lost = await shop.act(payId, 'reversals', 600)
    expect(lost).toMatchObject(refused(`${declinePrefix[type]}0391`))
    await shop.fail({ operation: 'REVERSAL', fault: 'lost_request', times: 2 })
    expect(await shop.act(payId, 'reversals', 1000)).toMatchObject(done('OK'))
    expect((await shop.read(payId)).status).toBe('REVERSED')
  })
})

describe('guards, the first that fails is the answer', () => {
  const wrong = { amount: { value: 5000, currency: 'USD' } }
  const wronglyReverse = (payId: string) => shop.act(payId, 'reversals', 1, wrong)

  test('20200001 nothing was approved', async () => {
    const failed = await shop.authorize('CARD', { card: { number: '4000000000000002' } })
    expect(await wronglyReverse(failed)).toMatchObject(refused('20200001'))
    const unheard = await shop.authorize('CARD', { card: { number: '4000000000000101' } })
    expect(await wronglyReverse(unheard)).toMatchObject(refused('20200014'))
  })

  test('20200007 an authorisation that has lapsed, also in part', async () => {
    const payId = await shop.authorize('CARD')
    const partly = await shop.authorize('CARD')
    await shop.act(partly, 'captures', 1)
    await shop.advance('P7D')
    expect(await wronglyReverse(payId)).toMatchObject(refused('20200007'))
    expect(await wronglyReverse(partly)).toMatchObject(refused('20200007'))
  })

  test('20200008 a payment that was reversed already', async () => {
    const payId = await shop.authorize('CARD')
    await shop.act(payId, 'reversals', 1000)
    expect(await wronglyReverse(payId)).toMatchObject(refused('20200008'))
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('20200008'))
    expect(await shop.act(payId, 'incrementals', 1)).toMatchObject(refused('20200008'))
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('20200004'))
  })

  test('20200002 captured, also in part, also with an unknown outcome', async () => {
    const partly = await shop.authorize('CARD')
    await shop.act(partly, 'captures', 1)
    expect(await wronglyReverse(partly)).toMatchObject(refused('20200002'))
    const perhaps = await shop.authorize('CARD')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    await shop.act(perhaps, 'captures', 1)
    expect(await wronglyReverse(perhaps)).toMatchObject(refused('20200002'))
    const automatic = await shop.authorize('CARD', { captureMethod: { type: 'AUTOMATIC' } })
    expect(await wronglyReverse(automatic)).toMatchObject(refused('20200002'))
  })

  test('20200005 before 20200003', async () => {
    const payId = await shop.authorize('CARD')
    expect(await wronglyReverse(payId)).toMatchObject(refused('20200005'))
    expect(await shop.act(payId, 'reversals', 1001)).toMatchObject(refused('20200003'))
    expect((await shop.read(payId)).operations).toHaveLength(1)
  })

  test('a capture that was declined leaves the reversal possible', async () => {
    const payId = await shop.authorize('CARD', { card: { number: '4000000000000341' } })
    await shop.act(payId, 'captures', 1000)
    expect(await shop.act(payId, 'reversals', 1000)).toMatchObject(done('OK'))
  })
})

describe('bad requests, as problem details', () => {
  test.each([
    ['transId', { transId: undefined }],
    ['amount', { amount: undefined }],
    ['amount.value', { amount: { value: -1, currency: 'EUR' } }],
    ['amount.currency', { amount: { value: 1, currency: 'EURO' } }],
    ['refNr', { refNr: 'x'.repeat(41) }],
    ['order.items', { order: { items: Array.from({ length: 501 }, () => ({})) } }],
    ['paymentMethods.providerZ', { paymentMethods: { providerZ: { reversalReason: 'x' } } }],
    ['paymentMethods.card.number', { paymentMethods: { card: { number: '4111111111111111' } } }],
    ['simulationMode', { simulationMode: '1' }],
    ['surprise', { surprise: 1 }],
  ])('400 %s', async (field, change) => {
    const payId = await shop.authorize('CARD')
    const answer = await shop.act(payId, 'reversals', 100, change)
    expect(answer).toMatchObject({
      status: 400,
      body: { type: expect.any(String), title: expect.any(String), status: 400, traceId: expect.any(String) },
    })
    expect(answer.body.errors[field]).toEqual([expect.any(String)])
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect((await shop.read(payId)).operations).toHaveLength(1)
  })

  test('404 an unknown payment, and one of another merchant', async () => {
    expect((await shop.act('0'.repeat(32), 'reversals', 1)).status).toBe(404)
    const stranger = await openShop(gateway)
    expect((await stranger.act(await shop.authorize('CARD'), 'reversals', 1)).status).toBe(404)
  })
})
