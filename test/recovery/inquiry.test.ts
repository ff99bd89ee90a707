/** When inquiries are made, by which process, and when a provider's "not received" is believed. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { simulatedBy } from '#connectors/registry.ts'
import { createTestClock, dayMs, secondMs, type TestClock } from '#test/support/clock.ts'
import { type Crash, createCrash } from '#test/support/database/crash.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let clock: TestClock
let acquirer: Acquirer
let crash: Crash
let gateway: TestGateway

async function begin(settleTimeMs: number): Promise<void> {
  clock = createTestClock()
  acquirer = createAcquirer(settleTimeMs)
  crash = createCrash()
  gateway = await startTestGateway({
    clock,
    connectors: acquirer.connectors,
    testCrash: crash.testCrash,
    requestsPerSecond: 100_000,
  })
}

const create = (change: Record<string, unknown> = {}) =>
  gateway.call('POST', '/payments', cardPayment(change))
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const runDue = () => gateway.gateway.timerWorker.runDue()

describe('the times of inquiry', () => {
  beforeAll(() => begin(0))
  afterAll(() => gateway.stop())

  test('10 s, 30 s, 1 m, 5 m, 15 m, then hourly for a day; then they end, and the operation stays PENDING', async () => {
    acquirer.setSilent(true)
    acquirer.failNext('AUTHORIZATION', 'lost_answer')
    const { body } = await create()
    const begunMs = clock.nowMs()
    const asked: number[] = []
    // Every second of the first minute, then every minute, until well past a day.
    for (let elapsed = 0; elapsed < dayMs * 1.1; elapsed = clock.nowMs() - begunMs) {
      clock.move(elapsed < 60 * secondMs ? secondMs : 60 * secondMs)
      if ((await runDue()) > 0) asked.push((clock.nowMs() - begunMs) / secondMs)
    }
    const hours = Array.from({ length: 24 }, (_, hour) => (hour + 1) * 3600)
    expect(asked).toEqual([10, 30, 60, 300, 900, ...hours])
    expect(await read(body.payId)).toMatchObject({ status: 'PENDING', responseCode: '60000200' })
    acquirer.setSilent(false)
  })

  test('two processes that find the same work make one inquiry', async () => {
    const neighbour = await startTestGateway({ clock, connectors: acquirer.connectors, beside: gateway })
    acquirer.failNext('AUTHORIZATION', 'lost_answer', 'lost_answer', 'lost_answer')
    const manual = { captureMethod: { type: 'MANUAL' } }
    for (let count = 0; count < 3; count++) await create(manual)
    clock.move(10 * secondMs)
    const before = acquirer.inquiries()
    const found = await Promise.all([runDue(), neighbour.gateway.timerWorker.runDue()])
    expect(found[0] + found[1]).toBe(3)
    expect(acquirer.inquiries() - before).toBe(3)
    await neighbour.stop()
  })

  test('an inquiry of a process that died is made by another one after its lease', async () => {
    acquirer.failNext('AUTHORIZATION', 'lost_answer')
    const { body } = await create()
    clock.move(10 * secondMs)
    // A process that has claimed the timer and died.
    await queryRows(gateway.databaseUrl, 'UPDATE timer SET leased_until = $1 WHERE x_id = $2', [
      new Date(clock.nowMs() + 60 * secondMs),
      body.xId,
    ])
    expect(await runDue()).toBe(0)
    clock.move(60 * secondMs)
    expect(await runDue()).toBe(1)
    expect((await read(body.payId)).status).toBe('OK')
  })
})

describe('a provider that needs a minute to know what it has not received', () => {
  beforeAll(() => begin(60 * secondMs))
  afterAll(() => gateway.stop())

  test.each([
    ['', 0],
    [', also when the merchant’s clock is ahead', 3 * dayMs],
  ])('is believed after that minute only%s', async (_, offsetMs) => {
    await queryRows(gateway.databaseUrl, 'UPDATE merchant SET clock_offset_ms = $1', [offsetMs])
    await gateway.gateway.merchants.set(gateway.merchantId, {})
    const body = cardPayment()
    expect(await crash.die('afterRecord', gateway, { verb: 'POST', path: '/payments', body })).toBeUndefined()
    await gateway.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
    const status = async () =>
      (await gateway.call('GET', `/payments/getByTransId/${body.transId}`)).body.status
    expect(await status()).toBe('PENDING')
    clock.move(59 * secondMs)
    expect(await runDue()).toBe(1)
    expect(await status()).toBe('PENDING')
    clock.move(secondMs)
    expect(await runDue()).toBe(1)
    expect(await status()).toBe('FAILED')
  })
})

describe('an answer that does not belong to its question', () => {
  test('is not believed, neither to the call nor to the inquiry', async () => {
    const honest = createAcquirer()
    const lie = <T extends { kind: string }>(outcome: T): T =>
      'provider' in outcome
        ? {
            ...outcome,
            provider: {
              ...(outcome.provider as object),
              echo: { reference: 'x', amount: { value: 1, currency: 'EUR' } },
            },
          }
        : outcome
    const real = honest.connector
    const connectors = simulatedBy({
      ...real,
      authorize: async (request, signal) => {
        const answer = await real.authorize(request, signal)
        return { ...answer, authorization: lie(answer.authorization) }
      },
      inquire: async (inquiry, signal) => {
        const answer = (await real.inquire?.(inquiry, signal)) ?? { authorization: { kind: 'unknown' } }
        return { ...answer, authorization: lie(answer.authorization) }
      },
    })
    clock = createTestClock()
    gateway = await startTestGateway({ clock, connectors })
    const { body } = await create()
    expect(body.status).toBe('PENDING')
    clock.move(10 * secondMs)
    await runDue()
    expect((await read(body.payId)).status).toBe('PENDING')
    expect(gateway.logged.join('')).toContain('ANSWER_MISMATCH')
    await gateway.stop()
  })
})
