import { afterAll, beforeAll, expect, test } from 'vitest'
import { allMethods, methodTypes } from '#methods/catalogue.ts'
import { listOpenMethods, selectMethods } from '#methods/method-list.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { methodPayment } from '#test/support/shop.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const list = (query = '') => gateway.call('GET', `/payment-methods${query}`)
const typesIn = (body: { data: { type: string }[] }) => body.data.map(({ type }) => type)

test('200 lists every method that a payment may name', async () => {
  const { status, body } = await list()
  expect(status).toBe(200)
  expect(body.totalNumberOfItems).toBe(methodTypes.length)
  expect(typesIn(body)).toEqual(methodTypes)
})

test.each([
  ['?currency=EUR', { currency: 'EUR' }],
  ['?country=DEU&integrationType=DIRECT', { country: 'DEU', integrationType: 'DIRECT' }],
  ['?country=DE&operation=refund', { country: 'DEU', operation: 'refund' }],
  ['?family=card', { family: 'card' }],
  [
    '?family=card&currency=JPY&operation=increment',
    { family: 'card', currency: 'JPY', operation: 'increment' },
  ],
] as const)('200 %s', async (query, filter) => {
  const { status, body } = await list(query)
  expect(status).toBe(200)
  expect(typesIn(body)).toEqual(selectMethods(filter, listOpenMethods()).map(({ type }) => type))
})

test.each([
  ['?currency=eur', 'currency', 'ISO 4217'],
  ['?currency=BGN', 'currency', 'ISO 4217'],
  ['?country=XX', 'country', 'DEU or DE'],
  ['?integrationType=direct', 'integrationType', 'HOSTED, DIRECT'],
  ['?operation=capturing', 'operation', 'partial_capture'],
  ['?currency=EUR&currency=USD', 'currency', 'EUR'],
  ['?page=1', 'page', 'country'],
  ['?currancy=EUR', 'currancy', 'currency'],
])('400 %s', async (query, field, hint) => {
  const { status, body, headers } = await list(query)
  expect(status).toBe(400)
  expect(headers.get('content-type')).toContain('application/problem+json')
  expect(Object.keys(body.errors)).toEqual([field])
  expect(body.errors[field].join(' ')).toContain(hint)
})

test('401 without credentials', async () => {
  expect((await gateway.call('GET', '/payment-methods', undefined, { authorization: '' })).status).toBe(401)
})

test('405 names the allowed verbs', async () => {
  const { status, headers } = await gateway.call('POST', '/payment-methods', {})
  expect({ status, allow: headers.get('allow') }).toMatchObject({
    status: 405,
    allow: expect.stringContaining('GET'),
  })
})

const createWith = (paymentMethods: object) => {
  const request = methodPayment('CARD')
  return gateway.call('POST', '/payments', {
    ...request,
    paymentMethods: { ...(request.paymentMethods as object), ...paymentMethods },
  })
}

test('400 an unknown type is answered with the nearest one', async () => {
  const { status, body } = await createWith({ type: 'CRAD' })
  expect(status).toBe(400)
  expect(body).toEqual({
    field: 'paymentMethods.type',
    error: 'paymentMethods.type is "CRAD", which is no payment method; did you mean CARD?',
  })
})

test('400 a brand that the number contradicts', async () => {
  const { status, body } = await createWith({
    card: { number: '4111111111111111', expiryDate: '203012', brand: 'mastercard' },
  })
  expect(status).toBe(400)
  expect(body.field).toBe('paymentMethods.card.brand')
  expect(body.error).toContain('visa')
  expect(body.error).not.toContain('4111')
})

test.each(['visa', 'cartes_bancaires', 'shop card'])('200 the brand %s on a Visa number', async brand => {
  const { status } = await createWith({ card: { number: '4111111111111111', expiryDate: '203012', brand } })
  expect(status).toBe(200)
})

test('the catalogue has more rows than the interface promises', () => {
  expect(allMethods.length).toBeGreaterThan(350)
})
