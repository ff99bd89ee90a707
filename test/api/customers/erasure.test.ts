/** Blanking personal data: with a deleted customer, and by the merchant's own retention. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

/** Every text that is about the person; each is looked for in everything that is stored. */
const person = {
  customerInfo: {
    merchantCustomerId: 'C-1',
    firstName: 'Xaviera',
    lastName: 'Quillfeather',
    email: 'xaviera.q@shop.example',
    phone: { countryCode: '+49', number: '1701234567' },
    companyName: 'Quillfeather Pens',
  },
  billingAddress: {
    streetName: 'Plumegasse',
    streetNumber: '77zz',
    city: 'Tintenburg',
    postalCode: 'QX 98',
    country: 'DEU',
  },
  browserInfo: { ipAddress: '203.0.113.77', javaScriptEnabled: false, userAgent: 'Quillzilla/5.0' },
  device: { deviceId: 'dev-plume-1' },
}
const traces =
  /Xaviera|Quillfeather|xaviera\.q|1701234567|Plumegasse|77zz|Tintenburg|QX 98|203\.0\.113\.77|Quillzilla|dev-plume/

async function pay(shop: Shop, change: object = {}, key = 'pay') {
  const answer = await shop.create(
    'CARD',
    {
      ...person,

      metadata: { order: 'kept' },
      card: { cardholderName: 'Xaviera Quillfeather' },
      ...change,
    },
    { 'idempotency-key': key },
  )
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

const stored = async (merchantId: string): Promise<string> =>
  JSON.stringify(
    await Promise.all(
      ['payment', 'operation', 'event', 'idempotency_key', 'payment_intent', 'customer', 'stored_method'].map(
        table =>
          queryRows(gateway.databaseUrl, `SELECT * FROM ${table} WHERE merchant_id = $1`, [merchantId]),
      ),
    ),
  )

test('200 deleting a customer with erase=payments leaves nothing of the person, and the books whole', async () => {
  const shop = await openShop(gateway)
  const { payId, transId } = await pay(shop)
  const failed = await shop.create('CARD', {
    ...person,
    card: { number: '4000000000000002', cardholderName: 'Xaviera Q' },
  })
  await shop.act(payId, 'refunds', 100, {}, { 'idempotency-key': 'refund' })
  const before = await shop.read(payId)
  const customerId = before.customerInfo.gatewayCustomerId
  await shop.call(
    'PATCH',
    `/customers/${customerId}`,
    { firstName: 'Xaviera' },
    { 'idempotency-key': 'patch' },
  )
  expect(await stored(shop.merchantId)).toMatch(traces)

  const deleted = await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect(deleted).toMatchObject({ status: 200, body: { id: customerId, deleted: true } })
  expect(await stored(shop.merchantId)).not.toMatch(traces)
  const after = await shop.read(payId)
  expect(after).toMatchObject({
    payId,
    transId,
    status: before.status,
    amount: before.amount,
    creationDate: before.creationDate,
    metadata: { order: 'kept' },
    paymentMethods: { card: { first6Digits: '411111', last4Digits: '1111' } },
    customerInfo: { merchantCustomerId: 'C-1' },
    billingAddress: { country: 'DEU' },
  })
  expect((await shop.read(failed.body.payId)).status).toBe('FAILED')
  // The refund goes on as before, and the answer under its key is still there.
  expect(await shop.act(payId, 'refunds', 100, {}, { 'idempotency-key': 'refund' })).toMatchObject({
    status: 200,
  })
  expect(await shop.act(payId, 'refunds', 100)).toMatchObject({ status: 200 })
})

test('200 deleting a customer without it leaves the payments as they are; another value is 400', async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  expect(await shop.call('DELETE', `/customers/${customerId}?erase=everything`)).toMatchObject({
    status: 400,
    body: { errors: { erase: [expect.stringContaining('payments')] } },
  })
  expect(await shop.call('DELETE', `/customers/${customerId}`)).toMatchObject({ status: 200 })
  expect((await shop.read(payId)).customerInfo.lastName).toBe('Quillfeather')
  expect((await shop.call('DELETE', `/customers/${customerId}?erase=payments`)).status).toBe(404)
})

test("other customers' payments keep their data", async () => {
  const shop = await openShop(gateway)
  const { payId } = await pay(shop)
  const other = await pay(
    shop,
    {
      customerInfo: { ...person.customerInfo, merchantCustomerId: 'C-2' },
      card: { number: '5555555555554444' },
    },
    'other',
  )
  const customerId = (await shop.read(payId)).customerInfo.gatewayCustomerId
  await shop.call('DELETE', `/customers/${customerId}?erase=payments`)
  expect((await shop.read(other.payId)).customerInfo.lastName).toBe('Quillfeather')
})

test('a retention blanks payments by the merchant’s clock, once they are older', async () => {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P2Y' })
  const old = await pay(shop)
  await shop.advance('P1Y')
  const young = await pay(shop, {}, 'young')
  await shop.advance('P1Y1D')
  expect((await shop.read(old.payId)).customerInfo.lastName).toBeUndefined()
  expect((await shop.read(young.payId)).customerInfo.lastName).toBe('Quillfeather')
  await shop.advance('P1Y')
  expect((await shop.read(young.payId)).customerInfo.lastName).toBeUndefined()
})
