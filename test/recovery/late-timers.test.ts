/** Timers that run late in live, because no process ran when they were due: what they do is dated when it happens. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Connector, ConnectorFacts } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import { createTestClock, dayMs, hourMs, minuteMs, secondMs } from '#test/support/clock.ts'
import { cleanUpAll, makePreparedFolder, open } from '#test/support/database/embedded.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, listPayments } from '#test/support/plans.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

const clock = createTestClock()
let acquirer: Acquirer
let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  acquirer = createAcquirer()
  // A server of its own: live refuses one without durability, like that of the other tests.
  const { url } = await open(makePreparedFolder())
  gateway = await startTestGateway({
    ...{ environment: 'live', databaseUrl: url, clock },
    connectors: acquirer.connectors,
  })
  shop = await openShop(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await cleanUpAll()
})

/** The operations of the payment in an export of this range. */
async function exported(payId: string, range: string): Promise<string[]> {
  const { body } = await shop.call('GET', `/operations?payId=${payId}&${range}`)
  return body.data.map(({ type, status }: { type: string; status: string }) => `${type} ${status}`)
}

const runDue = async () => {
  while ((await gateway.gateway.timerWorker.runDue()) > 0);
}

/** The provider declares other facts about lost answers for the rest of the test. */
function declare(lostAnswer: Partial<ConnectorFacts['lostAnswer']>): void {
  const { connector } = acquirer
  const { facts, inquire } = connector
  onTestFinished(() => void Object.assign(connector, { facts, inquire }))
  const declared = { ...facts, lostAnswer: { ...facts.lostAnswer, ...lostAnswer } }
  Object.assign(connector, { facts: declared })
}

const sentTo = (xId: string) => acquirer.ledger.filter(({ reference }) => reference === xId).length

const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 1 } }

test('a delayed capture that is made late is in the export of the time in which it was made', async () => {
  const payId = (await shop.create('CARD', { captureMethod })).body.payId
  clock.move(5 * hourMs)
  const exportedAt = new Date(clock.nowMs()).toISOString()
  expect(await exported(payId, `to=${exportedAt}`)).toEqual(['AUTHORIZATION AUTHORIZED'])
  await runDue()
  expect(await exported(payId, `from=${exportedAt}`)).toEqual(['CAPTURE OK'])
})

test('so is the outcome that a late inquiry finds', async () => {
  const payId = await shop.authorize('CARD')
  acquirer.failNext('CAPTURE', 'lost_answer')
  expect((await shop.act(payId, 'captures', 1000)).body.status).toBe('PENDING')
  clock.move(dayMs)
  const exportedAt = new Date(clock.nowMs()).toISOString()
  await runDue()
  expect(await exported(payId, `from=${exportedAt}`)).toEqual(['CAPTURE OK'])
})

test('so is a payment whose customer did not come back in time', async () => {
  const urls = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }
  const order = { transId: 'left open', amount: { value: 1000, currency: 'EUR' }, urls }
  const { payId } = (await shop.call('POST', '/payments/sessions', order)).body
  clock.move(2 * dayMs)
  const exportedAt = new Date(clock.nowMs()).toISOString()
  await runDue()
  expect(await exported(payId, `from=${exportedAt}`)).toEqual(['AUTHORIZATION FAILED'])
})

test('a refund is not repeated when the provider may have forgotten its key', async () => {
  declare({ lookUpSettledMs: undefined, repeatWithinMs: 23 * hourMs })
  const payId = await shop.sell('CARD')
  acquirer.failNext('REFUND', 'lost_answer')
  const { xId } = (await shop.act(payId, 'refunds', 400)).body
  acquirer.setSilent(true)
  onTestFinished(() => acquirer.setSilent(false))
  clock.move(30 * hourMs)
  await runDue()
  expect(sentTo(xId)).toBe(1)
  expect((await shop.read(payId)).operations.at(-1).status).toBe('PENDING')
})

test('a capture that was sent late is not called failed before the provider can know it', async () => {
  declare({ lookUpSettledMs: 5 * minuteMs })
  const { connector } = acquirer
  const { inquire } = connector
  const payId = (await shop.create('CARD', { captureMethod })).body.payId
  clock.move(5 * hourMs)
  acquirer.failNext('CAPTURE', 'lost_answer')
  Object.assign(connector, { inquire: async () => ({ authorization: { kind: 'unreached' } }) })
  await runDue()
  clock.move(10 * secondMs)
  await runDue()
  expect((await shop.read(payId)).operations.at(-1).status).toBe('PENDING')
  Object.assign(connector, { inquire })
  clock.move(hourMs)
  await runDue()
  expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('a charge that goes on to the next account is as old there as its sending to that account', async () => {
  const recurring = { frequency: 'DAILY', autoCharge: true }
  const { paymentPlanId } = (await beginPlan(shop, { recurring })).body
  const { connectors, connector } = acquirer
  const { candidates } = connectors
  onTestFinished(() => void Object.assign(connectors, { candidates }))
  const away: Connector = {
    ...connector,
    async authorize() {
      clock.move(minuteMs)
      return { authorization: { kind: 'unreached' } }
    },
  }
  const [account] = await connectors.enabled(gateway.merchantId as MerchantId)
  const accounts = [
    { ...account, accountId: 'acc_away', connector: away },
    { ...account, accountId: 'acc_near' },
  ]
  Object.assign(connectors, { candidates: async () => accounts })
  clock.move(2 * dayMs)
  const begunMs = clock.nowMs()
  await runDue()
  const [charged] = await listPayments(shop, paymentPlanId)
  const { operations } = await shop.read(charged.payId)
  const [first, second] = operations
  expect([first.status, second.status]).toEqual(['FAILED', 'OK'])
  const waitedMs = Date.parse(second.creationDate) - Date.parse(first.creationDate)
  expect(waitedMs).toBeGreaterThanOrEqual(minuteMs)
  expect(Date.parse(first.creationDate)).toBeGreaterThanOrEqual(begunMs)
})
