/** Notices signed by Stripe's own library: the facts of each event, and that forged ones are rejected. */
import Stripe from 'stripe'
import { expect, test } from 'vitest'
import type { Notice, NoticeFact } from '#connectors/contract.ts'
import {
  captureReference,
  intentOf,
  reference,
  sessionOf,
  xId,
} from '#connectors/stripe/examples.test-support.ts'
import { readNotice } from '#connectors/stripe/notices.ts'

const secret = 'whsec_test_secret'
const nowMs = 1_790_000_000_000
const library = new Stripe('sk_test_none')

const sign = (payload: string, timestamp = nowMs / 1000, key = secret): string =>
  library.webhooks.generateTestHeaderString({ payload, secret: key, timestamp })

const receive = (payload: string, header: string | undefined): Notice =>
  readNotice(
    {
      headers: header === undefined ? {} : { 'stripe-signature': header },
      body: Buffer.from(payload),
      query: {},
    },
    { secret, nowMs, live: false },
  )

interface EventParts {
  readonly previous_attributes?: Record<string, unknown>
  readonly request?: Record<string, unknown>
  readonly livemode?: boolean
  readonly account?: string
}

function payloadOf(type: string, object: unknown, parts: EventParts = {}): string {
  const { previous_attributes, request, livemode = false, account } = parts
  const data = { object, ...(previous_attributes ? { previous_attributes } : {}) }
  return JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type,
    created: 1_789_999_999,
    livemode,
    account,
    request,
    data,
  })
}

function factOf(type: string, object: unknown, parts?: EventParts): NoticeFact | undefined {
  const payload = payloadOf(type, object, parts)
  const notice = receive(payload, sign(payload))
  return notice.verdict === 'genuine' ? notice.items[0]?.fact : undefined
}

test('a signed notice is one item under the key of its event', () => {
  const payload = payloadOf('payment_intent.processing', intentOf('processing'))
  expect(library.webhooks.constructEvent(payload, sign(payload), secret, 600, undefined, nowMs).id).toBe(
    'evt_1',
  )
  expect(receive(payload, sign(payload))).toMatchObject({
    verdict: 'genuine',
    items: [{ key: 'evt_1', occurredAt: new Date(1_789_999_999_000) }],
    answer: { status: 200 },
  })
})

const genuine = payloadOf('payment_intent.succeeded', intentOf('succeeded'))

test.each([
  ['without a signature', genuine, undefined],
  ['with an empty signature', genuine, ''],
  ['with the secret of another endpoint', genuine, sign(genuine, nowMs / 1000, 'whsec_other')],
  ['with another body', genuine.replace('1000', '9000'), sign(genuine)],
  ['with another time', genuine, sign(genuine).replace(/^t=\d+/, `t=${nowMs / 1000 - 1}`)],
  ['recorded six minutes ago', genuine, sign(genuine, nowMs / 1000 - 360)],
  ['from the future', genuine, sign(genuine, nowMs / 1000 + 360)],
  ['signed in an older scheme only', genuine, sign(genuine).replace('v1=', 'v0=')],
  ['with half a signature', genuine, sign(genuine).slice(0, -2)],
  ['that is signed, but no event', '{"hello":1}', sign('{"hello":1}')],
  ['that is signed, but cut off', genuine.slice(0, 50), sign(genuine.slice(0, 50))],
])('a notice %s is forged', (_, payload, header) => {
  expect(receive(payload, header).verdict).toBe('forged')
})

test('while the secret is being rotated one of two signatures is enough', () => {
  const other = sign(genuine, nowMs / 1000, 'whsec_new').replace(/^t=\d+,/, '')
  expect(receive(genuine, `${sign(genuine)},${other}`).verdict).toBe('genuine')
})

const amount = { value: 1000, currency: 'EUR' }
const both = { metadata: { tollgate: reference, tollgate_capture: captureReference } }

