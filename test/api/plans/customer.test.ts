/**
 * Charges without the customer present count as uses of the stored card or account, and the payment names the customer.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, listPayments, planPayment, readPlan } from '#test/support/plans.ts'
import { done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
/** A second gateway, whose provider runs a hook during each call. */
let slow: TestGateway
/** Runs while the provider is called. */
let meanwhile = async (): Promise<void> => undefined
beforeAll(async () => {
  const simulator = createSimulator()
  const connectors = simulatedBy({
    ...simulator,
    async authorize(request, signal) {
      await meanwhile()
      return simulator.authorize(request, signal)
    },
  })
  const clock = createTestClock()
  gateway = await startTestGateway({ clock })
  slow = await startTestGateway({ clock, connectors, beside: gateway })
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await slow.stop()
  await gateway.stop()
})

interface OnFile {
  readonly shop: Shop
  readonly planId: string
  readonly customerId: string
  readonly methodId: string
}

type Kept = 'CARD' | 'DIRECTDEBIT'

async function start({ on = gateway, type = 'CARD' as Kept, autoCharge = false } = {}): Promise<OnFile> {
  const shop = await openShop(on)
  const recurring = { frequency: 'DAILY', useCase: 'FIXED', autoCharge }
  const { card: _, ...payment } = { ...planPayment({ recurring }) }
  const { body } = type === 'CARD' ? await beginPlan(shop, { recurring }) : await shop.create(type, payment)
  const customerId = body.customerInfo.gatewayCustomerId
  const [method] = (await shop.call('GET', `/customers/${customerId}/paymentMethods`)).body.data
  return { shop, planId: body.paymentPlanId, customerId, methodId: method.id }
}

const readMethod = async ({ shop, customerId, methodId }: OnFile) =>
  (await shop.call('GET', `/customers/${customerId}/paymentMethods/${methodId}`)).body

const payUnscheduled = ({ shop }: OnFile, by: object) =>
  shop.call('POST', '/payment-plans/unscheduled-mit', {
    transId: 'mit',
    amount: { value: 5, currency: 'EUR' },
    ...by,
  })

test.each<[name: string, type: Kept, charge: (on: OnFile) => Promise<unknown>]>([
  ['a charge by hand', 'CARD', ({ shop, planId }) => chargePlan(shop, planId)],
  ['a charge by hand of an account', 'DIRECTDEBIT', ({ shop, planId }) => chargePlan(shop, planId)],
  ['one outside of the schedule', 'CARD', on => payUnscheduled(on, { paymentPlanId: on.planId })],
  [
    'one by the stored method',
    'CARD',
    on => payUnscheduled(on, { gatewayCustomerId: on.customerId, paymentMethodId: on.methodId }),
  ],
  [
    'one by the stored account',
    'DIRECTDEBIT',
    on => payUnscheduled(on, { gatewayCustomerId: on.customerId, paymentMethodId: on.methodId }),
  ],
])('%s dates the stored method and names the customer', async (_, type, charge) => {
  const on = await start({ type })
  const before = await readMethod(on)
  const now = await on.shop.advance('PT5H')
  expect(await charge(on)).toMatchObject({
    ...done('OK'),
    body: { customerInfo: { gatewayCustomerId: on.customerId } },
  })
  expect(await readMethod(on)).toEqual({ ...before, lastUsedAt: now.replace('Z', '') })
  expect((await on.shop.call('GET', `/customers/${on.customerId}`)).body.lastUsedAt).toBe(
    now.replace('Z', ''),
  )
})

test('an automatic charge does the same, dated to its day', async () => {
  const on = await start({ autoCharge: true })
  await on.shop.advance('P1D')
  const [charge] = await listPayments(on.shop, on.planId)
  expect(await on.shop.read(charge.payId)).toMatchObject({
    status: 'OK',
    customerInfo: { gatewayCustomerId: on.customerId },
  })
  expect((await readMethod(on)).lastUsedAt).toBe(charge.creationDate.replace('Z', ''))
})

test('a decline sets no dates and no customer', async () => {
  const on = await start()
  const before = await readMethod(on)
  await on.shop.advance('PT5H')
  await on.shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code: '51' })
  const { body } = await chargePlan(on.shop, on.planId)
  expect(await on.shop.read(body.payId)).not.toHaveProperty('customerInfo')
  expect(await readMethod(on)).toEqual(before)
})

