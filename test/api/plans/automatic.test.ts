/** Automatic charges: a year of months, declines and their retries, lost answers, the end. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, hourMs } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan, chargePlan, listPayments, moveTo, readPlan } from '#test/support/plans.ts'
import { done, openShop, refused, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock(Date.UTC(2027, 0, 31, 15, 30)) })
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const webhook = 'https://shop.example/hook'

/** A shop of its own with a plan that charges itself; the clock stands at 31 January 2027. */
async function start(recurring: object = {}): Promise<{ shop: Shop; planId: string }> {
  const shop = await openShop(gateway)
  const { body } = await beginPlan(shop, {
    recurring: { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true, ...recurring },
    payment: { urls: { webhook } },
  })
  return { shop, planId: body.paymentPlanId }
}

/** Days and results of a plan's payments, the oldest first. */
async function history(shop: Shop, planId: string): Promise<string[]> {
  const payments = await shop.call('GET', `/payment-plans/${planId}/payments?page=1`)
  return payments.body.data
    .map((payment: { creationDate: string; status: string; responseCode: string }) =>
      [payment.creationDate.slice(0, 10), payment.status, payment.responseCode.slice(4)].join(' '),
    )
    .reverse()
}

const decline = (shop: Shop, code: string, times: number) =>
  shop.fail({ operation: 'AUTHORIZATION', fault: 'decline', code, times })

test('a plan that starts on the 31st is charged at each month’s end, when the clock moves a year at once', async () => {
  const { shop, planId } = await start()
  await moveTo(shop, '2028-03-01T00:00:00Z')
  expect(await history(shop, planId)).toEqual(
    [
      ...['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30', '2027-05-31', '2027-06-30', '2027-07-31'],
      ...['2027-08-31', '2027-09-30', '2027-10-31', '2027-11-30', '2027-12-31', '2028-01-31', '2028-02-29'],
    ].map(day => `${day} OK 0000`),
  )
  expect(await readPlan(shop, planId)).toMatchObject({
    status: 'ACTIVE',
    numberOfPayments: 14,
    nextPaymentDate: '2028-03-31',
  })
})

test('each charge is sent to the initial payment’s webhook and names plan, day and try', async () => {
  const { shop, planId } = await start()
  await moveTo(shop, '2027-02-28T00:00:00Z')
  const [charge] = await listPayments(shop, planId)
  expect(charge.transId).toBe(`${planId}-20270228-1`)
  expect(await shop.events(charge.payId)).toMatchObject([
    { status: 'OK', sequence: 1, xId: expect.any(String) },
  ])
  expect(await shop.read(charge.payId)).toMatchObject({ urls: { webhook }, paymentPlanId: planId })
})

test('a plan is not charged in the last moment before its day', async () => {
  const { shop, planId } = await start({ frequency: 'WEEKLY' })
  await moveTo(shop, '2027-02-06T23:59:59.999Z')
  expect((await history(shop, planId)).length).toBe(1)
  await moveTo(shop, '2027-02-07T00:00:00Z')
  expect((await history(shop, planId)).length).toBe(2)
})

test('a start in the future is the first due day', async () => {
  const { shop, planId } = await start({ frequency: 'YEARLY', startDate: '2028-02-29' })
  await moveTo(shop, '2032-03-01T00:00:00Z')
  expect(await history(shop, planId)).toEqual(
    ['2027-01-31', '2028-02-29', '2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29'].map(
      day => `${day} OK 0000`,
    ),
  )
})

