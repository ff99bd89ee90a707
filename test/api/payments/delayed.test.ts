/** DELAYED captures over HTTP: made once, automatically, hours after the approval, with an event. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { simulatedBy } from '#connectors/registry.ts'
import { createTestClock, hourMs } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import {
  done,
  openShop,
  pending,
  refused,
  type Shop,
  servedTypes,
  toldByApproval,
} from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
const clock = createTestClock()
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const delayed = (delayedHours: number) => ({ captureMethod: { type: 'DELAYED', delayed: { delayedHours } } })
const captures = async (payId: string) =>
  (await shop.read(payId)).operations.filter(({ type }: { type: string }) => type === 'CAPTURE')

describe.each(servedTypes)('%s', type => {
  /** The events after those of the approval. */
  const told = async (payId: string) => (await shop.events(payId)).slice(toldByApproval(type))

  test('CAPTURE_REQUEST until its hour, then OK, with one event', async () => {
    const payId = await shop.authorize(type, delayed(5))
    expect(await shop.read(payId)).toMatchObject({
      status: 'CAPTURE_REQUEST',
      captureMethod: delayed(5).captureMethod,
      amount: { authorizedValue: 1000, capturedValue: 0 },
    })
    await shop.advance('PT4H59M59S')
    expect(await captures(payId)).toEqual([])
    expect(await told(payId)).toEqual([])
    await shop.advance('PT1S')
    const [capture] = await captures(payId)
    expect(capture).toMatchObject({ status: 'OK', amount: { value: 1000 } })
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    expect(await told(payId)).toMatchObject([{ xId: capture.xId, status: 'OK', responseCode: '00000000' }])
    await shop.advance('P40D')
    expect(await captures(payId)).toHaveLength(1)
    expect(await told(payId)).toHaveLength(1)
  })

  test('a declined one leaves AUTHORIZED, sends an event, and can be captured by hand', async () => {
    const payId = await shop.authorize(type, delayed(1))
    await shop.fail({ operation: 'CAPTURE', fault: 'decline', code: '61' })
    await shop.advance('PT1H')
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { capturedValue: 0 } })
    const [capture] = await captures(payId)
    expect(capture.status).toBe('FAILED')
    expect(await told(payId)).toMatchObject([
      { xId: capture.xId, status: 'AUTHORIZED', responseCode: expect.stringMatching(/0361$/) },
    ])
    await shop.advance('PT10H')
    expect(await captures(payId)).toHaveLength(1)
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
  })
})

test('200 the answer to the creation is CAPTURE_REQUEST', async () => {
  expect(await shop.create('CARD', delayed(1))).toMatchObject(done('CAPTURE_REQUEST'))
})

