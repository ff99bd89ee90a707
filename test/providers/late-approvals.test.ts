/** Late approvals: after the end of the payment, of a part of the amount, or of an abandoned try. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, dayMs, secondMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { planPayment } from '#test/support/plans.ts'
import { type LateStage, openLateStage, word } from '#test/support/providers/late-stage.ts'
import {
  euros,
  hostedBody,
  type LateCustomers,
  lateCustomers,
  named,
} from '#test/support/providers/paid-late.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let provider: LateStage['provider']
let gateway: LateStage['gateway']
let read: LateStage['read']
let eventsOf: LateStage['eventsOf']
let runTimers: LateStage['runTimers']
let deliver: LateStage['deliver']
let tell: LateStage['tell']
let expired: LateCustomers['expired']
let paidLate: LateCustomers['paidLate']

beforeAll(async () => {
  // A notice is applied while the provider undoes a payment, which may be slow on a busy machine.
  const patience = { facts: { timeoutMs: 60_000 } }
  const stage = await openLateStage({ clock }, patience)
  ;({ provider, gateway, read, eventsOf, runTimers, deliver, tell } = stage)
  ;({ expired, paidLate } = lateCustomers(stage, clock))
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})
beforeEach(() => gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'return' }))

test('an approval after the end is given back automatically, and the payment ends REVERSED', async () => {
  const payId = await paidLate()
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { capturedValue: 1000, refundedValue: 1000 },
  })
  expect(await eventsOf(payId)).toEqual(['payment.failed', 'payment.paid_late', 'refund.succeeded'])
})

test('an approval after the end is kept if the merchant’s setting says so', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const payId = await paidLate()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue: 0 } })
})

test.each([
  ['keep', 1, 'ACTIVE'],
  // Given back, so the plan does not begin.
  ['return', 0, 'CANCELLED'],
] as const)(
  'a late initial payment begins its plan only if it is kept (%s)',
  async (setting, customers, plan) => {
    await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: setting })
    const merchantCustomerId = `late customer ${setting}`
    const { payId, xId, paymentPlanId } = await expired('PROVIDERP', {
      customerInfo: { merchantCustomerId, email: 'ada@example.com' },
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
    })
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    expect((await read(payId)).status).toBe(setting === 'keep' ? 'OK' : 'REVERSED')
    const found = await gateway.call(
      'GET',
      `/customers?page=1&merchantCustomerId=${encodeURIComponent(merchantCustomerId)}`,
    )
    expect(found.body.totalNumberOfItems).toBe(customers)
    const { body } = await gateway.call('GET', `/payment-plans/${paymentPlanId}`)
    expect(body.status).toBe(plan)
  },
)

test.each([
  ['keep', { status: 'AUTHORIZED', amount: { authorizedValue: 1000, reversedValue: 0 } }, []],
  [
    'return',
    { status: 'REVERSED', amount: { authorizedValue: 1000, reversedValue: 1000 } },
    ['payment.reversed'],
  ],
] as const)('a declined capture of a late approval is told beside it (%s)', async (setting, record, then) => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: setting })
  const { payId, xId } = await expired('PROVIDERP')
  const provided = (transactionId: string) => ({
    echo: { reference: xId as never, amount: euros(1000) },
    transactionId,
  })
  await tell({
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: named(xId),
    amount: euros(1000),
    outcome: { kind: 'approved', provider: provided(`late_${xId}`) },
    capture: { kind: 'declined', detail: '0351', provider: provided(`capture_${xId}`) },
  })
  await deliver()
  await deliver()
  expect(await read(payId)).toMatchObject(record)
  expect(await eventsOf(payId)).toEqual(['payment.failed', 'payment.paid_late', 'capture.failed', ...then])
})

test('a late approval without news of its capture is looked up, and then given back', async () => {
  const { payId, xId } = await expired('PROVIDERP')
  await tell({
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: named(xId),
    amount: euros(1000),
    outcome: {
      kind: 'approved',
      provider: { echo: { reference: xId as never, amount: euros(1000) }, transactionId: `late_${xId}` },
    },
  })
  expect((await read(payId)).operations).toMatchObject([
    { status: 'OK' },
    { type: 'CAPTURE', status: 'PENDING' },
  ])
  clock.move(10 * 60 * secondMs)
  while ((await runTimers()) > 0);
  await deliver()
  // The provider has made sure that nothing was captured.
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { capturedValue: 0, reversedValue: 1000 },
  })
})

test('a late approval that is kept but not captured lapses', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const captureMethod = { type: 'MANUAL' }
  const { body } = await gateway.call('POST', '/payments', hostedBody('PROVIDERP', { captureMethod }))
  clock.move(dayMs + secondMs)
  await runTimers()
  provider.payAnyway(body.xId)
  await deliver()
  expect((await read(body.payId)).status).toBe('AUTHORIZED')
  clock.move(400 * dayMs)
  await runTimers()
  expect(await read(body.payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
})

test.each(['return', 'keep'] as const)(
  'if a newer payment has the transId, late money is given back (%s)',
  async setting => {
    await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: setting })
    const { payId, xId, transId } = await expired()
    const newer = await gateway.call('POST', '/payments', cardPayment({ transId }))
    expect(newer.status).toBe(200)
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    expect(await read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { capturedValue: 1000, refundedValue: 1000 },
      operations: [
        { type: 'AUTHORIZATION', status: 'OK' },
        { type: 'CAPTURE', status: 'OK' },
        { type: 'REFUND', status: 'OK' },
      ],
    })
    expect(await eventsOf(payId)).toEqual(['payment.failed', 'payment.paid_late', 'refund.succeeded'])
    expect(await read(newer.body.payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
    const waiting = await queryRows(gateway.databaseUrl, "SELECT 1 FROM notice_item WHERE state = 'PENDING'")
    expect(waiting).toEqual([])
  },
)

/** The charges of a plan, oldest first, without the initial payment. */
async function chargesOf(planId: string): Promise<readonly AnyJson[]> {
  const { body } = await gateway.call('GET', `/payment-plans/${planId}/payments?page=1`)
  return body.data.filter(({ initialPayment }: AnyJson) => !initialPayment).toReversed()
}

