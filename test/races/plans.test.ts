/** Two processes on the same plans: every due day is charged once, and a plan that ends, ends for both. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PayId, PlanId, StoredMethodId, XId } from '#domain/ids.ts'
import type { Engine } from '#operations/engine.ts'
import { updatePlan } from '#operations/plans/change-plan.ts'
import { runPlan } from '#operations/plans/charge-due-plan.ts'
import { examine } from '#storage/doctor/doctor.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, dayMs } from '#test/support/clock.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, listPayments, readPlan } from '#test/support/plans.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findMerchant, openShop, type Shop } from '#test/support/shop.ts'
import { countDue, findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
let shop: Shop
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  left = await startTestGateway({ clock, connectors, timersByHand: false })
  right = await startTestGateway({ clock, connectors, beside: left, timersByHand: false })
  shop = await openShop(left)
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  expect((await examine(left.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await right.stop()
  await left.stop()
})

const daily = { frequency: 'DAILY', autoCharge: true, useCase: 'FIXED' }
const begin = async (count: number): Promise<string[]> =>
  Promise.all(
    Array.from(
      { length: count },
      async () => (await beginPlan(shop, { recurring: daily })).body.paymentPlanId,
    ),
  )

/**
 * Runs both until nothing is due: the background workers may be running a timer that these runs do not find, and set
 * another when it is done.
 */
async function runBoth(): Promise<void> {
  const run = async ({ gateway: { timerWorker } }: TestGateway) => {
    while ((await timerWorker.runDue()) > 0);
    await timerWorker.finish()
  }
  do await Promise.all([run(left), run(right), run(left), run(right)])
  while ((await countDue(left.databaseUrl, clock.nowMs())) > 0)
  // A failed timer is retried a minute later, which would look like a lost charge here.
  const failed = [left, right].flatMap(({ logged }) => logged.filter(line => line.includes('TIMER_FAILED')))
  expect(failed).toEqual([])
}

test('thirty plans, three days at once, four workers in two processes', async () => {
  const planIds = await begin(30)
  const heard = acquirer.ledger.length
  clock.move(3 * dayMs)
  await runBoth()
  for (const planId of planIds) {
    expect(await readPlan(shop, planId)).toMatchObject({ numberOfPayments: 4, nextPaymentDate: '2027-03-14' })
  }
  const charged = acquirer.ledger.slice(heard).filter(({ operation }) => operation === 'AUTHORIZATION')
  expect(charged).toHaveLength(90)
})

test('a timer that several workers have read charges once, and none is lost', async () => {
  const planIds = await begin(10)
  const plans = await Promise.all(planIds.map(planId => readPlan(shop, planId)))
  clock.move(dayMs)
  const at = new Date(clock.nowMs())
  const merchant = await findMerchant(shop, left)
  const { merchantId } = merchant
  const run = (
    { paymentPlanId, initialPayId }: { paymentPlanId: XId; initialPayId: PayId },
    on: TestGateway,
  ) => {
    const timer = { merchantId, payId: initialPayId, xId: paymentPlanId, kind: 'PLAN' as const, attempt: 0 }
    return runPlan({ timer, merchant, dueAt: at, at }, on.gateway.engine)
  }
  const often = Array.from({ length: 6 }, (_, index) => (index % 2 ? left : right))
  await Promise.all(plans.flatMap(plan => often.map(on => run(plan, on))))
  await runBoth()
  for (const planId of planIds) expect((await readPlan(shop, planId)).numberOfPayments).toBe(2)
  // The timer of the next day was not dropped.
  clock.move(dayMs)
  await runBoth()
  for (const planId of planIds) expect((await readPlan(shop, planId)).numberOfPayments).toBe(3)
})

test('a plan is cancelled while it is charged: one of the two comes first, and no further charge follows', async () => {
  const planIds = await begin(20)
  clock.move(dayMs)
  const cancel = (planId: string, at: TestGateway) =>
    at.call('POST', `/payment-plans/${planId}/cancel`, {}, { authorization: shop.authorization })
  const [answers] = await Promise.all([
    Promise.all(planIds.map((planId, index) => cancel(planId, index % 2 ? left : right))),
    runBoth(),
  ])
  for (const { status, body } of answers) expect([status, body.status]).toEqual([200, 'CANCELLED'])
  const before = await Promise.all(planIds.map(async planId => (await listPayments(shop, planId)).length))
  clock.move(dayMs)
  await runBoth()
  for (const [index, planId] of planIds.entries()) {
    expect((await readPlan(shop, planId)).status).toBe('CANCELLED')
    expect((await listPayments(shop, planId)).length).toBe(before[index])
  }
})

