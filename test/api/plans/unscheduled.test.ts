/** `POST /payment-plans/unscheduled-mit` in its three forms. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuthorizationRequest } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { createTestClock } from '#test/support/clock.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, listPayments, readPlan } from '#test/support/plans.ts'
import { done, openShop, refused, type Shop, urls } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let last: AuthorizationRequest | undefined
beforeAll(async () => {
  const simulator = createSimulator()
  const connectors = simulatedBy({
    ...simulator,
    authorize(request, signal) {
      last = request
      return simulator.authorize(request, signal)
    },
  })
  gateway = await startTestGateway({ clock: createTestClock(), connectors })
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

let orders = 0
const pay = (body: object, headers?: Record<string, string>) =>
  shop.call(
    'POST',
    '/payment-plans/unscheduled-mit',
    { transId: `mit-${++orders}`, amount: { value: 321, currency: 'EUR' }, ...body },
    headers,
  )

describe('by a plan', () => {
  test('200 of either type, any amount; the schedule stands', async () => {
    for (const type of ['RECURRING', 'UNSCHEDULED'] as const) {
      const { paymentPlanId } = (await beginPlan(shop, { type })).body
      const before = await readPlan(shop, paymentPlanId)
      const answer = await pay({ paymentPlanId, metadata: { reason: 'no-show' } })
      expect(answer).toMatchObject(done('OK'))
      expect(answer.body).toMatchObject({ paymentPlanId, metadata: { reason: 'no-show' } })
      expect(last?.credentialOnFile).toEqual({
        type: 'UNSCHEDULED',
        initial: false,
        initiator: 'MERCHANT',
        schemeReferenceId: before.schemeReferenceId,
      })
      expect(await shop.read(answer.body.payId)).toMatchObject({
        credentialOnFile: { type: 'UNSCHEDULED', unscheduled: { subType: 'MIT' } },
      })
      const after = await readPlan(shop, paymentPlanId)
      expect(after.numberOfPayments).toBe(2)
      expect(after.nextPaymentDate).toBe(before.nextPaymentDate)
      expect((await listPayments(shop, paymentPlanId))[0].amount).toEqual({ value: 321, currency: 'EUR' })
    }
  })
  test('422 27000001 when it is not active, also after its end', async () => {
    const { paymentPlanId } = (await beginPlan(shop)).body
    await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
    expect(await pay({ paymentPlanId })).toMatchObject(refused('27000001'))
    const own = await openShop(gateway)
    const recurring = { expiryDate: '2027-03-10' }
    const ended = (await beginPlan(own, { recurring })).body.paymentPlanId
    await own.advance('P1D')
    const body = { transId: 'late', amount: { value: 1, currency: 'EUR' }, paymentPlanId: ended }
    expect(await own.call('POST', '/payment-plans/unscheduled-mit', body)).toMatchObject(refused('27000001'))
  })
  test.each(['0'.repeat(32), 'nonsense'])('404 %s', async paymentPlanId => {
    expect((await pay({ paymentPlanId })).status).toBe(404)
  })
})

describe('by a stored payment method', () => {
  async function remember(): Promise<{ gatewayCustomerId: string; paymentMethodId: string }> {
    const customerInfo = { merchantCustomerId: `mit ${++orders}`, email: 'ada@example.com' }
    const { body } = await shop.call('POST', '/payments', cardPayment({ customerInfo }))
    const { gatewayCustomerId } = body.customerInfo
    const methods = await shop.call('GET', `/customers/${gatewayCustomerId}/paymentMethods`)
    return { gatewayCustomerId, paymentMethodId: methods.body.data[0].id }
  }
  test('200 charges the stored method', async () => {
    const answer = await pay({ ...(await remember()), captureMethod: { type: 'MANUAL' } })
    expect(answer).toMatchObject(done('AUTHORIZED'))
    expect(answer.body).not.toHaveProperty('paymentPlanId')
    expect(last?.card?.number.reveal()).toBe('4111111111111111')
    expect(last?.card?.cardholderName).toBe('Ada Lovelace')
    expect(last?.credentialOnFile).toMatchObject({ type: 'UNSCHEDULED', initiator: 'MERCHANT' })
  })
  test('200 with the reference of the plan that stored the card', async () => {
    const plan = await readPlan(shop, (await beginPlan(shop)).body.paymentPlanId)
    const { gatewayCustomerId, paymentMethodId, schemeReferenceId } = plan
    expect(await pay({ gatewayCustomerId, paymentMethodId })).toMatchObject(done('OK'))
    expect(last?.credentialOnFile?.schemeReferenceId).toBe(schemeReferenceId)
  })
  test('404 unknown, deleted, of another customer', async () => {
    const [one, other] = [await remember(), await remember()]
    const ids = [
      { ...one, paymentMethodId: '0'.repeat(32) },
      { ...one, gatewayCustomerId: '0'.repeat(32) },
      { ...one, gatewayCustomerId: 'me' },
      { ...one, paymentMethodId: other.paymentMethodId },
    ]
    for (const body of ids) expect((await pay(body)).status).toBe(404)
    await shop.call('DELETE', `/customers/${one.gatewayCustomerId}/paymentMethods/${one.paymentMethodId}`)
    expect((await pay(one)).status).toBe(404)
  })
})

describe('by a card', () => {
  async function pseudoNumber(): Promise<string> {
    const { body } = await shop.create('CARD')
    return (await shop.read(body.payId)).paymentMethods.card.pseudoCardNumber
  }
  test('200 with its pseudo number and the scheme’s reference', async () => {
    const card = {
      number: await pseudoNumber(),
      expiryDate: '203111',
      schemeReferenceId: 'agreed-elsewhere-7',
    }
    expect(await pay({ paymentMethods: { card } })).toMatchObject(done('OK'))
    expect(last?.card).toMatchObject({ expiryDate: '203111' })
    expect(last?.threeDs).toMatchObject({ skip: true })
    expect(last?.card?.number.reveal()).toBe('4111111111111111')
    expect(last?.credentialOnFile?.schemeReferenceId).toBe('agreed-elsewhere-7')
  })
  test('400 an unknown pseudo number, and a real number', async () => {
    for (const number of ['0000000000000000', '4111111111111111']) {
      const { status, body } = await pay({ paymentMethods: { card: { number, expiryDate: '203111' } } })
      expect([status, body.field]).toEqual([400, 'paymentMethods.card.number'])
      expect(body.error).not.toContain('4111111111111111')
    }
  })
})

describe('400 not exactly one of the three', () => {
  const id = '0'.repeat(32)
  const card = { card: { number: '0000000000000000' } }
  test.each<[string, object]>([
    ['gatewayCustomerId', {}],
    ['gatewayCustomerId', { paymentPlanId: id, gatewayCustomerId: id, paymentMethodId: id }],
    ['paymentMethods', { paymentPlanId: id, paymentMethods: card }],
    ['gatewayCustomerId', { paymentMethods: card, gatewayCustomerId: id, paymentMethodId: id }],
    ['paymentMethodId', { gatewayCustomerId: id }],
    ['gatewayCustomerId', { paymentMethodId: id }],
    ['paymentMethods.card', { paymentMethods: {} }],
    ['amount', { paymentPlanId: id, amount: undefined }],
    ['amount.currency', { paymentPlanId: id, amount: { value: 1, currency: 'XXX' } }],
  ])('%s: %j', async (field, body) => {
    const answer = await pay(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })
})

test('a key makes one payment, and the transId guard holds', async () => {
  const { paymentPlanId } = (await beginPlan(shop)).body
  const body = { paymentPlanId, transId: 'mit once' }
  const headers = { 'idempotency-key': 'mit-key' }
  const [first, second] = [await pay(body, headers), await pay(body, headers)]
  expect(second.text).toBe(first.text)
  expect((await readPlan(shop, paymentPlanId)).numberOfPayments).toBe(2)
  expect(await pay(body)).toMatchObject(refused('20170001'))
})

describe('by POST /payments under an agreement made elsewhere', () => {
  const challenged = '4000002760003184'
  const create = (credentialOnFile: object, change: object = {}) =>
    shop.create('CARD', {
      credentialOnFile,
      card: { number: challenged, schemeReferenceId: 'agreed-elsewhere-8', ...change },
      urls,
    })

  test.each([
    ['the merchant starts it', { type: 'UNSCHEDULED', unscheduled: { subType: 'MIT' } }],
    ['it is a later one of a series', { type: 'RECURRING', initialPayment: false }],
  ])('200 without a challenge where %s, and the provider is told so', async (_, terms) => {
    expect(await create(terms)).toMatchObject(done('OK'))
    expect(last?.credentialOnFile).toMatchObject({
      type: terms.type,
      initial: false,
      initiator: 'MERCHANT',
      schemeReferenceId: 'agreed-elsewhere-8',
    })
    expect(last?.customerPresent).toBe(false)
  })

  test.each([
    [
      'the customer starts it',
      { type: 'UNSCHEDULED', initialPayment: false, unscheduled: { subType: 'CIT' } },
    ],
    ['it is the first one', { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'MIT' } }],
    ['it begins a series', { type: 'RECURRING', initialPayment: true }],
  ])('70000200 a challenge where %s', async (_, terms) => {
    expect((await create(terms)).body).toMatchObject({
      status: 'AUTHORIZE_REQUEST',
      responseCode: '70000200',
    })
    expect(last?.credentialOnFile).toMatchObject({
      initiator: 'CUSTOMER',
      schemeReferenceId: 'agreed-elsewhere-8',
    })
  })

  test('a card that was created for a later order waits for its confirm, which tells the provider', async () => {
    const terms = { type: 'UNSCHEDULED', unscheduled: { subType: 'MIT' } }
    const { body } = await create(terms, { eventToken: 'ORDER' })
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
    expect(await shop.act(body.payId, 'confirms', 1000)).toMatchObject(done('OK'))
    expect(last?.credentialOnFile).toEqual({
      type: 'UNSCHEDULED',
      initial: false,
      initiator: 'MERCHANT',
      schemeReferenceId: 'agreed-elsewhere-8',
    })
  })
})