/** A plan whose first automatic charge was undone and therefore counts as a decline that is retried. */
async function planWithFailedCharge(): Promise<{ planId: string; failed: AnyJson }> {
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true }
  const { body } = await gateway.call('POST', '/payments', cardPayment(planPayment({ recurring })))
  await deliver()
  const planId = body.paymentPlanId
  const plan = await gateway.call('GET', `/payment-plans/${planId}`)
  provider.arm('AUTHORIZATION', 'lostBefore')
  await pass(Date.parse(plan.body.nextPaymentDate) - clock.nowMs() + secondMs)
  await pass(10 * 60 * secondMs)
  const [failed] = await chargesOf(planId)
  expect(failed).toMatchObject({ status: 'FAILED', responseCode: '21000391' })
  return { planId, failed: failed ?? {} }
}

/** Advances the clock and runs everything that becomes due. */
async function pass(milliseconds: number): Promise<void> {
  clock.move(milliseconds)
  while ((await runTimers()) > 0);
}

const endPlan = (planId: string) => gateway.call('POST', `/payment-plans/${planId}/cancel`, {})

const tellPaid = ({ xId }: AnyJson) => {
  const provider = { echo: { reference: xId, amount: euros(1000) }, transactionId: `late_${xId}` }
  const approved = { kind: 'approved', provider } as const
  const subject = named(xId)
  const fact = { operation: 'AUTHORIZATION', subject, amount: euros(1000), outcome: approved } as const
  return tell({ kind: 'outcome', ...fact, capture: approved })
}

test('a plan charge that is paid late and kept covers its due day, which is not charged again', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const { planId, failed } = await planWithFailedCharge()
  await tellPaid(failed)
  expect((await read(failed.payId)).status).toBe('OK')
  // Past every day on which the charge would have been retried.
  await pass(8 * dayMs)
  expect((await chargesOf(planId)).map(({ payId }) => payId)).toEqual([failed.payId])
  await pass(24 * dayMs)
  await deliver()
  expect((await chargesOf(planId)).map(({ status }) => status)).toEqual(['OK', 'OK'])
  await endPlan(planId)
})

