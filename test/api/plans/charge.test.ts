/** Charging a plan by hand, the guards, and its record and list of payments afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CredentialUse } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, listPayments, moveTo, readPlan } from '#test/support/plans.ts'
import { done, openShop, refused, type Shop, tokenOf } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
/** The stored-credential data that the provider got, in order. */
const told: (CredentialUse | undefined)[] = []
beforeAll(async () => {
  const simulator = createSimulator()
  const connectors = simulatedBy({
    ...simulator,
    authorize(request, signal) {
      told.push(request.credentialOnFile)
      return simulator.authorize(request, signal)
    },
  })
  gateway = await startTestGateway({ clock: createTestClock(), connectors })
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const plan = async (...terms: Parameters<typeof beginPlan> extends [Shop, ...infer Rest] ? Rest : never) =>
  (await beginPlan(shop, ...terms)).body.paymentPlanId as string

const money = (value: number, currency = 'EUR') => ({ amount: { value, currency } })

test.each([
  ['a card that was created for a later order', 'CARD', { card: { eventToken: 'ORDER' } }],
  ['a payment in two steps', 'PROVIDERK', {}],
] as const)('the confirm of %s tells the provider that it begins a plan', async (_, type, change) => {
  const credentialOnFile = { type: 'RECURRING', initialPayment: true }
  const { body } = await shop.create(type, { ...change, credentialOnFile })
  expect((await readPlan(shop, body.paymentPlanId)).status).toBe('PENDING')
  expect(await shop.act(body.payId, 'confirms', 1000, tokenOf(body))).toMatchObject(done('OK'))
  expect(told.at(-1)).toMatchObject({ type: 'RECURRING', initial: true, initiator: 'CUSTOMER' })
  expect((await readPlan(shop, body.paymentPlanId)).status).toBe('ACTIVE')
})

test('200 an ordinary payment with the stored card, without the customer present', async () => {
  const planId = await plan()
  const before = await readPlan(shop, planId)
  const { status, body } = await chargePlan(shop, planId, {
    refNr: 'invoice-2',
    metadata: { month: 2 },
    statementDescriptor: 'SHOP FEBRUARY',
    order: { merchantReference: 'order 2' },
    urls: { webhook: 'https://shop.example/hook' },
  })
  expect({ status, body }).toMatchObject(done('OK'))
  expect(body).toMatchObject({ paymentPlanId: planId, refNr: 'invoice-2', metadata: { month: 2 } })
  const { schemeReferenceId } = before
  expect(told.slice(-2)).toEqual([
    { type: 'RECURRING', initial: true, initiator: 'CUSTOMER', schemeReferenceId: undefined },
    { type: 'RECURRING', initial: false, initiator: 'MERCHANT', schemeReferenceId },
  ])
  const payment = await shop.read(body.payId)
  expect(payment).toMatchObject({
    paymentPlanId: planId,
    amount: { value: 1000, capturedValue: 1000 },
    paymentMethods: {
      type: 'CARD',
      card: { last4Digits: '1111', expiryDate: '209912', cardHolderName: 'Ada Lovelace' },
    },
    credentialOnFile: { type: 'RECURRING', initialPayment: false },
    statementDescriptor: 'SHOP FEBRUARY',
    urls: { webhook: 'https://shop.example/hook' },
  })
  expect(payment).not.toHaveProperty('planTurn')
  expect(await readPlan(shop, planId)).toMatchObject({
    numberOfPayments: 2,
    nextPaymentDate: '2027-05-10',
    lastPayment: {
      payId: body.payId,
      status: 'OK',
      responseCode: '00000000',
      creationDate: payment.creationDate,
    },
  })
  expect(await listPayments(shop, planId)).toMatchObject([
    {
      payId: body.payId,
      xId: payment.xId,
      sequence: 2,
      initialPayment: false,
      refNr: 'invoice-2',
      status: 'OK',
    },
    {
      payId: before.initialPayId,
      sequence: 1,
      initialPayment: true,
      amount: { value: 1000, currency: 'EUR' },
    },
  ])
})

describe('how a charge is captured', () => {
  test('by default like the initial payment', async () => {
    const planId = await plan({ payment: { captureMethod: { type: 'MANUAL' } } })
    expect(await chargePlan(shop, planId)).toMatchObject(done('AUTHORIZED'))
    expect(await chargePlan(shop, planId, { captureMethod: { type: 'AUTOMATIC' } })).toMatchObject(done('OK'))
    const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 2 } } }
    expect(await chargePlan(shop, planId, delayed)).toMatchObject(done('CAPTURE_REQUEST'))
  })
})