test.each<[string, string, unknown, EventParts | undefined, Partial<NoticeFact>]>([
  [
    'a payment that captured at once',
    'payment_intent.succeeded',
    intentOf('succeeded', both),
    undefined,
    {
      kind: 'outcome',
      operation: 'AUTHORIZATION',
      subject: { reference, transactionId: 'pi_1' },
      amount,
      outcome: { kind: 'approved', provider: { echo: { reference, amount }, transactionId: 'pi_1' } },
      capture: {
        kind: 'approved',
        provider: { echo: { reference: captureReference, amount }, transactionId: 'ch_1' },
      },
    },
  ],
  [
    'an approval that waits for its capture',
    'payment_intent.amount_capturable_updated',
    intentOf('requires_capture', { capture_method: 'manual' }),
    undefined,
    { kind: 'outcome', operation: 'AUTHORIZATION', subject: { reference, transactionId: 'pi_1' }, amount },
  ],
  [
    'an increment',
    'payment_intent.amount_capturable_updated',
    intentOf('requires_capture', { amount: 1500, capture_method: 'manual' }),
    { previous_attributes: { amount: 1000 }, request: { idempotency_key: xId('e1') } },
    {
      kind: 'outcome',
      operation: 'INCREMENTAL',
      subject: { reference: xId('e1'), paymentTransactionId: 'pi_1' },
      amount: { value: 500, currency: 'EUR' },
    },
  ],
  [
    'a debit under way',
    'payment_intent.processing',
    intentOf('processing'),
    undefined,
    {
      kind: 'outcome',
      operation: 'AUTHORIZATION',
      outcome: { kind: 'pending', provider: { echo: { reference, amount }, transactionId: 'pi_1' } },
    },
  ],
  [
    'a card that failed',
    'payment_intent.payment_failed',
    intentOf('requires_payment_method', {
      last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds' },
    }),
    undefined,
    { kind: 'outcome', operation: 'AUTHORIZATION', outcome: { kind: 'declined', detail: '0351' } as never },
  ],
  [
    'a payment that was paid on the page',
    'checkout.session.completed',
    sessionOf('complete', { payment_status: 'paid', payment_intent: 'pi_1', ...both }),
    undefined,
    {
      kind: 'outcome',
      operation: 'AUTHORIZATION',
      subject: { reference, transactionId: 'cs_test_1' },
      outcome: { kind: 'approved', provider: { transactionId: 'pi_1' } } as never,
      capture: { kind: 'approved', provider: { echo: { reference: captureReference, amount } } } as never,
    },
  ],
  [
    'a page that expired',
    'checkout.session.expired',
    sessionOf('expired'),
    undefined,
    { kind: 'outcome', outcome: { kind: 'declined', detail: '0402' } as never },
  ],
  [
    'a page that expired and names no amount',
    'checkout.session.expired',
    sessionOf('expired', { amount_total: null, currency: null }),
    undefined,
    { kind: 'outcome', outcome: { kind: 'declined', detail: '0402', pageEnded: true } as never },
  ],
  [
    'a debit of the page that failed',
    'checkout.session.async_payment_failed',
    sessionOf('complete'),
    undefined,
    { kind: 'outcome', outcome: { kind: 'declined', detail: '0305' } as never },
  ],
  [
    'a capture of ours',
    'charge.captured',
    { id: 'ch_1', payment_intent: 'pi_1', amount_captured: 700, currency: 'eur' },
    { previous_attributes: { amount_captured: 300 }, request: { idempotency_key: captureReference } },
    {
      kind: 'outcome',
      operation: 'CAPTURE',
      subject: { reference: captureReference, transactionId: 'ch_1', paymentTransactionId: 'pi_1' },
      amount: { value: 400, currency: 'EUR' },
    },
  ],
  [
    'a capture made in the dashboard',
    'charge.captured',
    { id: 'ch_1', payment_intent: 'pi_1', amount_captured: 1000, currency: 'eur' },
    { request: { idempotency_key: null } },
    {
      kind: 'outcome',
      operation: 'CAPTURE',
      subject: { paymentTransactionId: 'pi_1' },
      amount,
      total: amount,
    },
  ],
  [
    'the last of several captures made elsewhere',
    'payment_intent.succeeded',
    intentOf('succeeded', { capture_method: 'manual' }),
    { request: { idempotency_key: null } },
    {
      kind: 'outcome',
      operation: 'CAPTURE',
      subject: { paymentTransactionId: 'pi_1' },
      amount,
      total: amount,
    },
  ],
  [
    'an authorisation that was released',
    'payment_intent.canceled',
    intentOf('canceled', { cancellation_reason: 'requested_by_customer' }),
    undefined,
    {
      kind: 'outcome',
      operation: 'REVERSAL',
      subject: { transactionId: 'pi_1/cancel', paymentTransactionId: 'pi_1' },
      amount,
    },
  ],
  [
    'an authorisation that has expired',
    'payment_intent.canceled',
    intentOf('canceled', { cancellation_reason: 'automatic' }),
    undefined,
    { kind: 'lapsed', subject: { reference, transactionId: 'pi_1' } },
  ],
  [
    'an authorisation that has expired, in an API version before 2022-11-15',
    'payment_intent.canceled',
    intentOf('canceled', {
      cancellation_reason: 'automatic',
      latest_charge: undefined,
      charges: { data: [{ id: 'ch_1' }] },
    }),
    undefined,
    { kind: 'lapsed', subject: { reference, transactionId: 'pi_1' } },
  ],
  [
    'a payment that was cancelled before it was approved',
    'payment_intent.canceled',
    intentOf('canceled', { cancellation_reason: 'abandoned', latest_charge: null }),
    undefined,
    { kind: 'outcome', operation: 'AUTHORIZATION', outcome: { kind: 'declined', detail: '0703' } as never },
  ],
  [
    'a refund of ours',
    'refund.updated',
    {
      id: 're_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'succeeded',
      metadata: { tollgate: reference },
    },
    { previous_attributes: { status: 'pending' } },
    {
      kind: 'outcome',
      operation: 'REFUND',
      subject: { reference, transactionId: 're_1', paymentTransactionId: 'pi_1' },
      amount,
    },
  ],
  [
    'a refund without our reference, which may be a released authorisation',
    'refund.created',
    {
      id: 're_1',
      charge: 'ch_1',
      payment_intent: 'pi_1',
      amount: 400,
      currency: 'eur',
      status: 'succeeded',
      metadata: {},
    },
    undefined,
    {
      kind: 'refunds',
      subject: { transactionId: 'ch_1', paymentTransactionId: 'pi_1' },
      told: expect.objectContaining({
        kind: 'outcome',
        operation: 'REFUND',
        amount: { value: 400, currency: 'EUR' },
      }),
    },
  ],
  [
    'a refund that failed after all',
    'refund.failed',
    {
      id: 're_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'failed',
      failure_reason: 'expired_or_canceled_card',
      metadata: { tollgate: reference },
    },
    { previous_attributes: { status: 'succeeded' } },
    { kind: 'takenBack', operation: 'REFUND', detail: '0354', provider: { undeliverable: true } as never },
  ],
  [
    'a refund that never succeeded',
    'refund.failed',
    {
      id: 're_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'failed',
      metadata: { tollgate: reference },
    },
    { previous_attributes: { status: 'pending' } },
    { kind: 'outcome', operation: 'REFUND', outcome: { kind: 'declined' } as never },
  ],
  [
    'a refund in the dashboard that never succeeded',
    'refund.failed',
    { id: 're_1', payment_intent: 'pi_1', amount: 1000, currency: 'eur', status: 'failed', metadata: {} },
    { previous_attributes: { status: 'pending' } },
    { kind: 'outcome', operation: 'REFUND', outcome: { kind: 'declined' } as never },
  ],
  [
    'a dispute',
    'charge.dispute.created',
    {
      id: 'dp_1',
      charge: 'ch_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'needs_response',
      reason: 'fraudulent',
      network_reason_code: '10.4',
      evidence_details: { due_by: 1_800_000_000 },
    },
    undefined,
    {
      kind: 'dispute',
      subject: { transactionId: 'ch_1', paymentTransactionId: 'pi_1' },
      dispute: {
        providerDisputeId: 'dp_1',
        stage: 'CHARGEBACK',
        status: 'OPEN',
        amount,
        reasonCode: '10.4',
        reasonGroup: 'FRAUD',
        evidenceDueBy: new Date(1_800_000_000_000),
      },
    },
  ],
  [
    'a debit that the bank returned',
    'charge.dispute.created',
    {
      id: 'du_1',
      charge: 'py_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'lost',
      reason: 'insufficient_funds',
    },
    undefined,
    {
      kind: 'return',
      subject: { transactionId: 'py_1', paymentTransactionId: 'pi_1' },
      amount,
      detail: '0351',
      transactionId: 'du_1',
    },
  ],
  [
    'a dispute of a method that Stripe does not name: the engine knows whether it was a debit',
    'charge.dispute.updated',
    {
      id: 'du_1',
      charge: 'py_1',
      payment_intent: 'pi_1',
      amount: 1000,
      currency: 'eur',
      status: 'needs_response',
      reason: 'product_not_received',
    },
    undefined,
    {
      kind: 'dispute',
      dispute: {
        providerDisputeId: 'du_1',
        stage: 'CHARGEBACK',
        status: 'OPEN',
        amount,
        reasonCode: 'product_not_received',
        reasonGroup: 'CONSUMER',
      },
      returnDetail: '0305',
      chargedAsDebits: ['IDEAL', 'BANCONTACT'],
    },
  ],
  [
    'a report',
    'reporting.report_run.succeeded',
    {
      id: 'frr_1',
      report_type: 'balance_change_from_activity.itemized.3',
      result: { url: 'https://files.stripe.com/v1/files/file_1/contents' },
    },
    undefined,
    { kind: 'report', name: 'balance_change_from_activity.itemized.3' },
  ],
])('%s', (_, type, object, parts, expected) => {
  expect(factOf(type, object, parts)).toMatchObject(expected)
})