test('a plan charge that is paid late is given back if a retry has paid its due day, even if late money is kept', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const { planId, failed } = await planWithFailedCharge()
  await pass(dayMs)
  await deliver()
  await tellPaid(failed)
  await deliver()
  expect((await chargesOf(planId)).map(({ status }) => status)).toEqual(['REVERSED', 'OK'])
  expect((await read(failed.payId)).amount).toMatchObject({ capturedValue: 1000, refundedValue: 1000 })
  await endPlan(planId)
})

test('a late authorisation is reversed, even if its transId is taken', async () => {
  const { body } = await gateway.call(
    'POST',
    '/payments',
    hostedBody('PROVIDERP', { captureMethod: { type: 'MANUAL' } }),
  )
  const { payId, xId, transId } = body
  clock.move(dayMs + secondMs)
  await runTimers()
  await gateway.call('POST', '/payments', cardPayment({ transId }))
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { authorizedValue: 1000, capturedValue: 0, reversedValue: 1000 },
    operations: [{ type: 'AUTHORIZATION' }, { type: 'REVERSAL', status: 'OK' }],
  })
})

test('a partial approval is undone and counts as declined', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  provider.tell(word)
  const { xId, payId } = body
  const outcome = {
    kind: 'approved' as const,
    provider: { echo: { reference: xId, amount: euros(600) }, transactionId: `late_${xId}` },
  }
  await tell({
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: named(xId),
    amount: euros(600),
    outcome,
  })
  expect(await read(payId)).toMatchObject({ status: 'FAILED', responseCode: '21000305' })
  expect(provider.ledger.find(({ reference }) => reference === xId)).toMatchObject({ state: 'undone' })
})

test('a pending operation needs an operator once the connector’s time limit is over', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  expect(body.status).toBe('PENDING')
  const needsPerson = async () => {
    const now = new Date(clock.nowMs())
    const results = await examine(gateway.databaseUrl, { now })
    return results.find(({ name }) => name === 'needs-a-person')?.examples.map(({ xId }) => xId)
  }
  const ask = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      await runTimers()
    }
  }
  for (const [days, found] of [
    [2, []],
    [2, [body.xId]],
  ] as const) {
    clock.move(days * dayMs)
    await ask(40)
    expect(await needsPerson()).toEqual(found)
  }
  await deliver()
  expect(await read(body.payId)).toMatchObject({ status: 'OK' })
  expect(await needsPerson()).toEqual([])
})

/** The customer chooses a method on our page, and abandons an open page of the provider. */
async function choose(href: string, type: string): Promise<void> {
  const html = await (await fetch(href)).text()
  const attempt = /name="attempt" value="(\d+)"/.exec(html)?.[1] ?? ''
  const form = new URLSearchParams({ attempt, type })
  await fetch(href, { method: 'POST', body: form, redirect: 'manual' })
}

test('an abandoned try that is paid while the payment continues with another one is undone', async () => {
  const { paymentMethods: _, ...body } = hostedBody('IDEAL')
  const { body: session } = await gateway.call('POST', '/payments/sessions', body)
  const tryOnce = async () => {
    await choose(session._links.redirect.href, 'IDEAL')
    return (await read(session.payId)).xId as string
  }
  const left = await tryOnce()
  const paid = await tryOnce()
  expect(left).not.toBe(paid)
  provider.act(paid, 'approve')
  await deliver()
  provider.payAnyway(left)
  await deliver()
  expect(await read(session.payId)).toMatchObject({
    status: 'OK',
    amount: { authorizedValue: 1000, capturedValue: 1000 },
  })
  expect(provider.ledger.find(({ reference }) => reference === left)).toMatchObject({ state: 'undone' })
})

