/** Notices after the fact: undone operations, dashboard operations, returned debits, and notices that match nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NoticeFact } from '#connectors/contract.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { type LateStage, openLateStage, word } from '#test/support/providers/late-stage.ts'

const clock = createTestClock()
let provider: LateStage['provider']
let gateway: LateStage['gateway']
let accountId: LateStage['accountId']
let read: LateStage['read']
let eventsOf: LateStage['eventsOf']
let deliver: LateStage['deliver']
let runTimers: LateStage['runTimers']
let tell: LateStage['tell']
let lastState: LateStage['lastState']

beforeAll(async () => {
  ;({ provider, gateway, accountId, read, eventsOf, deliver, runTimers, tell, lastState } =
    await openLateStage({
      clock,
    }))
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const euros = (value: number) => ({ value, currency: 'EUR' })
const dollars = (value: number) => ({ value, currency: 'USD' })

async function captured(change = {}): Promise<{ payId: string; capture: string; authorization: string }> {
  const { body } = await gateway.call('POST', '/payments', cardPayment(change))
  await deliver()
  const record = await read(body.payId)
  expect(record.status).toBe('OK')
  const [authorization, capture] = record.operations as { xId: string }[]
  return { payId: body.payId, capture: capture?.xId ?? '', authorization: authorization?.xId ?? '' }
}

const named = (xId: string) => ({ reference: xId as never })

test('an undone capture leaves an authorisation that can be captured again', async () => {
  const { payId, capture } = await captured()
  const fact: NoticeFact = {
    kind: 'takenBack',
    operation: 'CAPTURE',
    subject: named(capture),
    detail: '0305',
  }
  await tell(fact)
  expect(await read(payId)).toMatchObject({
    status: 'AUTHORIZED',
    amount: { capturedValue: 0 },
    operations: [{ status: 'OK' }, { type: 'CAPTURE', status: 'FAILED' }],
  })
  // A repeated notice changes nothing.
  await tell(fact)
  const again = await gateway.call('POST', `/payments/${payId}/captures`, {
    transId: 'c',
    amount: euros(1000),
  })
  expect(again.status).toBe(200)
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expect(await eventsOf(payId)).toContain('capture.failed')
})

test('an authorisation that is open again after an undone capture lapses', async () => {
  const { payId, capture } = await captured()
  await tell({ kind: 'takenBack', operation: 'CAPTURE', subject: named(capture), detail: '0305' })
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  clock.move(400 * dayMs)
  await runTimers()
  expect(await read(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
})

test('an undone refund no longer counts', async () => {
  const { payId } = await captured()
  const { body } = await gateway.call('POST', `/payments/${payId}/refunds`, {
    transId: 'r',
    amount: euros(400),
  })
  await deliver()
  expect((await read(payId)).amount.refundedValue).toBe(400)
  await tell({ kind: 'takenBack', operation: 'REFUND', subject: named(body.xId), detail: '0305' })
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
})

test('a refund made in the dashboard is recorded once, as the provider’s', async () => {
  const { payId, authorization } = await captured()
  const fact: NoticeFact = {
    kind: 'outcome',
    operation: 'REFUND',
    subject: { transactionId: `dash-${payId}`, paymentTransactionId: `late_${authorization}` },
    amount: euros(250),
    outcome: {
      kind: 'approved',
      provider: {
        echo: { reference: authorization as never, amount: euros(250) },
        transactionId: `dash-${payId}`,
      },
    },
  }
  await tell(fact)
  await tell(fact)
  const record = await read(payId)
  expect(record.amount.refundedValue).toBe(250)
  expect(record.operations).toMatchObject([{}, {}, { type: 'REFUND', origin: 'PROVIDER', status: 'OK' }])
  expect(record.operations).toHaveLength(3)
})

test('a dashboard refund larger than any capture is recorded, and may be undone', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await deliver()
  const { payId } = body
  for (const value of [400, 600]) {
    await gateway.call('POST', `/payments/${payId}/captures`, { transId: `c${value}`, amount: euros(value) })
    await deliver()
  }
  const transactionId = `whole-${payId}`
  const subject = { transactionId, paymentTransactionId: `late_${body.xId}` }
  const echo = { reference: body.xId, amount: euros(900) }
  const refund = { operation: 'REFUND', subject, amount: euros(900) } as const
  await tell({ kind: 'outcome', ...refund, outcome: { kind: 'approved', provider: { echo, transactionId } } })
  expect(await read(payId)).toMatchObject({ amount: { capturedValue: 1000, refundedValue: 900 } })
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  const more = { transId: 'more', amount: euros(101) }
  expect((await gateway.call('POST', `/payments/${payId}/refunds`, more)).body.responseCode).toMatch(/^2020/)
  await tell({ kind: 'takenBack', ...refund, detail: '0305' })
  expect(await read(payId)).toMatchObject({ amount: { refundedValue: 0 } })
})

/** A capture that somebody made in the provider's dashboard, as its notice reports it. */
const capturedThere = (xId: string, value: number): NoticeFact => {
  const transactionId = `dash-capture-${value}-${xId}`
  const amount = euros(value)
  return {
    kind: 'outcome',
    operation: 'CAPTURE',
    subject: { transactionId, paymentTransactionId: `late_${xId}` },
    amount,
    outcome: { kind: 'approved', provider: { echo: { reference: xId as never, amount }, transactionId } },
  }
}

