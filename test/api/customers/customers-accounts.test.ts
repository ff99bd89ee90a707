/**
 * Bank accounts as stored methods: created by a direct debit, found again, shown masked, and destroyed with their last
 * use.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { storedMethodDetail, storedMethodList } from '#schemas/customer.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { chargePlan, readPlan } from '#test/support/plans.ts'
import { done, openShop, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const iban = 'DE89370400440532013000'
const personOf = (merchantCustomerId: string) => ({ merchantCustomerId, email: 'ada@example.com' })

/** An empty name means no customer. */
const debit = (number: string, { name = 'ada', holder = 'Ada Lovelace' } = {}) =>
  shop.create('DIRECTDEBIT', {
    ...(name === '' ? {} : { customerInfo: personOf(name) }),
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: { account: { number, accountHolderName: holder } },
    },
  })

async function pay(number = iban, more: { name?: string; holder?: string } = {}): Promise<string> {
  const { status, body, text } = await debit(number, more)
  expect(status, text).toBe(200)
  return body.customerInfo.gatewayCustomerId
}

const get = (path: string) => shop.call('GET', path)
const remove = (path: string) => shop.call('DELETE', path)
const methodsOf = async (id: string) => (await get(`/customers/${id}/paymentMethods`)).body.data

const vaultRows = () =>
  queryRows<{ sealed: Buffer | null; destroyed_at: Date | null; delete_after_use_at: Date | null }>(
    gateway.databaseUrl,
    'SELECT sealed, destroyed_at, delete_after_use_at FROM vault_account WHERE merchant_id = $1',
    [shop.merchantId],
  )

describe('accounts of new customers', () => {
  test('200 a direct debit stores its account with the customer, masked', async () => {
    const id = await pay()
    const list = await get(`/customers/${id}/paymentMethods`)
    const moment = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}$/)
    expect(list.body).toEqual({
      gatewayCustomerId: id,
      data: [
        {
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          type: 'DIRECTDEBIT',
          last4Digits: '3000',
          pseudoBankAccountNumber: expect.stringMatching(/^ZZ00[A-Z]{14}3000$/),
          accountHolderName: 'Ada Lovelace',
          createdAt: moment,
          updatedAt: moment,
          lastUsedAt: moment,
        },
      ],
    })
    expect(list.text).not.toContain(iban.slice(4, -4))
    expect(compileCheck(storedMethodList)(list.body)).toEqual([])
    const [method] = list.body.data
    const detail = await get(`/customers/${id}/paymentMethods/${method.id}`)
    expect(detail).toMatchObject({ status: 200, body: { ...method, gatewayCustomerId: id } })
    expect(compileCheck(storedMethodDetail)(detail.body)).toEqual([])
  })

  test('200 found again by its fingerprint, by IBAN or pseudo number; a new holder is stored', async () => {
    const id = await pay()
    const [first] = await methodsOf(id)
    await shop.advance('PT1H')
    await pay(first.pseudoBankAccountNumber)
    const [used, ...others] = await methodsOf(id)
    expect(others).toEqual([])
    expect(used).toEqual({ ...first, lastUsedAt: expect.any(String) })
    expect(used.lastUsedAt > first.lastUsedAt).toBe(true)
    await shop.advance('PT1H')
    await pay(iban, { holder: 'A. Lovelace' })
    const renewed = await methodsOf(id)
    expect(renewed).toMatchObject([{ id: first.id, accountHolderName: 'A. Lovelace' }])
    expect(renewed[0].updatedAt).toBe(renewed[0].lastUsedAt)
    expect((await get(`/customers/${id}`)).body.lastUsedAt).toBe(renewed[0].lastUsedAt)
  })

  test('200 a card and accounts of one customer; an IBAN may end in letters', async () => {
    const id = await pay()
    await shop.advance('PT1M')
    await pay('GL8964710001000206')
    await shop.advance('PT1M')
    await pay('MT84MALT011000012345MTLCAST001S')
    await shop.advance('PT1M')
    await shop.create('CARD', { customerInfo: personOf('ada') })
    expect((await methodsOf(id)).map((one: { last4Digits: string }) => one.last4Digits)).toEqual([
      '1111',
      '001S',
      '0206',
      '3000',
    ])
  })

  test('422 a declined debit stores nothing', async () => {
    const id = await pay()
    expect((await debit('DE62370400440532013001')).status).toBe(422)
    expect(await methodsOf(id)).toHaveLength(1)
  })

  test('the same new account many times at once is stored once', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => pay()))
    expect(new Set(ids).size).toBe(1)
    expect(await methodsOf(ids[0] ?? '')).toHaveLength(1)
  })
})

