/**
 * Stripe's notices of events that we did not cause: refunds, captures and cancellations in the dashboard, disputes, and
 * debits that are paid or returned days later. In every case both books agree.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { openStripeShop, type StripeShop } from '#test/support/stripe/account.ts'
import {
  deliverTo,
  expectSameBooksAt,
  type Manner,
  orderBy as order,
  readRecord,
} from '#test/support/stripe/orders.ts'

/** Stripe's own deadlines are real time, so this clock begins there. */
const clock = createTestClock(Date.now())
let shop: StripeShop
/** A shop whose account allows raw cards. */
let direct: StripeShop
beforeAll(async () => {
  shop = await openStripeShop({ clock, requestsPerSecond: 10_000 })
  direct = await openStripeShop({ clock, settings: { rawCards: 'true' }, requestsPerSecond: 10_000 })
})
afterAll(async () => {
  clock.move(60 * secondMs)
  for (const { gateway } of [shop, direct]) {
    // The last inquiry about an ended page finds nothing to do.
    await gateway.gateway.timerWorker.runDue()
    // An undone operation rightly has a second event.
    const { 'an operation is told of once': _, ...broken } = await findBrokenRules(gateway.databaseUrl)
    expect(broken).toEqual({})
  }
  await shop.stop()
  await direct.stop()
})

const read = (payId: string, of: StripeShop = shop) => readRecord(of, payId)
const deliver = (manner?: Manner, to: StripeShop = shop) => deliverTo(to, manner)
const expectSameBooks = (payId: string, of: StripeShop = shop) => expectSameBooksAt(of, payId)
let mandates = 0

