/** Changes of plans: another price, card or end, a pause, and a resume from SUSPENDED. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, listPayments, moveTo, readPlan } from '#test/support/plans.ts'
import { openShop, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock(Date.UTC(2027, 0, 15, 12)) })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const start = async (recurring: object = {}): Promise<string> => {
  const terms = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true, ...recurring }
  return (await beginPlan(shop, { recurring: terms })).body.paymentPlanId
}
const patch = (planId: string, body: object) => shop.call('PATCH', `/payment-plans/${planId}`, body)
const act = (planId: string, act: 'pause' | 'resume' | 'cancel', body?: object) =>
  shop.call('POST', `/payment-plans/${planId}/${act}`, body)
const amountsOf = async (planId: string) =>
  (await listPayments(shop, planId)).map(({ amount }) => amount.value)

test('200 another amount applies to later charges', async () => {
  const planId = await start()
  const { status, body } = await patch(planId, {
    amount: { value: 1500, currency: 'EUR' },
    metadata: { why: 'more' },
  })
  expect([status, body.amount, body.metadata]).toEqual([
    200,
    { value: 1500, currency: 'EUR' },
    { why: 'more' },
  ])
  await moveTo(shop, '2027-02-15T00:00:00Z')
  expect(await amountsOf(planId)).toEqual([1500, 1000])
})

test('200 a PAUSED plan is not charged; resumed, it is charged on the next due day, and missed days are not', async () => {
  const planId = await start()
  expect(await act(planId, 'pause')).toMatchObject({ status: 200, body: { status: 'PAUSED' } })
  await moveTo(shop, '2027-04-20T00:00:00Z')
  expect(await amountsOf(planId)).toEqual([1000])
  expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
  expect(await act(planId, 'resume')).toMatchObject({
    status: 200,
    body: { status: 'ACTIVE', nextPaymentDate: '2027-05-15' },
  })
  await moveTo(shop, '2027-05-15T00:00:00Z')
  expect(await amountsOf(planId)).toEqual([1000, 1000])
})

test.each([true, false])('200 chargeNow charges at once (charged by the gateway: %s)', async autoCharge => {
  const planId = await start({ autoCharge })
  await act(planId, 'pause', {})
  await moveTo(shop, '2027-03-01T00:00:00Z')
  expect((await act(planId, 'resume', { chargeNow: true })).body.status).toBe('ACTIVE')
  expect(await amountsOf(planId)).toEqual([1000, 1000])
  expect((await readPlan(shop, planId)).status).toBe('ACTIVE')
})

describe('200 days that the merchant has charged in advance are not due again', () => {
  const paidAhead = async (recurring: object = {}): Promise<string> => {
    const planId = await start({ autoCharge: false, ...recurring })
    await chargePlan(shop, planId)
    await chargePlan(shop, planId)
    return planId
  }
  test.each([undefined, { chargeNow: true }])('after a pause (%o)', async body => {
    const planId = await paidAhead()
    await act(planId, 'pause')
    await act(planId, 'resume', body)
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', nextPaymentDate: '2027-04-15' })
  })
  test('after a later end of a plan that was paid to its end', async () => {
    const planId = await paidAhead({ expiryDate: '2027-03-20' })
    expect((await readPlan(shop, planId)).nextPaymentDate).toBeUndefined()
    const { body } = await patch(planId, { recurring: { expiryDate: '2027-12-31' } })
    expect(body.nextPaymentDate).toBe('2027-04-15')
  })
  test('by a charge whose result becomes known while the plan is paused', async () => {
    const planId = await start({ autoCharge: false })
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    expect((await chargePlan(shop, planId)).body.status).toBe('PENDING')
    await act(planId, 'pause')
    await moveTo(shop, '2027-01-15T13:00:00Z')
    expect((await act(planId, 'resume')).body.nextPaymentDate).toBe('2027-03-15')
  })
})

test.each([
  [true, 'plan.charged'],
  [false, 'plan.charged'],
  [true, 'plan.charge_failed'],
  [false, 'plan.charge_failed'],
])(
  'chargeNow is answered with the plan, so its result is sent (by the gateway: %s): %s',
  async (autoCharge, type) => {
    const webhook = 'http://127.0.0.1:1/plans'
    const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge }
    const planId = (await beginPlan(shop, { recurring, payment: { urls: { webhook } } })).body.paymentPlanId
    await act(planId, 'pause')
    if (type === 'plan.charge_failed')
      await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code: '51' })
    await act(planId, 'resume', { chargeNow: true })
    const [charge] = await listPayments(shop, planId)
    const { data } = (await shop.call('GET', `/events?page=1&payId=${charge?.payId}`)).body
    expect(data).toMatchObject([{ url: webhook, body: { type, paymentPlanId: planId } }])
  },
)

test('200 a SUSPENDED plan resumes with another card of the customer', async () => {
  const planId = await start()
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code: '05' })
  await moveTo(shop, '2027-02-15T00:00:00Z')
  const plan = await readPlan(shop, planId)
  expect(plan.status).toBe('SUSPENDED')
  await shop.create('CARD', {
    customerInfo: { merchantCustomerId: plan.merchantCustomerId, email: 'ada@example.com' },
    card: { number: '5555555555554444', expiryDate: '209912' },
    credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
  })
  const stored = (await shop.call('GET', `/customers/${plan.gatewayCustomerId}/paymentMethods`)).body
  const list: { id: string; last4Digits: string }[] = stored.data ?? stored
  const other = list.find(({ last4Digits }) => last4Digits === '4444')
  const changed = await patch(planId, { paymentMethodId: other?.id })
  expect(changed).toMatchObject({ status: 200, body: { paymentMethodId: other?.id } })
  await act(planId, 'resume', { chargeNow: true })
  const [last] = await listPayments(shop, planId)
  expect(await shop.read(last?.payId)).toMatchObject({
    status: 'OK',
    paymentMethods: { card: { last4Digits: '4444' } },
  })
})

test('200 moved from a card to a stored account, charged there, and back', async () => {
  const planId = await start()
  const { merchantCustomerId, gatewayCustomerId, paymentMethodId: card } = await readPlan(shop, planId)
  const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
  const directDebit = { account, mandateId: 'M-1', dateOfSignature: '01.01.2026' }
  await shop.create('DIRECTDEBIT', {
    customerInfo: { merchantCustomerId, email: 'ada@example.com' },
    paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit },
  })
  const { body } = await shop.call('GET', `/customers/${gatewayCustomerId}/paymentMethods`)
  const stored: { id: string; type: string }[] = body.data
  const debit = stored.find(({ type }) => type === 'DIRECTDEBIT')
  const moved = await patch(planId, { paymentMethodId: debit?.id })
  expect(moved).toMatchObject({ status: 200, body: { paymentMethodId: debit?.id } })
  expect(moved.body.schemeReferenceId).toBeUndefined()
  expect((await readPlan(shop, planId)).paymentMethodId).toBe(debit?.id)

  await act(planId, 'pause')
  await act(planId, 'resume', { chargeNow: true })
  const [byDebit] = await listPayments(shop, planId)
  const record = await shop.read(byDebit?.payId)
  expect(record.paymentMethods.type).toBe('DIRECTDEBIT')
  expect(record.paymentMethods.directDebit).toMatchObject({
    account: { last4Digits: '3000', accountHolderName: 'Ada Lovelace' },
    mandateId: 'M-1',
  })

  expect(await patch(planId, { paymentMethodId: card })).toMatchObject({
    status: 200,
    body: { paymentMethodId: card },
  })
  await act(planId, 'pause')
  await act(planId, 'resume', { chargeNow: true })
  const [byCard] = await listPayments(shop, planId)
  expect(await shop.read(byCard?.payId)).toMatchObject({ status: 'OK', paymentMethods: { type: 'CARD' } })
})

test('200 an earlier last day ends the plan then', async () => {
  const planId = await start()
  expect((await patch(planId, { recurring: { expiryDate: '2027-02-01' } })).body.recurring.expiryDate).toBe(
    '2027-02-01',
  )
  await moveTo(shop, '2027-03-01T00:00:00Z')
  expect([(await readPlan(shop, planId)).status, await amountsOf(planId)]).toEqual(['COMPLETED', [1000]])
  expect(await act(planId, 'resume')).toMatchObject(refused('27000001'))
})

test('a PAUSED or SUSPENDED plan is COMPLETED after its last day too, with the event', async () => {
  const webhook = 'http://127.0.0.1:1/plans'
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true, expiryDate: '2027-03-10' }
  const begin = async () => (await beginPlan(shop, { recurring, payment: { urls: { webhook } } })).body
  const [paused, suspended, deleted] = [await begin(), await begin(), await begin()]
  await act(paused.paymentPlanId, 'pause')
  const { gatewayCustomerId } = await readPlan(shop, deleted.paymentPlanId)
  expect((await shop.call('DELETE', `/customers/${gatewayCustomerId}`)).status).toBe(200)
  await shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code: '05' })
  await moveTo(shop, '2027-03-10T23:00:00Z')
  const statuses = async () => {
    const plans = [paused, suspended, deleted].map(({ paymentPlanId }) => readPlan(shop, paymentPlanId))
    return (await Promise.all(plans)).map(({ status }) => status)
  }
  expect(await statuses()).toEqual(['PAUSED', 'SUSPENDED', 'SUSPENDED'])
  await moveTo(shop, '2027-03-11T00:00:00Z')
  expect(await statuses()).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED'])
  expect(await act(paused.paymentPlanId, 'resume')).toMatchObject(refused('27000001'))
  const { data } = (await shop.call('GET', `/events?page=1&payId=${paused.payId}`)).body
  expect(data[0].body).toMatchObject({ type: 'plan.completed', paymentPlanId: paused.paymentPlanId })
})

describe('while a charge is under way whose answer was lost', () => {
  async function startCharge(recurring: object, change: { card?: object } = {}): Promise<string> {
    const terms = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true, ...recurring }
    const planId = (await beginPlan(shop, { recurring: terms, payment: change })).body.paymentPlanId
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    await moveTo(shop, '2027-02-15T00:00:00Z')
    return planId
  }
  const typesOf = async (payId: string): Promise<string[]> =>
    (await shop.call('GET', `/events?page=1&payId=${payId}`)).body.data.map(
      (event: { body: { type: string } }) => event.body.type,
    )

  test.each([true, false])('a later last day: the plan goes on (charged by the gateway: %s)', async auto => {
    const planId = await startCharge({ expiryDate: '2027-02-20', autoCharge: auto })
    if (!auto) expect((await chargePlan(shop, planId)).body.status).toBe('PENDING')
    expect((await patch(planId, { recurring: { expiryDate: '2027-12-31' } })).status).toBe(200)
    await shop.advance('PT1M')
    expect((await readPlan(shop, planId)).nextPaymentDate).toBe('2027-03-15')
    await moveTo(shop, '2027-04-15T00:00:00Z')
    expect(await amountsOf(planId)).toHaveLength(auto ? 4 : 2)
  })

  test('an earlier last day: the plan ends then', async () => {
    const planId = await startCharge({ frequency: 'YEARLY', startDate: '2027-02-15' })
    expect((await patch(planId, { recurring: { expiryDate: '2027-03-01' } })).status).toBe(200)
    await shop.advance('PT1M')
    expect((await readPlan(shop, planId)).nextPaymentDate).toBeUndefined()
    await moveTo(shop, '2027-03-02T00:00:00Z')
    expect((await readPlan(shop, planId)).status).toBe('COMPLETED')
  })

  test.each(['cancel', 'pause'] as const)(
    '%s: a final decline tells nobody that it is suspended',
    async what => {
      // The card has expired by the time of the charge.
      const planId = await startCharge({}, { card: { expiryDate: '202701' } })
      const { status } = (await act(planId, what, {})).body
      await shop.advance('PT1M')
      expect((await readPlan(shop, planId)).status).toBe(status)
      const [last] = await listPayments(shop, planId)
      expect(last?.status).toBe('FAILED')
      expect(await typesOf(last?.payId)).toEqual(['plan.charge_failed'])
    },
  )
})

test('422 27000001 a plan that has ended', async () => {
  const planId = await start()
  await act(planId, 'cancel')
  const amount = { value: 1, currency: 'EUR' }
  for (const answer of [patch(planId, { amount }), act(planId, 'pause'), act(planId, 'resume')])
    expect(await answer).toMatchObject(refused('27000001'))
})

test('422 27000001 resuming a plan that is ACTIVE says which status it must have', async () => {
  const answer = await act(await start(), 'resume')
  expect(answer).toMatchObject(refused('27000001'))
  expect(answer.body.responseDescription).toContain('for a resume paused or suspended')
})

test.each([
  [{}, 'body'],
  [{ colour: 1 }, 'colour'],
  [{ amount: { value: 1, currency: 'USD' } }, 'amount.currency'],
  [{ recurring: { expiryDate: '2200-01-01' } }, 'recurring.expiryDate'],
  [{ recurring: { expiryDate: '2026-01-01' } }, 'recurring.expiryDate'],
  [{ paymentMethodId: '0'.repeat(32) }, 'paymentMethodId'],
])('400 %j names %s', async (body, field) => {
  const answer = await patch(await start(), body)
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(field)])
})

test('400 a last day before the first', async () => {
  const planId = await start({ startDate: '2027-06-01' })
  const { status, body } = await patch(planId, { recurring: { expiryDate: '2027-05-31' } })
  expect([status, body.field, body.error]).toEqual([
    400,
    'recurring.expiryDate',
    expect.stringContaining('2027-06-01'),
  ])
})

test('400 chargeNow of a plan without an amount, and it stays paused', async () => {
  const verification = {
    amount: { value: 0, currency: 'EUR' },
    card: { eventToken: 'ACCOUNT_VERIFICATION' },
  }
  const begun = await beginPlan(shop, { recurring: { frequency: 'MONTHLY' }, payment: verification })
  const planId = begun.body.paymentPlanId
  await act(planId, 'pause')
  const { status, body } = await act(planId, 'resume', { chargeNow: true })
  expect([status, body.field]).toEqual([400, 'chargeNow'])
  expect((await readPlan(shop, planId)).status).toBe('PAUSED')
})

test.each([true, false])(
  '422 27000002 chargeNow before startDate, and it stays paused (charged by the gateway: %s)',
  async autoCharge => {
    const planId = await start({ autoCharge, startDate: '2027-06-01' })
    await act(planId, 'pause')
    expect(await act(planId, 'resume', { chargeNow: true })).toMatchObject(refused('27000002'))
    expect([(await readPlan(shop, planId)).status, await amountsOf(planId)]).toEqual(['PAUSED', [1000]])
    expect((await act(planId, 'resume')).body.nextPaymentDate).toBe('2027-06-01')
  },
)

test('404 another merchant’s plan', async () => {
  const planId = await start()
  const other = await openShop(gateway)
  expect((await other.call('POST', `/payment-plans/${planId}/pause`)).status).toBe(404)
})
