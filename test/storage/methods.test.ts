/** Queries on stored methods: listing a known customer's cards, and replacing a card. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CustomerId, MerchantId, PayId, StoredMethodId } from '#domain/ids.ts'
import type { StoredMethods } from '#storage/customers/stored-methods.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { expectWaiting } from '#test/support/database/database.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let methods: StoredMethods
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
  methods = gateway.gateway.engine.storedMethods
})
afterAll(() => gateway.stop())

const old = '4000000000003220'
const now = new Date('2030-01-01T00:00:00.000Z')
const merchantId = () => shop.merchantId as MerchantId

async function pay(merchantCustomerId: string, number: string): Promise<CustomerId> {
  const customerInfo = { merchantCustomerId, email: 'ada@example.com' }
  const { body } = await shop.create('CARD', { customerInfo, card: { number } })
  return body.customerInfo.gatewayCustomerId
}

const cardsOf = async (name: string) =>
  (await methods.listRemembered(merchantId(), name)).map(({ last4Digits }) => last4Digits).toSorted()

test('the cards of a customer are listed for that customer and merchant alone', async () => {
  const customerId = await pay('known', '4111111111111111')
  await pay('known', '5555555555554444')
  expect(await cardsOf('known')).toEqual(['1111', '4444'])
  expect(await cardsOf('nobody')).toEqual([])
  const stranger = (await openShop(gateway)).merchantId as MerchantId
  expect(await methods.listRemembered(stranger, 'known')).toEqual([])
  const [first] = await methods.listRemembered(merchantId(), 'known')
  const methodId = first?.methodId as StoredMethodId
  expect(await methods.find(merchantId(), customerId, methodId)).toEqual(first)
  expect(await methods.find(stranger, customerId, methodId)).toBeUndefined()
})

test('a new number replaces the old one for all customers who stored it, but no customer gets it twice', async () => {
  await pay('one', old)
  await pay('two', old)
  await pay('both', old)
  await pay('both', '4111111111111111')
  const [kept] = await methods.listRemembered(merchantId(), 'one')
  const [next] = (await methods.listRemembered(merchantId(), 'both')).filter(
    ({ last4Digits }) => last4Digits === '1111',
  )
  if (!kept || !next) throw new Error('the cards were not stored')
  const card = { cardId: next.cardId, last4Digits: '1111', brand: 'visa', expiryDate: '203501' }
  const replacement = { merchantId: merchantId(), cardId: kept.cardId, next: card, now }
  // The old card of two customers, and the date of the new one, which two others had stored before.
  expect(await methods.replaceCard(replacement)).toBe(4)
  const [replaced] = await methods.listRemembered(merchantId(), 'one')
  expect(replaced).toEqual({
    ...kept,
    cardId: next.cardId,
    pseudoCardNumber: next.pseudoCardNumber,
    last4Digits: '1111',
    expiryDate: '203501',
    updatedAt: now,
  })
  expect(await cardsOf('two')).toEqual(['1111'])
  expect(await cardsOf('both')).toEqual(['1111', '3220'])
  const ofBoth = await methods.listRemembered(merchantId(), 'both')
  expect(ofBoth.find(({ cardId }) => cardId === next.cardId)).toMatchObject({ expiryDate: '203501' })
})

test('a new expiry date is stored for every customer with the card', async () => {
  await pay('renewed', '378282246310005')
  const [kept] = await methods.listRemembered(merchantId(), 'renewed')
  if (!kept) throw new Error('the card was not stored')
  const card = { cardId: kept.cardId, last4Digits: kept.last4Digits, brand: kept.brand, expiryDate: '204001' }
  expect(await methods.replaceCard({ merchantId: merchantId(), cardId: kept.cardId, next: card, now })).toBe(
    1,
  )
  expect(await methods.listRemembered(merchantId(), 'renewed')).toMatchObject([{ expiryDate: '204001' }])
})

test('a card that is not in the vault replaces no other', async () => {
  await pay('stays', '371449635398431')
  const [kept] = await methods.listRemembered(merchantId(), 'stays')
  const card = { cardId: '0'.repeat(32), last4Digits: '0000', brand: 'visa' }
  const replacement = { merchantId: merchantId(), cardId: kept?.cardId ?? '', next: card, now }
  expect(await methods.replaceCard(replacement)).toBe(0)
})

test('a card that is deleted while it pays is not stored again', async () => {
  const merchantCustomerId = 'pays and deletes'
  const customerInfo = { merchantCustomerId, email: 'ada@example.com' }
  const { body } = await shop.create('CARD', { customerInfo, card: { number: '4000000000000077' } })
  const customerId = body.customerInfo.gatewayCustomerId as CustomerId
  const { engine } = gateway.gateway
  const payment = await engine.payments.byPayId(merchantId(), body.payId as PayId)
  const [card] = await methods.listRemembered(merchantId(), merchantCustomerId)
  if (!payment || !card) throw new Error('the card was not stored')
  const { cardId, methodId, brand, last4Digits } = card
  const method = { cardId, methodId, brand, last4Digits, type: 'CARD' }
  const other = new pg.Client({ connectionString: gateway.databaseUrl })
  await other.connect()
  try {
    await other.query('BEGIN')
    await other.query('SELECT 1 FROM payment WHERE pay_id = $1 FOR UPDATE', [payment.payId])
    // The commit has seen the card among the customer's methods, and waits for the payment's lock.
    const committed = engine.commit({
      updatePayment: {
        payment: { ...payment, version: payment.version + 1 },
        expectedVersion: payment.version,
        extent: 'settled',
      },
      customer: { merchantId: merchantId(), customerId, method, usedAt: now },
    })
    await expectWaiting(gateway.databaseUrl)
    const path = `/customers/${customerId}/paymentMethods/${methodId}`
    expect((await shop.call('DELETE', path)).status).toBe(200)
    await other.query('COMMIT')
    expect(await committed).toEqual({ committed: true })
  } finally {
    await other.end()
  }
  expect(await cardsOf(merchantCustomerId)).toEqual([])
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
})
