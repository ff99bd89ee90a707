/** The counts of the overview, asked of a real database, and what its page makes of them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createOverviews } from '#console/overviews.ts'
import { createFigureStore } from '#storage/console/figures.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
let owner: Person
let database: Database
beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  database = openDatabase(gateway.databaseUrl, error => {
    throw error
  })
})
afterAll(async () => {
  await database.close()
  await gateway.stop()
})

const period = { since: new Date(0), lately: new Date(0), dueBefore: new Date(0) }

test('every count waits longer than its statement timeout, so that a slow count is not taken for a silent database', async () => {
  const asked = vi.spyOn(database.readers, 'query')
  const { figures } = await createOverviews(createFigureStore(database), () => 0).read('a', period)
  expect(figures).toMatchObject({ waiting: { pending: 0, failedEvents: 0, disputesDue: 0 } })
  const patienceMs = asked.mock.calls.map(([config]) => (config as { query_timeout?: number }).query_timeout)
  expect(patienceMs).toHaveLength(5)
  const { rows } = await database.readers.query('SHOW statement_timeout')
  expect(rows).toEqual([{ statement_timeout: '5s' }])
  for (const wait of patienceMs) expect(wait).toBeGreaterThan(5_000)
})

async function openShop() {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('A shop with figures')
  const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
  const call = (path: string, body: object) => gateway.call('POST', path, body, { authorization })
  const overview = async () =>
    (await (await owner.get(`/console/m/${merchantId}`)).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  return { call, overview }
}

const urls = { return: 'https://shop.example/paid', cancel: 'https://shop.example/back' }
const amount = { value: 1_000, currency: 'EUR' }

test('200 an account that cannot be reached, or whose system fails, has many faults; a decline is none', async () => {
  const { call, overview } = await openShop()
  await call('/payments', cardPayment())
  await call('/payments', cardPayment({ card: { number: '4000000000000002' } }))
  expect(await overview()).toContain('simulator serving 2 0 0 ')
  await call('/payments', cardPayment({ simulationMode: '0391' }))
  await call('/payments', cardPayment({ simulationMode: '0396' }))
  expect(await overview()).toContain('simulator many faults 4 0 2 ')
})

test('200 a payout is no approval of its method', async () => {
  const { call, overview } = await openShop()
  const card = { number: '4111111111111111', cardholderName: 'Ada L', expiryDate: '209912', brand: 'visa' }
  const customerInfo = { email: 'ada@example.com' }
  const paid = await call('/payments/refunds', {
    transId: 'won',
    amount,
    customerInfo,
    paymentMethods: { card },
  })
  expect(paid.body.status).toBe('OK')
  await call('/payments', cardPayment({ card: { number: '4000000000000002' } }))
  expect(await overview()).toContain('CARD 0 1 0 %')
})

test('200 payments for which no account was asked yet say nothing about the health of one', async () => {
  const { call, overview } = await openShop()
  await call('/payments/sessions', { transId: 'not-chosen', amount, urls })
  expect(await overview()).toContain('No payments in the last 24 hours.')
})

test('200 a dispute is announced also if no payment is as young as the charts', async () => {
  const { call, overview } = await openShop()
  const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 29 * 24 } }
  await call(
    '/payments',
    cardPayment({ captureMethod, card: { number: '4000000000002685', expiryDate: '209912' } }),
  )
  await call('/test/clock', { advance: 'P40D' })
  const page = await overview()
  expect(page).toContain('No payments in the last 30 days.')
  expect(page).toContain('1 disputes due within 7 days')
})