test('deleting the customer during a charge leaves no active plan', async () => {
  const planIds = await begin(20)
  const plans = await Promise.all(planIds.map(planId => readPlan(shop, planId)))
  clock.move(dayMs)
  const [deleted] = await Promise.all([
    Promise.all(plans.map(({ gatewayCustomerId }) => shop.call('DELETE', `/customers/${gatewayCustomerId}`))),
    runBoth(),
  ])
  expect(deleted.map(({ status }) => status)).toEqual(plans.map(() => 200))
  clock.move(dayMs)
  await runBoth()
  for (const planId of planIds) expect((await readPlan(shop, planId)).status).toBe('SUSPENDED')
})

test('many manual charges with one transId: one payment', async () => {
  const [planId = ''] = await begin(1)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => chargePlan(shop, planId, { transId: 'only once' })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect((await readPlan(shop, planId)).numberOfPayments).toBe(2)
})

test('a plan is cancelled while its first payment is refunded at the other process: both succeed, and both events are written', async () => {
  await left.gateway.merchants.endpoints.add({
    ...{ merchantId: shop.merchantId, url: 'http://127.0.0.1:9/plans' },
    ...{ kind: 'ENHANCED', types: ['plan.cancelled', 'refund.succeeded'] },
  })
  const plans = await Promise.all((await begin(20)).map(planId => readPlan(shop, planId)))
  const { authorization } = shop
  const refund = (payId: string, turn: number) =>
    right.call(
      'POST',
      `/payments/${payId}/refunds`,
      { transId: `back ${turn} of ${payId}`, amount: { value: 1, currency: 'EUR' } },
      { authorization },
    )
  const ended = await Promise.all(
    plans.map(async ({ paymentPlanId, initialPayId }) => {
      const [{ status, body }, ...refunds] = await Promise.all([
        left.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {}, { authorization }),
        ...[1, 2, 3].map(turn => refund(initialPayId, turn)),
      ])
      return [status, body.status, ...refunds.map(refunded => refunded.status)]
    }),
  )
  expect(ended).toEqual(plans.map(() => [200, 'CANCELLED', 200, 200, 200]))
  const counts = await queryRows(
    left.databaseUrl,
    `SELECT p.event_sequence AS counted, count(*)::integer AS written,
       count(*) FILTER (WHERE e.type = 'plan.cancelled')::integer AS cancelled
     FROM payment p JOIN event e ON e.merchant_id = p.merchant_id AND e.pay_id = p.pay_id
     WHERE p.pay_id = ANY ($1::uuid[]) GROUP BY p.pay_id, p.event_sequence`,
    [plans.map(({ initialPayId }) => initialPayId)],
  )
  expect(counts).toHaveLength(plans.length)
  for (const { counted, written, cancelled } of counts) expect([counted, cancelled]).toEqual([written, 1])
})

/** The plan's timer fires, and the merchant changes the plan just after the timer has read it. */
async function changeMeanwhile(planId: string, change: () => Promise<TestAnswer>): Promise<Date | undefined> {
  const { engine } = left.gateway
  const merchant = await findMerchant(shop, left)
  const { initialPayId } = await readPlan(shop, planId)
  const key = { merchantId: merchant.merchantId, payId: initialPayId as PayId, xId: planId as XId }
  const plans: Engine['plans'] = {
    ...engine.plans,
    async findChargeable(merchantId, id) {
      const found = await engine.plans.findChargeable(merchantId, id)
      expect((await change()).status).toBe(200)
      return found
    },
  }
  const timer = { ...key, kind: 'PLAN' as const, attempt: 0 }
  const at = new Date(clock.nowMs())
  await runPlan({ timer, merchant, dueAt: at, at }, { ...engine, plans })
  await runBoth()
  const [kept] = await queryRows<{ run_at: Date }>(
    left.databaseUrl,
    `SELECT run_at FROM timer WHERE x_id = $1 AND kind = 'PLAN'`,
    [planId],
  )
  return kept?.run_at
}

test('a plan that is changed while a manual charge is settled keeps the due day that the charge has moved', async () => {
  const recurring = { frequency: 'DAILY', useCase: 'FIXED' }
  const planId = (await beginPlan(shop, { recurring })).body.paymentPlanId as PlanId
  const { nextPaymentDate: before } = await readPlan(shop, planId)
  const { engine } = left.gateway
  const merchant = await findMerchant(shop, left)
  let charged = 0
  const plans: Engine['plans'] = {
    ...engine.plans,
    async find(merchantId, id) {
      const found = await engine.plans.find(merchantId, id)
      if (charged++ === 0) expect((await chargePlan(shop, planId)).status).toBe(200)
      return found
    },
  }
  await updatePlan({ merchant, planId, patch: { metadata: { note: 'changed' } } }, { ...engine, plans })
  const after = await readPlan(shop, planId)
  expect(after.metadata).toEqual({ note: 'changed' })
  expect(Date.parse(after.nextPaymentDate) - Date.parse(before)).toBe(dayMs)
})

