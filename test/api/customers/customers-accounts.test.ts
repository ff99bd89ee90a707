/** Bank accounts as stored methods: born with a direct debit, found again, shown masked, and destroyed with their last keeper. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { storedMethodDetail, storedMethodList } from '#schemas/customer.ts'
import { compileCheck } from '#test/support/check-schema.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

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

/** By nobody where the name is empty. */
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
  test('200 a direct debit leaves its account with the customer, masked', async () => {
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

  test('200 found again by its fingerprint, by IBAN or pseudo number; a new holder is noted', async () => {
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

  test('a number that another customer keeps is not destroyed, and a card of the same customer goes its own way', async () => {
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
