/** Payment intents over HTTP: creating them, and the access token for the app. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import {
  askToken,
  confirmation,
  eur,
  type IntentShop,
  openIntentStage,
  openIntents,
} from '#test/support/intents.ts'
import { openShop, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let gateway: TestGateway
let shop: Shop
let intents: IntentShop
beforeAll(async () => {
  ;({ gateway, shop, intents } = await openIntentStage({ clock }))
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const declined = { number: '4000000000009995' }

describe('creating', () => {
  test('201 nothing but the id, which cannot be guessed', async () => {
    const first = await intents.prepare({ transId: 'app-1', amount: eur(500) })
    const second = await intents.prepare()
    expect(first).toMatchObject({ status: 201, body: { id: expect.stringMatching(/^pi_[0-9a-f]{32}$/) } })
    expect(Object.keys(first.body)).toEqual(['id'])
    expect(first.body.id).not.toBe(second.body.id)
  })

  test('201 every field of the contract, and the payment shows them', async () => {
    const id = await intents.intent(wholeIntent)
    const { status, body } = await intents.confirm(id, confirmation('CARD'))
    expect([status, body.paymentIntentId]).toEqual([200, id])
    const { simulationMode: _, ...shown } = wholeIntent
    expect(await shop.read(body.payId)).toMatchObject({
      ...shown,
      paymentIntentId: id,
      status: 'CAPTURE_REQUEST',
    })
  })

  test.each<[string, object, string]>([
    ['an amount without a currency', { amount: { value: 1 } }, 'amount.currency'],
    ['an amount of nothing', { amount: eur(0) }, 'amount.value'],
    ['a fraction', { amount: eur(1.5) }, 'amount.value'],
    ['a currency that nobody has', { amount: { value: 1, currency: 'XXX' } }, 'amount.currency'],
    ['a customer without an email', { customerInfo: { firstName: 'Ada' } }, 'customerInfo.email'],
    ['DELAYED without hours', { captureMethod: { type: 'DELAYED' } }, 'captureMethod.delayed'],
    [
      'too many hours',
      { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 697 } } },
      'captureMethod.delayed.delayedHours',
    ],
    [
      'a script without a screen',
      { browserInfo: { javaScriptEnabled: true, javaEnabled: false, colorDepth: 24, screenHeight: 1 } },
      'browserInfo.screenWidth',
    ],
    [
      'a script without Java',
      { browserInfo: { ...browser, javaEnabled: undefined } },
      'browserInfo.javaEnabled',
    ],
    ['another device', { device: { deviceType: 'WATCH' } }, 'device.deviceType'],
    ['another system', { device: { deviceOs: 'android' } }, 'device.deviceOs'],
    ['too sure', { device: { confidence: 101 } }, 'device.confidence'],
    ['another verdict', { device: { fraud: 'maybe' } }, 'device.fraud'],
    ['half a score', { device: { fraudScore: 1.5 } }, 'device.fraudScore'],
    [
      'another sign-in',
      { fraudData: { accountInfo: { authenticationInfo: { method: 'PASSWORD' } } } },
      'fraudData.accountInfo.authenticationInfo.method',
    ],
    [
      'another age',
      { fraudData: { accountInfo: { ageIndicator: 'NO_CHANGE' } } },
      'fraudData.accountInfo.ageIndicator',
    ],
    [
      'another change',
      { fraudData: { accountInfo: { changeIndicator: 'GUEST_CHECKOUT' } } },
      'fraudData.accountInfo.changeIndicator',
    ],
    [
      'another change of password',
      { fraudData: { accountInfo: { passwordChangeDateIndicator: 'GUEST_CHECKOUT' } } },
      'fraudData.accountInfo.passwordChangeDateIndicator',
    ],
    ['a zone of letters', { fraudData: { zone: 'DEU' } }, 'fraudData.zone'],
    ['a day that is none', { fraudData: { preOrderDate: '2027-02-29' } }, 'fraudData.preOrderDate'],
    [
      'a country of three letters',
      { paymentFacilitator: { subMerchantCountry: 'DEU' } },
      'paymentFacilitator.subMerchantCountry',
    ],
    ['an address without a scheme', { urls: { webhook: 'shop.example' } }, 'urls.webhook'],
    ['another channel', { channel: 'SHOP' }, 'channel'],
    [
      'a part that is no number',
      { order: { items: [{ totalTaxAmount: '1' }] } },
      'order.items[0].totalTaxAmount',
    ],
    ['an expiry that is past', { expirationTime: '2020-01-01T00:00:00Z' }, 'expirationTime'],
    ['an expiry too far away', { expirationTime: '2099-01-01T00:00:00Z' }, 'expirationTime'],
    ['a method', { paymentMethods: { type: 'CARD' } }, 'paymentMethods'],
    ['what only a payment takes', { credentialOnFile: { type: 'RECURRING' } }, 'credentialOnFile'],
  ])('400 %s', async (_, request, field) => {
    const { status, body } = await intents.prepare(request)
    expect({ status, body }).toEqual({ status: 400, body: { field, error: expect.stringContaining(field) } })
  })

  test('201 the same intent for the same key, 422 for another body', async () => {
    const key = { 'idempotency-key': 'intent-once' }
    const first = await intents.prepare({ amount: eur(10) }, key)
    const again = await intents.prepare({ amount: eur(10) }, key)
    expect(again).toMatchObject({ status: 201, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await intents.prepare({ amount: eur(11) }, key)).toMatchObject(refused('20170002'))
  })
})

describe('the access token of an intent', () => {
  const ask = (id: string) => askToken(gateway, { ...shop, id })

  test('200 for 900 s of the merchant’s time, and no longer', async () => {
    const id = await intents.intent()
    expect(await ask(id)).toMatchObject({ status: 200, body: { token_type: 'bearer', expires_in: 900 } })
    const bearer = await intents.bearer(id)
    clock.move(899 * secondMs)
    expect((await intents.confirm(id, confirmation('CARD', declined), bearer)).status).toBe(422)
    clock.move(secondMs)
    expect((await intents.confirm(id, confirmation('CARD', declined), bearer)).status).toBe(401)
  })

  test('400 for an intent that is unknown, or somebody else’s', async () => {
    const other = openIntents(await openShop(gateway), gateway)
    for (const id of [`pi_${'0'.repeat(32)}`, 'nonsense', await other.intent()]) {
      const { status, body } = await ask(id)
      expect({ status, body }).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/payment_intent_id/) },
      })
    }
  })

  test('403 everywhere but at its own intent, which it reads and confirms', async () => {
    const [own, other] = [await intents.intent(), await intents.intent()]
    const bearer = await intents.bearer(own)
    const { body: paid } = await intents.confirm(other, confirmation('CARD'))
    expect((await shop.call('GET', `/payment-intents/${own}`, undefined, bearer)).status).toBe(200)
    const places: [verb: string, path: string, body?: unknown][] = [
      ['GET', `/payment-intents/${other}`],
      ['POST', `/payment-intents/${own}/cancel`, {}],
      ['POST', `/payment-intents/${other}/confirm`, confirmation('CARD')],
      ['POST', `/payment-intents/pi_${'0'.repeat(32)}/confirm`, confirmation('CARD')],
      ['POST', '/payment-intents', {}],
      ['POST', '/payments', {}],
      ['GET', `/payments/getByPayId/${paid.payId}`],
      ['GET', `/payments/getByTransId/${paid.transId}`],
      ['POST', `/payments/${paid.payId}/refunds`, {}],
      ['GET', '/test/clock'],
    ]
    for (const [verb, path, body] of places) {
      const answer = await shop.call(verb, path, body, bearer)
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        403,
        'application/problem+json',
      ])
      expect(answer.body.detail).toMatch(/only reads and confirms the payment intent/)
    }
    expect((await intents.confirm(own, confirmation('CARD'), bearer)).status).toBe(200)
  })
})

const browser = {
  acceptHeaders: 'text/html',
  ipAddress: '2001:db8::1',
  javaEnabled: false,
  javaScriptEnabled: true,
  language: 'de-AT',
  colorDepth: 24,
  screenHeight: 2400,
  screenWidth: 1080,
  timeZoneOffset: '-120',
  userAgent: 'App/1.0',
}

const wholeIntent = {
  transId: 'app-whole',
  externalIntegrationId: 'sdk-7',
  refNr: 'r-7',
  amount: {
    ...eur(1200),
    taxTotal: 200,
    netItemTotal: 900,
    netShippingAmount: 83,
    grossShippingAmount: 100,
    netDiscount: 0,
    grossDiscount: 0,
  },
  language: 'de',
  captureMethod: { type: 'DELAYED', delayed: { delayedHours: 696 } },
  order: {
    merchantReference: 'basket-7',
    numberOfArticles: 1,
    description: 'Shoes',
    items: [
      {
        id: '1',
        sku: 's',
        name: 'Shoes',
        type: 'physical',
        quantity: 1,
        taxRate: 2000,
        grossPrice: 1200,
        totalTaxAmount: 200,
        totalDiscountAmount: 0,
        productInfo: { brand: 'b', categories: ['a', 'b'], globalTradeItemNumber: 'EAN' },
      },
    ],
  },
  simulationMode: '0000',
  urls: {
    return: 'https://shop.example/ok',
    cancel: 'https://shop.example/no',
    webhook: 'https://shop.example/hook',
  },
  billingAddress: { streetName: 'Ring', streetNumber: '1', city: 'Wien', country: 'AUT', postalCode: '1010' },
  shipping: {
    address: { firstName: 'Ada', country: 'AUT', phone: { countryCode: '+43', number: '6601234567' } },
    type: 'parcel',
  },
  statementDescriptor: 'SHOP',
  customerInfo: { email: 'ada@example.com', firstName: 'Ada', birthDate: '1990-12-10' },
  expirationTime: new Date(clock.nowMs() + 3600 * secondMs).toISOString(),
  fraudData: {
    accountInfo: {
      id: 'a-1',
      authenticationInfo: { method: 'SRC_ASSURANCE_DATA', timestamp: '2026-01-01T00:00:00Z', data: 'x' },
      ageIndicator: 'GUEST_CHECKOUT',
      changeDate: '2026-01-01',
      changeIndicator: 'FROM_30_TO_60_DAYS',
      creationDate: '2026-01-01',
      passwordChangeDate: '2026-01-01',
      passwordChangeDateIndicator: 'NO_CHANGE',
      numberOfPurchases: 1,
      addCardAttemptsDay: 0,
      numberTransactionsDay: 1,
      numberTransactionsYear: 2,
      paymentAccountAge: '2026-01-01',
      paymentAccountAgeIndicator: 'GUEST_CHECKOUT',
      shipAddressUsageDate: '2026-01-01',
      shipAddressUsageIndicator: 'MORE_THAN_60_DAYS',
      suspiciousAccountActivity: false,
    },
    deliveryEmail: 'ada@example.com',
    deliveryTimeframe: 'overnight',
    giftCardAmount: 100,
    giftCardCount: 1,
    giftCardCurrency: 978,
    preOrderDate: '2027-01-01',
    preOrderPurchaseIndicator: true,
    reorderItemsIndicator: false,
    shippingAddressIndicator: 'same',
    ipZone: '040,276',
    zone: '040',
  },
  paymentFacilitator: {
    subMerchantId: 's-1',
    subMerchantName: 'Shop',
    subMerchantCity: 'Wien',
    subMerchantCountry: 'AT',
    subMerchantStreet: 'Ring',
    subMerchantZip: '1010',
    subMerchantState: 'W',
  },
  browserInfo: browser,
  device: {
    deviceId: 'd-1',
    deviceType: 'SMARTPHONE',
    deviceOs: 'IOS',
    confidence: 99.5,
    newDevice: true,
    isAnonymousProxyUsed: false,
    isProxyUsed: false,
    country: 'AT',
    city: 'Wien',
    latitude: '48.2',
    longitude: '16.3',
    fraudScore: 7,
    fraudScoreRules: ['r1'],
    browserLanguages: ['de'],
    isMobileDevice: true,
    fraud: 'nofraud',
  },
  channel: 'APP',
  metadata: { basket: 'b-7' },
}