describe('the amount of a charge', () => {
  const flexible = { frequency: 'MONTHLY', useCase: 'FLEXIBLE_AMOUNT' }
  test('a plan with a FIXED amount takes that amount, or none in the request', async () => {
    const planId = await plan()
    expect(await chargePlan(shop, planId, money(1000))).toMatchObject(done('OK'))
    expect(await chargePlan(shop, planId, money(1001))).toMatchObject(refused('27000003'))
    expect(await chargePlan(shop, planId, money(1000, 'USD'))).toMatchObject(refused('27000003'))
    expect((await readPlan(shop, planId)).numberOfPayments).toBe(2)
  })
  test('its parts are taken and shown, as those of any payment, also without a schedule', async () => {
    const planId = await plan({ recurring: flexible })
    const amount = { value: 1190, currency: 'EUR', taxTotal: 190, netItemTotal: 1000 }
    const charge = await chargePlan(shop, planId, { amount })
    const unscheduled = await shop.call('POST', '/payment-plans/unscheduled-mit', {
      transId: 'parts',
      amount,
      paymentPlanId: planId,
    })
    for (const { status, body } of [charge, unscheduled]) {
      expect(status).toBe(200)
      expect(await shop.read(body.payId)).toMatchObject({ amount })
    }
  })
  test('other plans take any amount, which must be given', async () => {
    const planId = await plan({ recurring: flexible })
    const { status, body } = await chargePlan(shop, planId)
    expect({ status, field: body.field }).toEqual({ status: 400, field: 'amount' })
    expect(await chargePlan(shop, planId, money(77))).toMatchObject(done('OK'))
    expect(await chargePlan(shop, planId, money(77, 'USD'))).toMatchObject(refused('27000003'))
  })
})

describe('the period of a plan', () => {
  test('27000002 before the start and after the end', async () => {
    const own = await openShop(gateway)
    const recurring = {
      frequency: 'MONTHLY',
      startDate: '2027-04-01',
      expiryDate: '2027-06-15',
      useCase: 'FIXED',
    }
    const { paymentPlanId } = (await beginPlan(own, { recurring })).body
    expect((await readPlan(own, paymentPlanId)).nextPaymentDate).toBe('2027-04-01')
    expect(await chargePlan(own, paymentPlanId)).toMatchObject(refused('27000002'))
    await moveTo(own, '2027-04-01T00:00:00Z')
    expect(await chargePlan(own, paymentPlanId)).toMatchObject(done('OK'))
    expect((await readPlan(own, paymentPlanId)).nextPaymentDate).toBe('2027-05-01')
    await moveTo(own, '2027-06-15T23:59:59Z')
    expect(await chargePlan(own, paymentPlanId)).toMatchObject(done('OK'))
    expect(await readPlan(own, paymentPlanId)).toMatchObject({ status: 'ACTIVE' })
    expect((await readPlan(own, paymentPlanId)).nextPaymentDate).toBeUndefined()
    await moveTo(own, '2027-06-16T00:00:00Z')
    expect(await readPlan(own, paymentPlanId)).toMatchObject({ status: 'COMPLETED', numberOfPayments: 3 })
    expect(await chargePlan(own, paymentPlanId)).toMatchObject(refused('27000002'))
    const cancelled = await own.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
    expect(cancelled).toMatchObject(refused('27000001'))
    expect((await own.call('GET', '/payment-plans?page=1&status=COMPLETED')).body.totalNumberOfItems).toBe(1)
  })
})

describe('27000001 not active', () => {
  test('PENDING', async () => {
    const planId = await plan({ payment: { card: { eventToken: 'ORDER' } } })
    expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
  })
  test('CANCELLED', async () => {
    const planId = await plan()
    const cancel = () =>
      shop.call('POST', `/payment-plans/${planId}/cancel`, {
        reason: 'moved away',
        metadata: { by: 'phone' },
      })
    const first = await cancel()
    expect(first).toMatchObject({
      status: 200,
      body: { status: 'CANCELLED', cancellationReason: 'moved away' },
    })
    expect(first.body.metadata).toEqual({ by: 'phone' })
    expect(first.body).not.toHaveProperty('nextPaymentDate')
    expect(first.body.paymentMethodId).toMatch(/^[0-9a-f]{32}$/)
    const again = await shop.call('POST', `/payment-plans/${planId}/cancel`, { reason: 'another' })
    expect(again.body).toEqual(first.body)
    expect(await readPlan(shop, planId)).toEqual(first.body)
    expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
  })
  test.each(['method', 'customer'])('SUSPENDED: its %s was deleted', async what => {
    const planId = await plan()
    const { gatewayCustomerId, paymentMethodId } = await readPlan(shop, planId)
    const path = `/customers/${gatewayCustomerId}`
    await shop.call('DELETE', what === 'customer' ? path : `${path}/paymentMethods/${paymentMethodId}`)
    const suspended = await readPlan(shop, planId)
    expect(suspended).toMatchObject({ status: 'SUSPENDED', paymentMethodId })
    expect(suspended).not.toHaveProperty('nextPaymentDate')
    expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
    const plans = await shop.call('GET', `${path}/payment-plans`)
    expect(plans.status).toBe(what === 'customer' ? 404 : 200)
    expect((await shop.call('POST', `/payment-plans/${planId}/cancel`, {})).body.status).toBe('CANCELLED')
  })
})