test.each([
  ['chooses another one, which the merchant cancels', ['IDEAL', 'IDEAL']],
  ['goes back to the choice, which the merchant cancels', ['IDEAL']],
] as const)(
  'a page that is paid after its customer %s is refunded by its own reference',
  async (_, types) => {
    const { paymentMethods: __, ...body } = hostedBody('IDEAL')
    const { body: session } = await gateway.call('POST', '/payments/sessions', body)
    const tried: string[] = []
    for (const type of types) {
      await choose(session._links.redirect.href, type)
      tried.push((await read(session.payId)).xId)
    }
    const [left = ''] = tried
    if (tried.length === 1) {
      provider.act(left, 'decline')
      await deliver()
    }
    // Earlier tries keep their amounts.
    await gateway.call('PATCH', `/payments/${session.payId}`, { amount: euros(600) })
    const cancelled = await gateway.call('POST', `/payments/${session.payId}/cancellations`, {})
    expect(cancelled.status).toBe(200)
    await tellPaid({ xId: left })
    await deliver()
    expect(await read(session.payId)).toMatchObject({
      status: 'REVERSED',
      amount: { value: 1000, authorizedValue: 1000, capturedValue: 1000, refundedValue: 1000 },
    })
    expect(provider.requests.findLast(({ operation }) => operation === 'REFUND')).toMatchObject({
      authorizationReference: left,
      authorizationTransactionId: `late_${left}`,
    })
  },
)

/** The notice of an approval arrives and is applied while the approval is being undone. */
async function undoneWhileTold(): Promise<void> {
  provider.beforeUndo = deliver
  clock.move(10 * 60 * secondMs)
  // Terminates, because the number of inquiries is limited.
  while ((await runTimers()) > 0);
  provider.beforeUndo = async () => undefined
}

test('an approval reported while it is being undone is released again', async () => {
  provider.arm('AUTHORIZATION', 'lostAfter')
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  expect(body.status).toBe('PENDING')
  await undoneWhileTold()
  expect(provider.ledger.find(({ reference }) => reference === body.xId)).toMatchObject({ state: 'undone' })
  expect(await read(body.payId)).toMatchObject({
    status: 'REVERSED',
    amount: { authorizedValue: 1000, reversedValue: 1000, capturedValue: 0 },
    operations: [{ type: 'AUTHORIZATION' }, { type: 'REVERSAL', status: 'OK' }],
  })
  expect(await eventsOf(body.payId)).toEqual(['payment.authorized', 'payment.reversed'])
})

test.each([
  ['captures', 'CAPTURE', { capturedValue: 0, refundedValue: 0 }],
  ['refunds', 'REFUND', { capturedValue: 1000, refundedValue: 0 }],
] as const)('what is told while it is undone has failed after all: %s', async (path, type, amount) => {
  const isCapture = type === 'CAPTURE'
  const captureMethod = { type: isCapture ? 'MANUAL' : 'AUTOMATIC' }
  const { body: paid } = await gateway.call('POST', '/payments', cardPayment({ captureMethod }))
  await deliver()
  provider.arm(type, 'lostAfter')
  const { body } = await gateway.call('POST', `/payments/${paid.payId}/${path}`, {
    transId: 'then',
    amount: euros(1000),
  })
  expect(body.status).toBe('PENDING')
  await undoneWhileTold()
  expect(provider.ledger.find(({ reference }) => reference === body.xId)).toMatchObject({ state: 'undone' })
  const record = await read(paid.payId)
  expect(record).toMatchObject({ status: isCapture ? 'AUTHORIZED' : 'OK', amount })
  expect(record.operations.at(-1)).toMatchObject({ type, status: 'FAILED' })
})

test('a payment that was captured while its approval was undone is left to an operator', async () => {
  provider.arm('AUTHORIZATION', 'lostAfter')
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  clock.move(10 * 60 * secondMs)
  provider.beforeUndo = async () => {
    await deliver()
    const captured = { transId: 'quick', amount: euros(1000) }
    await gateway.call('POST', `/payments/${body.payId}/captures`, captured)
    await deliver()
  }
  while ((await runTimers()) > 0);
  provider.beforeUndo = async () => undefined
  expect(await read(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  const alarms = gateway.logged.filter(line => line.includes('UNDONE_NOT_RECORDED'))
  expect(alarms.map(line => JSON.parse(line).payId)).toEqual([body.payId])
})
