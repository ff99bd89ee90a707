import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ConversionTerms } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import type { MerchantId } from '#domain/ids.ts'
import { parseEcbRates } from '#domain/money/ecb-rates.ts'
import { openDatabase } from '#storage/database.ts'
import { createQuoteStore } from '#storage/payments/quotes.ts'
import { replaceRates } from '#storage/reference/rates.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, openIntents } from '#test/support/intents.ts'
import { openShop, refused, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
/** The conversion terms that the acquirer got with the last payment. */
let told: ConversionTerms | undefined
beforeAll(async () => {
  const simulator = createSimulator()
  gateway = await startTestGateway({
    connectors: simulatedBy({
      ...simulator,
      authorize(request, signal) {
        told = request.conversion
        return simulator.authorize(request, signal)
      },
    }),
  })
})
beforeEach(async () => {
  shop = await openShop(gateway)
  told = undefined
})
afterAll(() => gateway.stop())

const euros = { value: 4999, currency: 'EUR' }
const quote = (change: object = {}, who = shop, headers?: Record<string, string>) =>
  who.call('POST', '/services/dccQuote', { bin: '411111', amount: euros, ...change }, headers)

describe('a quote for the customer’s currency', () => {
  test('200 has its terms, good for ten minutes', async () => {
    const answer = await quote({ transId: 'q-1' })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      quoteId: expect.stringMatching(/^[0-9a-f]{32}$/),
      eligible: true,
      merchantAmount: euros,
      // 0.85 · 1.03 = 0.8755, and 49.99 · 0.8755 = 43.766…
      cardholderAmount: { value: 4377, currency: 'GBP' },
      exchangeRate: '0.875500',
      markupPercentage: '3.00',
      rateSource: 'SIMULATOR',
      quotedAt: expect.any(String),
      expiresAt: expect.any(String),
    })
    expect(Date.parse(answer.body.expiresAt) - Date.parse(answer.body.quotedAt)).toBe(600_000)
  })

  test.each([
    ['no decimals', '401288', euros, { value: 8238, currency: 'JPY' }, '164.800000'],
    ['three decimals', '542418', euros, { value: 17249, currency: 'KWD' }, '0.345050'],
    [
      'from no decimals',
      '411111',
      { value: 5000, currency: 'JPY' },
      { value: 2736, currency: 'GBP' },
      '0.005472',
    ],
    [
      'across two others',
      '555555',
      { value: 1000, currency: 'USD' },
      { value: 4026, currency: 'PLN' },
      '4.026364',
    ],
  ])('200 %s', async (_, bin, amount, cardholderAmount, exchangeRate) => {
    expect(await quote({ bin, amount })).toMatchObject({
      status: 200,
      body: { eligible: true, merchantAmount: amount, cardholderAmount, exchangeRate },
    })
  })

  test.each([
    ['NON_ELIGIBLE_CARD', '378282', euros],
    ['NON_ELIGIBLE_CARD', '999999', euros],
    ['SAME_CURRENCY', '497010', euros],
    ['UNSUPPORTED_CURRENCY', '476173', euros],
    ['UNSUPPORTED_CURRENCY', '411111', { value: 100, currency: 'ZWG' }],
    // Less than half a yen cannot be paid, and neither can more than every amount.
    ['UNSUPPORTED_CURRENCY', '401288', { value: 1, currency: 'HUF' }],
    ['UNSUPPORTED_CURRENCY', '401288', { value: 999_999_999_999, currency: 'EUR' }],
  ])('200 none: %s for %s', async (reason, bin, amount) => {
    const answer = await quote({ bin, amount })
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({
      quoteId: expect.any(String),
      eligible: false,
      reason,
      merchantAmount: amount,
      quotedAt: expect.any(String),
    })
    expect(await pay(answer.body.quoteId, { amount })).toMatchObject(refused('28000001'))
  })

  test.each([
    ['bin', { bin: '12345' }],
    ['bin', { bin: undefined }],
    ['amount', { amount: undefined }],
    ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
    ['amount.currency', { amount: { value: 1, currency: 'eur' } }],
    ['amount.taxTotal', { amount: { ...euros, taxTotal: 1 } }],
    ['surprise', { surprise: 1 }],
  ])('400 names %s', async (field, change) => {
    expect(await quote(change)).toMatchObject({
      status: 400,
      body: { errors: { [field]: [expect.any(String)] } },
    })
  })

  test('200 repeated requests with one key get one quote', async () => {
    const headers = { 'idempotency-key': 'quote-1' }
    const first = await quote({}, shop, headers)
    expect((await quote({}, shop, headers)).text).toBe(first.text)
    expect(await quote({ bin: '424242' }, shop, headers)).toMatchObject({
      status: 422,
      body: { responseCode: '20170002' },
    })
  })
})