describe('notices of events in the dashboard', () => {
  const pay = async (more: Record<string, unknown> = {}) => {
    const { body } = await direct.gateway.call('POST', '/payments', cardPayment(more))
    const record = await read(body.payId, direct)
    await deliver('in order', direct)
    return {
      payId: body.payId as string,
      intentId: record.paymentMethods.card.providerTransactionId as string,
    }
  }

  test('a refund in the dashboard is recorded, and may fail later', async () => {
    const { payId, intentId } = await pay()
    const refund = direct.double.books.refund({ payment_intent: intentId, amount: '300' })
    const before = direct.double.calls.length
    await deliver('twice', direct)
    // The payment was captured in full, so the event can only be a refund, and no call is needed.
    expect(direct.double.calls.slice(before)).toEqual([])
    const record = await read(payId, direct)
    expect(record.amount.refundedValue).toBe(300)
    expect(record.operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'OK', origin: 'PROVIDER' })
    direct.double.books.moveRefund(refund.id, 'failed', 'lost_or_stolen_card')
    await deliver('in order', direct)
    expect((await read(payId, direct)).operations.at(-1)).toMatchObject({ type: 'REFUND', status: 'FAILED' })
    await expectSameBooks(payId, direct)
  })

  // Endpoints of API versions before 2022-11-15 name the refunds in the event of their charge, the later ones do not.
  test.each(['alone', 'before the refund’s own event', 'after it'])(
    'a dashboard refund reported by its charge is recorded once: %s',
    async place => {
      const { payId, intentId } = await pay()
      const { double, noticeUrl } = direct
      const failed = {
        id: 're_failed',
        payment_intent: intentId,
        amount: 200,
        currency: 'eur',
        status: 'failed',
      }
      const made = double.books.showRefund(double.books.refund({ payment_intent: intentId, amount: '300' }))
      const [own] = double.takeEvents()
      const charge = { id: 'ch_1', payment_intent: intentId, amount_refunded: 300, currency: 'eur' }
      const toldBy = (refunds: unknown): string =>
        JSON.stringify({
          ...{ id: double.books.newId('evt'), object: 'event', type: 'charge.refunded', livemode: false },
          data: { object: { ...charge, refunds }, previous_attributes: { amount_refunded: 0 } },
        })
      const byCharge = [toldBy(null), toldBy({ data: [failed, made] })]
      const payloads = {
        alone: byCharge,
        'before the refund’s own event': [...byCharge, own?.payload ?? ''],
        'after it': [own?.payload ?? '', ...byCharge],
      }[place]
      for (const payload of payloads ?? []) expect(await double.send(noticeUrl, payload)).toBe(200)
      await deliver('in order', direct)
      const { amount, operations } = await read(payId, direct)
      expect(amount.refundedValue).toBe(300)
      expect(operations.filter(({ type }: AnyJson) => type === 'REFUND')).toMatchObject([
        { status: 'OK', origin: 'PROVIDER' },
      ])
    },
  )

  // API versions from 2022-11-15 on.
  test.each(['alone', 'before the refunds’ own events', 'after them'])(
    'dashboard refunds that their charge does not list are fetched and recorded once: %s',
    async place => {
      const { payId, intentId } = await pay()
      const { double, noticeUrl } = direct
      for (const amount of ['300', '200']) double.books.refund({ payment_intent: intentId, amount })
      const own = double.takeEvents().map(({ payload }) => payload)
      const charge = { id: 'ch_1', payment_intent: intentId, amount_refunded: 500, currency: 'eur' }
      const told = JSON.stringify({
        ...{ id: double.books.newId('evt'), object: 'event', type: 'charge.refunded', livemode: false },
        data: { object: charge, previous_attributes: { amount_refunded: 300 } },
      })
      const payloads = {
        alone: [told],
        'before the refunds’ own events': [told, ...own],
        'after them': [...own, told],
      }[place]
      for (const payload of payloads ?? []) expect(await double.send(noticeUrl, payload)).toBe(200)
      await deliver('in order', direct)
      const { amount, operations } = await read(payId, direct)
      expect(amount.refundedValue).toBe(500)
      expect(operations.filter(({ type }: AnyJson) => type === 'REFUND')).toHaveLength(2)
      await expectSameBooks(payId, direct)
    },
  )

  // Stripe lists the rest that a partial capture has released as a refund, even if the charge lists its refunds.
  test.each(['by its charge alone', 'with the refunds in it'])(
    'the rest released by a partial capture is not booked as a refund when one is made in the dashboard: %s',
    async how => {
      const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
      const { double, noticeUrl, gateway } = direct
      await gateway.call('POST', `/payments/${payId}/captures`, {
        transId: 'part',
        amount: { value: 600, currency: 'EUR' },
        captureMethod: { manual: { final: true } },
      })
      await deliver('in order', direct)
      double.books.refund({ payment_intent: intentId, amount: '100' })
      double.takeEvents()
      const all = [...double.books.refunds.values()].filter(({ intent }) => intent.id === intentId)
      expect(all.map(({ amount }) => amount)).toEqual([400, 100])
      const charge = double.books.showCharge(double.books.findIntent(intentId))
      expect(charge).toMatchObject({ amount: 1000, amount_captured: 600, amount_refunded: 500 })
      const refunds = { data: all.map(one => double.books.showRefund(one)) }
      const told = JSON.stringify({
        ...{ id: double.books.newId('evt'), object: 'event', type: 'charge.refunded', livemode: false },
        data: { object: how === 'with the refunds in it' ? { ...charge, refunds } : charge },
      })
      expect(await double.send(noticeUrl, told)).toBe(200)
      await deliver('in order', direct)
      expect((await read(payId, direct)).amount).toMatchObject({
        capturedValue: 600,
        reversedValue: 400,
        refundedValue: 100,
      })
      await expectSameBooks(payId, direct)
    },
  )

  test('a cancellation in the dashboard is not booked as a refund, although Stripe lists it as one', async () => {
    const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
    const { double, noticeUrl } = direct
    double.books.cancel(intentId, {})
    const charge = double.books.showCharge(double.books.findIntent(intentId))
    expect(charge).toMatchObject({ amount_captured: 0, amount_refunded: 1000 })
    const told = JSON.stringify({
      ...{ id: double.books.newId('evt'), object: 'event', type: 'charge.refunded', livemode: false },
      data: { object: charge },
    })
    expect(await double.send(noticeUrl, told)).toBe(200)
    await deliver('in order', direct)
    expect((await read(payId, direct)).amount).toMatchObject({ reversedValue: 1000, refundedValue: 0 })
    const left = await queryRows(
      direct.gateway.databaseUrl,
      "SELECT item_key FROM notice_item WHERE state = 'UNMATCHED'",
    )
    expect(left).toEqual([])
  })

  test('a refund of ours that fails later becomes FAILED', async () => {
    const { payId } = await pay()
    const refund = await direct.gateway.call('POST', `/payments/${payId}/refunds`, {
      transId: 'r',
      amount: { value: 400, currency: 'EUR' },
    })
    expect(refund.status).toBe(200)
    const [refundId = ''] = [...direct.double.books.refunds.keys()].slice(-1)
    direct.double.books.moveRefund(refundId, 'failed')
    await deliver('reversed', direct)
    expect((await read(payId, direct)).amount.refundedValue).toBe(0)
    await expectSameBooks(payId, direct)
    // The older notice, which came last, needs no operator.
    const left = await queryRows(
      direct.gateway.databaseUrl,
      "SELECT item_key FROM notice_item WHERE state = 'UNMATCHED'",
    )
    expect(left).toEqual([])
    expect(direct.gateway.logged.filter(line => line.includes('PAID_TWICE'))).toEqual([])
  })

  test('an authorisation that expires at Stripe lapses, as by our own clock', async () => {
    const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
    direct.double.books.cancel(intentId, { cancellation_reason: 'automatic' })
    await deliver('twice', direct)
    const record = await read(payId, direct)
    expect(record).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000, capturedValue: 0 } })
    expect(record.operations.map(({ type }: AnyJson) => type)).toEqual(['AUTHORIZATION'])
    const types = `SELECT body->>'type' AS type FROM event WHERE pay_id = '${payId}'`
    expect(await queryRows(direct.gateway.databaseUrl, types)).toEqual([{ type: 'payment.lapsed' }])
  })

  test('a cancellation in the dashboard is recorded although its notice does not name the charge', async () => {
    const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
    const { double, noticeUrl } = direct
    const cancelled = double.books.showIntent(double.books.cancel(intentId, {}))
    double.takeEvents()
    const object = { ...cancelled, latest_charge: null }
    for (const id of ['evt_nameless_1', 'evt_nameless_2']) {
      const payload = JSON.stringify({
        id,
        type: 'payment_intent.canceled',
        livemode: false,
        data: { object },
      })
      expect(await double.send(noticeUrl, payload)).toBe(200)
    }
    await direct.gateway.gateway.notices.runDue()
    const record = await read(payId, direct)
    expect(record).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
    expect(record.operations.slice(1)).toMatchObject([{ type: 'REVERSAL', origin: 'PROVIDER' }])
    await expectSameBooks(payId, direct)
  })

  test('an approval that is told after its cancellation is not taken for a payment', async () => {
    const { double, noticeUrl } = direct
    double.arm('POST', /payment_intents$/, 'lost after')
    const request = cardPayment({ captureMethod: { type: 'MANUAL' } })
    const { body } = await direct.gateway.call('POST', '/payments', request)
    expect(body.status).toBe('PENDING')
    const [approval] = double.takeEvents()
    const intent = [...double.books.intents.values()].at(-1)
    const cancelled = double.books.showIntent(double.books.cancel(intent?.id ?? '', {}))
    double.takeEvents()
    const object = { ...cancelled, latest_charge: null }
    const data = { id: 'evt_nameless_3', type: 'payment_intent.canceled', livemode: false, data: { object } }
    for (const payload of [JSON.stringify(data), approval?.payload ?? ''])
      expect(await double.send(noticeUrl, payload)).toBe(200)
    await direct.gateway.gateway.notices.runDue()
    const record = await read(body.payId, direct)
    expect(record).toMatchObject({ status: 'FAILED', amount: { authorizedValue: 0 } })
    expect(record.operations).toHaveLength(1)
  })

  test.each(['MANUAL', 'AUTOMATIC'])(
    'a declined try that is told after the approval of the same intent reverses nothing: captured %s',
    async type => {
      const { payId, intentId } = await pay({ captureMethod: { type } })
      const { double, noticeUrl } = direct
      const intent = double.books.intents.get(intentId)
      const object = {
        ...(intent && double.books.showIntent(intent)),
        ...{ status: 'requires_payment_method', latest_charge: null, amount_received: 0 },
        last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds' },
      }
      double.takeEvents()
      const id = `evt_declined_before_${type}`
      const told = { id, type: 'payment_intent.payment_failed', livemode: false, data: { object } }
      const before = await read(payId, direct)
      expect(await double.send(noticeUrl, JSON.stringify(told))).toBe(200)
      await direct.gateway.gateway.notices.runDue()
      expect(await read(payId, direct)).toEqual(before)
      await expectSameBooks(payId, direct)
    },
  )

  test('a capture and a cancellation in the dashboard are recorded', async () => {
    const manual = { captureMethod: { type: 'MANUAL' } }
    const captured = await pay(manual)
    direct.double.books.capture(captured.intentId, { amount_to_capture: '1000' })
    const cancelled = await pay(manual)
    direct.double.books.cancel(cancelled.intentId, {})
    await deliver('twice', direct)
    expect(await read(captured.payId, direct)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 1000 },
    })
    expect(await read(cancelled.payId, direct)).toMatchObject({
      status: 'REVERSED',
      amount: { reversedValue: 1000 },
    })
    await expectSameBooks(captured.payId, direct)
    await expectSameBooks(cancelled.payId, direct)
  })

  test.each(['in order', 'reversed', 'twice'] as const)(
    'a partial capture in the dashboard releases the rest, notices %s',
    async manner => {
      const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
      direct.double.books.capture(intentId, { amount_to_capture: '600' })
      await deliver(manner, direct)
      expect(await read(payId, direct)).toMatchObject({
        status: 'OK',
        amount: { capturedValue: 600, reversedValue: 400 },
      })
      await expectSameBooks(payId, direct)
    },
  )

  test.each(['in order', 'reversed', 'twice'] as const)(
    'the rest after our own first capture is captured in the dashboard, notices %s',
    async manner => {
      const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
      const first = { transId: 'first', amount: { value: 400, currency: 'EUR' } }
      await direct.gateway.call('POST', `/payments/${payId}/captures`, first)
      direct.double.books.capture(intentId, { amount_to_capture: '600' })
      await deliver(manner, direct)
      const record = await read(payId, direct)
      expect(record).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
      expect(record.operations.at(-1)).toMatchObject({
        ...{ type: 'CAPTURE', status: 'OK', origin: 'PROVIDER' },
        amount: { value: 600 },
      })
      await expectSameBooks(payId, direct)
    },
  )

  test('a capture in the dashboard is recorded from the notice of the intent alone', async () => {
    const { payId, intentId } = await pay({ captureMethod: { type: 'MANUAL' } })
    direct.double.books.capture(intentId, { amount_to_capture: '700' })
    const [whole] = direct.double.takeEvents().filter(({ payload }) => payload.includes('intent.succeeded'))
    await direct.double.send(direct.noticeUrl, whole?.payload ?? '')
    await direct.gateway.gateway.notices.runDue()
    expect(await read(payId, direct)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 700, reversedValue: 300 },
    })
    await expectSameBooks(payId, direct)
  })

  test('a notice without our key is not taken for a dashboard capture while ours has no answer', async () => {
    const { payId } = await pay({ captureMethod: { type: 'MANUAL' } })
    direct.double.arm('POST', /\/capture$/, 'lost after')
    const ours = { transId: 'ours', amount: { value: 1000, currency: 'EUR' } }
    const { body } = await direct.gateway.call('POST', `/payments/${payId}/captures`, ours)
    expect(body.status).toBe('PENDING')
    for (const { payload } of direct.double.takeEvents()) {
      const keyless = JSON.stringify({ ...JSON.parse(payload), request: { id: null, idempotency_key: null } })
      expect(await direct.double.send(direct.noticeUrl, keyless)).toBe(200)
    }
    await direct.gateway.gateway.notices.runDue()
    clock.move(10 * secondMs)
    await direct.gateway.gateway.timerWorker.runDue()
    await direct.gateway.gateway.notices.runDue()
    const record = await read(payId, direct)
    expect(record.operations.map(({ type, status }: AnyJson) => [type, status])).toEqual([
      ['AUTHORIZATION', 'AUTHORIZED'],
      ['CAPTURE', 'OK'],
    ])
    await expectSameBooks(payId, direct)
  })

  test('notices of our own last capture change nothing', async () => {
    const { payId } = await pay({ captureMethod: { type: 'MANUAL' } })
    const last = { amount: { value: 600, currency: 'EUR' }, captureMethod: { manual: { final: true } } }
    await direct.gateway.call('POST', `/payments/${payId}/captures`, { transId: 'last', ...last })
    const before = await read(payId, direct)
    expect(before.amount).toMatchObject({ capturedValue: 600, reversedValue: 400 })
    await deliver('reversed', direct)
    const after = await read(payId, direct)
    expect([after.amount, after.operations]).toEqual([before.amount, before.operations])
  })

  test('notices of our own captures, refunds and reversals change nothing, in any order', async () => {
    const { payId } = await pay({ captureMethod: { type: 'MANUAL' } })
    for (const [path, value] of [
      ['captures', 400],
      ['captures', 300],
      ['refunds', 200],
    ] as const) {
      await direct.gateway.call('POST', `/payments/${payId}/${path}`, {
        transId: path,
        amount: { value, currency: 'EUR' },
      })
    }
    const before = await read(payId, direct)
    await deliver('reversed', direct)
    const after = await read(payId, direct)
    expect(after.amount).toEqual(before.amount)
    expect(after.operations).toHaveLength(before.operations.length)
    await expectSameBooks(payId, direct)
  })
})

