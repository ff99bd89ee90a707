/**
 * A process dies in each gap of a payment with a new customer: the process that settles it creates the customer once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { type Crash, crashNames, createCrash } from '#test/support/database/crash.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let crash: Crash
let dying: TestGateway
let heir: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  crash = createCrash()
  const { connectors } = acquirer
  dying = await startTestGateway({ clock, connectors, testCrash: crash.testCrash })
  heir = await startTestGateway({ clock, connectors, beside: dying })
})
afterAll(async () => {
  expect(await findBrokenRules(heir.databaseUrl)).toEqual({})
  expect((await examine(heir.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await heir.stop()
  await dying.stop()
})

test.each(crashNames)(
  'a customer exists exactly if their payment was approved, when the process dies %s',
  async point => {
    const merchantCustomerId = `dies ${point}`
    const body = cardPayment({ customerInfo: { merchantCustomerId, email: 'ada@example.com' } })
    const request = {
      verb: 'POST',
      path: '/payments',
      body,
      headers: { 'idempotency-key': `crash-${point}` },
    }
    const list = `/customers?page=1&merchantCustomerId=${encodeURIComponent(merchantCustomerId)}`
    const count = async () => (await heir.call('GET', list)).body.totalNumberOfItems
    expect(await crash.die(point, dying, request)).toBeUndefined()
    // The customer is created in the commit of the approval, not before or after.
    expect(await count()).toBe(point === 'afterSettle' ? 1 : 0)
    await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
    clock.move(10 * secondMs)
    await heir.gateway.timerWorker.runDue()
    const { status, body: answered } = await heir.send(request)
    const isApproved = point !== 'afterRecord'
    expect(status).toBe(isApproved ? 200 : 422)
    expect(await count()).toBe(isApproved ? 1 : 0)
    if (!isApproved) return
    const { gatewayCustomerId } = answered.customerInfo
    const methods = await heir.call('GET', `/customers/${gatewayCustomerId}/paymentMethods`)
    expect(methods.body.data).toMatchObject([{ last4Digits: '1111' }])
  },
)