test('422 declined: the payment does not count, and the plan stays ACTIVE', async () => {
  const planId = await plan()
  expect(await chargePlan(shop, planId, { simulationMode: '0351' })).toMatchObject(refused('21000351'))
  expect(await readPlan(shop, planId)).toMatchObject({
    status: 'ACTIVE',
    numberOfPayments: 1,
    nextPaymentDate: '2027-04-10',
    lastPayment: { status: 'FAILED', responseCode: '21000351' },
  })
  const declined = await chargePlan(shop, planId, { simulationMode: '0351' })
  expect(declined.body).not.toHaveProperty('paymentPlanId')
})

test('a card that requires 3-D Secure is charged without it, because no cardholder is present', async () => {
  const urls = { return: 'https://shop.example/ok', cancel: 'https://shop.example/no' }
  const { body } = await beginPlan(shop, { payment: { urls, card: { number: '4000002760003184' } } })
  await shop.call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'approve' })
  expect(await chargePlan(shop, body.paymentPlanId)).toMatchObject(done('OK'))
})

test('a direct debit is charged from its account, a wallet by its agreement', async () => {
  for (const type of ['DIRECTDEBIT', 'PROVIDERM', 'PROVIDERK'] as const) {
    const credentialOnFile = { type: 'RECURRING', initialPayment: true, recurring: { useCase: 'FIXED' } }
    const payId = await shop.authorize(type, { credentialOnFile })
    const { paymentPlanId } = await shop.read(payId)
    expect(await readPlan(shop, paymentPlanId)).toMatchObject({ status: 'ACTIVE' })
    const charged = await chargePlan(shop, paymentPlanId, { captureMethod: { type: 'MANUAL' } })
    expect({ type, ...charged }).toMatchObject({ type, ...done('AUTHORIZED') })
  }
})

describe('idempotency and transId', () => {
  test('a key makes one payment', async () => {
    const planId = await plan()
    const charge = { transId: 'once' }
    const send = () =>
      shop.call('POST', `/payment-plans/${planId}/charge`, charge, { 'idempotency-key': 'k-1' })
    const [first, second] = await Promise.all([send(), send()])
    const third = await send()
    expect(second?.text).toBe(first?.text)
    expect(third.text).toBe(first?.text)
    expect(third.headers.get('idempotent-replayed')).toBe('true')
    expect((await readPlan(shop, planId)).numberOfPayments).toBe(2)
  })
  test('a refusal and a cancellation are kept under their keys', async () => {
    const planId = await plan()
    const cancel = () =>
      shop.call('POST', `/payment-plans/${planId}/cancel`, {}, { 'idempotency-key': 'k-2' })
    const first = await cancel()
    expect((await cancel()).text).toBe(first.text)
    const refusal = () => chargePlan(shop, planId, { transId: 'no' }, { 'idempotency-key': 'k-3' })
    const said = await refusal()
    expect(said).toMatchObject(refused('27000001'))
    expect((await refusal()).text).toBe(said.text)
  })
  test('20170001 a transId that is in use', async () => {
    const planId = await plan()
    expect(await chargePlan(shop, planId, { transId: 'taken' })).toMatchObject(done('OK'))
    expect(await chargePlan(shop, planId, { transId: 'taken' })).toMatchObject(refused('20170001'))
  })
})

describe('404 for an unknown plan', () => {
  test.each(['charge', 'cancel'])('%s', async verb => {
    for (const id of ['0'.repeat(32), 'nonsense']) {
      const { status } = await shop.call(
        'POST',
        `/payment-plans/${id}/${verb}`,
        verb === 'charge' ? { transId: 'x' } : {},
      )
      expect(status).toBe(404)
    }
  })
})

describe('400 with {field, error}', () => {
  const cases: [field: string, body: object][] = [
    ['transId', {}],
    ['amount.value', { transId: 'x', amount: { value: 0, currency: 'EUR' } }],
    ['urls.return', { transId: 'x', urls: { return: 'https://shop.example' } }],
    ['captureMethod.delayed', { transId: 'x', captureMethod: { type: 'DELAYED' } }],
    ['customerInfo', { transId: 'x', customerInfo: {} }],
  ]
  test.each(cases)('%s', async (field, body) => {
    const answer = await shop.call('POST', `/payment-plans/${await plan()}/charge`, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ field, error: expect.any(String) })
  })
  test('a cancellation with an unknown field', async () => {
    const answer = await shop.call('POST', `/payment-plans/${await plan()}/cancel`, { because: 'x' })
    expect(answer.body).toEqual({ field: 'because', error: expect.any(String) })
  })
  test('a cancellation that gives the plan more metadata than it may have', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`key ${number}`, number]))
    const planId = await plan({ payment: { metadata } })
    const answer = await shop.call('POST', `/payment-plans/${planId}/cancel`, { metadata: { another: 1 } })
    expect([answer.status, answer.body.field]).toEqual([400, 'metadata'])
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', metadata })
  })
})
