/** Customers over HTTP: how they are born, read, changed and deleted, and what becomes of their cards. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { type Change, done, openShop, type Shop, tokenOf } from '#test/support/shop.ts'

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

let people = 0

const personOf = (merchantCustomerId: string, more: object = {}) => ({
  merchantCustomerId,
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone: { countryCode: '+44', number: '2079460000' },
  ...more,
})

const address = { streetName: 'St James’s Square', city: 'London', postalCode: 'SW1Y 4JH', country: 'GBR' }

async function pay(merchantCustomerId: string, change: Change = {}): Promise<string> {
  const { status, body, text } = await shop.create('CARD', {
    customerInfo: personOf(merchantCustomerId),
    billingAddress: { ...address, streetNumber: '12' },
    ...change,
  })
  expect(status, text).toBe(200)
  return body.customerInfo.gatewayCustomerId
}

const newName = () => `person-${++people}`
const get = (path: string) => shop.call('GET', path)
const methodsOf = async (id: string) => (await get(`/customers/${id}/paymentMethods`)).body.data

describe('birth', () => {
  test('200 a payment that names a customer makes it, with its card', async () => {
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

  test('the record of the payment shows the customer, and later ones find it again', async () => {
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
    expect(await methodsOf(id)).toHaveLength(1)
  })

  test('a second card is a second stored method, the one used last first; a new expiry date is noted', async () => {
    const name = newName()
    const id = await pay(name)
    await shop.advance('PT1M')
    await pay(name, { card: { number: '5555555555554444' } })
    expect((await methodsOf(id)).map((method: { last4Digits: string }) => method.last4Digits)).toEqual([
      '4444',
      '1111',
    ])
    await shop.advance('PT1M')
    await pay(name, { card: { expiryDate: '203506', cardholderName: 'A. Lovelace' } })
    const [renewed] = await methodsOf(id)
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
    const [{ pseudoCardNumber }] = await methodsOf(id)
    await pay(name, { card: { number: pseudoCardNumber, expiryDate: undefined } })
    expect(await methodsOf(id)).toHaveLength(1)
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

  test('a lost answer: the customer comes with the inquiry that approves', async () => {
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
    const methods = await methodsOf(customerInfo.gatewayCustomerId)
    expect(methods).toMatchObject([{ last4Digits: '0101' }])
  })

  test('a confirm: its result tells the customer with its id', async () => {
    const name = newName()
    const customerInfo = personOf(name)
    const { body } = await shop.create('PROVIDERK', { customerInfo, captureMethod: { type: 'MANUAL' } })
    expect(body.customerInfo).toBeUndefined()
    const confirmed = await shop.act(body.payId, 'confirms', 1000, tokenOf(body))
    expect(confirmed).toMatchObject(done('AUTHORIZED'))
    const id = confirmed.body.customerInfo.gatewayCustomerId
    expect(confirmed.body.customerInfo).toEqual({ gatewayCustomerId: id, ...customerInfo })
    // There is nothing to store of a wallet that the customer signs in to.
    expect(await methodsOf(id)).toEqual([])
    const captured = await shop.act(body.payId, 'captures', 1000)
    expect(captured.body.customerInfo).toBeUndefined()
  })

  test('a payment without a card dates the customer, too', async () => {
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

describe('change', () => {
  const patch = (id: string, body: unknown, headers?: Record<string, string>) =>
    shop.call('PATCH', `/customers/${id}`, body, headers)

  test('200 what is given replaces, null clears, the rest stays', async () => {
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

  test('a key: the same bytes again, another body is refused as a problem', async () => {
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

  test('changes of different fields at the same moment all stand', async () => {
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

describe('deletion', () => {
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

  test('200 a customer, its cards and their numbers; payments keep what they show', async () => {
    const name = newName()
    const { body: paid } = await shop.create('CARD', { customerInfo: personOf(name) })
    const id = paid.customerInfo.gatewayCustomerId
    const [method] = await methodsOf(id)
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

  test('200 one card; the customer stays, and the card comes back as a new entry', async () => {
    const name = newName()
    const id = await pay(name)
    const [method] = await methodsOf(id)
    const path = `/customers/${id}/paymentMethods/${method.id}`
    const { lastUsedAt } = (await get(`/customers/${id}`)).body
    expect(await remove(path)).toMatchObject({ status: 200, body: { id: method.id, deleted: true } })
    expect([(await get(path)).status, (await remove(path)).status]).toEqual([404, 404])
    expect(await methodsOf(id)).toEqual([])
    expect((await get(`/customers/${id}`)).body.lastUsedAt).toBe(lastUsedAt)
    await pay(name)
    const [fresh] = await methodsOf(id)
    expect(fresh.id).not.toBe(method.id)
    const card = { number: fresh.pseudoCardNumber, expiryDate: undefined }
    expect((await shop.create('CARD', { card })).status).toBe(200)
  })

  test('a number that another customer keeps is not destroyed', async () => {
    const [one, other] = [await pay(newName()), await pay(newName())]
    const [method] = await methodsOf(one)
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
    expect(await methodsOf(fresh)).toHaveLength(1)
  })

  test('an order that waits for its confirm keeps the number until it is decided', async () => {
    const name = newName()
    const id = await pay(name)
    const [{ pseudoCardNumber }] = await methodsOf(id)
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

  test('another process that remembers the card stores it again', async () => {
    const neighbour = await startTestGateway({ beside: gateway, clock: createTestClock() })
    try {
      const authorization = { authorization: shop.authorization }
      const id = await pay(newName())
      const request = () => ({ ...cardRequest(), transId: newName() })
      expect((await neighbour.call('POST', '/payments', request(), authorization)).status).toBe(200)
      const [{ pseudoCardNumber }] = await methodsOf(id)
      await remove(`/customers/${id}`)
      expect((await neighbour.call('POST', '/payments', request(), authorization)).status).toBe(200)
      const card = { number: pseudoCardNumber, expiryDate: undefined }
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
