/** Customers over HTTP: how payments create them and later payments find them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { address, methodsOf, newName, payAs, personOf } from '#test/support/customers.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Change, done, openShop, type Shop, tokenOf } from '#test/support/shop.ts'
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

const pay = (merchantCustomerId: string, change?: Change) => payAs(shop, merchantCustomerId, change)
const get = (path: string) => shop.call('GET', path)

describe('the first payment of a customer', () => {
  test('200 a payment that names a new customer creates them, with their card', async () => {
    const name = newName()
    const id = await pay(name)
    const moment = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}$/)
    const detail = await get(`/customers/${id}`)
    expect(detail).toMatchObject({ status: 200 })
    expect(detail.body).toEqual({
      id,
      ...personOf(name),
      scope: 'MERCHANT',
      createdAt: moment,
      updatedAt: detail.body.createdAt,
      billingAddress: address,
      lastUsedAt: detail.body.createdAt,
    })
    const { body } = await get(`/customers/${id}/paymentMethods`)
    expect(body).toEqual({
      gatewayCustomerId: id,
      data: [
        {
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          type: 'CARD',
          last4Digits: '1111',
          pseudoCardNumber: expect.stringMatching(/^0\d{12}111$/),
          cardHolderName: 'Ada Lovelace',
          brand: 'visa',
          expiryDate: '203012',
          createdAt: moment,
          updatedAt: moment,
          lastUsedAt: moment,
        },
      ],
    })
    const one = await get(`/customers/${id}/paymentMethods/${body.data[0].id}`)
    expect(one).toMatchObject({ status: 200, body: { ...body.data[0], gatewayCustomerId: id } })
  })

  test('the payment record shows the customer, and later payments find them again', async () => {
    const name = newName()
    const { body } = await shop.create('CARD', { customerInfo: personOf(name) })
    const id = body.customerInfo.gatewayCustomerId
    expect((await shop.read(body.payId)).customerInfo).toEqual({ gatewayCustomerId: id, ...personOf(name) })
    await shop.advance('PT1H')
    expect(await pay(name, { customerInfo: personOf(name, { firstName: 'Augusta' }) })).toBe(id)
    const { body: detail } = await get(`/customers/${id}`)
    // The merchant's own data are changed by the merchant, not by a payment.
    expect(detail.firstName).toBe('Ada')
    expect(detail.lastUsedAt > detail.updatedAt).toBe(true)
    expect(await methodsOf(shop, id)).toHaveLength(1)
  })

  test('a second card is a second stored method, the one used last first; a new expiry date is stored', async () => {
    const name = newName()
    const id = await pay(name)
    await shop.advance('PT1M')
    await pay(name, { card: { number: '5555555555554444' } })
    expect((await methodsOf(shop, id)).map((method: { last4Digits: string }) => method.last4Digits)).toEqual([
      '4444',
      '1111',
    ])
    await shop.advance('PT1M')
    await pay(name, { card: { expiryDate: '203506', cardholderName: 'A. Lovelace' } })
    const [renewed] = await methodsOf(shop, id)
    expect(renewed).toMatchObject({
      last4Digits: '1111',
      expiryDate: '203506',
      cardHolderName: 'A. Lovelace',
    })
    expect(renewed.updatedAt).toBe(renewed.lastUsedAt)
    expect(renewed.updatedAt > renewed.createdAt).toBe(true)
  })

  test('a pseudo card number is the same card', async () => {
    const name = newName()
    const id = await pay(name)
    const [{ pseudoCardNumber }] = await methodsOf(shop, id)
    await pay(name, { card: { number: pseudoCardNumber, expiryDate: undefined } })
    expect(await methodsOf(shop, id)).toHaveLength(1)
  })

  test('no customer without an approval', async () => {
    const name = newName()
    const customerInfo = personOf(name)
    await shop.create('CARD', { customerInfo, card: { number: '4000000000000002' } })
    await shop.create('CARD', { customerInfo, card: { eventToken: 'ORDER' } })
    const card = { number: '4111111111111111', expiryDate: '203012', brand: 'visa', cardholderName: 'Ada' }
    await shop.call('POST', '/payments/refunds', {
      transId: 'credit',
      amount: { value: 1, currency: 'EUR' },
      customerInfo,
      paymentMethods: { card },
    })
    expect((await get(`/customers?page=1&merchantCustomerId=${name}`)).body.totalNumberOfItems).toBe(0)
  })

  test('no customer without the merchant’s id, or with an empty one', async () => {
    for (const customerInfo of [{ email: 'ada@example.com' }, personOf('')]) {
      const { status, body } = await shop.create('CARD', { customerInfo })
      expect(status).toBe(200)
      expect(body.customerInfo).toBeUndefined()
    }
    expect((await get('/customers?page=1')).body.totalNumberOfItems).toBe(0)
  })

  test('after a lost answer the customer is created by the inquiry that finds the approval', async () => {
    const name = newName()
    const { body } = await shop.create('CARD', {
      customerInfo: personOf(name),
      card: { number: '4000000000000101' },
    })
    expect(body).toMatchObject({ status: 'PENDING' })
    expect(body.customerInfo).toBeUndefined()
    await shop.advance('PT1M')
    const { customerInfo, status } = await shop.read(body.payId)
    expect(status).toBe('OK')
    const methods = await methodsOf(shop, customerInfo.gatewayCustomerId)
    expect(methods).toMatchObject([{ last4Digits: '0101' }])
  })

  test('the result of a confirm contains the customer’s id', async () => {
    const name = newName()
    const customerInfo = personOf(name)
    const { body } = await shop.create('PROVIDERK', { customerInfo, captureMethod: { type: 'MANUAL' } })
    expect(body.customerInfo).toBeUndefined()
    const confirmed = await shop.act(body.payId, 'confirms', 1000, tokenOf(body))
    expect(confirmed).toMatchObject(done('AUTHORIZED'))
    const id = confirmed.body.customerInfo.gatewayCustomerId
    expect(confirmed.body.customerInfo).toEqual({ gatewayCustomerId: id, ...customerInfo })
    // A wallet to which the customer signs in has nothing to store.
    expect(await methodsOf(shop, id)).toEqual([])
    const captured = await shop.act(body.payId, 'captures', 1000)
    expect(captured.body.customerInfo).toBeUndefined()
  })

  test('a payment without a card updates the customer’s last use, too', async () => {
    const name = newName()
    const id = await pay(name)
    await shop.advance('PT1H')
    const { body } = await shop.create('DIRECTDEBIT', { customerInfo: personOf(name) })
    expect(body.customerInfo).toEqual({ gatewayCustomerId: id })
    const { lastUsedAt, updatedAt } = (await get(`/customers/${id}`)).body
    expect(lastUsedAt > updatedAt).toBe(true)
  })

  test('400 our id of the customer in a request', async () => {
    const customerInfo = personOf(newName(), { gatewayCustomerId: '0'.repeat(32) })
    expect(await shop.create('CARD', { customerInfo })).toMatchObject({
      status: 400,
      body: { field: 'customerInfo.gatewayCustomerId' },
    })
  })

  test('a repetition by key gets the customer’s id as well', async () => {
    const key = { 'idempotency-key': newName() }
    const request = { customerInfo: personOf(newName()), transId: newName() }
    const first = await shop.create('CARD', request, key)
    const again = await shop.create('CARD', request, key)
    expect(again.text).toBe(first.text)
    expect(first.body.customerInfo.gatewayCustomerId).toMatch(/^[0-9a-f]{32}$/)
  })
})
