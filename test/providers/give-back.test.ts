/** Money that was paid too late and cannot be given back at once: it is tried again, for as long as there is some left. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { openDatabase } from '#storage/database.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createTestClock, dayMs, minuteMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'
import { type LateStage, openLateStage } from '#test/support/providers/late-stage.ts'
import { euros, type LateCustomers, lateCustomers, named } from '#test/support/providers/paid-late.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let provider: LateStage['provider']
let gateway: LateStage['gateway']
let accountId: string
let read: LateStage['read']
let eventsOf: LateStage['eventsOf']
let runTimers: LateStage['runTimers']
let deliver: LateStage['deliver']
let tell: LateStage['tell']
let expired: LateCustomers['expired']
let paidLate: LateCustomers['paidLate']

beforeAll(async () => {
  // On a busy machine an answer may take longer than the provider's usual limit.
  const stage = await openLateStage({ clock }, { facts: { timeoutMs: 60_000 } })
  ;({ provider, gateway, accountId, read, eventsOf, runTimers, deliver, tell } = stage)
  ;({ expired, paidLate } = lateCustomers(stage, clock))
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})
beforeEach(() => gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'return' }))

async function giveBackTimers(payId: string): Promise<number> {
  const text = `SELECT 1 FROM timer WHERE kind = 'GIVE_BACK' AND pay_id = '${payId}'`
  return (await queryRows(gateway.databaseUrl, text)).length
}

/** Payments for which the account is still needed. */
async function countOpen(): Promise<number> {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const merchantId = gateway.merchantId as MerchantId
  try {
    return await createProviderAccountStore(database).countOpen({ merchantId, accountId })
  } finally {
    await database.close()
  }
}

/** Lets the time pass in which what could not be given back is tried again. */
async function waitAndTry(ms: number): Promise<void> {
  clock.move(ms)
  await runTimers()
  await deliver()
}

test('what the provider refuses to take back is tried again until it does', async () => {
  provider.arm('REFUND', 'decline')
  provider.arm('REFUND', 'unreached')
  const payId = await paidLate()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
  const open = await countOpen()
  await waitAndTry(10 * minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
  expect(await eventsOf(payId)).toEqual([
    ...['payment.failed', 'payment.paid_late', 'refund.failed', 'refund.failed', 'refund.succeeded'],
  ])
  await waitAndTry(400 * dayMs)
  expect((await read(payId)).operations).toHaveLength(5)
  expect(await giveBackTimers(payId)).toBe(0)
  expect(await countOpen()).toBe(open - 1)
})

/** Tells of a dispute of late money, of all of it unless an amount is given; its later states. */
async function dispute(payId: string, value = 1000) {
  const { operations } = await read(payId)
  const { xId } = operations.find(({ type }: { type: string }) => type === 'CAPTURE')
  const facts = { ...openDispute(`du-${payId}`), amount: euros(value) }
  const say = (status: 'OPEN' | 'WON' | 'LOST') =>
    tell({ kind: 'dispute', subject: named(xId), dispute: { ...facts, status } })
  await say('OPEN')
  return say
}

const notGivenBack = (payId: string) =>
  gateway.logged.filter(line => line.includes('NOT_GIVEN_BACK') && line.includes(payId))

test.each(['free', 'taken'])(
  'late money that a dispute has taken is not given back as well, and nobody is asked to (transId %s)',
  async transIds => {
    provider.arm('REFUND', 'decline')
    const { payId, xId, transId } = await expired()
    if (transIds === 'taken') await gateway.call('POST', '/payments', cardPayment({ transId }))
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    const say = await dispute(payId)
    await waitAndTry(minuteMs)
    await say('LOST')
    for (let days = 0; days < 40; days += 1) await waitAndTry(dayMs)
    expect(await read(payId)).toMatchObject({ amount: { refundedValue: 0, disputedValue: 1000 } })
    expect(await giveBackTimers(payId)).toBe(0)
    expect(notGivenBack(payId)).toEqual([])
    expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  },
)

test('late money goes back after its dispute was won', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  const say = await dispute(payId)
  for (let days = 0; days < 40; days += 1) await waitAndTry(dayMs)
  await say('WON')
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
  expect(notGivenBack(payId)).toEqual([])
})

test('late money of which a part is disputed goes back without that part', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  const say = await dispute(payId, 400)
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ amount: { refundedValue: 600, disputedValue: 400 } })
  await say('LOST')
  for (let days = 0; days < 40; days += 1) await waitAndTry(dayMs)
  expect(await read(payId)).toMatchObject({ amount: { refundedValue: 600, disputedValue: 400 } })
  expect(notGivenBack(payId)).toEqual([])
})

