/** Late money that cannot be given back at once: the gateway retries until nothing is left. */
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

/** The number of payments that still need the account. */
async function countOpen(): Promise<number> {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const merchantId = gateway.merchantId as MerchantId
  try {
    return await createProviderAccountStore(database).countOpen({ merchantId, accountId })
  } finally {
    await database.close()
  }
}

/** Advances the clock to the next try to give money back, and runs it. */
async function waitAndTry(ms: number): Promise<void> {
  clock.move(ms)
  await runTimers()
  await deliver()
}

test('a refused refund of late money is retried until the provider accepts it', async () => {
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

/** Reports a dispute about late money, by default about all of it, and its later states. */
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
  'late money taken by a dispute is not given back as well, and no operator is asked to (transId %s)',
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

test('late money is given back after its dispute was won', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  const say = await dispute(payId)
  for (let days = 0; days < 40; days += 1) await waitAndTry(dayMs)
  await say('WON')
  await waitAndTry(minuteMs)
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { refundedValue: 1000 } })
  expect(notGivenBack(payId)).toEqual([])
})

test('partly disputed late money is given back without the disputed part', async () => {
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

test('after a partial refund by the merchant the rest is still given back', async () => {
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

test.each(['free', 'taken'])(
  'a refund of late money that fails later is repeated (transId %s)',
  async transIds => {
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
  },
)

test.each(['free', 'taken'])(
  'late money that the bank took back is not given back as well, and the doctor agrees (transId %s)',
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
  'if a capture fails later and the transId is taken, the authorisation that is left is released (%s)',
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

test('an authorisation whose transId is taken is refunded if it is captured in the dashboard', async () => {
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
  'an authorisation that is captured in the dashboard in two parts is refunded in full, %s (transId %s)',
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

test('the doctor finds late money whose tries are used up', async () => {
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

test('after a month of tries an operator is alerted, and there are no more tries', async () => {
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

test('late money is no longer given back once the merchant’s setting is to keep it', async () => {
  provider.arm('REFUND', 'decline')
  const payId = await paidLate()
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  await waitAndTry(dayMs)
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
  expect(await giveBackTimers(payId)).toBe(0)
})

test.each(['a refund that fails after all', 'the approval once more'])(
  'kept money stays after the merchant’s setting has changed to giving it back, reported by %s',
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

test('after a partial capture and refund of kept money the rest can still be captured', async () => {
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

test('an authorisation that the provider does not release at once is released later', async () => {
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
  'an authorisation that the provider never releases lapses, without an operator (transId %s)',
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