test('a charge whose answer was lost does so when an inquiry finds it', async () => {
  const on = await start()
  await on.shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
  const charged = await chargePlan(on.shop, on.planId)
  expect(charged).toMatchObject(pending)
  expect(await on.shop.read(charged.body.payId)).not.toHaveProperty('customerInfo')
  await on.shop.advance('PT10S')
  const payment = await on.shop.read(charged.body.payId)
  expect(payment).toMatchObject({ status: 'OK', customerInfo: { gatewayCustomerId: on.customerId } })
  expect((await readMethod(on)).lastUsedAt).toBe(payment.updatedAt.replace('Z', ''))
})

test.each(['the customer', 'the stored account'])(
  'a plan that debits an account names it, and is SUSPENDED when %s is deleted',
  async which => {
    const on = await start({ type: 'DIRECTDEBIT' })
    expect(await readPlan(on.shop, on.planId)).toMatchObject({
      status: 'ACTIVE',
      paymentMethodId: on.methodId,
    })
    // Another customer keeps the same account, so that its number is not destroyed: this plan must not use it any more.
    const customerInfo = { merchantCustomerId: `another ${which}`, email: 'bob@example.com' }
    expect((await on.shop.create('DIRECTDEBIT', { customerInfo })).status).toBe(200)
    const path = `/customers/${on.customerId}`
    await on.shop.call('DELETE', which === 'the customer' ? path : `${path}/paymentMethods/${on.methodId}`)
    expect(await readPlan(on.shop, on.planId)).toMatchObject({
      status: 'SUSPENDED',
      paymentMethodId: on.methodId,
    })
    expect(await chargePlan(on.shop, on.planId)).toMatchObject(refused('27000001'))
    const resumed = await on.shop.call('POST', `/payment-plans/${on.planId}/resume`, { chargeNow: true })
    expect(resumed).toMatchObject(refused('27000001'))
    expect(await listPayments(on.shop, on.planId)).toHaveLength(1)
    expect(await chargePlan(on.shop, on.planId)).toMatchObject(refused('27000001'))
  },
)

// An ACTIVE plan that refuses every charge as not active would contradict itself.
test.each<Kept>(['CARD', 'DIRECTDEBIT'])(
  '422 27000001 a plan whose %s was deleted resumes only after it was moved to another stored method',
  async type => {
    const on = await start({ type })
    const path = `/payment-plans/${on.planId}`
    const resume = (body: object) => on.shop.call('POST', `${path}/resume`, body)
    await on.shop.call('DELETE', `/customers/${on.customerId}/paymentMethods/${on.methodId}`)
    expect(await resume({})).toMatchObject(refused('27000001'))
    expect(await resume({ chargeNow: true })).toMatchObject(refused('27000001'))
    expect(await readPlan(on.shop, on.planId)).toMatchObject({ status: 'SUSPENDED' })

    const { merchantCustomerId } = await readPlan(on.shop, on.planId)
    await on.shop.create('CARD', {
      customerInfo: { merchantCustomerId, email: 'ada@example.com' },
      card: { number: '5555555555554444', expiryDate: '209912' },
    })
    const { body } = await on.shop.call('GET', `/customers/${on.customerId}/paymentMethods`)
    await on.shop.call('PATCH', path, { paymentMethodId: body.data[0].id })
    expect(await resume({})).toMatchObject({ status: 200, body: { status: 'ACTIVE' } })
    expect(await chargePlan(on.shop, on.planId)).toMatchObject({ status: 200, body: { status: 'OK' } })
  },
)

test.each<Kept>(['CARD', 'DIRECTDEBIT'])(
  'a PAUSED plan is SUSPENDED too when its %s is deleted',
  async type => {
    const on = await start({ type })
    await on.shop.call('POST', `/payment-plans/${on.planId}/pause`)
    await on.shop.call('DELETE', `/customers/${on.customerId}/paymentMethods/${on.methodId}`)
    expect((await readPlan(on.shop, on.planId)).status).toBe('SUSPENDED')
  },
)