test.each<[string, string, unknown, EventParts?]>([
  [
    'a failed try on the page, which can be repeated there',
    'payment_intent.payment_failed',
    intentOf('requires_payment_method', { metadata: { tollgate: reference, tollgate_page: 'checkout' } }),
  ],
  [
    'a session that is not paid yet',
    'checkout.session.completed',
    sessionOf('complete', { payment_status: 'unpaid' }),
  ],
  [
    'the end of a capture of ours that its charge has reported',
    'payment_intent.succeeded',
    intentOf('succeeded', { capture_method: 'manual' }),
    { request: { idempotency_key: captureReference } },
  ],
  [
    'what is left after a capture',
    'payment_intent.amount_capturable_updated',
    intentOf('requires_capture', { amount_received: 300 }),
  ],
  [
    'the end of a debit return',
    'charge.dispute.closed',
    { id: 'du_1', charge: 'py_1', amount: 1, currency: 'eur', status: 'lost', reason: 'insufficient_funds' },
  ],
  [
    'a dispute in an unknown state',
    'charge.dispute.updated',
    { id: 'dp_1', charge: 'ch_1', amount: 1, currency: 'eur', status: 'tomorrow' },
  ],
  ['an event of the other mode', 'payment_intent.succeeded', intentOf('succeeded'), { livemode: true }],
  [
    'a payment at a connected account that names our order',
    'payment_intent.succeeded',
    intentOf('succeeded'),
    { account: 'acct_1' },
  ],
  [
    'a dispute whose status is the name of an inherited member',
    'charge.dispute.updated',
    { id: 'dp_1', charge: 'ch_1', amount: 1, currency: 'eur', status: 'constructor' },
  ],
  ['an event without consequences', 'customer.created', { id: 'cus_1' }],
  ['an event with the name of an inherited member', 'toString', { id: 'cus_1' }],
  ['an event without an object', 'payment_intent.succeeded', undefined],
])('a notice about %s is ignored', (_, type, object, parts) => {
  expect(factOf(type, object, parts)).toMatchObject({ kind: 'ignored' })
})

test('an intent that is not ours matches no reference', () => {
  expect(factOf('payment_intent.succeeded', intentOf('succeeded', { metadata: {} }))).toMatchObject({
    kind: 'outcome',
    subject: { transactionId: 'pi_1' },
  })
})

test('an object with a reference that cannot be ours is not taken for ours', () => {
  const fact = factOf('payment_intent.succeeded', {
    ...intentOf('succeeded'),
    metadata: { tollgate: 'order-7' },
  })
  expect(fact).toMatchObject({ subject: { reference: '0'.repeat(32) } })
})
