/** A plan begins with its initial payment, however that is approved. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, moveTo, planPayment, readPlan } from '#test/support/plans.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

test('200 approved at once: the plan is ACTIVE, and its record shows every field', async () => {
  const { status, body } = await beginPlan(shop, { payment: { metadata: { contract: 'c-1' } } })
  expect(status).toBe(200)
  expect(body.paymentPlanId).toMatch(/^[0-9a-f]{32}$/)
  const payment = await shop.read(body.payId)
  expect(payment.paymentPlanId).toBe(body.paymentPlanId)
  const { gatewayCustomerId } = body.customerInfo
  const methods = await shop.call('GET', `/customers/${gatewayCustomerId}/paymentMethods`)
  expect(await readPlan(shop, body.paymentPlanId)).toEqual({
    paymentPlanId: body.paymentPlanId,
    merchantId: shop.merchantId,
    gatewayCustomerId,
    merchantCustomerId: payment.customerInfo.merchantCustomerId,
    paymentMethodId: methods.body.data[0].id,
    type: 'RECURRING',
    status: 'ACTIVE',
    amount: { value: 1000, currency: 'EUR' },
    recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
    initialPayId: body.payId,
    schemeReferenceId: payment.paymentMethods.card.schemeReferenceId,
    numberOfPayments: 1,
    nextPaymentDate: '2027-04-10',
    lastPayment: {
      payId: body.payId,
      status: 'OK',
      responseCode: '00000000',
      creationDate: payment.creationDate,
    },
    metadata: { contract: 'c-1' },
    createdAt: payment.creationDate,
    updatedAt: expect.any(String),
  })
})

test('200 a second plan of the same customer and card names the same stored method', async () => {
  const customerInfo = { merchantCustomerId: 'twice', email: 'ada@example.com' }
  const [first, second] = [
    await beginPlan(shop, { payment: { customerInfo } }),
    await beginPlan(shop, { payment: { customerInfo } }),
  ]
  const plans = await Promise.all([first, second].map(({ body }) => readPlan(shop, body.paymentPlanId)))
  expect(plans[0].paymentMethodId).toMatch(/^[0-9a-f]{32}$/)
  expect(plans[1].paymentMethodId).toBe(plans[0].paymentMethodId)
  expect(plans[1].paymentPlanId).not.toBe(plans[0].paymentPlanId)
})

test('200 without a customer: the plan names no customer, and can be charged all the same', async () => {
  const { body } = await beginPlan(shop, { payment: { customerInfo: undefined } })
  const plan = await readPlan(shop, body.paymentPlanId)
  expect(plan).toMatchObject({ status: 'ACTIVE', numberOfPayments: 1 })
  expect(plan).not.toHaveProperty('gatewayCustomerId')
  expect(plan).not.toHaveProperty('paymentMethodId')
})

test('422 declined: the plan ends with the payment and cannot be charged', async () => {
  const { status, body } = await beginPlan(shop, { payment: { card: { number: '4000000000009995' } } })
  expect(status).toBe(422)
  expect(body).not.toHaveProperty('paymentPlanId')
  const { paymentPlanId, updatedAt } = await shop.read(body.payId)
  expect(await readPlan(shop, paymentPlanId)).toMatchObject({
    status: 'CANCELLED',
    cancelledAt: updatedAt,
    cancellationReason: 'The initial payment failed.',
    numberOfPayments: 0,
  })
  const listed = await shop.call('GET', '/payment-plans?page=1&status=PENDING')
  expect(listed.body.data.map(({ paymentPlanId: id }: { paymentPlanId: string }) => id)).not.toContain(
    paymentPlanId,
  )
})

test('without initialPayment, or with it false, no plan', async () => {
  for (const initialPayment of [undefined, false]) {
    const credentialOnFile = { type: 'RECURRING', initialPayment }
    const { status, body } = await shop.create('CARD', { credentialOnFile })
    expect(status).toBe(200)
    expect(body).not.toHaveProperty('paymentPlanId')
  }
})

describe('approved later', () => {
  test('by an inquiry: the plan is PENDING until the answer is known', async () => {
    const { body } = await beginPlan(shop, { payment: { card: { number: '4000000000000101' } } })
    expect(body).toMatchObject({ status: 'PENDING', paymentPlanId: expect.any(String) })
    expect(await readPlan(shop, body.paymentPlanId)).toMatchObject({ status: 'PENDING', numberOfPayments: 0 })
    expect((await readPlan(shop, body.paymentPlanId)).nextPaymentDate).toBeUndefined()
    await shop.advance('PT10S')
    expect(await readPlan(shop, body.paymentPlanId)).toMatchObject({
      status: 'ACTIVE',
      numberOfPayments: 1,
      nextPaymentDate: '2027-04-10',
      paymentMethodId: expect.any(String),
    })
  })

  test.each([
    ['every day', { frequency: 'DAILY' }, '2027-03-12'],
    ['a month from a start on the next day', { frequency: 'MONTHLY', startDate: '2027-03-11' }, '2027-04-11'],
  ])(
    'by an inquiry after midnight: the day that became due meanwhile is charged; %s',
    async (_, terms, next) => {
      const own = await openShop(gateway)
      await moveTo(own, '2027-03-10T23:59:55Z')
      const recurring = { useCase: 'FIXED', autoCharge: true, ...terms }
      const { body } = await beginPlan(own, { recurring, payment: { card: { number: '4000000000000101' } } })
      expect(body).toMatchObject({ status: 'PENDING' })
      await own.advance('PT10S')
      expect(await readPlan(own, body.paymentPlanId)).toMatchObject({ status: 'ACTIVE' })
      // The answer to the charge of that day is lost as well.
      await own.advance('PT1M')
      expect(await readPlan(own, body.paymentPlanId)).toMatchObject({
        numberOfPayments: 2,
        nextPaymentDate: next,
      })
    },
  )

  test('by a confirm, with the amount confirmed', async () => {
    const created = await shop.create('CARD', planPayment({ payment: { card: { eventToken: 'ORDER' } } }))
    expect(created.body).toMatchObject({ status: 'AUTHORIZE_REQUEST', paymentPlanId: expect.any(String) })
    const { paymentPlanId, payId } = created.body
    expect(await readPlan(shop, paymentPlanId)).toMatchObject({ status: 'PENDING' })
    expect((await shop.act(payId, 'confirms', 700)).status).toBe(200)
    expect(await readPlan(shop, paymentPlanId)).toMatchObject({
      status: 'ACTIVE',
      amount: { value: 700, currency: 'EUR' },
    })
  })

  const urls = { return: 'https://shop.example/ok', cancel: 'https://shop.example/no' }

  test.each(['approve', 'decline'])('by the customer after a challenge: %s', async action => {
    const payment = { urls, card: { number: '4000002760003184' } }
    const { body } = await beginPlan(shop, { payment })
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', paymentPlanId: expect.any(String) })
    await shop.call('POST', `/test/payments/${body.payId}/customer-action`, { action })
    const { status } = await readPlan(shop, body.paymentPlanId)
    expect(status).toBe(action === 'approve' ? 'ACTIVE' : 'CANCELLED')
  })

  test('by the customer on our page', async () => {
    const hosted = planPayment({ payment: { urls } }) as Record<string, unknown>
    const paymentMethods = { integrationType: 'HOSTED', type: 'CARD' }
    const { card: _, ...rest } = hosted
    const { body } = await shop.create('CARD', { ...rest, paymentMethods })
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', paymentPlanId: expect.any(String) })
    await shop.call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'approve' })
    expect(await readPlan(shop, body.paymentPlanId)).toMatchObject({
      status: 'ACTIVE',
      paymentMethodId: expect.any(String),
    })
  })
})

describe('400 requests that cannot begin a plan', () => {
  const recurring = { frequency: 'MONTHLY' }
  const cases: [what: string, field: string, change: object][] = [
    [
      'an end before the beginning',
      'credentialOnFile.recurring.expiryDate',
      { recurring: { ...recurring, startDate: '2027-05-02', expiryDate: '2027-05-01' } },
    ],
    [
      'a day that is none',
      'credentialOnFile.recurring.startDate',
      { recurring: { startDate: '2027-02-29' } },
    ],
    [
      'automatic charges without a frequency',
      'credentialOnFile.recurring.frequency',
      { recurring: { autoCharge: true } },
    ],
    [
      'automatic charges without a schedule',
      'credentialOnFile.recurring.autoCharge',
      { type: 'UNSCHEDULED', recurring: { ...recurring, autoCharge: true } },
    ],
  ]
  test.each(cases)('%s', async (_, field, terms) => {
    const credentialOnFile = { type: 'RECURRING', initialPayment: true, ...terms }
    const { status, body } = await shop.create('CARD', { credentialOnFile })
    expect(status).toBe(400)
    expect(body).toEqual({ field, error: expect.any(String) })
  })

  test('automatic charges of zero', async () => {
    const { status, body } = await beginPlan(shop, {
      recurring: { ...recurring, autoCharge: true },
      payment: { amount: { value: 0, currency: 'EUR' }, card: { eventToken: 'ACCOUNT_VERIFICATION' } },
    })
    expect(status).toBe(400)
    expect(body.field).toBe('credentialOnFile.recurring.autoCharge')
  })

  test('a method that cannot be charged again', async () => {
    const credentialOnFile = { type: 'RECURRING', initialPayment: true }
    const { status, body } = await shop.create('PROVIDERR', { credentialOnFile })
    expect(status).toBe(400)
    expect(body.field).toBe('credentialOnFile.initialPayment')
  })

  test('a last day that has passed: the plan would end with its first payment', async () => {
    const { status, body } = await beginPlan(await openShop(gateway), {
      recurring: { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: '2020-12-31' },
    })
    expect([status, body.field, body.error]).toEqual([
      400,
      'credentialOnFile.recurring.expiryDate',
      expect.stringContaining('is 2020-12-31; it must not lie before today'),
    ])
  })
})
