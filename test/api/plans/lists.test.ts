/** Lists of plans: filters, pages, and separation of merchants. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, readPlan } from '#test/support/plans.ts'
import { openShop, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
const planIds: Record<string, string> = {}
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
  shop = await openShop(gateway)
  const begin = async (name: string, terms?: Parameters<typeof beginPlan>[1]) => {
    planIds[name] = (await beginPlan(shop, terms)).body.paymentPlanId
  }
  const customerInfo = { merchantCustomerId: 'regular', email: 'ada@example.com' }
  await begin('first', { payment: { customerInfo } })
  await shop.advance('P1D')
  await begin('unscheduled', { type: 'UNSCHEDULED', payment: { customerInfo } })
  await begin('cancelled')
  await shop.call('POST', `/payment-plans/${planIds.cancelled}/cancel`, {})
  await shop.advance('P1D')
  await begin('waiting', { payment: { card: { eventToken: 'ORDER' } } })
  await shop.advance('PT1S')
  await begin('last')
})
afterAll(() => gateway.stop())

const ids = (...names: string[]) => names.map(name => planIds[name])
const list = (query: string, path = '/payment-plans') => shop.call('GET', `${path}?${query}`)
const shown = ({ body }: Awaited<ReturnType<typeof list>>) =>
  body.data.map((plan: { paymentPlanId: string }) => plan.paymentPlanId)

describe('200', () => {
  test('all, the newest first, each as its own record', async () => {
    const answer = await list('page=1')
    expect(answer.body).toMatchObject({ totalNumberOfPages: 1, totalNumberOfItems: 5, page: 1, pageSize: 20 })
    expect(shown(answer)).toEqual([
      planIds.last,
      planIds.waiting,
      ...[planIds.cancelled, planIds.unscheduled].toSorted().reverse(),
      planIds.first,
    ])
    for (const plan of answer.body.data) expect(await readPlan(shop, plan.paymentPlanId)).toEqual(plan)
  })

  test.each<[string, string[]]>([
    ['status=ACTIVE', ['last', 'unscheduled', 'first']],
    ['status=PENDING', ['waiting']],
    ['status=CANCELLED', ['cancelled']],
    ['status=SUSPENDED', []],
    ['type=UNSCHEDULED', ['unscheduled']],
    ['type=RECURRING&status=ACTIVE', ['last', 'first']],
    ['createdFrom=2027-03-12', ['last', 'waiting']],
    ['createdTo=2027-03-10&status=ACTIVE', ['first']],
    ['createdFrom=2027-03-11&createdTo=2027-03-11&status=ACTIVE', ['unscheduled']],
    ['createdFrom=2027-03-13', []],
  ])('%s', async (query, names) => {
    const answer = await list(`page=1&${query}`)
    expect(shown(answer)).toEqual(ids(...names))
    expect(answer.body.totalNumberOfItems).toBe(names.length)
  })

  test('those of a customer, by either way', async () => {
    const { gatewayCustomerId } = await readPlan(shop, planIds.first ?? '')
    const both = ids('unscheduled', 'first')
    expect(shown(await list(`page=1&gatewayCustomerId=${gatewayCustomerId}`))).toEqual(both)
    expect(shown(await list('', `/customers/${gatewayCustomerId}/payment-plans`))).toEqual(both)
    const beyond = await list('page=2', `/customers/${gatewayCustomerId}/payment-plans`)
    expect(beyond.body).toEqual({
      totalNumberOfPages: 1,
      totalNumberOfItems: 2,
      page: 2,
      pageSize: 20,
      data: [],
    })
    const byKey = await fetch(`${gateway.url}/api/v2/customers/${gatewayCustomerId}/payment-plans`, {
      headers: { 'x-api-key': shop.apiKey },
    })
    expect(byKey.status).toBe(200)
    expect(shown(await list(`page=1&gatewayCustomerId=${'0'.repeat(32)}`))).toEqual([])
  })

  test('pages of plans and of payments', async () => {
    const own = await openShop(gateway)
    const { paymentPlanId } = (await beginPlan(own, { recurring: { frequency: 'DAILY' } })).body
    for (let more = 0; more < 22; more += 1) {
      await beginPlan(own)
      await chargePlan(own, paymentPlanId, { amount: { value: 1 + more, currency: 'EUR' } })
    }
    const pages = await Promise.all([1, 2, 3].map(page => own.call('GET', `/payment-plans?page=${page}`)))
    expect(pages.map(({ body }) => body.data.length)).toEqual([20, 3, 0])
    expect(pages[1]?.body).toMatchObject({ totalNumberOfPages: 2, totalNumberOfItems: 23, page: 2 })
    expect(new Set(pages.flatMap(shown)).size).toBe(23)
    const payments = await Promise.all(
      ['', '?page=2', '?page=3'].map(query =>
        own.call('GET', `/payment-plans/${paymentPlanId}/payments${query}`),
      ),
    )
    const sequences = payments.flatMap(({ body }) =>
      body.data.map((item: { sequence: number }) => item.sequence),
    )
    expect(sequences).toEqual(Array.from({ length: 23 }, (_, index) => 23 - index))
    expect(payments[1]?.body.data.at(-1)).toMatchObject({ sequence: 1, initialPayment: true })
    expect(payments[2]?.body).toMatchObject({ totalNumberOfItems: 23, page: 3, data: [] })
  })
})

describe('400 problem details', () => {
  test.each<[string, string]>([
    ['', 'page'],
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page=2147483648', 'page'],
    ['page=1&status=active', 'status'],
    ['page=1&type=ONCE', 'type'],
    ['page=1&createdFrom=2027-02-30', 'createdFrom'],
    ['page=1&gatewayCustomerId=me', 'gatewayCustomerId'],
    ['page=1&gatewayCustomerId=', 'gatewayCustomerId'],
    ['page=1&colour=red', 'colour'],
  ])('%s', async (query, field) => {
    const { status, body, headers } = await list(query)
    expect(status).toBe(400)
    expect(headers.get('content-type')).toContain('application/problem+json')
    expect(Object.keys(body.errors)).toEqual([field])
  })
  test.each<[string, string[]]>([
    ['page=1&createdFrom=2027-03-12&createdTo=2027-03-11', ['createdFrom', 'createdTo']],
    ['page=1&status=NO&createdFrom=2027-03-12&createdTo=2027-03-11', ['createdFrom', 'createdTo', 'status']],
    ['page=2147483648&status=NO', ['page', 'status']],
  ])('%s names %j', async (query, fields) => {
    const { status, body } = await list(query)
    expect(status).toBe(400)
    expect(Object.keys(body.errors).toSorted()).toEqual(fields)
  })
  test.each(['page=0', 'a=1'])('payments of a plan, %s', async query => {
    const { status, body } = await list(query, `/payment-plans/${planIds.first}/payments`)
    expect([status, body.status]).toEqual([400, 400])
  })
})

describe('404', () => {
  test.each([
    `/payment-plans/${'0'.repeat(32)}`,
    '/payment-plans/nonsense',
    `/payment-plans/${'0'.repeat(32)}/payments`,
    `/customers/${'0'.repeat(32)}/payment-plans`,
    '/customers/nonsense/payment-plans',
  ])('%s', async path => {
    const { status, headers } = await shop.call('GET', path)
    expect(status).toBe(404)
    expect(headers.get('content-type')).toContain('application/problem+json')
  })
})