test('pages and the account updater see cards only', async () => {
  const customerId = (await pay()) as CustomerId
  const [account] = await methodsOf(customerId)
  const { storedMethods } = gateway.gateway.engine
  const merchantId = shop.merchantId as MerchantId
  expect(await storedMethods.listRemembered(merchantId, 'ada')).toEqual([])
  expect(await storedMethods.find(merchantId, customerId, account.id as StoredMethodId)).toBeUndefined()
  await shop.create('CARD', { customerInfo: personOf('ada') })
  expect(await storedMethods.listRemembered(merchantId, 'ada')).toMatchObject([{ brand: 'visa' }])
})

describe('deleting a customer’s account', () => {
  test.each(['customer', 'method'])('200 a %s, and the number is destroyed', async what => {
    const { body: paid } = await debit(iban)
    const id = paid.customerInfo.gatewayCustomerId
    const before = await shop.read(paid.payId)
    const [method] = await methodsOf(id)
    const path = what === 'customer' ? `/customers/${id}` : `/customers/${id}/paymentMethods/${method.id}`
    expect(await remove(path)).toMatchObject({ status: 200, body: { deleted: true } })
    expect([(await get(path)).status, (await remove(path)).status]).toEqual([404, 404])
    expect(await vaultRows()).toEqual([
      { sealed: null, destroyed_at: expect.any(Date), delete_after_use_at: null },
    ])
    expect(await shop.read(paid.payId)).toEqual(before)
    expect(await debit(method.pseudoBankAccountNumber)).toMatchObject({
      status: 400,
      body: { field: 'paymentMethods.directDebit.account.number' },
    })
    expect((await shop.act(paid.payId, 'refunds', 1000)).status).toBe(200)
    const [fresh] = await methodsOf(await pay())
    expect(fresh).toMatchObject({ pseudoBankAccountNumber: method.pseudoBankAccountNumber })
    expect(fresh.id).not.toBe(method.id)
  })

  test('a number that another customer keeps is not destroyed, and a card of the same customer is deleted separately', async () => {
    const one = await pay()
    const other = await pay(iban, { name: 'other' })
    await shop.create('CARD', { customerInfo: personOf('ada') })
    const [account] = await methodsOf(other)
    await remove(`/customers/${one}`)
    expect((await debit(account.pseudoBankAccountNumber, { name: '' })).status).toBe(200)
    const cards = await queryRows<{ sealed: Buffer | null }>(
      gateway.databaseUrl,
      'SELECT sealed FROM vault_card WHERE merchant_id = $1',
      [shop.merchantId],
    )
    expect(cards).toEqual([{ sealed: null }])
    await remove(`/customers/${other}`)
    expect((await debit(account.pseudoBankAccountNumber, { name: '' })).status).toBe(400)
  })

  test('a payment that waits with the account keeps the number until it is decided', async () => {
    const id = await pay()
    const [{ pseudoBankAccountNumber }] = await methodsOf(id)
    const { body: waiting } = await shop.call('POST', '/payments', {
      transId: 'waits',
      amount: { value: 1000, currency: 'EUR' },
      urls: { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' },
      paymentMethods: { integrationType: 'HOSTED', type: 'DIRECTDEBIT' },
    })
    // The customer has sent the form and has not come back from the next step.
    await shop.customer(waiting.payId, 'pending')
    await remove(`/customers/${id}`)
    expect(await vaultRows()).toMatchObject([
      { sealed: expect.any(Buffer), delete_after_use_at: expect.any(Date) },
    ])
    expect((await debit(pseudoBankAccountNumber)).status).toBe(400)
    const { deleteUnused } = gateway.gateway.engine.customers
    expect(await deleteUnused()).toBe(0)
    await shop.customer(waiting.payId, 'cancel')
    expect(await deleteUnused()).toBe(1)
    expect(await vaultRows()).toMatchObject([{ sealed: null, delete_after_use_at: null }])
  })

  test('a number due for deletion is kept when its account pays again', async () => {
    const id = await pay()
    await queryRows(
      gateway.databaseUrl,
      'UPDATE vault_account SET delete_after_use_at = now() WHERE merchant_id = $1',
      [shop.merchantId],
    )
    await pay()
    expect(await vaultRows()).toMatchObject([{ sealed: expect.any(Buffer), delete_after_use_at: null }])
    expect(await methodsOf(id)).toHaveLength(1)
  })
})

describe('plans that are charged from a stored account', () => {
  const other = 'DE02120300000000202051'

  async function begin(name = 'ada') {
    const { status, body, text } = await shop.create('DIRECTDEBIT', {
      customerInfo: personOf(name),
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true },
      },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: { account: { number: iban, accountHolderName: 'Ada Lovelace' } },
      },
    })
    expect(status, text).toBe(200)
    return { planId: body.paymentPlanId, customerId: body.customerInfo.gatewayCustomerId }
  }

  test('name the stored account', async () => {
    const { planId, customerId } = await begin()
    const [{ id }] = await methodsOf(customerId)
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', paymentMethodId: id })
    const { body } = await get(`/customers/${customerId}/payment-plans`)
    expect(body.data).toMatchObject([{ paymentPlanId: planId, paymentMethodId: id }])
    expect(await chargePlan(shop, planId)).toMatchObject(done('OK'))
  })

  // Where another customer keeps the same account its number stays, but not the permission to charge this customer.
  test.each(['account', 'customer', 'account, which another customer keeps'])(
    'are SUSPENDED with the deletion of the %s, and not charged again',
    async what => {
      const { planId, customerId } = await begin()
      if (what.endsWith('keeps')) await pay(iban, { name: 'charles' })
      const { paymentMethodId } = await readPlan(shop, planId)
      const path = `/customers/${customerId}`
      const removed = await remove(what === 'customer' ? path : `${path}/paymentMethods/${paymentMethodId}`)
      expect(removed.status).toBe(200)
      expect(await readPlan(shop, planId)).toMatchObject({ status: 'SUSPENDED', paymentMethodId })
      expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
      await shop.call('POST', `/payment-plans/${planId}/resume`, {})
      expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
      await shop.advance('P40D')
      expect(await readPlan(shop, planId)).toMatchObject({ status: 'SUSPENDED', numberOfPayments: 1 })
    },
  )

  test('after a move only the account that they were moved to matters, not the first one', async () => {
    const { planId, customerId } = await begin()
    await pay(other)
    const methods: { id: string; last4Digits: string }[] = await methodsOf(customerId)
    const [first, second] = ['3000', '2051'].map(
      digits => methods.find(({ last4Digits }) => last4Digits === digits)?.id,
    )
    const moved = await shop.call('PATCH', `/payment-plans/${planId}`, { paymentMethodId: second })
    expect(moved).toMatchObject({ status: 200, body: { paymentMethodId: second } })
    await remove(`/customers/${customerId}/paymentMethods/${first}`)
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', paymentMethodId: second })
    expect(await chargePlan(shop, planId)).toMatchObject(done('OK'))
    await remove(`/customers/${customerId}/paymentMethods/${second}`)
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'SUSPENDED', paymentMethodId: second })
  })

  test('are charged in the name of the holder after the retention has blanked their initial payment', async () => {
    const { planId } = await begin()
    await gateway.gateway.merchants.set(shop.merchantId, { personalDataFor: 'P10D' })
    await shop.advance('P11D')
    const { body } = await chargePlan(shop, planId)
    const { paymentMethods } = await shop.read(body.payId)
    expect(paymentMethods.directDebit.account).toMatchObject({ accountHolderName: 'Ada Lovelace' })
  })

  test('that have ended stay as they ended', async () => {
    const { planId, customerId } = await begin()
    await shop.call('POST', `/payment-plans/${planId}/cancel`, {})
    const ended = await readPlan(shop, planId)
    await remove(`/customers/${customerId}`)
    expect(await readPlan(shop, planId)).toEqual(ended)
  })
})
