/** Checkout Sessions: the requests, and the outcome of every state. */
import { expect, test } from 'vitest'
import {
  authorizationOf,
  captureReference,
  intentOf,
  paymentOf,
  reference,
  sessionOf,
} from '#connectors/stripe/examples.test-support.ts'
import { readSession, toSession } from '#connectors/stripe/translate/sessions.ts'
import { toForm } from '#connectors/stripe/translate/wire.ts'

const asked = { reference, amount: { value: 1000, currency: 'EUR' }, captureReference }
const returnUrl = 'https://shop.example/pay/return/abc?x=1'
const sent = (request: Parameters<typeof toSession>[0], code: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(toForm(toSession(request, { code, amount: 1000, returnUrl }))))

test('a page for one method, with our reference on session and intent', () => {
  const payment = paymentOf('IDEAL', {
    customer: { email: 'ada@example.com' },
    language: 'de-AT',
    order: { description: 'Two books' },
  })
  expect(sent(authorizationOf('IDEAL', { captureReference, payment }), 'ideal')).toEqual({
    mode: 'payment',
    client_reference_id: reference,
    'metadata[tollgate]': reference,
    'metadata[tollgate_capture]': captureReference,
    success_url: returnUrl,
    cancel_url: 'https://shop.example/pay/return/abc?x=1&left=1',
    'payment_method_types[0]': 'ideal',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][price_data][unit_amount]': '1000',
    'line_items[0][price_data][product_data][name]': 'Two books',
    'payment_intent_data[capture_method]': 'automatic',
    'payment_intent_data[description]': 'Two books',
    'payment_intent_data[metadata][tollgate]': reference,
    'payment_intent_data[metadata][tollgate_capture]': captureReference,
    'payment_intent_data[metadata][tollgate_page]': 'checkout',
    locale: 'de',
    customer_email: 'ada@example.com',
    'expand[0]': 'payment_intent.latest_charge',
  })
})

test('a method without separate capture is captured at once', () => {
  expect(sent(authorizationOf('IDEAL'), 'ideal')['payment_intent_data[capture_method]']).toBe('automatic')
  expect(sent(authorizationOf('CARD'), 'card')['payment_intent_data[capture_method]']).toBe('manual')
})

test('a card to be stored gets a customer object', () => {
  const credentialOnFile = { type: 'RECURRING', initial: true, initiator: 'CUSTOMER' } as const
  expect(sent(authorizationOf('CARD', { credentialOnFile }), 'card')).toMatchObject({
    'payment_intent_data[setup_future_usage]': 'off_session',
    customer_creation: 'always',
  })
})

test('methods with required options get them', () => {
  expect(sent(authorizationOf('WECHATPAY'), 'wechat_pay')).toMatchObject({
    'payment_method_options[wechat_pay][client]': 'web',
  })
  expect(sent(authorizationOf('SEPACREDITTRANSFER'), 'customer_balance')).toMatchObject({
    'payment_method_options[customer_balance][bank_transfer][type]': 'eu_bank_transfer',
    'payment_method_options[customer_balance][bank_transfer][eu_bank_transfer][country]': 'IE',
  })
})

const failed = intentOf('requires_payment_method', { last_payment_error: { code: 'card_declined' } })

test.each([
  ['open', {}, 'action', undefined],
  ['expired', {}, 'declined', undefined],
  ['complete', { payment_status: 'paid', payment_intent: intentOf('succeeded') }, 'approved', 'approved'],
  [
    'complete',
    { payment_status: 'unpaid', payment_intent: intentOf('requires_capture') },
    'approved',
    undefined,
  ],
  ['complete', { payment_status: 'unpaid', payment_intent: intentOf('processing') }, 'pending', undefined],
  ['complete', { payment_status: 'unpaid', payment_intent: failed }, 'declined', undefined],
  ['complete', { payment_status: 'paid', payment_intent: 'pi_1' }, 'approved', 'approved'],
  ['complete', { payment_status: 'unpaid', payment_intent: 'pi_1' }, 'pending', undefined],
  ['complete', { payment_status: 'no_payment_required' }, 'pending', undefined],
  // After a failed try the customer can try again on the page.
  ['open', { payment_intent: failed }, 'action', undefined],
  ['an unknown status', {}, 'unknown', undefined],
  ['open', { amount_total: 'ten' }, 'unknown', undefined],
  // Stripe's document allows a session without an amount.
  ['open', { amount_total: null, currency: null }, 'action', undefined],
  ['expired', { amount_total: null }, 'declined', undefined],
  [
    'complete',
    { amount_total: null, payment_status: 'paid', payment_intent: intentOf('succeeded') },
    'approved',
    'approved',
  ],
  ['complete', { amount_total: null, payment_status: 'paid', payment_intent: 'pi_1' }, 'pending', undefined],
  ['open', { url: null }, 'unknown', undefined],
])('a session that is %s with %o is %s, its capture %s', (status, more, kind, capture) => {
  const outcome = readSession(sessionOf(status, more), asked)
  expect([outcome.authorization.kind, outcome.capture?.kind]).toEqual([kind, capture])
})

test('an open session sends the customer to its page until Stripe ends it', () => {
  expect(readSession(sessionOf('open'), asked).authorization).toEqual({
    kind: 'action',
    action: { type: 'redirect', url: 'https://checkout.stripe.com/c/pay/cs_test_1', verb: 'GET' },
    provider: { echo: { reference, amount: asked.amount }, transactionId: 'cs_test_1' },
    expiresAt: new Date(1_800_000_000_000),
  })
})
