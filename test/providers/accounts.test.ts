/**
 * Payments of merchants with provider accounts: routing, the payment record, and operations that stay with their
 * account.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan } from '#test/support/plans.ts'
import { type Change, openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let commands: CommandsHere
beforeAll(async () => {
  gateway = await startTestGateway()
  commands = commandsHere(gateway.databaseUrl, { TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl) })
})
afterAll(async () => {
  commands.remove()
  await gateway.stop()
})

const add = async (shop: Shop, name: string, ...more: string[]): Promise<string> => {
  const words = ['provider', 'add', shop.merchantId, '--connector', 'simulator', '--name', name, ...more]
  const { accountId } = await commands.json(...words)
  return accountId
}

/**
 * A new merchant with accounts. Changes by another process take half a second for merchants whose accounts are cached.
 */
const openWith = async (...names: string[]): Promise<{ shop: Shop; accounts: string[] }> => {
  const shop = await openShop(gateway)
  const accounts: string[] = []
  for (const name of names) accounts.push(await add(shop, name))
  return { shop, accounts }
}

const urls = { return: 'https://shop.example/ok', cancel: 'https://shop.example/no' }

const pay = async (shop: Shop, change: Change = {}): Promise<AnyJson> => {
  const { status, body } = await shop.create('CARD', change)
  return status === 200 ? shop.read(body.payId) : body
}

test('without accounts the simulator takes all payments, and the record names no account', async () => {
  const shop = await openShop(gateway)
  expect(await pay(shop)).not.toHaveProperty('provider')
})

test('the first enabled account takes the payment, and the record shows it', async () => {
  const { shop, accounts } = await openWith('A', 'B')
  expect((await pay(shop)).provider).toEqual({ account: accounts[0], connector: 'simulator' })
})

test('rules decide, the lowest priority number first', async () => {
  const { shop, accounts } = await openWith('A', 'B', 'C')
  const [a = '', b = '', c = ''] = accounts
  const rule = (...words: string[]) => commands.json('route', 'add', shop.merchantId, ...words)
  await rule('--account', b, '--currencies', 'USD')
  await rule('--account', c, '--currencies', 'USD', '--amount-from', '5000', '--priority', '1')
  const account = async (amount: object) => (await pay(shop, { amount })).provider.account
  expect(await account({ value: 1000, currency: 'EUR' })).toBe(a)
  expect(await account({ value: 1000, currency: 'USD' })).toBe(b)
  expect(await account({ value: 5000, currency: 'USD' })).toBe(c)
})

test('rules may name a brand', async () => {
  const { shop, accounts } = await openWith('A', 'B')
  await commands.json(
    'route',
    'add',
    shop.merchantId,
    '--account',
    accounts[1] ?? '',
    '--brands',
    'mastercard',
  )
  expect((await pay(shop, { card: { number: '5555555555554444' } })).provider.account).toBe(accounts[1])
  expect((await pay(shop)).provider.account).toBe(accounts[0])
})

test('422 20200012: a method that no account serves', async () => {
  const shop = await openShop(gateway)
  await add(shop, 'A', '--set', 'types=PROVIDERP')
  expect(await shop.create('CARD')).toMatchObject({ status: 422, body: { responseCode: '20200012' } })
})

test('a disabled account takes no new payments and finishes the old ones', async () => {
  const { shop, accounts } = await openWith('A')
  const [a = ''] = accounts
  const payId = await shop.authorize('CARD')
  expect(await commands.run('provider', 'remove', a)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('1 open payments'),
  })
  await commands.json('provider', 'disable', a)
  await expect
    .poll(async () => (await shop.create('CARD')).status, { timeout: 30_000, interval: 100 })
    .toBe(422)
  // What is listed is what a payment may name.
  expect((await shop.call('GET', '/payment-methods')).body.totalNumberOfItems).toBe(0)
  expect((await shop.act(payId, 'captures', 400)).status).toBe(200)
  // The rest of the authorisation can still be captured.
  expect(await commands.run('provider', 'remove', a)).toMatchObject({ code: 1 })
  expect((await shop.act(payId, 'captures', 600)).status).toBe(200)
  expect((await shop.read(payId)).provider.account).toBe(a)
  expect(await commands.run('provider', 'remove', a)).toMatchObject({ code: 0 })
})

test('a page of an account’s simulator is ended for another method, and when the merchant cancels', async () => {
  const { shop } = await openWith('A')
  const { body } = await shop.call('POST', '/payments/sessions', {
    transId: 'another method',
    amount: { value: 1000, currency: 'EUR' },
    allowedPaymentMethod: ['IDEAL', 'CARD'],
    urls,
  })
  const { href } = body._links.redirect
  for (const fields of [{ type: 'IDEAL' }, cardEntries('4111111111111111')]) {
    const { url, hidden } = await openPage(href)
    expect(await sendForm({ url, hidden }, fields)).toBe(303)
  }
  expect(await shop.read(body.payId)).toMatchObject({ status: 'OK', paymentMethods: { type: 'CARD' } })
  const paymentMethods = { integrationType: 'HOSTED', type: 'IDEAL' }
  const amount = { value: 1000, currency: 'EUR' }
  const left = (await shop.call('POST', '/payments', { transId: 'left', amount, urls, paymentMethods })).body
  const cancelled = await shop.call('POST', `/payments/${left.payId}/cancellations`, {})
  expect(cancelled.status).toBe(200)
})

test('a payment stays with its account when the rules change', async () => {
  const { shop, accounts } = await openWith('A', 'B')
  const payId = await shop.authorize('CARD')
  await commands.json('route', 'add', shop.merchantId, '--account', accounts[1] ?? '')
  await expect
    .poll(async () => (await pay(shop)).provider?.account, { timeout: 30_000, interval: 100 })
    .toBe(accounts[1])
  expect((await shop.act(payId, 'captures', 1000)).status).toBe(200)
  expect((await shop.read(payId)).provider.account).toBe(accounts[0])
})

test('an account of another merchant takes no payments', async () => {
  const { accounts } = await openWith('A')
  const stranger = await openShop(gateway)
  expect(
    await commands.run('route', 'add', stranger.merchantId, '--account', accounts[0] ?? ''),
  ).toMatchObject({ code: 1 })
  expect(await pay(stranger)).not.toHaveProperty('provider')
})

test.each([true, false])(
  'a plan whose charge no account takes any more is SUSPENDED and says so; resumed (at once: %s), it is charged',
  async chargeNow => {
    const { shop, accounts } = await openWith('A')
    const [a = ''] = accounts
    const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true }
    const { body } = await beginPlan(shop, { recurring })
    const path = `/payment-plans/${body.paymentPlanId}`
    await commands.json('provider', 'disable', a)
    const poll = { timeout: 30_000, interval: 100 }
    await expect.poll(async () => (await shop.create('CARD')).status, poll).toBe(422)

    await shop.advance('P32D')
    expect((await shop.call('GET', path)).body).toMatchObject({ status: 'SUSPENDED', numberOfPayments: 1 })
    const { data } = (await shop.call('GET', `/events?page=1&payId=${body.payId}`)).body
    expect(data[0]).toMatchObject({ type: 'plan.suspended', payId: body.payId })

    await commands.json('provider', 'enable', a)
    await expect.poll(async () => (await shop.create('CARD')).status, poll).toBe(200)
    expect((await shop.call('POST', `${path}/resume`, { chargeNow })).status).toBe(200)
    if (!chargeNow) await shop.advance('P31D')
    expect((await shop.call('GET', path)).body).toMatchObject({ status: 'ACTIVE', numberOfPayments: 2 })
  },
)
