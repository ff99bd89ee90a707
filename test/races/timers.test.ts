/** A timer that has nothing to do in one process, while another process sets it again. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { AuthorizationOutcome, Inquiry } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { captureDelayed } from '#operations/payments/follow-up-kinds.ts'
import { createPaymentQueue } from '#operations/payments/payment-queue.ts'
import { settleByInquiry } from '#operations/payments/provider-calls/settle-by-inquiry.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findMerchant, openShop, type Shop } from '#test/support/shop.ts'

const hourMs = 3_600_000
const clock = createTestClock()
let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
let shop: Shop
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  left = await startTestGateway({ clock, connectors })
  right = await startTestGateway({ clock, connectors, beside: left })
  shop = await openShop(left)
})
afterAll(async () => {
  expect((await examine(left.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await right.stop()
  await left.stop()
})

/** The timer of a delayed capture fires, and the other process acts after the timer has read the payment. */
async function captureMeanwhile(payId: PayId, happens: (merchant: Merchant) => Promise<void>) {
  const merchant = await findMerchant(shop, left)
  const { engine } = left.gateway
  const { payments, clock: time } = engine
  let isFirst = true
  const queue = createPaymentQueue({
    payments,
    waitMs: time.waitMs,
    async commit(change) {
      if (isFirst) {
        isFirst = false
        await happens(merchant)
      }
      return engine.commit(change)
    },
  })
  const [first] = (await shop.read(payId)).operations
  const timer = { merchantId: merchant.merchantId, payId, xId: first.xId as XId, kind: 'CAPTURE' as const }
  const at = new Date(clock.nowMs() + 5 * hourMs)
  clock.move(6 * hourMs)
  await captureDelayed({ timer: { ...timer, attempt: 0 }, merchant, dueAt: at, at }, { ...engine, queue })
  while ((await left.gateway.timerWorker.runDue()) > 0);
  return (await shop.read(payId)).amount
}

const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 5 } }

test('a delayed capture is made if its timer finds everything being reversed, and the reversal then fails', async () => {
  const payId = (await shop.create('CARD', { captureMethod })).body.payId as PayId
  acquirer.failNext('REVERSAL', 'lost_answer')
  const { inquire } = acquirer.connector
  onTestFinished(() => void Object.assign(acquirer.connector, { inquire }))
  Object.assign(acquirer.connector, {
    inquire: async ({ reference, amount }: Inquiry): Promise<AuthorizationOutcome> => ({
      authorization: { kind: 'declined', detail: '0305', provider: { echo: { reference, amount } } },
    }),
  })
  const { body } = await shop.act(payId, 'reversals', 1000)
  expect(body.status).toBe('PENDING')
  const amount = await captureMeanwhile(
    payId,
    async merchant =>
      void (await settleByInquiry({ merchant, payId, xId: body.xId, inquiry: 0 }, right.gateway.engine)),
  )
  expect(amount).toMatchObject({ capturedValue: 1000, reversedValue: 0 })
})

test('a delayed capture captures what a simultaneous reversal leaves', async () => {
  const payId = (await shop.create('CARD', { captureMethod })).body.payId as PayId
  const { authorization } = shop
  const body = { transId: 'a part', amount: { value: 400, currency: 'EUR' } }
  const amount = await captureMeanwhile(payId, async () => {
    const { status } = await right.call('POST', `/payments/${payId}/reversals`, body, { authorization })
    expect(status).toBe(200)
  })
  expect(amount).toMatchObject({ capturedValue: 600, reversedValue: 400 })
})

/** Replaces a call of the provider until the test has ended; `release` lets the calls that wait go on. */
function hold<Call extends 'authorize' | 'capture'>(call: Call) {
  const { connector } = acquirer
  const usual = connector[call] as (...words: unknown[]) => Promise<unknown>
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  onTestFinished(() => void Object.assign(connector, { [call]: usual }))
  Object.assign(connector, {
    async [call](...words: unknown[]) {
      reached.resolve()
      await released.promise
      return usual(...words)
    },
  })
  return { reached: reached.promise, release: released.resolve }
}

test('moving the test clock waits for a delayed capture that another process makes', async () => {
  const payId = (await shop.create('CARD', { captureMethod })).body.payId as PayId
  const { reached, release } = hold('capture')
  const { waitMs } = clock
  onTestFinished(() => void Object.assign(clock, { waitMs }))
  clock.move(6 * hourMs)
  const running = right.gateway.timerWorker.runDue()
  await reached
  Object.assign(clock, { waitMs: async () => release() })
  expect(await shop.call('POST', '/test/clock', { advance: 'PT1M' })).toMatchObject({ status: 200 })
  expect((await shop.read(payId)).status).toBe('OK')
  release()
  await running
})

test('a delayed capture comes when it is due although the test clock is moved during the authorisation', async () => {
  const { reached, release } = hold('authorize')
  const creating = shop.create('CARD', { captureMethod })
  await reached
  await shop.call('POST', '/test/clock', { advance: 'PT6H' })
  release()
  const { body } = await creating
  expect(body.status).toBe('CAPTURE_REQUEST')
  await shop.call('POST', '/test/clock', { advance: 'PT1S' })
  expect((await shop.read(body.payId)).status).toBe('OK')
})
