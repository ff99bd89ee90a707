/** A provider that hangs delays the timers of its own account only. */
import { expect, test, vi } from 'vitest'
import type { Connector } from '#connectors/contract.ts'
import { createTestClock, hourMs, minuteMs } from '#test/support/clock.ts'
import { startTestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop } from '#test/support/shop.ts'

test('a delayed capture is made while the inquiry of another merchant hangs', async () => {
  const clock = createTestClock()
  const acquirer = createAcquirer()
  const inquired = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const { inquire } = acquirer.connector
  const hanging: Connector['inquire'] = async (inquiry, signal) => {
    inquired.resolve()
    await answered.promise
    return inquire?.(inquiry, signal) ?? { authorization: { kind: 'unknown' } }
  }
  Object.assign(acquirer.connector, { inquire: hanging })
  const gateway = await startTestGateway({ clock, connectors: acquirer.connectors, timersByHand: false })
  try {
    const [one, other] = [await openShop(gateway), await openShop(gateway)]
    const captureMethod = { type: 'DELAYED', delayed: { delayedHours: 1 } }
    const delayed = (await other.create('CARD', { captureMethod })).body.payId
    const payId = await one.authorize('CARD')
    acquirer.failNext('CAPTURE', 'lost_answer')
    expect((await one.act(payId, 'captures', 1000)).body.status).toBe('PENDING')
    clock.move(minuteMs)
    await inquired.promise
    clock.move(hourMs)
    await vi.waitFor(
      async () => expect(await other.read(delayed)).toMatchObject({ amount: { capturedValue: 1000 } }),
      { timeout: 15_000 },
    )
    expect((await one.read(payId)).operations.at(-1).status).toBe('PENDING')
    answered.resolve()
    await vi.waitFor(async () => expect((await one.read(payId)).status).toBe('OK'), { timeout: 15_000 })
  } finally {
    answered.resolve()
    await gateway.stop()
  }
})
