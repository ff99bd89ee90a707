/** An authorisation lapses even if an operation is under way: nothing stays reserved for ever. */

import { afterEach, expect, test } from 'vitest'
import { simulatedBy } from '#connectors/registry.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs, secondMs, type TestClock } from '#test/support/clock.ts'
import {
  cardPayment,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'

let clock: TestClock
let gateway: TestGateway

async function begin(connectors: TestGatewayOptions['connectors']): Promise<void> {
  clock = createTestClock()
  gateway = await startTestGateway({ clock, connectors })
}

afterEach(() => gateway.stop())

const hourMs = 3_600 * secondMs
/** Authorises; every capture is declined. */
const card = { number: '4000000000000341' }
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body

async function pass(milliseconds: number): Promise<void> {
  clock.move(milliseconds)
  while ((await gateway.gateway.timerWorker.runDue()) > 0);
}

async function expectHealth(): Promise<void> {
  const results = await examine(gateway.databaseUrl, { now: new Date(clock.nowMs()) })
  expect(results.filter(({ found }) => found > 0)).toEqual([])
}

test('a capture that fails after the lapse releases its reservation', async () => {
  const acquirer = createAcquirer()
  await begin(acquirer.connectors)
  const { body } = await gateway.call(
    'POST',
    '/payments',
    cardPayment({ card, captureMethod: { type: 'MANUAL' } }),
  )
  clock.move(7 * dayMs - hourMs)
  acquirer.failNext('CAPTURE', 'lost_answer')
  acquirer.setSilent(true)
  const request = { transId: 'later', amount: { value: 400, currency: 'EUR' } }
  const captured = await gateway.call('POST', `/payments/${body.payId}/captures`, request)
  expect(captured.body.status).toBe('PENDING')
  await pass(2 * hourMs)
  // The open amount is released; an amount that may have been captured is not.
  expect(await read(body.payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 600 } })
  await expectHealth()
  acquirer.setSilent(false)
  await pass(hourMs)
  expect(await read(body.payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  await expectHealth()
})

test('after an automatic capture has failed late, the authorisation lapses in time', async () => {
  const acquirer = createAcquirer()
  const { connector } = acquirer
  await begin(
    simulatedBy({
      ...connector,
      authorize: async (request, signal) => ({
        ...(await connector.authorize(request, signal)),
        capture: { kind: 'unknown' },
      }),
    }),
  )
  const { body } = await gateway.call('POST', '/payments', cardPayment({ card }))
  expect(body.status).toBe('AUTHORIZED')
  await pass(10 * secondMs)
  expect((await read(body.payId)).operations).toMatchObject([
    { status: 'OK' },
    { type: 'CAPTURE', status: 'FAILED' },
  ])
  await expectHealth()
  await pass(7 * dayMs)
  expect(await read(body.payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  await expectHealth()
})
