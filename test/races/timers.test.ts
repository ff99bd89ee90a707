/** A timer that finds nothing to do in one process, while another one sets it anew. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { AuthorizationOutcome, Inquiry } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import { captureDelayed } from '#operations/payments/follow-up-kinds.ts'
import { createPaymentQueue } from '#operations/payments/payment-queue.ts'
import { settleByInquiry } from '#operations/payments/settle-by-inquiry.ts'
import { type Acquirer, createAcquirer } from '#test/support/acquirer.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

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
  await right.stop()
  await left.stop()
})

test('a delayed capture is made though its timer found everything being reversed, which then failed', async () => {
  const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 5 } }
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
  const merchant = (await left.gateway.merchants.list()).find(one => one.merchantId === shop.merchantId)
  if (!merchant) throw new Error('the shop is not there')
  const { merchantId } = merchant
  const { engine } = left.gateway
  const { payments, clock: time } = engine
  const queue = createPaymentQueue({
    payments,
    waitMs: time.waitMs,
    // The timer has seen that everything is being reversed. Now the other process learns that it was not.
    async commit(change) {
      await settleByInquiry({ merchant, payId, xId: body.xId as XId, inquiry: 0 }, right.gateway.engine)
      return engine.commit(change)
    },
  })
  const { operations } = await shop.read(payId)
  const timer = { merchantId, payId, xId: operations[0].xId as XId, kind: 'CAPTURE' as const, attempt: 0 }
  const at = new Date(clock.nowMs() + 5 * hourMs)
  clock.move(6 * hourMs)
  await captureDelayed({ timer, merchant, at }, { ...engine, queue })
  while ((await left.gateway.timerWorker.runDue()) > 0);
  expect((await shop.read(payId)).amount).toMatchObject({ capturedValue: 1000, reversedValue: 0 })
})
