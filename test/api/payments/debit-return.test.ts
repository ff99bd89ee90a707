/** A debit that the bank returns: captured, and returned two days later without a request. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const returning = 'DE35370400440532013002'
const debit = (type: string, number = returning) => ({
  captureMethod: { type, ...(type === 'DELAYED' ? { delayed: { delayedHours: 1 } } : {}) },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'DIRECTDEBIT',
    directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
  },
})
const operations = async (payId: string, wanted: string) =>
  (await shop.read(payId)).operations.filter(({ type }: { type: string }) => type === wanted)
const returns = (payId: string) => operations(payId, 'RETURN')

test('200 approved and captured, then returned after two days, with one event', async () => {
  const { body } = await shop.create('DIRECTDEBIT', debit('AUTOMATIC'))
  expect(body).toMatchObject({ status: 'OK', responseCode: '00000000' })
  await shop.advance('P1DT23H59M')
  expect(await shop.read(body.payId)).toMatchObject({
    status: 'OK',
    amount: { refundedValue: 0, returnedValue: 0 },
  })
  await shop.advance('PT1M')
  const record = await shop.read(body.payId)
  expect(record).toMatchObject({
    status: 'OK',
    responseCode: '23000351',
    amount: { capturedValue: 1000, refundedValue: 0, returnedValue: 1000 },
  })
  const [returned, ...others] = await returns(body.payId)
  expect(others).toEqual([])
  expect(returned).toMatchObject({
    status: 'OK',
    amount: { value: 1000, currency: 'EUR' },
    responseCode: '23000351',
    responseDescription: 'Declined: Insufficient funds.',
    providerTransactionId: expect.stringMatching(/^sim/),
  })
  expect(Date.parse(returned.creationDate) - Date.parse(record.creationDate)).toBe(2 * 24 * 3_600_000)
  expect(await shop.events(body.payId)).toMatchObject([
    { xId: returned.xId, status: 'OK', responseCode: '23000351' },
  ])
  expect(await shop.act(body.payId, 'refunds', 1)).toMatchObject(refused('20200004'))
  await shop.advance('P60D')
  expect(await returns(body.payId)).toHaveLength(1)
})

// Each line: the capture type, and the time from creation to capture.
test.each([
  ['MANUAL', 'P10D', 600],
  ['DELAYED', 'PT1H', 1000],
])('%s: two days after its capture, not after its creation', async (type, wait, value) => {
  const { body } = await shop.create('DIRECTDEBIT', debit(type))
  await shop.advance(wait)
  if (type === 'MANUAL') expect(await shop.act(body.payId, 'captures', value)).toMatchObject(done('OK'))
  await shop.advance('P1DT23H')
  expect((await shop.read(body.payId)).amount).toMatchObject({ capturedValue: value, returnedValue: 0 })
  await shop.advance('PT1H')
  expect((await shop.read(body.payId)).amount).toMatchObject({ returnedValue: value })
})

describe('a debit that the merchant has refunded', () => {
  test('in part: the bank returns the rest', async () => {
    const { body } = await shop.create('DIRECTDEBIT', debit('AUTOMATIC'))
    expect(await shop.act(body.payId, 'refunds', 300)).toMatchObject(done('OK'))
    await shop.advance('P2D')
    expect(await returns(body.payId)).toMatchObject([{ amount: { value: 700 } }])
    expect((await shop.read(body.payId)).amount).toMatchObject({ refundedValue: 300, returnedValue: 700 })
  })

  test('in full, also with an unknown outcome: there is nothing to return', async () => {
    const { body } = await shop.create('DIRECTDEBIT', debit('AUTOMATIC'))
    await shop.advance('P1DT23H59M55S')
    await shop.fail({ operation: 'REFUND', fault: 'lost_answer' })
    expect(await shop.act(body.payId, 'refunds', 1000)).toMatchObject(pending)
    await shop.advance('P1D')
    expect(await operations(body.payId, 'REFUND')).toMatchObject([{ status: 'OK', responseCode: '00000000' }])
    expect(await returns(body.payId)).toEqual([])
    expect((await shop.read(body.payId)).amount.refundedValue).toBe(1000)
  })
})

test('an unknown capture that turns out approved is returned all the same', async () => {
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
  const { body } = await shop.create('DIRECTDEBIT', debit('AUTOMATIC'))
  expect(body.status).toBe('PENDING')
  await shop.advance('P3D')
  expect((await shop.read(body.payId)).amount).toMatchObject({
    capturedValue: 1000,
    refundedValue: 0,
    returnedValue: 1000,
  })
})

test('debits of any other account are not returned, and a failed capture is not either', async () => {
  const other = await shop.create('DIRECTDEBIT', debit('AUTOMATIC', 'DE89370400440532013000'))
  const failed = await shop.create('DIRECTDEBIT', debit('MANUAL'))
  await shop.act(failed.body.payId, 'captures', 1000, { simulationMode: '0351' })
  await shop.advance('P20D')
  expect((await shop.read(other.body.payId)).amount.returnedValue).toBe(0)
  expect(await returns(failed.body.payId)).toEqual([])
})

test('two gateways on one database record it once', async () => {
  const right = await startTestGateway({ clock, beside: gateway })
  const payIds = await Promise.all(
    Array.from(
      { length: 20 },
      async () => (await shop.create('DIRECTDEBIT', debit('AUTOMATIC'))).body.payId as string,
    ),
  )
  clock.move(2 * 24 * 3_600_000)
  const workers = [gateway, right, gateway, right].map(({ gateway: { timerWorker } }) => timerWorker)
  await Promise.all(workers.map(worker => worker.runDue()))
  for (const payId of payIds) {
    expect((await shop.read(payId)).amount.returnedValue).toBe(1000)
    expect(await returns(payId)).toHaveLength(1)
    expect(await shop.events(payId)).toHaveLength(1)
  }
  await right.stop()
})