describe('declines', () => {
  test.each(['51', '61', '65', '91', '96'])(
    '%s is tried again after 1, 3 and 7 days, then SUSPENDED',
    async code => {
      const { shop, planId } = await start()
      await decline(shop, code, 10)
      await moveTo(shop, '2027-04-01T00:00:00Z')
      const days = ['2027-02-28', '2027-03-01', '2027-03-03', '2027-03-07']
      expect(await history(shop, planId)).toEqual([
        '2027-01-31 OK 0000',
        ...days.map(day => `${day} FAILED 03${code}`),
      ])
      expect(await readPlan(shop, planId)).toMatchObject({ status: 'SUSPENDED', numberOfPayments: 1 })
      // Each failed charge sends one event, and the last one also that the plan is suspended.
      const told: number[] = []
      for (const { payId } of await listPayments(shop, planId)) told.push((await shop.events(payId)).length)
      expect(told.sort()).toEqual([0, 1, 1, 1, 2])
      expect(await chargePlan(shop, planId)).toMatchObject(refused('27000001'))
    },
  )

  test.each(['05', '14', '41', '54', '57'])('%s suspends at once', async code => {
    const { shop, planId } = await start()
    await decline(shop, code, 1)
    await moveTo(shop, '2027-06-01T00:00:00Z')
    expect(await history(shop, planId)).toEqual(['2027-01-31 OK 0000', `2027-02-28 FAILED 03${code}`])
    expect((await readPlan(shop, planId)).status).toBe('SUSPENDED')
  })

  test('a hard decline of a retry suspends the plan as well', async () => {
    const { shop, planId } = await start()
    await decline(shop, '51', 1)
    await decline(shop, '05', 1)
    await moveTo(shop, '2027-06-01T00:00:00Z')
    expect((await history(shop, planId)).slice(1)).toEqual([
      '2027-02-28 FAILED 0351',
      '2027-03-01 FAILED 0305',
    ])
  })

  test('paid by a retry: the schedule stays, and the next due day starts with a first try', async () => {
    const { shop, planId } = await start()
    await decline(shop, '51', 2)
    await moveTo(shop, '2027-03-31T00:00:00Z')
    expect((await history(shop, planId)).slice(1)).toEqual([
      '2027-02-28 FAILED 0351',
      '2027-03-01 FAILED 0351',
      '2027-03-03 OK 0000',
      '2027-03-31 OK 0000',
    ])
    await decline(shop, '51', 3)
    await moveTo(shop, '2027-05-31T00:00:00Z')
    expect((await history(shop, planId)).slice(5)).toEqual([
      '2027-04-30 FAILED 0351',
      '2027-05-01 FAILED 0351',
      '2027-05-03 FAILED 0351',
      '2027-05-07 OK 0000',
      '2027-05-31 OK 0000',
    ])
  })

  test('days of a daily plan that became due meanwhile follow in order once it is paid', async () => {
    const { shop, planId } = await start({ frequency: 'DAILY' })
    await decline(shop, '91', 2)
    await moveTo(shop, '2027-02-05T00:00:00Z')
    expect(
      (await listPayments(shop, planId))
        .map(({ transId, status }) => `${transId.slice(33)} ${status}`)
        .reverse(),
    ).toEqual([
      expect.stringContaining('OK'),
      '20270201-1 FAILED',
      '20270201-2 FAILED',
      '20270201-3 OK',
      '20270202-1 OK',
      '20270203-1 OK',
      '20270204-1 OK',
      '20270205-1 OK',
    ])
  })

  test('charges that never reach the provider count as declined with 91', async () => {
    const { shop, planId } = await start()
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_request', times: 3 })
    await moveTo(shop, '2027-03-01T00:00:00Z')
    expect((await history(shop, planId)).slice(1)).toEqual(['2027-02-28 FAILED 0391', '2027-03-01 OK 0000'])
  })
})