test('a part that the merchant refunds meanwhile does not hide the rest', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  const part = { transId: 'part', amount: euros(400) }
  expect((await gateway.call('POST', `/payments/${payId}/refunds`, part)).body.status).toBe('PENDING')
  clock.move(minuteMs)
  await runTimers()
  expect((await read(payId)).operations).toHaveLength(4)
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 400 } })
  await waitAndTry(60 * minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
})

test.each(['free', 'taken'])('what came back to us is given back once more (transId %s)', async transIds => {
  const { payId, xId, transId } = await expired()
  if (transIds === 'taken') await gateway.call('POST', '/payments', cardPayment({ transId }))
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  await waitAndTry(minuteMs)
  expect(await giveBackTimers(payId)).toBe(0)
  const [, , refund] = (await read(payId)).operations
  await tell({ kind: 'takenBack', operation: 'REFUND', subject: named(refund.xId), detail: '0305' })
  expect(await read(payId)).toMatchObject({ amount: { capturedValue: 1000, refundedValue: 0 } })
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
})

test.each(['free', 'taken'])(
  'what a bank took back meanwhile is not given back a second time, and the doctor counts it (transId %s)',
  async transIds => {
    const { payId, xId, transId } = await expired()
    if (transIds === 'taken') await gateway.call('POST', '/payments', cardPayment({ transId }))
    provider.arm('REFUND', 'decline')
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    const capture = (await read(payId)).operations.find(({ type }: { type: string }) => type === 'CAPTURE')
    const back = {
      subject: named(capture.xId),
      amount: euros(400),
      detail: '0351',
      transactionId: `ret-${payId}`,
    }
    await tell({ kind: 'return', ...back })
    await waitAndTry(minuteMs)
    expect(await read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { capturedValue: 1000, refundedValue: 600, returnedValue: 400 },
    })
    await waitAndTry(60 * minuteMs)
    expect(await giveBackTimers(payId)).toBe(0)
    expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  },
)

test.each(['return', 'keep'] as const)(
  'a capture that fails after all under a transId that is taken leaves a reservation, which is released (%s)',
  async setting => {
    await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: setting })
    const { payId, xId, transId } = await expired('PROVIDERP')
    await gateway.call('POST', '/payments', cardPayment({ transId }))
    provider.arm('REFUND', 'decline')
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    const capture = (await read(payId)).operations.find(({ type }: { type: string }) => type === 'CAPTURE')
    await tell({ kind: 'takenBack', operation: 'CAPTURE', subject: named(capture.xId), detail: '0305' })
    expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { capturedValue: 0 } })
    await waitAndTry(minuteMs)
    expect(await read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { authorizedValue: 1000, capturedValue: 0, reversedValue: 1000 },
    })
    await waitAndTry(60 * minuteMs)
    expect(await giveBackTimers(payId)).toBe(0)
    expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  },
)

test('a reservation under a transId that is taken may be captured in the dashboard, and then it is refunded', async () => {
  const { payId, xId, transId } = await expired('PROVIDERP', { captureMethod: { type: 'MANUAL' } })
  await gateway.call('POST', '/payments', cardPayment({ transId }))
  provider.arm('REVERSAL', 'decline')
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  const made = { echo: { reference: payId as never, amount: euros(1000) }, transactionId: `by-hand-${payId}` }
  await tell({
    kind: 'outcome',
    operation: 'CAPTURE',
    subject: { transactionId: `by-hand-${payId}`, paymentTransactionId: `late_${xId}` },
    amount: euros(1000),
    outcome: { kind: 'approved', provider: made },
  })
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { capturedValue: 1000 } })
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { capturedValue: 1000, refundedValue: 1000, reversedValue: 0 },
  })
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
})

test.each([
  ['together', 'free'],
  ['together', 'taken'],
  ['one after the other', 'free'],
  ['one after the other', 'taken'],
])(
  'a reservation that is captured in the dashboard in two parts is refunded wholly, %s (transId %s)',
  async (order, transIds) => {
    const { payId, xId, transId } = await expired('PROVIDERP', { captureMethod: { type: 'MANUAL' } })
    if (transIds === 'taken') await gateway.call('POST', '/payments', cardPayment({ transId }))
    provider.arm('REVERSAL', 'decline')
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    for (const value of [600, 400]) {
      const transactionId = `${value}-by-hand-${payId}`
      const made = { echo: { reference: payId as never, amount: euros(value) }, transactionId }
      await tell({
        kind: 'outcome',
        operation: 'CAPTURE',
        subject: { transactionId, paymentTransactionId: `late_${xId}` },
        amount: euros(value),
        outcome: { kind: 'approved', provider: made },
      })
      if (order === 'one after the other')
        for (let hours = 0; hours < 3; hours += 1) await waitAndTry(60 * minuteMs)
    }
    for (let days = 0; days < 3; days += 1) await waitAndTry(dayMs)
    expect(await read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { capturedValue: 1000, refundedValue: 1000, reversedValue: 0 },
    })
    expect(await giveBackTimers(payId)).toBe(0)
  },
)

