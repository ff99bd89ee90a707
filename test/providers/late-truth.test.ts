/** What providers tell after the fact: taken back, done in their dashboard, sent back by a bank, paid too late. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { NoticeFact } from '#connectors/contract.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs, secondMs } from '#test/support/clock.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'
import { createLateProvider, type LateProvider } from '#test/support/late-provider.ts'
import { addProviderAccount } from '#test/support/provider-account.ts'

const word = 'a word that only the provider knows'
const clock = createTestClock()
let provider: LateProvider
let gateway: TestGateway
let accountId: string
let notices = 0

beforeAll(async () => {
  provider = createLateProvider()
  gateway = await startTestGateway({ clock, definitions: [provider.definition], requestsPerSecond: 10_000 })
  accountId = await addProviderAccount(gateway, provider.definition, { secrets: { word } })
})
afterAll(async () => {
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})
beforeEach(() => gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'return' }))

const euros = (value: number) => ({ value, currency: 'EUR' })
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const eventsOf = (payId: string) =>
  queryRows<{ type: string }>(
    gateway.databaseUrl,
    `SELECT body->>'type' AS type FROM event WHERE pay_id = '${payId}' ORDER BY sequence`,
  )

const runTimers = (): Promise<number> => gateway.gateway.timerWorker.runDue()

async function deliver(): Promise<void> {
  for (const body of provider.tell(word)) {
    await fetch(`${gateway.url}/providers/${accountId}/notices`, { method: 'POST', body })
  }
  await queryRows(gateway.databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
  await gateway.gateway.notices.runDue()
}

async function tell(fact: NoticeFact): Promise<void> {
  notices += 1
  provider.say({ key: `told-${notices}`, fact })
  await deliver()
}

async function captured(): Promise<{ payId: string; capture: string; authorization: string }> {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  await deliver()
  const record = await read(body.payId)
  expect(record.status).toBe('OK')
  const [authorization, capture] = record.operations as { xId: string }[]
  return { payId: body.payId, capture: capture?.xId ?? '', authorization: authorization?.xId ?? '' }
}

const named = (xId: string) => ({ reference: xId as never })

test('a capture that is taken back leaves an authorisation that can be captured again', async () => {
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
  // Told again, nothing changes.
  await tell(fact)
  const again = await gateway.call('POST', `/payments/${payId}/captures`, {
    transId: 'c',
    amount: euros(1000),
  })
  expect(again.status).toBe(200)
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  expect((await eventsOf(payId)).map(({ type }) => type)).toContain('capture.failed')
})

test('a refund that is taken back counts no longer', async () => {
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

const dollars = (value: number) => ({ value, currency: 'USD' })

/** Whether the last notice fitted something of ours. */
const lastState = async () =>
  (
    await queryRows<{ state: string }>(
      gateway.databaseUrl,
      `SELECT state FROM notice_item WHERE item_key = 'told-${notices}'`,
    )
  )[0]?.state

test.each([
  ['approved', 'in another currency', dollars(1000)],
  ['approved', 'of more', euros(1001)],
  ['declined', 'in another currency', dollars(1000)],
  ['declined', 'of less', euros(999)],
  ['pending', 'in another currency', dollars(1000)],
] as const)(
  'news that a payment is %s %s is not believed and stays in the inbox',
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

test('money that a bank sends back is a return, once', async () => {
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

const hostedBody = (type: string, more: Record<string, unknown> = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({
    urls: { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' },
    ...more,
  })
  return { ...body, paymentMethods: { integrationType: 'HOSTED', type } }
}

/** A page that was open until its payment expired. */
async function expired(type = 'IDEAL'): Promise<{ payId: string; xId: string; transId: string }> {
  const { body } = await gateway.call('POST', '/payments', hostedBody(type))
  clock.move(dayMs + secondMs)
  await runTimers()
  expect((await read(body.payId)).status).toBe('FAILED')
  return body
}

/** A page that is paid although its provider could not be told to end it. */
async function paidLate(): Promise<string> {
  const { payId, xId } = await expired()
  provider.payAnyway(xId)
  await deliver()
  await deliver()
  return payId
}

test('an approval after the end is given back by itself, and the payment ends REVERSED', async () => {
  const payId = await paidLate()
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { capturedValue: 1000, refundedValue: 1000 },
  })
  expect((await eventsOf(payId)).map(({ type }) => type)).toEqual([
    'payment.failed',
    'payment.paid_late',
    'refund.succeeded',
  ])
})

test('or kept, where the merchant wants that', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { paidLate: 'keep' })
  const payId = await paidLate()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue: 0 } })
})

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
  expect((await eventsOf(payId)).map(({ type }) => type)).toEqual([
    'payment.failed',
    'payment.paid_late',
    'capture.failed',
    ...then,
  ])
})

test('a late approval that is kept and not captured lapses at its end', async () => {
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
  'a transId that a newer payment holds: the late money is given back (%s)',
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
    expect((await eventsOf(payId)).map(({ type }) => type)).toEqual([
      'payment.failed',
      'payment.paid_late',
      'refund.succeeded',
    ])
    expect(await read(newer.body.payId)).toMatchObject({ status: 'OK', amount: { refundedValue: 0 } })
    const waiting = await queryRows(gateway.databaseUrl, "SELECT 1 FROM notice_item WHERE state = 'PENDING'")
    expect(waiting).toEqual([])
  },
)

test('an authorisation that comes too late is reversed, also under a transId that is taken', async () => {
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

test('an approval of a part only is undone and counts as declined', async () => {
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

test('a pending answer needs a person once the time that the connector declares is over', async () => {
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

test('a try that is paid although the payment went on with another one is undone', async () => {
  const { paymentMethods: _, ...body } = hostedBody('IDEAL')
  const { body: session } = await gateway.call('POST', '/payments/sessions', body)
  const choose = async () => {
    const html = await (await fetch(session._links.redirect.href)).text()
    const attempt = /name="attempt" value="(\d+)"/.exec(html)?.[1] ?? ''
    const form = new URLSearchParams({ attempt, type: 'IDEAL' })
    await fetch(session._links.redirect.href, { method: 'POST', body: form, redirect: 'manual' })
    return (await read(session.payId)).xId as string
  }
  const left = await choose()
  const paid = await choose()
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

test('what names nothing of ours changes nothing and stays in the inbox', async () => {
  await tell({
    kind: 'takenBack',
    operation: 'CAPTURE',
    subject: { transactionId: 'nobody' },
    detail: '0305',
  })
  const rows = await queryRows<{ state: string }>(
    gateway.databaseUrl,
    `SELECT state FROM notice_item WHERE item_key = 'told-${notices}'`,
  )
  expect(rows).toEqual([{ state: 'UNMATCHED' }])
})