describe('a charge without an answer', () => {
  test('blocks the plan until the outcome is known; nothing is charged twice', async () => {
    const { shop, planId } = await start({ frequency: 'DAILY' })
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    await moveTo(shop, '2027-02-01T00:00:05Z')
    expect((await history(shop, planId)).slice(1)).toEqual(['2027-02-01 PENDING 0200'])
    expect(await readPlan(shop, planId)).toMatchObject({ numberOfPayments: 1, nextPaymentDate: '2027-02-01' })
    const [charge] = await listPayments(shop, planId)
    expect(await shop.events(charge.payId)).toEqual([])
    await moveTo(shop, '2027-02-01T00:00:10Z')
    expect((await history(shop, planId)).slice(1)).toEqual(['2027-02-01 OK 0000'])
    expect((await shop.events(charge.payId)).length).toBe(1)
    await moveTo(shop, '2027-02-02T00:00:00Z')
    expect((await history(shop, planId)).length).toBe(3)
  })

  test('a manual charge with a lost answer counts once it is settled', async () => {
    const shop = await openShop(gateway)
    const { paymentPlanId } = (await beginPlan(shop)).body
    await shop.fail({ operation: 'AUTHORIZATION', fault: 'lost_answer' })
    expect((await chargePlan(shop, paymentPlanId)).body.status).toBe('PENDING')
    expect(await readPlan(shop, paymentPlanId)).toMatchObject({
      numberOfPayments: 1,
      nextPaymentDate: '2027-02-28',
    })
    await shop.advance('PT10S')
    expect(await readPlan(shop, paymentPlanId)).toMatchObject({
      numberOfPayments: 2,
      nextPaymentDate: '2027-03-31',
    })
  })
})

describe('the end of an automatic plan', () => {
  test('COMPLETED on the day after the last, which is still charged', async () => {
    const { shop, planId } = await start({ expiryDate: '2027-03-31' })
    await moveTo(shop, '2027-03-31T12:00:00Z')
    expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', numberOfPayments: 3 })
    expect((await readPlan(shop, planId)).nextPaymentDate).toBeUndefined()
    await moveTo(shop, '2028-01-01T00:00:00Z')
    expect(await readPlan(shop, planId)).toMatchObject({
      status: 'COMPLETED',
      numberOfPayments: 3,
      updatedAt: '2027-04-01T00:00:00.000Z',
    })
  })
  test('the end stops repeated charges as well', async () => {
    const { shop, planId } = await start({ expiryDate: '2027-03-02' })
    await decline(shop, '51', 10)
    await moveTo(shop, '2027-05-01T00:00:00Z')
    expect((await history(shop, planId)).slice(1)).toEqual([
      '2027-02-28 FAILED 0351',
      '2027-03-01 FAILED 0351',
    ])
    expect((await readPlan(shop, planId)).status).toBe('COMPLETED')
  })
  test('a cancelled plan is not charged', async () => {
    const { shop, planId } = await start()
    await shop.call('POST', `/payment-plans/${planId}/cancel`, {})
    await moveTo(shop, '2027-12-01T00:00:00Z')
    expect((await history(shop, planId)).length).toBe(1)
    const timers = await queryRows(
      gateway.databaseUrl,
      'SELECT 1 FROM timer WHERE merchant_id = $1 AND kind = $2',
      [shop.merchantId, 'PLAN'],
    )
    expect(timers).toEqual([])
  })
  test('a plan whose card was deleted is not charged', async () => {
    const { shop, planId } = await start()
    const { gatewayCustomerId } = await readPlan(shop, planId)
    await shop.call('DELETE', `/customers/${gatewayCustomerId}`)
    await moveTo(shop, '2027-12-01T00:00:00Z')
    expect((await history(shop, planId)).length).toBe(1)
    expect((await readPlan(shop, planId)).status).toBe('SUSPENDED')
  })
})

