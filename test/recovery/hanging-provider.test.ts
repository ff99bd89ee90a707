/** A provider that hangs delays the timers of its own account only, and the take-over of what dead processes left there. */
import { expect, test, vi } from 'vitest'
import type { Connector } from '#connectors/contract.ts'
import type { ProviderDirectory } from '#connectors/directory.ts'
import { createTestClock, hourMs, minuteMs } from '#test/support/clock.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

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

test('the work of a dead process is taken over while the account of another merchant hangs', async () => {
  const { connectors } = createAcquirer()
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let hanging: string | undefined
  // Longer than a provider call may take, so that the second account would have to wait for the first one for ever.
  const open: ProviderDirectory['open'] = async (merchantId, accountId) => {
    if (merchantId === hanging) {
      asked.resolve()
      await answered.promise
    }
    return connectors.open(merchantId, accountId)
  }
  let reached = Promise.withResolvers<void>()
  const testCrash = (point: string) => {
    if (point === 'afterCall') reached.resolve()
    return point === 'afterCall' ? new Promise<void>(() => {}) : undefined
  }
  const gateway = await startTestGateway({ connectors: { ...connectors, open }, testCrash })
  /** Sends a payment whose request never ends, and gives it to a process that is dead. */
  const leaveSent = async ({ authorization }: Shop): Promise<() => Promise<unknown>> => {
    const request = cardPayment()
    reached = Promise.withResolvers()
    void gateway.call('POST', '/payments', request, { authorization }).catch(() => undefined)
    await reached.promise
    await queryRows(
      gateway.databaseUrl,
      `WITH dead AS (INSERT INTO gateway_process (seen_at) VALUES ('-infinity') RETURNING process)
       UPDATE operation SET process = dead.process FROM dead WHERE trans_id = '${request.transId}'`,
    )
    const path = `/payments/getByTransId/${request.transId}`
    return async () => (await gateway.call('GET', path, undefined, { authorization })).body.status
  }
  try {
    const first = await openShop(gateway)
    hanging = first.merchantId
    const statusOfFirst = await leaveSent(first)
    await asked.promise
    const statusOfSecond = await leaveSent(await openShop(gateway))
    await vi.waitFor(async () => expect(await statusOfSecond()).toBe('OK'), 30_000)
    expect(await statusOfFirst()).not.toBe('OK')
    answered.resolve()
    await vi.waitFor(async () => expect(await statusOfFirst()).toBe('OK'), 30_000)
  } finally {
    answered.resolve()
    await gateway.stop()
  }
})
