/** What a customer's device may send with the access token of one payment intent, and what the answers contain. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { createTestClock } from '#test/support/clock.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { confirmation, eur, type IntentShop, openIntentStage } from '#test/support/intents.ts'
import { done, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let intents: IntentShop
beforeAll(async () => {
  ;({ gateway, shop, intents } = await openIntentStage())
})
afterAll(() => gateway.stop())

const customerInfo = { merchantCustomerId: 'ada', email: 'ada@example.com' }

test.each([
  ['card.threeDsPolicy', confirmation('CARD', { threeDsPolicy: { skip: true } })],
  ['card.threeDsData', confirmation('CARD', { threeDsData: { eci: '05', transStatus: 'Y' } })],
  ['card.eventToken', confirmation('CARD', { eventToken: 'ORDER' })],
  ['card.schemeReferenceId', confirmation('CARD', { schemeReferenceId: 'ref' })],
  ['card.dcc', confirmation('CARD', { dcc: { quoteId: 'q', accepted: true } })],
  ['credentialOnFile', { ...confirmation('CARD'), credentialOnFile: { type: 'UNSCHEDULED' } }],
  ['threeDsPolicy', { ...confirmation('CARD'), threeDsPolicy: { skip: true } }],
  ['providerP.confirm', { integrationType: 'HOSTED', type: 'PROVIDERP', providerP: { confirm: true } }],
])('400 %s from a device', async (field, body) => {
  const urls = { return: 'https://shop.example/a', cancel: 'https://shop.example/b' }
  const id = await intents.intent({ urls })
  expect(await intents.confirm(id, body, await intents.bearer(id))).toMatchObject({
    status: 400,
    body: { field },
  })
})

test('200 the merchant itself may send all of it', async () => {
  const id = await intents.intent()
  const body = confirmation('CARD', { threeDsPolicy: { skip: true }, schemeReferenceId: 'ref' })
  expect(await intents.confirm(id, body)).toMatchObject(done('OK'))
})

test('413 more than 64 KiB, which no customer needs', async () => {
  const id = await intents.intent()
  const padded = { ...confirmation('CARD'), padding: 'x'.repeat(65_536) }
  expect((await intents.confirm(id, padded, await intents.bearer(id))).status).toBe(413)
  expect(await intents.confirm(id, confirmation('CARD'), await intents.bearer(id))).toMatchObject(done('OK'))
})

test('400 without integrationType names that field', async () => {
  const id = await intents.intent()
  const { integrationType: _, ...body } = confirmation('CARD')
  expect(await intents.confirm(id, body)).toMatchObject({ status: 400, body: { field: 'integrationType' } })
})

test("200 with the customer's browser; the answer lacks the merchant's metadata, also when it is replayed", async () => {
  const id = await intents.intent({ metadata: { margin: 'high' } })
  const body = { ...confirmation('CARD'), browserInfo: { userAgent: 'App/1', ipAddress: '192.0.2.7' } }
  const headers = { ...(await intents.bearer(id)), 'idempotency-key': 'device-once' }
  const first = await intents.confirm(id, body, headers)
  const again = await intents.confirm(id, body, headers)
  expect(first).toMatchObject(done('OK'))
  expect(first.text).not.toContain('margin')
  expect(again.text).toBe(first.text)
  expect(await shop.read(first.body.payId)).toMatchObject({
    metadata: { margin: 'high' },
    browserInfo: { userAgent: 'App/1' },
  })
  const told = await intents.confirm(id, body, { 'idempotency-key': 'device-once' })
  expect(told.body.metadata).toEqual({ margin: 'high' })
})

test('400 a refused confirmation does not contain the metadata either', async () => {
  const id = await intents.intent({ metadata: { margin: 'high' } })
  expect((await intents.confirm(id, confirmation('CARD'))).status).toBe(200)
  const late = await intents.confirm(id, confirmation('CARD'), await intents.bearer(id))
  expect(late.status).toBe(422)
  expect(late.text).not.toContain('margin')
})

/** Stores a card of that customer and returns its pseudo number. */
async function keepCard(customer: object, number: string): Promise<string> {
  const credentialOnFile = { type: 'UNSCHEDULED', initialPayment: true }
  const made = await shop.create('CARD', { card: { number }, customerInfo: customer, credentialOnFile })
  expect(made).toMatchObject(done('OK'))
  return (await shop.read(made.body.payId)).paymentMethods.card.pseudoCardNumber
}

test('200 a stored card of its own customer, 400 any other, which counts as a declined try', async () => {
  const own = await keepCard(customerInfo, '4111111111111111')
  const foreign = await keepCard({ merchantCustomerId: 'eve', email: 'eve@example.com' }, '5555555555554444')
  const pay = (number: string) => ({ integrationType: 'DIRECT', type: 'CARD', card: { number } })
  const paid = await intents.intent({ customerInfo })
  expect(await intents.confirm(paid, pay(own), await intents.bearer(paid))).toMatchObject(done('OK'))
  const id = await intents.intent({ customerInfo })
  const bearer = await intents.bearer(id)
  // One in ten neighbours passes the check of card numbers, and is one then.
  const unknown = ['2', '3'].map(digit => own.slice(0, -1) + digit).find(isPseudoCardNumber) ?? ''
  for (let tries = 0; tries < 5; tries++) {
    for (const number of [foreign, unknown]) {
      const refusal = await intents.confirm(id, pay(number), bearer)
      expect(refusal).toMatchObject({ status: 400, body: { field: 'card.number' } })
    }
  }
  expect((await intents.confirm(id, pay(own), bearer)).status).toBe(422)
  const nobody = await intents.intent({ amount: eur(100) })
  expect((await intents.confirm(nobody, pay(own), await intents.bearer(nobody))).status).toBe(400)
})

test('429 a device takes a tenth of the requests of its merchant, who is served all the while', async () => {
  // The clock stands still, so that the limit is not refilled.
  const stage = await openIntentStage({ clock: createTestClock() })
  await stage.gateway.gateway.merchants.set(stage.shop.merchantId, { requestsPerSecond: 200 })
  const [id, other] = [await stage.intents.intent(), await stage.intents.intent()]
  const [bearer, otherBearer] = [await stage.intents.bearer(id), await stage.intents.bearer(other)]
  const look = (intentId: string, headers: Record<string, string>) =>
    stage.gateway.call('GET', `/payment-intents/${intentId}`, undefined, headers)
  const answers = await Promise.all(Array.from({ length: 300 }, () => look(id, bearer)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.headers.get('ratelimit-policy')).toBe('"payment-intent";q=20;w=1')
  expect((await look(other, otherBearer)).status).toBe(200)
  expect((await stage.shop.call('GET', `/payment-intents/${id}`)).status).toBe(200)
  await stage.gateway.stop()
})