test('customers of a disabled merchant are not charged; once it is enabled, the newest due day is', async () => {
  const clock = createTestClock(Date.UTC(2027, 0, 31, 15, 30))
  const own = await startTestGateway({ clock })
  const { merchants, timerWorker: timers } = own.gateway
  const shop = await openShop(own)
  const recurring = { frequency: 'DAILY', useCase: 'FIXED', autoCharge: true }
  const planId = (await beginPlan(shop, { recurring })).body.paymentPlanId
  const pass = async (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) {
      clock.move(hourMs)
      while ((await timers.runDue()) > 0);
    }
  }
  await merchants.set(shop.merchantId, { disabled: true })
  await pass(60)
  await merchants.set(shop.merchantId, { disabled: false })
  expect(await history(shop, planId)).toEqual(['2027-01-31 OK 0000'])
  expect(await readPlan(shop, planId)).toMatchObject({ status: 'ACTIVE', nextPaymentDate: '2027-02-03' })
  await pass(24)
  expect((await history(shop, planId)).slice(1)).toEqual(['2027-02-03 OK 0000', '2027-02-04 OK 0000'])
  expect((await examine(own.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await own.stop()
})

test('the merchant’s own charges do not replace automatic ones', async () => {
  const { shop, planId } = await start()
  expect(await chargePlan(shop, planId)).toMatchObject(done('OK'))
  expect(await readPlan(shop, planId)).toMatchObject({ numberOfPayments: 2, nextPaymentDate: '2027-02-28' })
})

test('a transId that the merchant has used itself does not stop the charge', async () => {
  const { shop, planId } = await start()
  await shop.create('CARD', { transId: `${planId}-20270228-1` })
  await moveTo(shop, '2027-02-28T00:00:00Z')
  expect((await history(shop, planId)).slice(1)).toEqual(['2027-02-28 OK 0000'])
})

test('a card that got a new number is charged by the new one', async () => {
  const shop = await openShop(gateway)
  const { body } = await beginPlan(shop, {
    recurring: { frequency: 'MONTHLY', autoCharge: true },
    payment: { card: { number: '4000000000003220' } },
  })
  const before = await readPlan(shop, body.paymentPlanId)
  const { gatewayCustomerId, paymentMethodId } = before
  await shop.call('POST', '/services/accountUpdater', {
    transId: 'update',
    cards: [{ gatewayCustomerId, paymentMethodId }],
  })
  await moveTo(shop, '2027-02-28T00:00:00Z')
  const [charge] = await listPayments(shop, body.paymentPlanId)
  const { paymentMethods } = await shop.read(charge.payId)
  expect(paymentMethods.card.last4Digits).not.toBe('3220')
  expect(await readPlan(shop, body.paymentPlanId)).toMatchObject({ numberOfPayments: 2, paymentMethodId })
})

test('a card that got the number of another card of its customer is charged by that number and date', async () => {
  const shop = await openShop(gateway)
  const customerInfo = { merchantCustomerId: 'ada', email: 'ada@example.com' }
  const old = { number: '4000000000003220' }
  const recurring = { frequency: 'MONTHLY', autoCharge: true }
  const { paymentPlanId } = (await beginPlan(shop, { recurring, payment: { card: old, customerInfo } })).body
  const before = await readPlan(shop, paymentPlanId)
  const successor = { number: '4000000000003253', expiryDate: '202702' }
  expect(await shop.create('CARD', { card: successor, customerInfo })).toMatchObject({ status: 200 })
  await shop.call('POST', '/services/accountUpdater', { transId: 'update', cards: [old] })
  await moveTo(shop, '2027-03-31T00:00:00Z')
  const [charge] = await listPayments(shop, paymentPlanId)
  expect(charge.status).toBe('OK')
  const { paymentMethods } = await shop.read(charge.payId)
  expect(paymentMethods.card).toMatchObject({ last4Digits: '3253', expiryDate: '203512' })
  const { paymentMethodId } = await readPlan(shop, paymentPlanId)
  expect(paymentMethodId).not.toBe(before.paymentMethodId)
})

test.each<[string, object | undefined]>([
  ['a customer', { merchantCustomerId: 'ada', email: 'ada@example.com' }],
  ['no customer', undefined],
])('a card that got a new expiry date is charged with it: a plan with %s', async (_, customerInfo) => {
  const shop = await openShop(gateway)
  const card = { number: '4000000000003246', expiryDate: '202702' }
  const recurring = { frequency: 'MONTHLY', autoCharge: true }
  const { paymentPlanId } = (await beginPlan(shop, { recurring, payment: { card, customerInfo } })).body
  await shop.call('POST', '/services/accountUpdater', {
    transId: 'update',
    cards: [{ number: card.number, expiryDate: card.expiryDate }],
  })
  await moveTo(shop, '2027-03-31T00:00:00Z')
  const [charge] = await listPayments(shop, paymentPlanId)
  expect(charge.status).toBe('OK')
  const { paymentMethods } = await shop.read(charge.payId)
  expect(paymentMethods.card.expiryDate).toBe('203202')
})
