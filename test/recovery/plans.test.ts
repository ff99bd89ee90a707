/**
 * A process dies in each gap of an automatic charge: the process that settles it advances the plan, no day is charged
 * twice, and none is skipped. The same for the payment that begins a plan.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs, secondMs } from '#test/support/clock.ts'
import { type CrashName, crashNames } from '#test/support/database/crash.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, listPayments, readPlan } from '#test/support/plans.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let armed: CrashName | undefined
let dying: TestGateway
let heir: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  // A worker that throws there has written exactly as much as one that dies there.
  const testCrash = (point: CrashName) => {
    if (armed !== point) return
    armed = undefined
    throw new Error(`dies ${point}`)
  }
  dying = await startTestGateway({ clock, connectors, testCrash })
  heir = await startTestGateway({ clock, connectors, beside: dying, testCrash })
})
afterAll(async () => {
  expect(await findBrokenRules(heir.databaseUrl)).toEqual({})
  expect((await examine(heir.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await heir.stop()
  await dying.stop()
})

async function recover(): Promise<void> {
  await heir.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
  clock.move(10 * secondMs)
  while ((await heir.gateway.timerWorker.runDue()) > 0);
}

test.each(crashNames)('an automatic charge whose process dies %s is made at most once', async point => {
  const shop = await openShop(heir)
  const { body } = await beginPlan(shop, { recurring: { frequency: 'DAILY', autoCharge: true } })
  const heard = acquirer.ledger.length
  armed = point
  clock.move(dayMs)
  while ((await dying.gateway.timerWorker.runDue()) > 0);
  expect(armed).toBeUndefined()
  await recover()
  const { paymentPlanId } = body
  const charges = (await listPayments(shop, paymentPlanId)).slice(0, -1)
  // If it died before the call, the charge has certainly failed and is retried tomorrow.
  const isPaid = point !== 'afterRecord'
  expect(charges).toMatchObject([isPaid ? { status: 'OK' } : { status: 'FAILED', responseCode: '21000391' }])
  const asked = () =>
    acquirer.ledger
      .slice(heard)
      .filter(({ operation, payId }) => operation === 'AUTHORIZATION' && payId !== body.payId)
  expect(asked()).toHaveLength(isPaid ? 1 : 0)
  expect(await shop.events(charges[0].payId)).toHaveLength(1)
  expect(await readPlan(shop, paymentPlanId)).toMatchObject({
    status: 'ACTIVE',
    numberOfPayments: isPaid ? 2 : 1,
    nextPaymentDate: isPaid ? '2027-03-12' : '2027-03-11',
  })
  clock.move(dayMs)
  while ((await heir.gateway.timerWorker.runDue()) > 0);
  // Today's charge; if yesterday's had failed, both in order.
  expect(await readPlan(shop, paymentPlanId)).toMatchObject({
    numberOfPayments: 3,
    nextPaymentDate: '2027-03-13',
  })
  await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
  clock.move(-2 * dayMs - 10 * secondMs)
})

test.each(crashNames)('an initial payment whose process dies %s begins one plan', async point => {
  const shop = await openShop(heir)
  armed = point
  const lost = await dying.call(
    'POST',
    '/payments',
    {
      transId: `initial ${point}`,
      amount: { value: 500, currency: 'EUR' },
      credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring: { frequency: 'MONTHLY' } },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: '4111111111111111', expiryDate: '209912' },
      },
    },
    { authorization: shop.authorization },
  )
  expect(lost.status).toBe(500)
  await recover()
  const payment = (await shop.call('GET', `/payments/getByTransId/${encodeURIComponent(`initial ${point}`)}`))
    .body
  expect(await readPlan(shop, payment.paymentPlanId)).toMatchObject({
    status: point === 'afterRecord' ? 'CANCELLED' : 'ACTIVE',
    initialPayId: payment.payId,
  })
})

test.each([true, false])(
  'a charge at once whose process dies after the resume is made once (charged by the gateway: %s)',
  async autoCharge => {
    const shop = await openShop(heir)
    const { body } = await beginPlan(shop, { recurring: { frequency: 'MONTHLY', autoCharge } })
    const planId = body.paymentPlanId
    await shop.call('POST', `/payment-plans/${planId}/pause`, {})
    const { engine } = dying.gateway
    const { commit } = engine
    // One commit goes through.
    vi.spyOn(engine, 'commit').mockImplementationOnce(commit).mockRejectedValue(new Error('dies'))
    const path = `/payment-plans/${planId}/resume`
    const { authorization } = shop
    expect((await dying.call('POST', path, { chargeNow: true }, { authorization })).status).toBe(500)
    vi.restoreAllMocks()
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', numberOfPayments: 1 })
    await recover()
    await recover()
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', numberOfPayments: 2 })
    expect(await listPayments(shop, planId)).toHaveLength(2)
  },
)
