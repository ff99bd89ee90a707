/** POST /payments/{id}/confirms over HTTP: multi-step methods, card orders, the client token, and every guard. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import {
  type Change,
  done,
  openShop,
  pending,
  refused,
  type ServedType,
  type Shop,
  tokenOf,
} from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

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

const order = { card: { eventToken: 'ORDER' } }
const manual = { captureMethod: { type: 'MANUAL' } }

async function begin(type: ServedType, change: Change = {}) {
  const { body } = await shop.create(type, { ...manual, ...change })
  return { payId: body.payId as string, token: tokenOf(body), created: body }
}

const twoSteps: [name: string, type: ServedType, change: Change][] = [
  ['PROVIDERK', 'PROVIDERK', {}],
  ['PROVIDERR', 'PROVIDERR', {}],
  ['a card ORDER', 'CARD', order],
  ['a card DELAYED_SHIPMENT', 'CARD', { card: { eventToken: 'DELAYED_SHIPMENT' } }],
]

describe.each(twoSteps)('%s', (_, type, change) => {
  test('is created without asking the provider, then confirmed', async () => {
    const { payId, token, created } = await begin(type, change)
    expect(created).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
    expect(await shop.read(payId)).toMatchObject({
      status: 'AUTHORIZE_REQUEST',
      amount: { value: 1000, authorizedValue: 0 },
      operations: [{ type: 'AUTHORIZATION', status: 'AUTHORIZE_REQUEST' }],
    })
    const confirmed = await shop.act(payId, 'confirms', 1000, { ...token, refNr: 'c-1', metadata: { a: 1 } })
    expect(confirmed).toMatchObject(done('AUTHORIZED'))
    expect(confirmed.body).toMatchObject({ payId, transId: 'step', refNr: 'c-1', metadata: { a: 1 } })
    expect(await shop.read(payId)).toMatchObject({
      status: 'AUTHORIZED',
      xId: confirmed.body.xId,
      amount: { authorizedValue: 1000, capturedValue: 0 },
      operations: [{ status: 'AUTHORIZED' }, { type: 'CONFIRM', status: 'AUTHORIZED' }],
    })
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
  })

  test('is captured with the confirmation when the capture is AUTOMATIC', async () => {
    const { payId, token } = await begin(type, { ...change, captureMethod: { type: 'AUTOMATIC' } })
    expect(await shop.act(payId, 'confirms', 1000, token)).toMatchObject(done('OK'))
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { authorizedValue: 1000, capturedValue: 1000 },
      operations: [{ type: 'AUTHORIZATION' }, { type: 'CONFIRM' }, { type: 'CAPTURE', status: 'OK' }],
    })
  })

  test('waits for its capture when the capture is DELAYED', async () => {
    const { payId, token } = await begin(type, change)
    const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 2 } } }
    expect(await shop.act(payId, 'confirms', 1000, { ...token, ...delayed })).toMatchObject(
      done('CAPTURE_REQUEST'),
    )
    expect((await shop.read(payId)).captureMethod).toEqual(delayed.captureMethod)
    await shop.advance('PT2H')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  })

  test('a lower amount becomes the authorised one', async () => {
    const { payId, token } = await begin(type, change)
    expect(await shop.act(payId, 'confirms', 700, token)).toMatchObject(done('AUTHORIZED'))
    expect((await shop.read(payId)).amount).toMatchObject({ value: 1000, authorizedValue: 700 })
    expect(await shop.act(payId, 'captures', 701)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 700)).toMatchObject(done('OK'))
  })

  test('a declined confirmation makes the payment FAILED for good', async () => {
    const { payId, token } = await begin(type, change)
    const declined = await shop.act(payId, 'confirms', 1000, { ...token, simulationMode: '0351' })
    const key = { CARD: 'card', PROVIDERK: 'providerK', PROVIDERR: 'providerR' }[type as 'CARD']
    expect(declined).toMatchObject(refused(type === 'CARD' ? '21000351' : '25000351'))
    expect(declined.body.paymentMethods[key]).toMatchObject({
      providerResponseCode: '51',
      providerResponseText: 'Insufficient funds',
    })
    expect(await shop.read(payId)).toMatchObject({
      status: 'FAILED',
      amount: { authorizedValue: 0 },
      operations: [{ status: 'FAILED' }, { type: 'CONFIRM', status: 'FAILED' }],
    })
    expect(await shop.act(payId, 'confirms', 1000, token)).toMatchObject(refused('20200010'))
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(refused('20200001'))
  })

  test.each(['lost_answer', 'error'])('PENDING after %s, settled by the clock, told once', async fault => {
    const { payId, token } = await begin(type, { ...change, captureMethod: { type: 'AUTOMATIC' } })
    await shop.fail({ operation: 'CONFIRM', fault })
    const unheard = await shop.act(payId, 'confirms', 1000, token)
    expect(unheard).toMatchObject(pending)
    expect(await shop.read(payId)).toMatchObject({ status: 'PENDING', amount: { authorizedValue: 0 } })
    expect(await shop.act(payId, 'confirms', 1000, token)).toMatchObject(refused('20200010'))
    await shop.advance('PT10S')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    expect(await shop.events(payId)).toMatchObject([{ xId: unheard.body.xId, status: 'OK' }])
  })

  test('an unreached request is sent again twice, then FAILED', async () => {
    const twice = await begin(type, change)
    await shop.fail({ operation: 'CONFIRM', fault: 'lost_request', times: 2 })
    expect(await shop.act(twice.payId, 'confirms', 1000, twice.token)).toMatchObject(done('AUTHORIZED'))
    const thrice = await begin(type, change)
    await shop.fail({ operation: 'CONFIRM', fault: 'lost_request', times: 3 })
    const code = type === 'CARD' ? '21000391' : '25000391'
    expect(await shop.act(thrice.payId, 'confirms', 1000, thrice.token)).toMatchObject(refused(code))
    expect((await shop.read(thrice.payId)).status).toBe('FAILED')
  })
})

describe('what the answer shows', () => {
  test('provider K: its ids and the address for its cookie', async () => {
    const { payId, token, created } = await begin('PROVIDERK', {
      order: { merchantReference: 'o-1' },
      customerInfo: { email: 'ada@example.org', firstName: 'Ada' },
    })
    expect(created.paymentMethods).toEqual({ providerK: { accessToken: expect.stringMatching(/^\S{16,}$/) } })
    const { body } = await shop.act(payId, 'confirms', 1000, token)
    expect(body.paymentMethods).toEqual({
      providerK: {
        providerResponseCode: '00',
        providerTransactionId: expect.stringMatching(/^sim/),
        redirectUrl: expect.stringMatching(/^https:/),
      },
    })
    expect(body.order).toEqual({ merchantReference: 'o-1' })
    expect(body.customerInfo).toMatchObject({ email: 'ada@example.org', firstName: 'Ada' })
  })

  test('an order given with the confirm is merged, so that duplicationCheck still finds its reference', async () => {
    const order = {
      merchantReference: 'o-merged',
      invoiceId: 'i-merged',
      items: [{ name: 'Hat', quantity: 1 }],
    }
    const { payId, token } = await begin('PROVIDERK', { order })
    const given = { description: 'One felt hat', invoiceId: 'i-2' }
    const { body } = await shop.act(payId, 'confirms', 1000, { ...token, order: given })
    expect(body.order).toEqual({ ...order, ...given })
    expect((await shop.read(payId)).order).toEqual({ ...order, ...given })
    const search = { order: { merchantReference: 'o-merged' }, amount: { value: 1000, currency: 'EUR' } }
    const check = await shop.call('POST', '/services/duplicationCheck', search)
    expect(check.body).toMatchObject({ duplicate: true, responseCode: '28001550', payments: [{ payId }] })
  })

  test('provider K: the agreement with the first of a series, and with no other', async () => {
    const series = (initialPayment: boolean) => ({
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment,
        recurring: {
          frequency: 'MONTHLY',
          startDate: '2027-04-01',
          expiryDate: '2028-04-01',
          useCase: 'FIXED',
        },
      },
    })
    const first = await begin('PROVIDERK', series(true))
    const confirmed = await shop.act(first.payId, 'confirms', 1000, first.token)
    const { billingAgreementId } = confirmed.body.paymentMethods.providerK
    expect(billingAgreementId).toMatch(/^\S+$/)
    const recorded = async (payId: string) => (await shop.read(payId)).paymentMethods.providerK
    expect(await recorded(first.payId)).toMatchObject({ billingAgreementId })
    const later = await begin('PROVIDERK', series(false))
    const again = await shop.act(later.payId, 'confirms', 1000, later.token)
    expect(again.body.paymentMethods.providerK).not.toHaveProperty('billingAgreementId')
    expect(await recorded(later.payId)).not.toHaveProperty('billingAgreementId')
    const { paymentPlanId } = first.created
    const charge = { transId: 'k-2', amount: { value: 5, currency: 'EUR' }, paymentPlanId }
    const charged = await shop.call('POST', '/payment-plans/unscheduled-mit', charge)
    expect(charged).toMatchObject(done('AUTHORIZED'))
    expect(await recorded(charged.body.payId)).not.toHaveProperty('billingAgreementId')
  })

  test('provider R: both addresses', async () => {
    const billingAddress = { streetName: 'Main', streetNumber: '1', city: 'Berlin', country: 'DEU' }
    const shipping = { address: { firstName: 'Ada', city: 'Wien', country: 'AUT' }, type: 'HOME' }
    const { payId } = await begin('PROVIDERR', { billingAddress, shipping })
    const { body } = await shop.act(payId, 'confirms', 1000)
    expect(body.paymentMethods).toEqual({
      providerR: { providerResponseCode: '00', billingAddress, shippingAddress: shipping },
    })
  })

  test('provider R: addresses that come with the confirmation', async () => {
    const billingAddress = { city: 'Graz', country: 'AUT' }
    const shipping = { address: { city: 'Linz', country: 'AUT' } }
    const { payId } = await begin('PROVIDERR')
    const { body } = await shop.act(payId, 'confirms', 1000, { billingAddress, shipping })
    expect(body.paymentMethods.providerR).toMatchObject({ billingAddress, shippingAddress: shipping })
    expect(await shop.read(payId)).toMatchObject({ billingAddress, shipping })
  })

  test('a card: the acquirer’s code and id, but no approval code', async () => {
    const { payId } = await begin('CARD', order)
    const { body } = await shop.act(payId, 'confirms', 1000, {
      paymentMethods: { card: { eventToken: 'ORDER' } },
    })
    expect(body.paymentMethods).toEqual({
      card: { providerResponseCode: '00', providerTransactionId: expect.stringMatching(/^sim/) },
    })
  })
})

describe('the client token of K', () => {
  test('works for 60 minutes and not a minute longer', async () => {
    const inTime = await begin('PROVIDERK')
    const tooLate = await begin('PROVIDERK')
    await shop.advance('PT60M')
    expect(await shop.act(inTime.payId, 'confirms', 1000, inTime.token)).toMatchObject(done('AUTHORIZED'))
    await shop.advance('PT1M')
    expect(await shop.act(tooLate.payId, 'confirms', 1000, tooLate.token)).toMatchObject(refused('20180001'))
    expect((await shop.read(tooLate.payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('is refused for another payment', async () => {
    const mine = await begin('PROVIDERK')
    const other = await begin('PROVIDERK')
    expect(await shop.act(mine.payId, 'confirms', 1000, other.token)).toMatchObject(refused('20180001'))
    expect(await shop.act(mine.payId, 'confirms', 1000, mine.token)).toMatchObject(done('AUTHORIZED'))
  })
})

describe('guards, the first that fails is the answer', () => {
  const wrong = { amount: { value: 5000, currency: 'USD' } }

  test.each(['CARD', 'DIRECTDEBIT', 'PROVIDERM'] as const)('20200010 %s takes one step only', async type => {
    const payId = await shop.authorize(type)
    expect(await shop.act(payId, 'confirms', 1, wrong)).toMatchObject(refused('20200010'))
  })

  test('20200010 a payment that was confirmed already', async () => {
    const { payId, token } = await begin('PROVIDERK')
    await shop.act(payId, 'confirms', 1000, token)
    expect(await shop.act(payId, 'confirms', 1, { ...token, ...wrong })).toMatchObject(refused('20200010'))
    expect((await shop.read(payId)).operations).toHaveLength(2)
  })

  test('20200007 a payment that has expired, even before its timer has run', async () => {
    const { payId, token } = await begin('PROVIDERK')
    await queryRows(gateway.databaseUrl, `UPDATE timer SET run_at = 'infinity' WHERE pay_id = $1`, [payId])
    await shop.advance('PT24H')
    expect(await shop.act(payId, 'confirms', 1, { ...token, ...wrong })).toMatchObject(refused('20200007'))
  })

  test('guards in order: 20200005, then the token (20180001), then the amount (20200003)', async () => {
    const { payId, token } = await begin('PROVIDERK')
    const stale = { paymentMethods: { providerK: { accessToken: 'stale' } } }
    expect(await shop.act(payId, 'confirms', 1, { ...stale, ...wrong })).toMatchObject(refused('20200005'))
    expect(await shop.act(payId, 'confirms', 1001, stale)).toMatchObject(refused('20180001'))
    expect(await shop.act(payId, 'confirms', 1001, token)).toMatchObject(refused('20200003'))
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', operations: [{}] })
    expect(await shop.act(payId, 'confirms', 1000, token)).toMatchObject(done('AUTHORIZED'))
  })

  test.each(['captures', 'reversals', 'incrementals'] as const)(
    '20200001 %s of what waits for its confirmation',
    async operation => {
      const { payId } = await begin('CARD', order)
      expect(await shop.act(payId, operation, 1)).toMatchObject(refused('20200001'))
    },
  )

  test('20200004 refunds of a payment that waits for its confirmation', async () => {
    const { payId } = await begin('CARD', order)
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('20200004'))
  })
})

describe('bad requests, as {field, error}', () => {
  test.each([
    ['transId', { transId: undefined }],
    ['amount', { amount: undefined }],
    ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
    ['amount.currency', { amount: { value: 1 } }],
    ['captureMethod.type', { captureMethod: { type: 'SOON' } }],
    ['captureMethod.delayed', { captureMethod: { type: 'DELAYED' } }],
    ['captureMethod.delayed', { captureMethod: { type: 'MANUAL', delayed: { delayedHours: 5 } } }],
    [
      'captureMethod.delayed.delayedHours',
      { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 697 } } },
    ],
    ['expirationTime', { expirationTime: 'tomorrow' }],
    ['paymentMethods', { paymentMethods: undefined }],
    ['paymentMethods.providerK', { paymentMethods: {} }],
    ['paymentMethods.providerK.accessToken', { paymentMethods: { providerK: {} } }],
    ['paymentMethods.card', { paymentMethods: { card: {}, providerK: { accessToken: 'x' } } }],
    ['simulationMode', { simulationMode: 'approve' }],
    ['surprise', { surprise: 1 }],
  ])('400 %s %j', async (field, change) => {
    const { payId, token } = await begin('PROVIDERK')
    const answer = await shop.act(payId, 'confirms', 1000, { ...token, ...change })
    expect(answer).toMatchObject({ status: 400, body: { field, error: expect.any(String) } })
    expect(Object.keys(answer.body)).toEqual(['field', 'error'])
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', operations: [{}] })
  })

  test('400 a capture method that the method lacks, and it may still be confirmed', async () => {
    const created = await shop.call('POST', '/payments', {
      transId: 'riverty',
      amount: { value: 1000, currency: 'EUR' },
      paymentMethods: { integrationType: 'DIRECT', type: 'RIVERTY' },
    })
    const { payId } = created.body
    const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 2 } }
    const error = 'captureMethod.type: RIVERTY does not support DELAYED; allowed: AUTOMATIC, MANUAL'
    const answer = await shop.act(payId, 'confirms', 1000, { captureMethod })
    expect(answer).toMatchObject({ status: 400, body: { field: 'captureMethod.type', error } })
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', operations: [{}] })
    const manually = await shop.act(payId, 'confirms', 1000, { captureMethod: { type: 'MANUAL' } })
    expect(manually).toMatchObject(done('AUTHORIZED'))
  })

  test('200 a body of version 2.0.0', async () => {
    const { payId, token } = await begin('PROVIDERK')
    const old = {
      ...token,
      amount: { value: 1000, currency: 'EUR', taxTotal: 190 },
      order: { merchantReference: 'o-1', items: [{ name: 'Thing', quantity: 1 }] },
      shipping: { address: { firstName: 'Ada', country: 'DEU' } },
    }
    expect(await shop.act(payId, 'confirms', 1000, old)).toMatchObject(done('AUTHORIZED'))
    expect(await shop.read(payId)).toMatchObject({ amount: { value: 1000, taxTotal: 190 } })
  })

  test('404 an unknown payment', async () => {
    expect((await shop.act('0'.repeat(32), 'confirms', 1)).status).toBe(404)
  })
})
