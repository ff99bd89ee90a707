/** `doctor` on plans of every kind, intact and after deliberate damage. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nameDamage } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { startTestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, readPlan } from '#test/support/plans.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  try {
    const shop = await openShop(gateway)
    const begin = async (transId: string, recurring: object, payment: object = {}) =>
      (await beginPlan(shop, { recurring, payment: { transId, ...payment } })).body
    await begin('by hand', { frequency: 'MONTHLY' })
    const daily = { frequency: 'DAILY', autoCharge: true, useCase: 'FIXED' }
    await begin('automatic', daily)
    await begin('ends', { frequency: 'MONTHLY', expiryDate: '2099-01-01' })
    await begin('waits', daily, { card: { eventToken: 'ORDER' } })
    await begin('declined', daily, { simulationMode: '0351' })
    const { paymentPlanId } = await begin('charged', { useCase: 'FIXED' })
    await chargePlan(shop, paymentPlanId)
    await shop.advance('P3D')
    await chargeAgain(shop, 'automatic')
    await begin('under way', daily)
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    await shop.advance('PT24H')
  } finally {
    await gateway.stop()
  }
})
afterAll(() => database.drop())

/** The due day was charged already, and the merchant requests an extra charge. */
async function chargeAgain(shop: Shop, transId: string): Promise<void> {
  const { body } = await shop.call('GET', `/payments/getByTransId/${transId}`)
  const path = `/payment-plans/${body.paymentPlanId}`
  const { numberOfPayments } = await readPlan(shop, body.paymentPlanId)
  await shop.call('POST', `${path}/pause`, {})
  expect((await shop.call('POST', `${path}/resume`, { chargeNow: true })).status).toBe(200)
  const { data } = (await shop.call('GET', `${path}/payments`)).body
  expect(data).toHaveLength(numberOfPayments + 1)
}

const of = (transId: string) => `initial_pay_id = (SELECT pay_id FROM payment WHERE trans_id = '${transId}')`
const set = (change: string, transId: string) => `UPDATE payment_plan SET ${change} WHERE ${of(transId)}`
const forget = (transId: string) =>
  `DELETE FROM timer WHERE kind = 'PLAN' AND pay_id = (SELECT pay_id FROM payment WHERE trans_id = '${transId}')`
const delay = (transId: string, by: string) =>
  `UPDATE timer SET run_at = run_at + interval '${by}' WHERE kind = 'PLAN'
    AND pay_id = (SELECT pay_id FROM payment WHERE trans_id = '${transId}')`
/** Excludes charges that the merchant requested, which may be made in addition to that of the day. */
const anyCharge = `(SELECT pay_id FROM payment WHERE details->'planTurn'->'automatic' IS NOT NULL AND status = 'OK'
  AND details->'planTurn'->'automatic'->'asked' IS NULL ORDER BY pay_id LIMIT 1)`

test.each<[string, string[]]>([
  ['SELECT 1', []],
  ["UPDATE payment SET plan_id = gen_random_uuid() WHERE trans_id = 'by hand'", ['plan-of-payment']],
  ["UPDATE payment SET plan_id = NULL WHERE trans_id = 'by hand'", ['plan-of-payment']],
  [set("status = 'ACTIVE'", 'waits'), ['plan-starts-with-approval']],
  [set("status = 'PENDING'", 'by hand'), ['plan-starts-with-approval']],
  [set("currency = 'USD'", 'automatic'), ['plan-terms']],
  [set('next_payment_date = NULL', 'automatic'), ['plan-terms']],
  [set('next_payment_date = NULL', 'ends'), []],
  [set('card_id = gen_random_uuid()', 'by hand'), ['plan-terms']],
  [forget('automatic'), ['plan-timer']],
  [forget('ends'), ['plan-timer']],
  [delay('automatic', '3 days'), ['plan-timer']],
  [delay('ends', '3 days'), ['plan-timer']],
  // A timer that fires in vain is set again a little later.
  [delay('automatic', '1 hour'), []],
  [set("status = 'SUSPENDED'", 'automatic'), []],
  [set("status = 'PAUSED'", 'ends'), []],
  [`${set("status = 'PAUSED'", 'ends')}; ${forget('ends')}`, ['plan-timer']],
  [set('charging_pay_id = gen_random_uuid()', 'automatic'), ['plan-charge-under-way']],
  [set('charging_pay_id = initial_pay_id', 'automatic'), ['plan-charge-under-way']],
  [set('plan_id = gen_random_uuid()', 'automatic'), ['timer-has-operation', 'plan-of-payment', 'plan-timer']],
  [
    `UPDATE payment SET details = (SELECT details FROM payment WHERE pay_id = ${anyCharge}),
       plan_id = (SELECT plan_id FROM payment WHERE pay_id = ${anyCharge}) WHERE trans_id LIKE 'charge-%'`,
    ['plan-charged-once'],
  ],
])('after %s the doctor finds %j', async (damage, expected) => {
  expect(await nameDamage(database.url, damage)).toEqual(expected)
})

test('the migration gives a suspended plan the timer of its end, which an earlier release had deleted', async () => {
  const migration = readFileSync('migrations/0060-ends-of-plans-at-rest.sql', 'utf8')
  const left = `${set("status = 'SUSPENDED', charging_pay_id = NULL", 'ends')}; ${forget('ends')}`
  expect(await nameDamage(database.url, left)).toEqual(['plan-timer'])
  expect(await nameDamage(database.url, `${left}; ${migration}`)).toEqual([])
})