test('the longest delay outlives the authorisation of the method', async () => {
  const payId = await shop.authorize('CARD', delayed(696))
  await shop.advance('P28D')
  expect((await shop.read(payId)).status).toBe('CAPTURE_REQUEST')
  await shop.advance('P1D')
  expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('a disabled merchant takes no new payments, but what a customer was authorised for is captured', async () => {
  const payId = await shop.authorize('CARD', delayed(1))
  const { merchants, timerWorker } = gateway.gateway
  await merchants.set(shop.merchantId, { disabled: true })
  expect(await shop.create('CARD')).toMatchObject({ status: 403 })
  clock.move(hourMs)
  while ((await timerWorker.runDue()) > 0);
  await merchants.set(shop.merchantId, { disabled: false })
  expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expect(await shop.events(payId)).toHaveLength(1)
})

test('one long move fires captures and lapses in the order of their times', async () => {
  const payId = await shop.authorize('CARD', delayed(2))
  const declined = await shop.authorize('CARD', { ...delayed(2), card: { number: '4000000000000341' } })
  await shop.advance('P30D')
  expect((await shop.read(payId)).status).toBe('OK')
  expect(await shop.read(declined)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  expect(await shop.events(declined)).toMatchObject([{ status: 'AUTHORIZED' }, { status: 'REVERSED' }])
  const [capture] = await captures(payId)
  const record = await shop.read(payId)
  expect(Date.parse(capture.creationDate) - Date.parse(record.creationDate)).toBe(2 * 3_600_000)
})

test.each(['lost_answer', 'error'])('an unknown one after %s is settled once', async fault => {
  const payId = await shop.authorize('CARD', delayed(1))
  await shop.fail({ operation: 'CAPTURE', fault })
  await shop.advance('PT1H')
  expect(await shop.read(payId)).toMatchObject({ status: 'CAPTURE_REQUEST', amount: { capturedValue: 0 } })
  expect(await captures(payId)).toMatchObject([{ status: 'PENDING' }])
  expect(await shop.events(payId)).toEqual([])
  expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('20200002'))
  await shop.advance('PT10S')
  expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expect(await captures(payId)).toHaveLength(1)
  expect(await shop.events(payId)).toHaveLength(1)
})

test('one that never arrives is FAILED, leaves AUTHORIZED, and is not retried', async () => {
  const payId = await shop.authorize('CARD', delayed(1))
  await shop.fail({ operation: 'CAPTURE', fault: 'lost_request', times: 3 })
  await shop.advance('PT5H')
  expect((await shop.read(payId)).status).toBe('AUTHORIZED')
  expect(await captures(payId)).toMatchObject([{ status: 'FAILED', responseCode: '21000391' }])
  expect(await shop.events(payId)).toHaveLength(1)
})

describe('a manual operation before a delayed capture', () => {
  test('a capture of everything leaves nothing for the delayed capture', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    expect(await shop.act(payId, 'captures', 1000)).toMatchObject(done('OK'))
    await shop.advance('P10D')
    expect(await captures(payId)).toHaveLength(1)
    expect(await shop.events(payId)).toEqual([])
  })

  test('a partial capture leaves the rest to the delayed capture', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.act(payId, 'captures', 300)
    await shop.advance('PT2H')
    expect(await captures(payId)).toMatchObject([{ amount: { value: 300 } }, { amount: { value: 700 } }])
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  })

  test('a final partial capture ends the delayed capture', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.act(payId, 'captures', 300, { captureMethod: { manual: { final: true } } })
    await shop.advance('PT2H')
    expect((await shop.read(payId)).amount.capturedValue).toBe(300)
  })

  test('a declined capture leaves the delayed capture as planned', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.act(payId, 'captures', 1000, { simulationMode: '0305' })
    expect((await shop.read(payId)).status).toBe('CAPTURE_REQUEST')
    await shop.advance('PT2H')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  })

  test('a full reversal ends the delayed capture', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    expect(await shop.act(payId, 'reversals', 1000)).toMatchObject(done('OK'))
    await shop.advance('P10D')
    expect((await shop.read(payId)).status).toBe('REVERSED')
    expect(await captures(payId)).toEqual([])
  })

  test('a partial reversal leaves the rest to the delayed capture', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.act(payId, 'reversals', 400)
    await shop.advance('PT2H')
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 600, reversedValue: 400 },
    })
  })

  test('an unknown reversal delays it; when it turns out declined, the capture is made after all', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.advance('PT1H59M55S')
    await shop.fail({ operation: 'REVERSAL', fault: 'lost_answer' })
    const unheard = await shop.act(payId, 'reversals', 1000, { simulationMode: '0305' })
    expect(unheard).toMatchObject(pending)
    await shop.advance('PT5S')
    expect(await captures(payId)).toEqual([])
    expect((await shop.read(payId)).status).toBe('CAPTURE_REQUEST')
    await shop.advance('PT5S')
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    expect(await shop.events(payId)).toMatchObject([
      { xId: unheard.body.xId, responseCode: '21000305' },
      { status: 'OK' },
    ])
  })

  test('an unknown capture of the whole amount delays it; when it turns out declined, the delayed capture is made', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.advance('PT1H59M55S')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    expect(await shop.act(payId, 'captures', 1000, { simulationMode: '0305' })).toMatchObject(pending)
    await shop.advance('PT5S')
    expect(await captures(payId)).toMatchObject([{ status: 'PENDING' }])
    await shop.advance('PT5S')
    expect(await captures(payId)).toMatchObject([{ status: 'FAILED' }, { status: 'OK' }])
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  })

  test('the order stays when the clock passes all of it and the end of the authorisation at once', async () => {
    const payId = await shop.authorize('CARD', delayed(2))
    await shop.advance('PT1H59M55S')
    await shop.fail({ operation: 'REVERSAL', fault: 'lost_answer' })
    await shop.act(payId, 'reversals', 1000, { simulationMode: '0305' })
    await shop.advance('P30D')
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 1000, reversedValue: 0 },
    })
  })
})