async function authorized(change = {}): Promise<{ payId: string; xId: string }> {
  const request = cardPayment({ captureMethod: { type: 'MANUAL' }, ...change })
  const { payId, xId } = (await gateway.call('POST', '/payments', request)).body
  await deliver()
  expect((await read(payId)).status).toBe('AUTHORIZED')
  return { payId, xId }
}

async function lapseAll(): Promise<void> {
  clock.move(400 * dayMs)
  await runTimers()
}

test.each([
  ['all', 0, 1000, 'OK'],
  ['a part', 0, 600, 'OK'],
  ['what our capture left', 400, 600, 'OK'],
] as const)(
  'a dashboard capture of %s is recorded even after our lapse, and once',
  async (_, ours, theirs, status) => {
    const { payId, xId } = await authorized()
    if (ours > 0)
      await gateway.call('POST', `/payments/${payId}/captures`, { transId: 'c', amount: euros(ours) })
    await deliver()
    await lapseAll()
    expect((await read(payId)).amount).toMatchObject({ capturedValue: ours, reversedValue: 1000 - ours })
    await tell(capturedThere(xId, theirs))
    expect(await lastState()).toBe('APPLIED')
    await tell(capturedThere(xId, theirs))
    expect(await lastState()).toBe('REPEATED')
    const record = await read(payId)
    expect(record).toMatchObject({
      status,
      amount: { capturedValue: ours + theirs, reversedValue: 1000 - ours - theirs },
    })
    expect(record.operations.at(-1)).toMatchObject({ type: 'CAPTURE', origin: 'PROVIDER', status: 'OK' })
    const { body } = await gateway.call('POST', `/payments/${payId}/refunds`, {
      transId: 'back',
      amount: euros(theirs),
    })
    await deliver()
    expect(body.status).not.toBe('FAILED')
    expect((await read(payId)).amount).toMatchObject({ refundedValue: theirs })
  },
)

test('a dashboard capture of what was reversed is not booked', async () => {
  const { payId, xId } = await authorized()
  await gateway.call('POST', `/payments/${payId}/reversals`, { transId: 'rev', amount: euros(1000) })
  await deliver()
  expect((await read(payId)).status).toBe('REVERSED')
  await tell(capturedThere(xId, 1000))
  expect(await lastState()).toBe('UNMATCHED')
  expect((await read(payId)).amount).toMatchObject({ capturedValue: 0, reversedValue: 1000 })
})

test('a dashboard capture after our lapse needs a person if another payment has taken the transId', async () => {
  const transId = 'taken-after-a-lapse'
  const { payId, xId } = await authorized({ transId })
  await lapseAll()
  await captured({ transId })
  const alarms = () => gateway.logged.filter(line => line.includes('PAID_TWICE')).length
  const before = alarms()
  await tell(capturedThere(xId, 1000))
  expect(await lastState()).toBe('UNMATCHED')
  await deliver()
  expect(alarms()).toBe(before + 1)
  expect((await read(payId)).status).toBe('REVERSED')
})