test('the doctor finds money that nobody will give back any more', async () => {
  const { payId, xId, transId } = await expired()
  await gateway.call('POST', '/payments', cardPayment({ transId }))
  provider.arm('REFUND', 'decline')
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  const findings = async () =>
    (await examine(gateway.databaseUrl)).filter(({ found }) => found > 0).map(({ name }) => name)
  const rename = (from: string, to: string) =>
    queryRows(
      gateway.databaseUrl,
      `UPDATE timer SET kind = '${to}' WHERE kind = '${from}' AND pay_id = '${payId}'`,
    )
  expect(await findings()).toEqual([])
  await rename('GIVE_BACK', 'DISPUTE')
  expect(await findings()).toEqual(['status-fits-sums'])
  await rename('DISPUTE', 'GIVE_BACK')
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
})

test('after a month of tries a person is told, and nothing is tried any more', async () => {
  for (let tries = 0; tries < 10; tries += 1) provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  for (let days = 0; days < 20; days += 1) await waitAndTry(dayMs)
  expect(await giveBackTimers(payId)).toBe(1)
  for (let days = 20; days < 40; days += 1) await waitAndTry(dayMs)
  expect(await giveBackTimers(payId)).toBe(0)
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue: 0 } })
  const alarms = gateway.logged.filter(line => line.includes('NOT_GIVEN_BACK') && line.includes(payId))
  expect(alarms).toHaveLength(1)
})

test('a merchant who wants to keep it from now on is not refunded', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  await waitAndTry(dayMs)
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
  expect(await giveBackTimers(payId)).toBe(0)
})

test.each(['a refund that fails after all', 'the approval once more'])(
  'what was kept stays where the merchant has late money given back since, told of %s',
  async told => {
    await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
    const { payId, xId } = await expired()
    provider.payAnyway(xId)
    await deliver()
    await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'return' })
    const refund = { transId: `refund ${payId}`, amount: euros(100) }
    const { body } = await gateway.call('POST', `/payments/${payId}/refunds`, refund)
    await deliver()
    const provided = { echo: { reference: xId, amount: euros(1000) }, transactionId: `late_${xId}` }
    await tell(
      told === 'the approval once more'
        ? {
            kind: 'outcome',
            operation: 'AUTHORIZATION',
            subject: named(xId),
            amount: euros(1000),
            outcome: { kind: 'approved', provider: provided },
          }
        : { kind: 'takenBack', operation: 'REFUND', subject: named(body.xId), detail: '0305' },
    )
    await waitAndTry(dayMs)
    const refundedValue = told === 'the approval once more' ? 100 : 0
    expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue } })
    expect(await giveBackTimers(payId)).toBe(0)
  },
)

test('a part of kept money that is captured and refunded leaves the rest to be captured', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const { payId, xId } = await expired('PROVIDERP', { captureMethod: { type: 'MANUAL' } })
  provider.payAnyway(xId)
  await deliver()
  const ask = async (what: string, value: number) => {
    const { status } = await gateway.call('POST', `/payments/${payId}/${what}`, {
      transId: `${what} ${payId}`,
      amount: euros(value),
    })
    await deliver()
    return status
  }
  expect([await ask('captures', 400), await ask('refunds', 400), await ask('captures', 600)]).toEqual([
    200, 200, 200,
  ])
  expect(await read(payId)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 1000, refundedValue: 400 },
  })
})

test('a reservation that the provider does not release is released later', async () => {
  const { payId, xId } = await expired('PROVIDERP', { captureMethod: { type: 'MANUAL' } })
  provider.arm('REVERSAL', 'decline')
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  expect((await read(payId)).status).toBe('AUTHORIZED')
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
})

test.each(['free', 'taken'])(
  'a reservation that the provider never releases lapses at its end, and needs nobody (transId %s)',
  async transIds => {
    const { payId, xId, transId } = await expired('PROVIDERP', { captureMethod: { type: 'MANUAL' } })
    if (transIds === 'taken') await gateway.call('POST', '/payments', cardPayment({ transId }))
    for (let tries = 0; tries < 10; tries += 1) provider.arm('REVERSAL', 'decline')
    provider.payAnyway(xId)
    await deliver()
    for (let days = 0; days < 40; days += 1) await waitAndTry(dayMs)
    expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
    expect(await giveBackTimers(payId)).toBe(0)
    expect(gateway.logged.filter(line => line.includes('NOT_GIVEN_BACK') && line.includes(payId))).toEqual([])
    expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  },
)
