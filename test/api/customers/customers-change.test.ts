/** Customers over HTTP: changing and deleting them, and the effect on their cards. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { methodsOf, newName, payAs, personOf } from '#test/support/customers.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Change, done, openShop, type Shop } from '#test/support/shop.ts'
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

const pay = (merchantCustomerId: string, change?: Change) => payAs(shop, merchantCustomerId, change)
const get = (path: string) => shop.call('GET', path)

describe('changing a customer', () => {
  const patch = (id: string, body: unknown, headers?: Record<string, string>) =>
    shop.call('PATCH', `/customers/${id}`, body, headers)

  test('200 a given field replaces, null clears, other fields stay', async () => {
    const name = newName()
    const id = await pay(name)
    await shop.advance('PT1H')
    const changed = await patch(id, {
      firstName: 'Augusta',
      lastName: null,
      phone: null,
      email: 'augusta@example.org',
      billingAddress: { city: 'Porlock', country: null },
    })
    const { createdAt, lastUsedAt } = changed.body
    expect(changed).toMatchObject({ status: 200 })
    expect(changed.body).toEqual({
      id,
      merchantCustomerId: name,
      firstName: 'Augusta',
      email: 'augusta@example.org',
      scope: 'MERCHANT',
      createdAt,
      updatedAt: expect.any(String),
      billingAddress: { streetName: 'St James’s Square', city: 'Porlock', postalCode: 'SW1Y 4JH' },
      lastUsedAt,
    })
    expect(changed.body.updatedAt > createdAt).toBe(true)
    expect((await get(`/customers/${id}`)).body).toEqual(changed.body)
    await patch(id, { billingAddress: null, phone: { countryCode: '49', number: '4012345' } })
    const { body } = await get(`/customers/${id}`)
    expect(body.billingAddress).toBeUndefined()
    expect(body.phone).toEqual({ countryCode: '49', number: '4012345' })
  })

  test.each([
    ['body', {}],
    ['email', { email: null }],
    ['email', { email: 'nobody' }],
    ['phone.number', { phone: { countryCode: '49' } }],
    ['phone.countryCode', { phone: { number: '4012345' } }],
    ['phone.number', { phone: { countryCode: '49', number: null } }],
    ['billingAddress', { billingAddress: {} }],
    ['billingAddress.country', { billingAddress: { country: 'UK' } }],
    ['billingAddress.streetNumber', { billingAddress: { streetNumber: '1' } }],
    ['merchantCustomerId', { merchantCustomerId: 'x' }],
    ['firstName', { firstName: 'x'.repeat(65) }],
    ['firstName', { firstName: 1 }],
  ])('400 %s %j', async (field, change) => {
    const id = await pay(newName())
    const before = await get(`/customers/${id}`)
    const answer = await patch(id, change)
    expect(answer).toMatchObject({ status: 400, body: { title: expect.any(String), status: 400 } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(Object.keys(answer.body.errors)).toContain(field)
    expect((await get(`/customers/${id}`)).text).toBe(before.text)
  })

  test('a repeated Idempotency-Key gets the same bytes, and with another body a refusal', async () => {
    const id = await pay(newName())
    const key = { 'idempotency-key': 'patch' }
    const first = await patch(id, { firstName: 'One' }, key)
    await patch(id, { firstName: 'Two' })
    const again = await patch(id, { firstName: 'One' }, key)
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await get(`/customers/${id}`)).body.firstName).toBe('Two')
    const other = await patch(id, { firstName: 'Three' }, key)
    expect(other).toMatchObject({
      status: 422,
      body: { responseCode: '20170002', traceId: expect.any(String) },
    })
  })

  test('simultaneous changes of different fields are all stored', async () => {
    const id = await pay(newName())
    const changes = [
      { firstName: 'F' },
      { lastName: 'L' },
      { email: 'e@example.org' },
      { phone: null },
      { billingAddress: null },
    ]
    const answers = await Promise.all(changes.map(change => patch(id, change)))
    expect(answers.map(answer => answer.status)).toEqual(changes.map(() => 200))
    const { body } = await get(`/customers/${id}`)
    expect(body).toMatchObject({ firstName: 'F', lastName: 'L', email: 'e@example.org' })
    expect(body.phone ?? body.billingAddress).toBeUndefined()
  })
})

describe('deleting a customer', () => {
  const remove = (path: string) => shop.call('DELETE', path)
  const sealedOf = async (payId: string) =>
    (
      await queryRows<{ sealed: Buffer | null; destroyed_at: Date | null; delete_after_use_at: Date | null }>(
        gateway.databaseUrl,
        `SELECT v.sealed, v.destroyed_at, v.delete_after_use_at FROM payment p JOIN vault_card v USING (merchant_id, card_id)
         WHERE p.pay_id = $1`,
        [payId],
      )
    )[0]

  test('200 a customer is deleted with their cards and the numbers; payments still show what they showed', async () => {
    const name = newName()
    const { body: paid } = await shop.create('CARD', { customerInfo: personOf(name) })
    const id = paid.customerInfo.gatewayCustomerId
    const [method] = await methodsOf(shop, id)
    const before = await shop.read(paid.payId)
    expect(await remove(`/customers/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } })
    for (const path of [
      `/customers/${id}`,
      `/customers/${id}/paymentMethods`,
      `/customers/${id}/paymentMethods/${method.id}`,
    ]) {
      expect((await get(path)).status).toBe(404)
    }
    expect((await remove(`/customers/${id}`)).status).toBe(404)
    expect((await shop.call('PATCH', `/customers/${id}`, { firstName: 'x' })).status).toBe(404)
    expect((await get(`/customers?page=1&merchantCustomerId=${name}`)).body.data).toEqual([])
    expect(await shop.read(paid.payId)).toEqual(before)
    expect(await sealedOf(paid.payId)).toMatchObject({ sealed: null, destroyed_at: expect.any(Date) })
    const again = await shop.create('CARD', {
      card: { number: method.pseudoCardNumber, expiryDate: '203012' },
    })
    expect(again).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.number' } })
    expect((await shop.act(paid.payId, 'refunds', 1000)).status).toBe(200)
  })

  test('200 one card is deleted; the customer stays, and the card comes back as a new entry', async () => {
    const name = newName()
    const id = await pay(name)
    const [method] = await methodsOf(shop, id)
    const path = `/customers/${id}/paymentMethods/${method.id}`
    const { lastUsedAt } = (await get(`/customers/${id}`)).body
    expect(await remove(path)).toMatchObject({ status: 200, body: { id: method.id, deleted: true } })
    expect([(await get(path)).status, (await remove(path)).status]).toEqual([404, 404])
    expect(await methodsOf(shop, id)).toEqual([])
    expect((await get(`/customers/${id}`)).body.lastUsedAt).toBe(lastUsedAt)
    await pay(name)
    const [fresh] = await methodsOf(shop, id)
    expect(fresh.id).not.toBe(method.id)
    const card = { number: fresh.pseudoCardNumber, expiryDate: undefined }
    expect((await shop.create('CARD', { card })).status).toBe(200)
  })

  test('a number that another customer keeps is not destroyed', async () => {
    const [one, other] = [await pay(newName()), await pay(newName())]
    const [method] = await methodsOf(shop, one)
    const card = { number: method.pseudoCardNumber, expiryDate: undefined }
    await remove(`/customers/${one}`)
    expect((await shop.create('CARD', { card })).status).toBe(200)
    await remove(`/customers/${other}`)
    expect((await shop.create('CARD', { card })).status).toBe(400)
  })

  test('a deleted customer who pays again is a new one', async () => {
    const name = newName()
    const id = await pay(name)
    await remove(`/customers/${id}`)
    const fresh = await pay(name)
    expect(fresh).not.toBe(id)
    expect((await get(`/customers/${id}`)).status).toBe(404)
    expect(await methodsOf(shop, fresh)).toHaveLength(1)
  })

  test('a payment that waits for its confirm keeps the number until it is decided', async () => {
    const name = newName()
    const id = await pay(name)
    const [{ pseudoCardNumber }] = await methodsOf(shop, id)
    const { body: order } = await shop.create('CARD', { card: { eventToken: 'ORDER' } })
    await remove(`/customers/${id}`)
    expect(await sealedOf(order.payId)).toMatchObject({
      sealed: expect.any(Buffer),
      delete_after_use_at: expect.any(Date),
    })
    const card = { number: pseudoCardNumber, expiryDate: undefined }
    expect((await shop.create('CARD', { card })).status).toBe(400)
    expect(await gateway.gateway.engine.customers.deleteUnused()).toBe(0)
    expect(await shop.act(order.payId, 'confirms', 1000)).toMatchObject(done('OK'))
    expect(await gateway.gateway.engine.customers.deleteUnused()).toBe(1)
    expect(await sealedOf(order.payId)).toMatchObject({ sealed: null, delete_after_use_at: null })
  })

  const number = '4111111111111111'
  const expiryDate = '203012'
  test.each<[string, string, () => object, expiryDate?: string]>([
    ['a payment', '/payments', () => ({ ...cardRequest(), transId: newName() })],
    ['the token service', '/services/tokenService', () => ({ type: 'CARD', number }), expiryDate],
    [
      'the account updater',
      '/services/accountUpdater',
      () => ({ transId: newName(), cards: [{ number }] }),
      expiryDate,
    ],
  ])('another process that has cached the card stores it again for %s', async (_, path, request, sent) => {
    const neighbour = await startTestGateway({ beside: gateway, clock: createTestClock() })
    try {
      const authorization = { authorization: shop.authorization }
      const id = await pay(newName())
      const payment = { ...cardRequest(), transId: newName() }
      expect((await neighbour.call('POST', '/payments', payment, authorization)).status).toBe(200)
      const [{ pseudoCardNumber }] = await methodsOf(shop, id)
      await remove(`/customers/${id}`)
      expect((await neighbour.call('POST', path, request(), authorization)).status).toBe(200)
      const card = { number: pseudoCardNumber, expiryDate: sent }
      expect((await shop.create('CARD', { card })).status).toBe(200)
    } finally {
      await neighbour.stop()
    }
  })
})

const cardRequest = () => ({
  amount: { value: 1000, currency: 'EUR' },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number: '4111111111111111', expiryDate: '203012' },
  },
})