test.each([
  ['approved', 'in another currency', dollars(1000)],
  ['approved', 'of more', euros(1001)],
  ['declined', 'in another currency', dollars(1000)],
  ['declined', 'of less', euros(999)],
  ['pending', 'in another currency', dollars(1000)],
] as const)(
  'a notice that a payment is %s %s is not trusted and stays in the inbox',
  async (kind, _, amount) => {
    const { body } = await gateway.call('POST', '/payments', cardPayment())
    const genuine = provider.tell(word)
    const facts = { echo: { reference: body.xId, amount }, transactionId: `other-${body.payId}` }
    await tell({
      kind: 'outcome',
      operation: 'AUTHORIZATION',
      subject: named(body.xId),
      amount,
      outcome: kind === 'declined' ? { kind, detail: '0305', provider: facts } : { kind, provider: facts },
    })
    expect(await lastState()).toBe('UNMATCHED')
    expect((await read(body.payId)).status).toBe('PENDING')
    for (const message of genuine) {
      await fetch(`${gateway.url}/providers/${accountId}/notices`, { method: 'POST', body: message })
    }
    await deliver()
    expect(await read(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  },
)

test.each([
  ['that is not ours', async () => 'f'.repeat(32)],
  ['of another payment', async () => (await gateway.call('POST', '/payments', cardPayment())).body.xId],
])('an approval under a reference %s is not believed, whatever id it names', async (_, other) => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const genuine = provider.tell(word)
  const reference = (await other()) as never
  const transactionId = `late_${body.xId}`
  await tell({
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: { reference, transactionId },
    amount: euros(1000),
    outcome: { kind: 'approved', provider: { echo: { reference, amount: euros(1000) }, transactionId } },
  })
  expect(await lastState()).toBe('UNMATCHED')
  expect((await read(body.payId)).status).toBe('PENDING')
  for (const message of genuine) {
    await fetch(`${gateway.url}/providers/${accountId}/notices`, { method: 'POST', body: message })
  }
  await deliver()
  expect((await read(body.payId)).status).toBe('OK')
})

test.each([
  ['in another currency', dollars(1000)],
  ['of another amount', euros(999)],
])('a capture that is taken back %s stays', async (_, amount) => {
  const { payId, capture } = await captured()
  await tell({ kind: 'takenBack', operation: 'CAPTURE', subject: named(capture), amount, detail: '0305' })
  expect(await lastState()).toBe('UNMATCHED')
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('a decline of an earlier try that arrives after the approval reverses nothing', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await deliver()
  expect((await read(body.payId)).status).toBe('AUTHORIZED')
  const echo = { reference: body.xId, amount: euros(1000) }
  await tell({
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: named(body.xId),
    amount: euros(1000),
    outcome: { kind: 'declined', detail: '0305', provider: { echo, transactionId: 'an earlier try' } },
  })
  expect(await lastState()).toBe('REPEATED')
  expect(await read(body.payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 0 } })
})

test('a refund or a return in another currency is not booked as ours', async () => {
  const { payId, authorization, capture } = await captured()
  const transactionId = `foreign-${payId}`
  await tell({
    kind: 'outcome',
    operation: 'REFUND',
    subject: { transactionId, paymentTransactionId: `late_${authorization}` },
    amount: dollars(250),
    outcome: {
      kind: 'approved',
      provider: { echo: { reference: authorization as never, amount: dollars(250) }, transactionId },
    },
  })
  expect(await lastState()).toBe('UNMATCHED')
  await tell({
    kind: 'return',
    subject: named(capture),
    amount: dollars(1000),
    detail: '0305',
    transactionId: `${transactionId}-return`,
  })
  expect(await lastState()).toBe('UNMATCHED')
  expect((await read(payId)).amount).toMatchObject({
    capturedValue: 1000,
    refundedValue: 0,
    returnedValue: 0,
  })
})

test('money that a bank takes back is a return, once', async () => {
  const { payId, capture } = await captured()
  const fact: NoticeFact = {
    kind: 'return',
    subject: named(capture),
    amount: euros(1000),
    detail: '0351',
    transactionId: `ret-${payId}`,
  }
  await tell(fact)
  await tell(fact)
  const record = await read(payId)
  expect(record).toMatchObject({ status: 'OK', amount: { returnedValue: 1000, refundedValue: 0 } })
  expect(record.operations).toHaveLength(3)
})

// The bank takes back the amount it names, even after a refund. If no capture is named, it must be a whole capture or
// its rest.
test.each([
  ['the whole debit after a refund of 300, named by the capture', 300, 1000, 1000, 'capture'],
  ['the whole debit after a refund of 300, named by the payment', 300, 1000, 1000, 'payment'],
  ['the rest after a refund of 300, named by the capture', 300, 700, 700, 'capture'],
  ['the rest after a refund of 300, named by the payment', 300, 700, 700, 'payment'],
  ['an amount that is neither, named by the payment', 0, 400, 0, 'payment'],
])('a return counts what the bank took: %s', async (_, refunded, told, returned, name) => {
  const { payId, authorization, capture } = await captured()
  if (refunded > 0)
    await gateway.call('POST', `/payments/${payId}/refunds`, { transId: 'part', amount: euros(refunded) })
  for (const transactionId of [`ret-${payId}`, `ret-${payId}`, `another-${payId}`])
    await tell({
      kind: 'return',
      subject: name === 'capture' ? named(capture) : { paymentTransactionId: `late_${authorization}` },
      amount: euros(told),
      detail: '0351',
      transactionId,
    })
  expect(await lastState()).toBe('UNMATCHED')
  expect((await read(payId)).amount).toMatchObject({
    capturedValue: 1000,
    refundedValue: refunded,
    returnedValue: returned,
  })
})

test('a bank takes back the named amount, even after a partial refund, but never more than was captured', async () => {
  const { payId, capture } = await captured()
  const refund = { transId: 'r', amount: euros(400) }
  await gateway.call('POST', `/payments/${payId}/refunds`, refund)
  await deliver()
  const back = (value: number, xId = capture): NoticeFact => ({
    ...{ kind: 'return', subject: named(xId), amount: euros(value), detail: '0351' },
    transactionId: `ret-${value}-${payId}`,
  })
  await tell(back(1001))
  expect(await lastState()).toBe('UNMATCHED')
  await tell(back(1000))
  expect(await read(payId)).toMatchObject({ amount: { refundedValue: 400, returnedValue: 1000 } })
  const parts = await captured()
  await tell(back(400, parts.capture))
  expect((await read(parts.payId)).amount.returnedValue).toBe(400)
})

test('a notice that matches nothing changes nothing and stays in the inbox', async () => {
  await tell({
    kind: 'takenBack',
    operation: 'CAPTURE',
    subject: { transactionId: 'nobody' },
    detail: '0305',
  })
  expect(await lastState()).toBe('UNMATCHED')
})