const pay = (quoteId: string, change: { card?: object; [field: string]: unknown } = {}, who = shop) => {
  const { card, ...rest } = change
  return who.create('CARD', { amount: euros, card: { dcc: { quoteId, accepted: true }, ...card }, ...rest })
}

const quoteId = async (who = shop): Promise<string> => (await quote({}, who)).body.quoteId

describe('a payment', () => {
  test('200 uses the quote: its terms are in the record and reach the acquirer', async () => {
    const id = await quoteId()
    const paid = await pay(id)
    expect(paid).toMatchObject({ status: 200, body: { status: 'OK' } })
    const record = await shop.read(paid.body.payId)
    expect(record.amount).toMatchObject({ ...euros, capturedValue: 4999 })
    expect(record.paymentMethods.card.dcc).toEqual({
      quoteId: id,
      accepted: true,
      cardholderAmount: { value: 4377, currency: 'GBP' },
      exchangeRate: '0.875500',
      markupPercentage: '3.00',
      rateSource: 'SIMULATOR',
    })
    expect(told).toEqual({
      quoteId: id,
      cardholderAmount: { value: 4377, currency: 'GBP' },
      exchangeRate: '0.875500',
      markupPercentage: '3.00',
    })
  })

  test('200 made from an intent uses the quote too', async () => {
    const intents = openIntents(shop, gateway)
    const id = await quoteId()
    const intentId = await intents.intent({ amount: euros })
    const body = confirmation('CARD', { dcc: { quoteId: id, accepted: true } })
    const paid = await intents.confirm(intentId, body)
    expect(paid).toMatchObject({ status: 200, body: { status: 'OK' } })
    expect(told).toMatchObject({ quoteId: id, cardholderAmount: { value: 4377, currency: 'GBP' } })
    const { paymentMethods } = await shop.read(paid.body.payId)
    expect(paymentMethods.card.dcc).toMatchObject({ quoteId: id, accepted: true })
    expect(await pay(id)).toMatchObject(refused('28000001'))
  })

  test('422 made from an intent with a quote that is not usable, and the intent stays open', async () => {
    const intents = openIntents(shop, gateway)
    const intentId = await intents.intent({ amount: euros })
    const body = confirmation('CARD', { dcc: { quoteId: 'x', accepted: true } })
    expect(await intents.confirm(intentId, body)).toMatchObject(refused('28000001'))
    expect((await shop.call('GET', `/payment-intents/${intentId}`)).body.status).toBe('OPEN')
  })

  test('200 with a pseudo card number, whose card is the one of the quote', async () => {
    const token = { type: 'CARD', number: '4111111111111111', expiryDate: '203012' }
    const { body } = await shop.call('POST', '/services/tokenService', token)
    expect(await pay(await quoteId(), { card: { number: body.token } })).toMatchObject({ status: 200 })
  })

  test('200 a refused quote stays usable, and the payment is in the merchant’s currency', async () => {
    const id = await quoteId()
    const paid = await shop.create('CARD', { card: { dcc: { quoteId: id, accepted: false } } })
    expect(paid).toMatchObject({ status: 200 })
    expect((await shop.read(paid.body.payId)).paymentMethods.card.dcc).toEqual({
      quoteId: id,
      accepted: false,
    })
    expect(told).toBeUndefined()
    expect(await pay(id)).toMatchObject({ status: 200 })
  })

  test('422 a quote that was used already; the second payment is not made', async () => {
    const id = await quoteId()
    expect((await pay(id)).status).toBe(200)
    const second = await pay(id, { transId: 'second' })
    expect(second).toMatchObject(refused('28000001'))
    expect((await shop.call('GET', '/payments/getByTransId/second')).status).toBe(404)
  })

  test('422 for all but one of several payments that use a quote at once', async () => {
    const id = await quoteId()
    const answers = await Promise.all(Array.from({ length: 8 }, () => pay(id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(422)])
    const codes = new Set(answers.map(({ body }) => body.responseCode))
    expect(codes).toEqual(new Set(['00000000', '28000001']))
  })

  test('422 used by a payment that was declined', async () => {
    const id = await quoteId()
    expect(await pay(id, { simulationMode: '0305' })).toMatchObject(refused('21000305'))
    expect(await pay(id)).toMatchObject(refused('28000001'))
  })

  test('200 a taken transId leaves the quote free', async () => {
    const { body } = await shop.create('CARD')
    const id = await quoteId()
    expect(await pay(id, { transId: body.transId })).toMatchObject(refused('20170001'))
    expect(await pay(id)).toMatchObject({ status: 200 })
  })

  test.each([
    [4999, 4377],
    [2500, 2189],
  ])('200 confirmed later with %d: the acquirer hears %d at the same rate', async (value, expected) => {
    const id = await quoteId()
    const ordered = await pay(id, { card: { dcc: { quoteId: id, accepted: true }, eventToken: 'ORDER' } })
    expect(ordered).toMatchObject({ status: 200, body: { status: 'AUTHORIZE_REQUEST' } })
    expect(await shop.act(ordered.body.payId, 'confirms', value)).toMatchObject({ status: 200 })
    expect(told).toMatchObject({
      quoteId: id,
      cardholderAmount: { value: expected, currency: 'GBP' },
      exchangeRate: '0.875500',
    })
  })

  test("expires in the merchant's time", async () => {
    const [early, late] = [await quoteId(), await quoteId()]
    await shop.advance('PT9M30S')
    expect(await pay(early)).toMatchObject({ status: 200 })
    await shop.advance('PT31S')
    expect(await pay(late)).toMatchObject(refused('28000001'))
  })

  test.each<[string, { amount?: object; card?: object }]>([
    ['another amount', { amount: { value: 4998, currency: 'EUR' } }],
    ['another currency', { amount: { value: 4999, currency: 'USD' } }],
    ['another card', { card: { number: '4242424242424242' } }],
    [
      'nothing to pay',
      { amount: { value: 0, currency: 'EUR' }, card: { eventToken: 'ACCOUNT_VERIFICATION' } },
    ],
  ])('422 %s', async (_, change) => {
    const id = await quoteId()
    const dcc = { quoteId: id, accepted: true }
    expect(await pay(id, { ...change, card: { dcc, ...change.card } })).toMatchObject(refused('28000001'))
    expect(await pay(id)).toMatchObject({ status: 200 })
  })

  test.each([true, false])("422 another merchant's, accepted: %s", async accepted => {
    const id = await quoteId(await openShop(gateway))
    const answer = await shop.create('CARD', { amount: euros, card: { dcc: { quoteId: id, accepted } } })
    expect(answer).toMatchObject(refused('28000001'))
    const never = await shop.create('CARD', {
      amount: euros,
      card: { dcc: { quoteId: '0'.repeat(32), accepted } },
    })
    expect({ ...answer.body, transId: '', xId: '' }).toEqual({ ...never.body, transId: '', xId: '' })
  })

  test.each(['x', 'quote-1', 'A'.repeat(32)])('422 %s is no quote', async id => {
    expect(await pay(id)).toMatchObject(refused('28000001'))
  })

  test('400 on a page, which does not know the card yet', async () => {
    const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' }
    const card = { dcc: { quoteId: await quoteId(), accepted: true } }
    const paymentMethods = { integrationType: 'HOSTED', type: 'CARD', card }
    const answer = await shop.call('POST', '/payments', { transId: 'h', amount: euros, urls, paymentMethods })
    expect(answer.status).toBe(400)
    expect(answer.body.field).toMatch(/^paymentMethods\./)
  })

  test('200 under a key the repetition is the same payment', async () => {
    const body = {
      transId: 'keyed',
      amount: euros,
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: {
          number: '4111111111111111',
          expiryDate: '203012',
          dcc: { quoteId: await quoteId(), accepted: true },
        },
      },
    }
    const headers = { 'idempotency-key': 'dcc-1' }
    const first = await shop.call('POST', '/payments', body, headers)
    expect(first.status).toBe(200)
    expect((await shop.call('POST', '/payments', body, headers)).text).toBe(first.text)
  })
})