test('a plan that is resumed while its old timer fires keeps its new one', async () => {
  const [planId = ''] = await begin(1)
  const post = (path: string) => shop.call('POST', `/payment-plans/${planId}/${path}`, {})
  await post('pause')
  const { nextPaymentDate } = await readPlan(shop, planId)
  expect(nextPaymentDate).toBeUndefined()
  const runAt = await changeMeanwhile(planId, () => post('resume'))
  const resumed = await readPlan(shop, planId)
  expect(resumed.status).toBe('ACTIVE')
  expect(runAt?.toISOString().slice(0, 10)).toBe(resumed.nextPaymentDate)
})

test('a plan that gets an earlier end while its timer waits ends then', async () => {
  const { body } = await beginPlan(shop, {
    recurring: { frequency: 'MONTHLY', autoCharge: true, useCase: 'FIXED' },
  })
  const planId = body.paymentPlanId as string
  const inThreeDays = new Date(clock.nowMs() + 3 * dayMs).toISOString().slice(0, 10)
  const runAt = await changeMeanwhile(planId, () =>
    shop.call('PATCH', `/payment-plans/${planId}`, { recurring: { expiryDate: inThreeDays } }),
  )
  expect(runAt?.getTime()).toBe(Date.parse(inThreeDays) + dayMs)
})

/** Stores a second card with the plan's customer; returns the id of the stored method. */
async function addCard(planId: string, number: string): Promise<{ customerId: string; methodId: string }> {
  const { merchantCustomerId, gatewayCustomerId: customerId } = await readPlan(shop, planId)
  await shop.create('CARD', {
    customerInfo: { merchantCustomerId, email: 'ada@example.com' },
    card: { number, expiryDate: '209912' },
    credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
  })
  const { data } = (await shop.call('GET', `/customers/${customerId}/paymentMethods`)).body
  return { customerId, methodId: data.find((one: AnyJson) => one.last4Digits === number.slice(-4)).id }
}

/** Moves the plan to that method, and runs `between` after the method was read and before the plan is written. */
async function movePlanTo(planId: string, methodId: string, between: () => Promise<unknown>) {
  const { engine } = left.gateway
  let found = 0
  const storedMethods: Engine['storedMethods'] = {
    ...engine.storedMethods,
    async findAny(...key) {
      const method = await engine.storedMethods.findAny(...key)
      if (found++ === 0) await between()
      return method
    },
  }
  const merchant = await findMerchant(shop, left)
  const request = {
    merchant,
    planId: planId as PlanId,
    patch: {},
    paymentMethodId: methodId as StoredMethodId,
  }
  return updatePlan(request, { ...engine, storedMethods })
}

test('a plan is not moved to a stored method that is deleted meanwhile', async () => {
  const [planId = ''] = await begin(1)
  const before = await readPlan(shop, planId)
  const { customerId, methodId } = await addCard(planId, '5555555555554444')
  const moved = movePlanTo(planId, methodId, () =>
    shop.call('DELETE', `/customers/${customerId}/paymentMethods/${methodId}`),
  )
  await expect(moved).rejects.toMatchObject({ field: 'paymentMethodId' })
  expect(await readPlan(shop, planId)).toEqual(before)
})

test('a plan that is moved while its customer is deleted is SUSPENDED', async () => {
  const [planId = ''] = await begin(1)
  const { customerId, methodId } = await addCard(planId, '5555555555554444')
  const moved = movePlanTo(planId, methodId, () => shop.call('DELETE', `/customers/${customerId}`))
  await expect(moved).rejects.toMatchObject({ field: 'paymentMethodId' })
  expect((await readPlan(shop, planId)).status).toBe('SUSPENDED')
})

test('a plan that is moved to a card while its number is replaced is charged by the new number', async () => {
  const [planId = ''] = await begin(1)
  const { methodId } = await addCard(planId, '4000000000003220')
  await movePlanTo(planId, methodId, () =>
    shop.call('POST', '/services/accountUpdater', {
      transId: 'updater-1',
      cards: [{ number: '4000000000003220' }],
    }),
  )
  expect((await readPlan(shop, planId)).paymentMethodId).toBe(methodId)
  const { status, body } = await chargePlan(shop, planId)
  const [updated] = await queryRows<{ card_id: string }>(
    left.databaseUrl,
    `SELECT card_id FROM stored_method WHERE method_id = '${methodId}'`,
  )
  const [charged] = await queryRows<{ card_id: string }>(
    left.databaseUrl,
    `SELECT card_id FROM payment WHERE pay_id = '${body.payId}'`,
  )
  expect([status, charged?.card_id]).toEqual([200, updated?.card_id])
})