test('a plan that was cancelled still names the account after it is deleted', async () => {
  const on = await start({ type: 'DIRECTDEBIT' })
  await on.shop.call('POST', `/payment-plans/${on.planId}/cancel`, {})
  const before = await readPlan(on.shop, on.planId)
  await on.shop.call('DELETE', `/customers/${on.customerId}/paymentMethods/${on.methodId}`)
  expect(await readPlan(on.shop, on.planId)).toEqual(before)
  expect(before.paymentMethodId).toBe(on.methodId)
})

test('a deleted account cannot be charged without its customer', async () => {
  const on = await start({ type: 'DIRECTDEBIT' })
  await on.shop.call('DELETE', `/customers/${on.customerId}/paymentMethods/${on.methodId}`)
  const by = { gatewayCustomerId: on.customerId, paymentMethodId: on.methodId }
  expect((await payUnscheduled(on, by)).status).toBe(404)
})

test.each(['the customer', 'the stored method'])(
  '%s deleted while the charge was under way is not made again',
  async which => {
    const on = await start({ on: slow })
    const path = `/customers/${on.customerId}`
    const gone = which === 'the customer' ? path : `${path}/paymentMethods/${on.methodId}`
    meanwhile = async () => {
      meanwhile = async () => undefined
      expect((await on.shop.call('DELETE', gone)).status).toBe(200)
    }
    const charged = await chargePlan(on.shop, on.planId)
    expect(charged).toMatchObject(done('OK'))
    expect((await on.shop.call('GET', gone)).status).toBe(404)
    const customerInfo = { gatewayCustomerId: on.customerId }
    const { customerInfo: named } = await on.shop.read(charged.body.payId)
    expect(named).toEqual(which === 'the customer' ? undefined : customerInfo)
    expect((await readPlan(on.shop, on.planId)).status).toBe('SUSPENDED')
  },
)

/** Nothing of these methods is stored with the customer: the provider knows what is charged. */
const wallet = { integrationType: 'DIRECT', type: 'PROVIDERM' }

test('a plan of a wallet is SUSPENDED with the deletion of its customer, and never charged again', async () => {
  const shop = await openShop(gateway)
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true }
  const { card: _, ...payment } = { ...planPayment({ recurring }) }
  const { body } = await shop.create('PROVIDERM', { ...payment, paymentMethods: wallet })
  const planId = body.paymentPlanId
  expect(await chargePlan(shop, planId)).toMatchObject(done('OK'))
  await shop.call('DELETE', `/customers/${body.customerInfo.gatewayCustomerId}`)

  const suspended = await readPlan(shop, planId)
  expect(suspended).toMatchObject({ status: 'SUSPENDED', numberOfPayments: 2 })
  expect(suspended).not.toHaveProperty('nextPaymentDate')
  expect(await shop.call('POST', `/payment-plans/${planId}/resume`, {})).toMatchObject(refused('27000001'))
  expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
  expect(
    await payUnscheduled({ shop, planId, customerId: '', methodId: '' }, { paymentPlanId: planId }),
  ).toMatchObject(refused('27000001'))
  await shop.advance('P40D')
  expect(await readPlan(shop, planId)).toEqual(suspended)
})

test.each<Kept>(['CARD', 'DIRECTDEBIT'])(
  'a plan without a customer is SUSPENDED when the number of its %s dies with a customer',
  async type => {
    const shop = await openShop(gateway)
    const recurring = { frequency: 'MONTHLY', useCase: 'FIXED' }
    const { card, ...payment } = { ...planPayment({ recurring }) }
    const change = type === 'CARD' ? { ...payment, card } : payment
    const kept = await shop.create(type, {
      customerInfo: payment.customerInfo,
      ...(type === 'CARD' && { card }),
    })
    const plans = await Promise.all(
      [{}, {}].map(
        async () => (await shop.create(type, { ...change, customerInfo: undefined })).body.paymentPlanId,
      ),
    )
    const [active, paused] = plans
    expect(await shop.call('POST', `/payment-plans/${paused}/pause`, {})).toMatchObject({ status: 200 })
    await shop.call('DELETE', `/customers/${kept.body.customerInfo.gatewayCustomerId}`)

    for (const planId of plans) {
      expect(await readPlan(shop, planId)).toMatchObject({ status: 'SUSPENDED' })
      expect(await shop.call('POST', `/payment-plans/${planId}/resume`, {})).toMatchObject(
        refused('27000001'),
      )
    }
    expect(await chargePlan(shop, active)).toMatchObject(refused('27000001'))
  },
)