test('unused quotes are deleted a day after their end, used ones stay', async () => {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const quotes = createQuoteStore(database)
  const merchantId = shop.merchantId as MerchantId
  const [used, unused] = [await quoteId(), await quoteId()]
  await pay(used)
  const left = async () => [
    (await quotes.find(merchantId, used)) !== undefined,
    (await quotes.find(merchantId, unused)) !== undefined,
  ]
  await shop.advance('PT24H')
  await quotes.reap()
  expect(await left()).toEqual([true, true])
  await shop.advance('PT11M')
  expect(await quotes.reap()).toBeGreaterThan(0)
  expect(await left()).toEqual([true, false])
  await database.close()
})

test('imported rates take the place of the built-in ones, all at once', async () => {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const old = await quoteId()
  await replaceRates(database, parseEcbRates('Date, USD, GBP, \n13 November 2026, 1.1634, 0.8810, \n'), 'ECB')
  await database.close()
  expect((await quote()).body).toMatchObject({
    eligible: true,
    // 0.8810 · 1.03 = 0.90743
    exchangeRate: '0.907430',
    cardholderAmount: { value: 4536, currency: 'GBP' },
    rateSource: 'ECB',
  })
  expect((await quote({ bin: '424242' })).body).toMatchObject({
    eligible: false,
    reason: 'UNSUPPORTED_CURRENCY',
  })
  // The quote keeps its rate.
  const paid = await pay(old)
  expect((await shop.read(paid.body.payId)).paymentMethods.card.dcc.exchangeRate).toBe('0.875500')
})