test('an amount that becomes free after it has fired is not captured automatically', async () => {
  const payId = await shop.authorize('CARD', delayed(2))
  await shop.advance('PT1H59M55S')
  await shop.fail({ operation: 'INCREMENTAL', fault: 'lost_answer' })
  expect(await shop.act(payId, 'incrementals', 500)).toMatchObject(pending)
  await shop.advance('PT1H')
  expect(await captures(payId)).toMatchObject([{ status: 'OK', amount: { value: 1000 } }])
  expect((await shop.read(payId)).amount.authorizedValue).toBe(1500)
  expect(await shop.act(payId, 'captures', 500)).toMatchObject(done('OK'))
})

test('two gateways on one database make a delayed capture once', async () => {
  const clock = createTestClock()
  const left = await startTestGateway({ clock, requestsPerSecond: 100_000 })
  const right = await startTestGateway({ clock, beside: left })
  const shops = await openShop(left)
  const payIds = await Promise.all(Array.from({ length: 20 }, () => shops.authorize('CARD', delayed(1))))
  clock.move(3_600_000)
  await Promise.all([left, right, left, right].map(({ gateway: { timerWorker } }) => timerWorker.runDue()))
  for (const payId of payIds) {
    const { operations, amount } = await shops.read(payId)
    expect(operations).toHaveLength(2)
    expect(amount.capturedValue).toBe(1000)
    expect(await shops.events(payId)).toHaveLength(1)
  }
  await right.stop()
  await left.stop()
})

test('the clock waits for a capture that the background worker has begun', async () => {
  const arrived = Promise.withResolvers<void>()
  const letGo = Promise.withResolvers<void>()
  const { connector } = createAcquirer()
  const slow = simulatedBy({
    ...connector,
    async capture(request, signal) {
      arrived.resolve()
      await letGo.promise
      return connector.capture?.(request, signal) ?? { kind: 'unreached' }
    },
  })
  const held = await startTestGateway({ clock: createTestClock(), connectors: slow })
  const shops = await openShop(held)
  const payId = await shops.authorize('CARD', delayed(1))
  const order: string[] = []
  const moved = shops.advance('PT1H').then(() => order.push('the clock has moved'))
  await arrived.promise
  // The timer is gone and the capture is under way: a second move finds nothing that is due.
  const again = shops.advance('PT1S').then(() => order.push('the clock has moved again'))
  for (const look of [1, 2, 3])
    expect([look, (await shops.read(payId)).status]).toEqual([look, 'CAPTURE_REQUEST'])
  order.push('the provider has answered')
  letGo.resolve()
  await Promise.all([moved, again])
  expect(order[0]).toBe('the provider has answered')
  expect(await shops.read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  await held.stop()
})

describe('bad requests', () => {
  test.each([
    ['captureMethod.delayed', { type: 'DELAYED' }],
    ['captureMethod.delayed.delayedHours', { type: 'DELAYED', delayed: {} }],
    ['captureMethod.delayed.delayedHours', { type: 'DELAYED', delayed: { delayedHours: 0 } }],
    ['captureMethod.delayed.delayedHours', { type: 'DELAYED', delayed: { delayedHours: 697 } }],
    ['captureMethod.delayed.delayedHours', { type: 'DELAYED', delayed: { delayedHours: 1.5 } }],
    ['captureMethod.delayed', { type: 'MANUAL', delayed: { delayedHours: 1 } }],
    ['captureMethod.delayed', { type: 'AUTOMATIC', delayed: { delayedHours: 1 } }],
  ])('400 %s %j', async (field, captureMethod) => {
    expect(await shop.create('CARD', { captureMethod })).toMatchObject({ status: 400, body: { field } })
  })
})