describe('a dispute', () => {
  const dispute = async (status?: string) => {
    const { body } = await direct.gateway.call('POST', '/payments', cardPayment())
    const { paymentMethods } = await read(body.payId, direct)
    await deliver('in order', direct)
    const opened = direct.double.books.dispute(
      paymentMethods.card.providerTransactionId,
      'fraudulent',
      status,
    )
    await deliver('twice', direct)
    const { body: list } = await direct.gateway.call('GET', `/disputes?payId=${body.payId}`)
    return {
      payId: body.payId as string,
      providerDisputeId: opened.id,
      list: list.disputes ?? list.data ?? list,
    }
  }

  test('is opened, answered with evidence and won', async () => {
    const { payId, providerDisputeId, list } = await dispute()
    expect(list).toHaveLength(1)
    expect(list[0]).toMatchObject({
      providerDisputeId,
      stage: 'CHARGEBACK',
      status: 'OPEN',
      reasonGroup: 'FRAUD',
      reasonCode: '10.4',
    })
    expect((await read(payId, direct)).amount.disputedValue).toBe(1000)
    const files = [
      { name: 'proof.pdf', type: 'application/pdf', content: Buffer.from('%PDF-1.7').toString('base64') },
    ]
    const sent = await direct.gateway.call('POST', `/disputes/${list[0].disputeId}/evidence`, {
      text: 'Delivered.',
      files,
    })
    expect(sent.status).toBe(200)
    expect(direct.double.calls.slice(-2).map(({ path }) => path)).toEqual([
      '/v1/files',
      `/v1/disputes/${providerDisputeId}`,
    ])
    direct.double.books.moveDispute(providerDisputeId, 'won')
    await deliver('reversed', direct)
    expect((await direct.gateway.call('GET', `/disputes/${list[0].disputeId}`)).body.status).toBe('WON')
    expect((await read(payId, direct)).amount.disputedValue).toBe(0)
  })

  test('ends before the answer to its evidence is known, and the evidence is stored', async () => {
    const { providerDisputeId, list } = await dispute()
    const path = `/disputes/${list[0].disputeId}/evidence`
    direct.double.arm('POST', /\/disputes\//, 'lost after')
    expect((await direct.gateway.call('POST', path, { text: 'Delivered.' })).status).toBe(503)
    direct.double.books.moveDispute(providerDisputeId, 'won')
    await deliver('in order', direct)
    expect((await direct.gateway.call('POST', path, { text: 'Delivered.' })).status).toBe(422)
    const files = 'SELECT name FROM dispute_file WHERE dispute_id = $1'
    const stored = await queryRows(direct.gateway.databaseUrl, files, [list[0].disputeId])
    expect(stored).toEqual([{ name: 'text' }])
  })

  test.each(['won', 'lost'])('is lost, appealed, and %s in the appeal', async end => {
    const { payId, list } = await dispute()
    const { providerDisputeId, disputeId } = list[0]
    for (const status of ['lost', 'appeal_needs_response', 'appeal_under_review', end]) {
      const type = /^appeal/.test(status) ? 'charge.dispute.updated' : 'charge.dispute.closed'
      direct.double.books.moveDispute(providerDisputeId, status, type)
      await deliver('twice', direct)
    }
    const { body } = await direct.gateway.call('GET', `/disputes/${disputeId}`)
    expect(body).toMatchObject({ stage: 'PRE_ARBITRATION', status: end.toUpperCase() })
    expect((await read(payId, direct)).amount.disputedValue).toBe(end === 'won' ? 0 : 1000)
  })

  test('is accepted, and the money is lost', async () => {
    const { payId, list } = await dispute()
    expect((await direct.gateway.call('POST', `/disputes/${list[0].disputeId}/accept`, {})).status).toBe(200)
    await deliver('in order', direct)
    expect(['ACCEPTED', 'LOST']).toContain(
      (await direct.gateway.call('GET', `/disputes/${list[0].disputeId}`)).body.status,
    )
    expect((await read(payId, direct)).amount.disputedValue).toBe(1000)
    const refund = await direct.gateway.call('POST', `/payments/${payId}/refunds`, {
      transId: 'r',
      amount: { value: 1, currency: 'EUR' },
    })
    expect([refund.status, refund.body.responseCode]).toEqual([422, '20200017'])
  })
})

test('a dispute of a pay-later payment, whose method Stripe does not name, is no return', async () => {
  const amount = { value: 10_000, currency: 'USD' }
  const paymentMethods = { integrationType: 'HOSTED', type: 'AFFIRM' }
  const { body } = await shop.gateway.call('POST', '/payments', order('AFFIRM', { amount, paymentMethods }))
  const [sessionId = ''] = [...shop.double.books.sessions.keys()].slice(-1)
  const { intent } = shop.double.books.payOnPage(sessionId)
  await deliver()
  const opened = shop.double.books.dispute(intent?.id ?? '', 'product_not_received')
  await deliver('twice')
  const ofPayment = async () => (await shop.gateway.call('GET', `/disputes?payId=${body.payId}`)).body.data
  expect(await ofPayment()).toMatchObject([{ providerDisputeId: opened.id, status: 'OPEN' }])
  expect((await read(body.payId)).amount).toMatchObject({ returnedValue: 0, disputedValue: 10_000 })
  shop.double.books.moveDispute(opened.id, 'won')
  await deliver()
  expect(await ofPayment()).toMatchObject([{ status: 'WON' }])
})

describe('a debit', () => {
  const account = { accountHolderName: 'Ada Lovelace', number: 'DE89370400440532013000' }
  const debit = () =>
    order('DIRECTDEBIT', {
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: { account, mandateId: `m-${++mandates}`, dateOfSignature: '01.10.2026' },
      },
    })

  test('stays pending, is paid days later, and is returned by the bank', async () => {
    const { body } = await shop.gateway.call('POST', '/payments', debit())
    expect(body).toMatchObject({ status: 'PENDING', responseCode: '60000200' })
    const intent = [...shop.double.books.intents.values()].at(-1)
    if (!intent) throw new Error('no intent')
    shop.double.books.succeed(intent)
    await deliver()
    expect(await read(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    shop.double.books.dispute(intent.id, 'insufficient_funds', 'lost')
    await deliver('twice')
    const record = await read(body.payId)
    expect(record.amount.returnedValue).toBe(1000)
    expect(record.operations.at(-1)).toMatchObject({ type: 'RETURN', amount: { value: 1000 } })
  })

  test('is returned although the dispute does not say that it was a debit', async () => {
    const { body } = await shop.gateway.call('POST', '/payments', debit())
    const intent = [...shop.double.books.intents.values()].at(-1)
    if (!intent) throw new Error('no intent')
    shop.double.books.succeed(intent)
    await deliver()
    const dispute = {
      id: 'du_plain',
      amount: 1000,
      currency: 'eur',
      charge: 'ch_x',
      payment_intent: intent.id,
      reason: 'general',
      status: 'lost',
    }
    const payload = JSON.stringify({
      id: 'evt_plain',
      type: 'charge.dispute.created',
      data: { object: dispute },
    })
    // The bank has decided for the merchant, so nothing was returned.
    const won = { ...dispute, id: 'du_won', status: 'won' }
    const closed = JSON.stringify({ id: 'evt_won', type: 'charge.dispute.closed', data: { object: won } })
    await shop.double.send(shop.noticeUrl, closed)
    await shop.gateway.gateway.notices.runDue()
    expect((await read(body.payId)).amount).toMatchObject({ returnedValue: 0, disputedValue: 0 })
    await shop.double.send(shop.noticeUrl, payload)
    await shop.gateway.gateway.notices.runDue()
    expect((await read(body.payId)).amount).toMatchObject({ returnedValue: 1000, disputedValue: 0 })
  })

  test('fails days later', async () => {
    const { body } = await shop.gateway.call('POST', '/payments', debit())
    const intent = [...shop.double.books.intents.values()].at(-1)
    if (!intent) throw new Error('no intent')
    shop.double.books.decline(intent, 'insufficient_funds')
    await deliver()
    expect(await read(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '23000351' })
  })
})
