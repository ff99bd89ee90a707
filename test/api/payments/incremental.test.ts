/** POST /payments/{id}/incrementals over HTTP: a higher ceiling, a longer life, and every guard. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'
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

const raise = (payId: string, value: number, more: object = {}) =>
  shop.act(payId, 'incrementals', value, more)

describe('raising', () => {
  test('200 the ceiling rises by the amount, and captures reach it', async () => {
    const payId = await shop.authorize('CARD')
    const raised = await raise(payId, 500, { refNr: 'i-1', metadata: { nights: 2 } })
    expect(raised).toMatchObject(done('OK'))
    expect(raised.body).toMatchObject({ payId, transId: 'step', refNr: 'i-1' })
    // The only answer without the request's metadata.
    expect(raised.body).not.toHaveProperty('metadata')
    expect(raised.body.paymentMethods).toEqual({
      card: { providerResponseCode: '00', providerTransactionId: expect.stringMatching(/^sim/) },
    })
    expect(await shop.read(payId)).toMatchObject({
      status: 'AUTHORIZED',
      amount: { value: 1000, authorizedValue: 1500 },
      operations: [{ type: 'AUTHORIZATION' }, { type: 'INCREMENTAL', status: 'OK', amount: { value: 500 } }],
    })
    expect(await raise(payId, 1)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'captures', 1502)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 1501)).toMatchObject(done('OK'))
  })

  test('200 also before a delayed capture, which then takes all of it', async () => {
    const payId = await shop.authorize('CARD', {
      captureMethod: { type: 'DELAYED', delayed: { delayedHours: 5 } },
    })
    expect(await raise(payId, 500)).toMatchObject(done('OK'))
    await shop.advance('PT5H')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1500 } })
  })

  test('200 after a partial reversal', async () => {
    const payId = await shop.authorize('CARD')
    await shop.act(payId, 'reversals', 400)
    await raise(payId, 100)
    expect(await shop.act(payId, 'captures', 701)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 700)).toMatchObject(done('OK'))
  })

  test('duration prolongs the authorisation by that many days', async () => {
    const short = await shop.authorize('CARD')
    const long = await shop.authorize('CARD')
    await raise(short, 1)
    await raise(long, 1, { duration: 2 })
    await shop.advance('P7D')
    expect((await shop.read(short)).status).toBe('REVERSED')
    expect((await shop.read(long)).status).toBe('AUTHORIZED')
    expect(await shop.act(long, 'captures', 1)).toMatchObject(done('OK'))
    await shop.advance('P2D')
    expect(await shop.read(long)).toMatchObject({ status: 'OK', amount: { reversedValue: 1000 } })
    expect(await shop.act(long, 'captures', 1)).toMatchObject(refused('20200007'))
  })

  test.each([
    ['AUTOMATIC', 'OK'],
    ['MANUAL', 'AUTHORIZED'],
    ['DELAYED', 'AUTHORIZED'],
  ])(
    '422 the verification of an account, captured %s, has no amount to raise and stays %s',
    async (type, status) => {
      const payId = await shop.authorize('CARD', {
        amount: { value: 0, currency: 'EUR' },
        captureMethod: { type, delayed: type === 'DELAYED' ? { delayedHours: 5 } : undefined },
        card: { eventToken: 'ACCOUNT_VERIFICATION' },
      })
      expect(await raise(payId, 500)).toMatchObject(refused('20200001'))
      await shop.advance('P8D')
      expect(await raise(payId, 500)).toMatchObject(refused('20200001'))
      expect(await shop.read(payId)).toMatchObject({
        status,
        amount: { authorizedValue: 0, capturedValue: 0 },
      })
    },
  )

  test('422 a decline changes nothing', async () => {
    const payId = await shop.authorize('CARD')
    const declined = await raise(payId, 500, { simulationMode: '0361', duration: 5 })
    expect(declined).toMatchObject(refused('21000361'))
    expect(declined.body).not.toHaveProperty('metadata')
    expect((await shop.read(payId)).amount.authorizedValue).toBe(1000)
    await shop.advance('P7D')
    expect((await shop.read(payId)).status).toBe('REVERSED')
  })

  test.each(['lost_answer', 'error'])('PENDING after %s raises nothing until it is settled', async fault => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'INCREMENTAL', fault })
    const unheard = await raise(payId, 500)
    expect(unheard).toMatchObject(pending)
    expect((await shop.read(payId)).amount.authorizedValue).toBe(1000)
    expect(await shop.act(payId, 'captures', 1001)).toMatchObject(refused('20200003'))
    await shop.advance('PT10S')
    expect((await shop.read(payId)).amount.authorizedValue).toBe(1500)
    expect(await shop.events(payId)).toMatchObject([{ xId: unheard.body.xId, status: 'AUTHORIZED' }])
    expect(await shop.act(payId, 'captures', 1500)).toMatchObject(done('OK'))
  })

  test('an unknown increment of a payment that was captured meanwhile adds to the open amount', async () => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_answer' })
    await raise(payId, 500)
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
    await shop.advance('PT10S')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { authorizedValue: 1500 } })
    expect(await shop.act(payId, 'captures', 500)).toMatchObject(done('OK'))
  })

  test('an unknown increment of a payment that was reversed meanwhile is released with it', async () => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_answer' })
    await raise(payId, 500)
    expect(await shop.act(payId, 'reversals', 1000)).toMatchObject(done('OK'))
    await shop.advance('PT10S')
    expect(await shop.read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { authorizedValue: 1500, reversedValue: 1500 },
    })
  })

  test('an unreached request is sent again twice, then FAILED', async () => {
    const payId = await shop.authorize('CARD')
    await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_request', times: 3 })
    expect(await raise(payId, 500)).toMatchObject(refused('21000391'))
    await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_request', times: 2 })
    expect(await raise(payId, 500)).toMatchObject(done('OK'))
    expect((await shop.read(payId)).amount.authorizedValue).toBe(1500)
  })
})

describe('guards, the first that fails is the answer', () => {
  const wrong = { amount: { value: 1, currency: 'USD' } }

  test.each(['DIRECTDEBIT', 'PROVIDERK', 'PROVIDERM', 'PROVIDERR'] as const)(
    '20200009 %s cannot be raised',
    async type => {
      const payId = await shop.authorize(type)
      expect(await raise(payId, 1, wrong)).toMatchObject(refused('20200009'))
    },
  )

  test('20200001 nothing was approved', async () => {
    const failed = await shop.authorize('CARD', { card: { number: '4000000000000002' } })
    expect(await raise(failed, 1, wrong)).toMatchObject(refused('20200001'))
    const unheard = await shop.authorize('CARD', { card: { number: '4000000000000101' } })
    expect(await raise(unheard, 1, wrong)).toMatchObject(refused('20200014'))
  })

  test('20200007 an authorisation that has lapsed', async () => {
    const payId = await shop.authorize('CARD')
    await shop.advance('P7D')
    expect(await raise(payId, 1, wrong)).toMatchObject(refused('20200007'))
  })

  test('20200008 a payment that was reversed', async () => {
    const payId = await shop.authorize('CARD')
    await shop.act(payId, 'reversals', 1000)
    expect(await raise(payId, 1, wrong)).toMatchObject(refused('20200008'))
  })

  test('20200002 captured, also in part, also with an unknown outcome', async () => {
    const partly = await shop.authorize('CARD')
    await shop.act(partly, 'captures', 1)
    expect(await raise(partly, 1, wrong)).toMatchObject(refused('20200002'))
    const perhaps = await shop.authorize('CARD')
    await shop.fail({ operation: 'CAPTURE', fault: 'error' })
    await shop.act(perhaps, 'captures', 1)
    expect(await raise(perhaps, 1, wrong)).toMatchObject(refused('20200002'))
  })

  test('20200005 another currency', async () => {
    const payId = await shop.authorize('CARD')
    expect(await raise(payId, 1, wrong)).toMatchObject(refused('20200005'))
  })

  test('20200003 beyond the largest possible amount, unknown increments included', async () => {
    const payId = await shop.authorize('CARD')
    expect(await raise(payId, 999_999_999_000)).toMatchObject(refused('20200003'))
    await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_answer' })
    expect(await raise(payId, 999_999_998_000)).toMatchObject(pending)
    expect(await raise(payId, 1000)).toMatchObject(refused('20200003'))
    expect(await raise(payId, 999)).toMatchObject(done('OK'))
  })
})

describe('bad requests, as {field, error}', () => {
  test.each([
    ['transId', { transId: undefined }],
    ['amount', { amount: undefined }],
    ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
    ['amount.taxTotal', { amount: { value: 1, currency: 'EUR', taxTotal: 1 } }],
    ['duration', { duration: 0 }],
    ['duration', { duration: 1.5 }],
    ['duration', { duration: '2' }],
    ['paymentMethods', { paymentMethods: {} }],
    ['simulationMode', { simulationMode: '00000' }],
  ])('400 %s %j', async (field, change) => {
    const payId = await shop.authorize('CARD')
    const answer = await raise(payId, 100, change)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ field, error: expect.any(String) })
    expect((await shop.read(payId)).amount.authorizedValue).toBe(1000)
  })
})
