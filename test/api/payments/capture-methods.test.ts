/** Captures of each method, over HTTP: its own fields, what closes it, and its result fields. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { done, openShop, pending, refused, type ServedType, type Shop } from '#test/support/shop.ts'
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

const methods = (paymentMethods: object) => ({ paymentMethods })
const complete = methods({ providerK: { completeType: 'YES' } })

describe('provider K with completeType', () => {
  test('captures a part and releases the rest', async () => {
    const payId = await shop.authorize('PROVIDERK')
    expect(await shop.act(payId, 'captures', 400, complete)).toMatchObject(done('OK'))
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { authorizedValue: 1000, capturedValue: 400, reversedValue: 600 },
    })
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('20200006'))
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
    await shop.advance('P28D')
    expect((await shop.read(payId)).amount.reversedValue).toBe(600)
    expect(await shop.events(payId)).toEqual([])
  })

  test('20200003 when nothing would be left to release; nothing is captured', async () => {
    const payId = await shop.authorize('PROVIDERK')
    expect(await shop.act(payId, 'captures', 1000, complete)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 400)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'captures', 600, complete)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'captures', 599, complete)).toMatchObject(done('OK'))
    expect((await shop.read(payId)).amount).toMatchObject({ capturedValue: 999, reversedValue: 1 })
  })

  test('a declined capture leaves the rest authorised', async () => {
    const payId = await shop.authorize('PROVIDERK')
    const declined = await shop.act(payId, 'captures', 400, { ...complete, simulationMode: '0305' })
    expect(declined).toMatchObject(refused('25000305'))
    expect((await shop.read(payId)).amount.reversedValue).toBe(0)
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
  })

  test('an unknown capture closes the payment, and the rest is released with its answer', async () => {
    const payId = await shop.authorize('PROVIDERK')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    expect(await shop.act(payId, 'captures', 400, complete)).toMatchObject(pending)
    expect(await shop.act(payId, 'captures', 600)).toMatchObject(refused('20200006'))
    await shop.advance('PT10S')
    expect((await shop.read(payId)).amount).toMatchObject({ capturedValue: 400, reversedValue: 600 })
  })

  test('200 with the shipping details of the goods', async () => {
    const payId = await shop.authorize('PROVIDERK')
    const shippingInfo = {
      trackingId: 't-1',
      shippingCompany: 'Post',
      trackingUrl: 'https://example.org/t-1',
      shippingMethod: 'DHL_PACKSTATION',
    }
    const captured = await shop.act(payId, 'captures', 400, methods({ providerK: { shippingInfo } }))
    expect(captured).toMatchObject(done('OK'))
    expect(captured.body.paymentMethods).toEqual({ providerK: { providerResponseCode: '00' } })
  })
})

describe('provider R with shippingInfo', () => {
  const shippingInfo = { type: 'SHIPMENT', shippingCompany: 'Post', trackingId: 't-1' }

  test('200 with all shipping details', async () => {
    const payId = await shop.authorize('PROVIDERR')
    const captured = await shop.act(payId, 'captures', 400, methods({ providerR: { shippingInfo } }))
    expect(captured).toMatchObject(done('OK'))
    expect(captured.body.paymentMethods).toEqual({ providerR: { providerResponseCode: '00' } })
    expect(await shop.act(payId, 'captures', 600)).toMatchObject(done('OK'))
  })

  test.each(['type', 'shippingCompany', 'trackingId'])('400 without %s', async name => {
    const payId = await shop.authorize('PROVIDERR')
    const part = { ...shippingInfo, [name]: undefined }
    expect(
      await shop.act(payId, 'captures', 400, methods({ providerR: { shippingInfo: part } })),
    ).toMatchObject({
      status: 400,
      body: { field: `paymentMethods.providerR.shippingInfo.${name}` },
    })
    expect(await shop.act(payId, 'captures', 400, methods({ providerR: {} }))).toMatchObject({
      status: 400,
      body: { field: 'paymentMethods.providerR.shippingInfo' },
    })
  })
})

describe('finishAuth', () => {
  test.each([
    ['CARD', { card: { finishAuth: true } }],
    ['PROVIDERM', { providerM: { finishAuth: 'Y', textfield1: 'Ada Lovelace', textfield2: 'London' } }],
  ] as const)('%s: no further capture is possible, and the rest lapses by itself', async (type, finish) => {
    const payId = await shop.authorize(type)
    expect(await shop.act(payId, 'captures', 400, methods(finish))).toMatchObject(done('OK'))
    expect((await shop.read(payId)).amount.reversedValue).toBe(0)
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('20200006'))
    await shop.advance('P7D')
    expect((await shop.read(payId)).amount.reversedValue).toBe(600)
  })

  test.each([
    ['CARD', { card: { finishAuth: false } }],
    ['PROVIDERM', { providerM: { finishAuth: 'N' } }],
  ] as const)('%s: the payment can still be captured', async (type, finish) => {
    const payId = await shop.authorize(type)
    expect(await shop.act(payId, 'captures', 400, methods(finish))).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'captures', 600)).toMatchObject(done('OK'))
  })

  test('a declined capture does not finish the payment', async () => {
    const payId = await shop.authorize('CARD')
    await shop.act(payId, 'captures', 400, {
      ...methods({ card: { finishAuth: true } }),
      simulationMode: '0305',
    })
    expect(await shop.act(payId, 'captures', 400)).toMatchObject(done('OK'))
  })
})

describe('DIRECTDEBIT', () => {
  const mandate = { mandateId: "M'1:?,.+-/(x)", dateOfSignature: '01.02.2027' }

  test('200 with the mandate; a second capture is refused', async () => {
    const payId = await shop.authorize('DIRECTDEBIT')
    expect(await shop.act(payId, 'captures', 400, methods({ directDebit: mandate }))).toMatchObject(
      done('OK'),
    )
    expect(await shop.act(payId, 'captures', 600)).toMatchObject(refused('20200009'))
  })

  test('200 again after a first one that failed', async () => {
    const payId = await shop.authorize('DIRECTDEBIT')
    expect(await shop.act(payId, 'captures', 400, { simulationMode: '0351' })).toMatchObject(
      refused('23000351'),
    )
    expect(await shop.act(payId, 'captures', 400)).toMatchObject(done('OK'))
  })

  test.each([
    ['dateOfSignature', { mandateId: 'M1' }],
    ['dateOfSignature', { ...mandate, dateOfSignature: '2027-02-01' }],
    ['dateOfSignature', { ...mandate, dateOfSignature: '30.02.2027' }],
    ['mandateId', { ...mandate, mandateId: 'M_1' }],
    ['mandateId', { ...mandate, mandateId: 'M'.repeat(36) }],
  ])('400 %s %j', async (name, directDebit) => {
    const payId = await shop.authorize('DIRECTDEBIT')
    expect(await shop.act(payId, 'captures', 400, methods({ directDebit }))).toMatchObject({
      status: 400,
      body: { field: `paymentMethods.directDebit.${name}` },
    })
    expect((await shop.read(payId)).operations).toHaveLength(1)
  })
})

const results: [ServedType, object, object][] = [
  [
    'CARD',
    { card: { providerResponseCode: '00', providerTransactionId: expect.stringMatching(/^sim/) } },
    {
      card: {
        providerResponseCode: '14',
        providerResponseText: expect.any(String),
        providerTransactionId: expect.stringMatching(/^sim/),
      },
    },
  ],
  [
    'DIRECTDEBIT',
    { directDebit: { providerResponseCode: '00' } },
    { directDebit: { providerResponseCode: '14', providerResponseText: expect.any(String) } },
  ],
  [
    'PROVIDERK',
    { providerK: { providerResponseCode: '00' } },
    { providerK: { providerResponseCode: '14', providerResponseText: expect.any(String) } },
  ],
  [
    'PROVIDERM',
    { providerM: { providerResponseCode: '00' } },
    { providerM: { providerResponseCode: '14', providerResponseText: expect.any(String) } },
  ],
  [
    'PROVIDERR',
    { providerR: { providerResponseCode: '00' } },
    { providerR: { providerResponseCode: '14', providerResponseText: expect.any(String) } },
  ],
  ['PROVIDERP', { providerP: { providerResponseCode: '00' } }, { providerP: { providerResponseCode: '14' } }],
  [
    'PROVIDERT',
    {
      providerT: {
        authorizationExpiry: expect.stringMatching(/^\d{4}-.*Z$/),
        paymentReference: expect.stringMatching(/^T\d+$/),
        providerTransactionId: expect.stringMatching(/^sim/),
      },
    },
    {
      providerT: {
        providerDeclineCategory: expect.any(String),
        providerResponseCode: '14',
        providerResponseText: expect.any(String),
      },
    },
  ],
  [
    'PROVIDERZ',
    { providerZ: { providerResponseCode: '00', providerStatus: 'Completed', chargeId: expect.any(String) } },
    {
      providerZ: {
        providerResponseCode: '14',
        providerResponseText: expect.any(String),
        providerStatus: 'Declined',
        chargeId: expect.any(String),
      },
    },
  ],
]

test.each(results)(
  '%s shows the provider’s result fields, and the reason of a decline',
  async (type, good, bad) => {
    const payId = await shop.authorize(type)
    const declined = await shop.act(payId, 'captures', 100, { simulationMode: '0314' })
    expect(declined.body.paymentMethods).toEqual(bad)
    const captured = await shop.act(payId, 'captures', 100)
    expect(captured.body.paymentMethods).toEqual(good)
  },
)

test.each([
  ['CARD', { providerK: { completeType: 'YES' } }, 'providerK'],
  ['PROVIDERK', { card: { finishAuth: true } }, 'card'],
  ['PROVIDERM', { providerM: {}, card: {} }, 'card'],
  ['PROVIDERP', { providerK: { completeType: 'YES' } }, 'providerK'],
  ['PROVIDERZ', { providerP: { completeType: true } }, 'providerP'],
] as const)('400 %s takes no object of another method', async (type, objects, key) => {
  const payId = await shop.authorize(type)
  expect(await shop.act(payId, 'captures', 100, methods(objects))).toMatchObject({
    status: 400,
    body: { field: `paymentMethods.${key}` },
  })
  expect((await shop.read(payId)).amount.capturedValue).toBe(0)
})
