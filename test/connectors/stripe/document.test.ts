/**
 * Validates every request that the connector can make, for every method and option, against Stripe's OpenAPI document,
 * and every enumeration value of the answers against our readers.
 */
import { describe, expect, test } from 'vitest'
import type { AuthorizationRequest, Connector, HttpRequest, Inquiry } from '#connectors/contract.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import {
  accountOf,
  answered,
  authorizationOf,
  captureReference,
  followUpOf,
  intentOf,
  paymentOf,
  reference,
  sessionOf,
  testAccount,
  testCard,
  xId,
} from '#connectors/stripe/examples.test-support.ts'
import { servedTypes, stripeCode } from '#connectors/stripe/methods.ts'
import { eventTypes } from '#connectors/stripe/notices.ts'
import { declineDetails, errorDetails } from '#connectors/stripe/translate/declines.ts'
import { disputeStatuses } from '#connectors/stripe/translate/disputes.ts'
import { readIntent } from '#connectors/stripe/translate/intents.ts'
import { readRefund } from '#connectors/stripe/translate/refunds.ts'
import { readSession } from '#connectors/stripe/translate/sessions.ts'
import { Secret } from '#domain/secret.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'
import { newerFields, openDocument } from '#test/support/stripe/document.ts'
import { unionIn } from '#test/support/stripe/library-types.ts'
import { materialIsThere, sayItIsAbsent } from '#test/support/stripe/material.ts'
import { scriptHttp } from '#test/support/stripe/scripted-http.ts'

const signal = AbortSignal.timeout(60_000)
const nowMs = Date.parse('2026-11-16T10:05:00Z')

/** A connector whose calls are all answered so that the operation continues, and are recorded. */
function openConnector(): { connector: Connector; requests: HttpRequest[] } {
  const http = scriptHttp(({ url, verb }) => {
    const { pathname } = new URL(url)
    if (pathname.endsWith('/search') || verb === 'GET') {
      return answered(
        /\/(pi|cs)_/.test(pathname) ? intentOf('requires_capture') : { object: 'list', data: [] },
      )
    }
    return answered(
      pathname.includes('sessions') ? sessionOf('open') : { ...intentOf('succeeded'), id: 'cus_1' },
    )
  })
  const connector = stripe.open(accountOf(), { http, nowMs: () => nowMs })
  return { connector, requests: http.requests }
}

const shopper = {
  customer: {
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: { countryCode: '+49', number: '301234567' },
  },
  billing: { streetName: 'Main St', streetNumber: '1', addressLine2: 'Yard', city: 'Berlin', country: 'DEU' },
  shipping: {
    type: 'parcel',
    address: { firstName: 'Ada', lastName: 'Lovelace', streetName: 'Side St', city: 'Rome', country: 'ITA' },
  },
  browser: { ipAddress: '192.0.2.7', userAgent: 'Browser/1.0' },
  descriptor: 'Tollgate shop',
  language: 'pt-BR',
  order: {
    description: 'Two books',
    merchantReference: 'PO 4711',
    items: [
      { name: 'A book', sku: 'B-1', quantity: 2, quantityUnit: 'pcs', grossPrice: 400, netPrice: 100 },
      { name: 'Wrapping', quantity: 1, grossPrice: 200, netPrice: 136 },
    ],
  },
  enhancedData: { common: { amounts: { grossAmount: 400, netAmount: 336, taxAmount: 64 } } },
} as const

const kept = { type: 'RECURRING', initial: true, initiator: 'CUSTOMER' } as const
const charged = { type: 'UNSCHEDULED', initial: false, initiator: 'MERCHANT' } as const
const imported = {
  acsProtocolVersion: '2.2.0',
  dsTransId: '97267598-fae6-48f2-8083-23a68c9e1f4b',
  eci: '05',
  transStatus: 'Y',
}

const options: readonly Partial<AuthorizationRequest>[] = [
  {},
  { captureReference },
  { credentialOnFile: kept },
  { credentialOnFile: { ...charged, providerToken: 'cus_1/pm_1' }, customerPresent: false },
  { threeDs: { challengePreference: 'MANDATE_CHALLENGE' } },
]

const cardOptions: readonly Partial<AuthorizationRequest>[] = [
  { captureReference },
  {
    threeDs: {
      imported,
      authenticationValue: new Secret('AAABBWcSNIdjeUZThmNHAAAAAAA='),
      exemption: 'TRANSACTION_RISK_ANALYSIS',
    },
  },
  { credentialOnFile: kept },
  { credentialOnFile: { ...charged, schemeReferenceId: '104102978678771' }, customerPresent: false },
  { customerPresent: false },
]

async function everyRequest(): Promise<readonly HttpRequest[]> {
  const { connector, requests } = openConnector()
  for (const type of servedTypes) {
    for (const option of options) {
      for (const more of [{}, shopper]) {
        await connector.authorize(
          authorizationOf(type, { ...option, payment: paymentOf(type, more) }),
          signal,
        )
      }
    }
    if (stripeCode(type) !== 'card') continue
    for (const option of cardOptions) {
      const payment = paymentOf(type, shopper)
      await connector.authorize(authorizationOf(type, { ...option, card: testCard, payment }), signal)
    }
  }
  const debit = paymentOf('DIRECTDEBIT', shopper)
  await connector.authorize(authorizationOf('DIRECTDEBIT', { account: testAccount, payment: debit }), signal)
  await connector.authorize(authorizationOf('DIRECTDEBIT', { account: testAccount }), signal)
  await everyFollowUp(connector)
  return requests
}

async function everyFollowUp(connector: Connector): Promise<void> {
  await connector.capture?.(followUpOf('CAPTURE'), signal)
  await connector.capture?.(followUpOf('CAPTURE', { final: true }), signal)
  const detailed = paymentOf('CARD', { ...shopper, authorizedValue: 1000 })
  await connector.capture?.(followUpOf('CAPTURE', { payment: detailed }), signal)
  await connector.increment?.(followUpOf('INCREMENTAL', { newTotal: 1400 }), signal)
  await connector.reverse?.(followUpOf('REVERSAL'), signal)
  await connector.refund?.(followUpOf('REFUND'), signal)
  const inquiry: Inquiry = { ...followUpOf('CAPTURE'), sentAt: new Date('2026-11-16T10:00:00Z') }
  const echo = { reference, amount: inquiry.amount }
  for (const operation of ['AUTHORIZATION', 'CAPTURE', 'INCREMENTAL', 'REVERSAL', 'REFUND'] as const) {
    await connector.inquire?.({ ...inquiry, operation }, signal)
  }
  for (const transactionId of ['cs_1', 'pi_1']) {
    const open = { ...inquiry, operation: 'AUTHORIZATION', provider: { echo, transactionId } } as const
    await connector.cancelAction?.(open, signal)
    await connector.complete?.({ ...open, query: {}, form: {} }, signal)
  }
  await connector.inquire?.(
    { ...inquiry, operation: 'REFUND', provider: { echo, transactionId: 're_1' } },
    signal,
  )
  const dispute = openDispute('dp_1')
  await connector.disputes?.accept?.(dispute, xId('d1'), signal)
  await connector.disputes?.submitEvidence?.(dispute, { text: 'Delivered.', files: [] }, xId('d2'), signal)
  await connector.check(signal)
}

/** Codes of methods added after 2023, all of which the current library has. */
const newestCodes = new Set(
  unionIn('PaymentIntents', 'AllowedPaymentMethodType', 'PaymentIntentCreateParams'),
)

describe('requests', () => {
  test('every method code is in Stripe’s current list', () => {
    expect(servedTypes.filter(type => !newestCodes.has(stripeCode(type) ?? ''))).toEqual([])
  })

  test('every request conforms to the document, field by field', async () => {
    if (!materialIsThere) return sayItIsAbsent()
    const document = openDocument(newestCodes)
    const requests = await everyRequest()
    const wrong = requests.flatMap(request =>
      document.check(request).map(reason => `${request.verb} ${request.url}: ${reason}`),
    )
    expect([...new Set(wrong)]).toEqual([])
    expect(requests.length).toBeGreaterThan(800)
    expect(newerFields.filter(field => !document.used.has(field))).toEqual([])
  })

  test('the document check rejects misspelt and missing fields and wrong types', () => {
    if (!materialIsThere) return sayItIsAbsent()
    const document = openDocument(newestCodes)
    const post = (path: string, body: string): readonly string[] =>
      document.check({ verb: 'POST', url: `https://x.example${path}`, headers: {}, body })
    expect(post('/v1/payment_intents', 'amount=1&currency=eur')).toEqual([])
    expect(post('/v1/payment_intents', 'amount=abc&currency=eur')).not.toEqual([])
    expect(post('/v1/payment_intents', 'currency=eur')).not.toEqual([])
    expect(post('/v1/payment_intents', 'amount=1&currency=eur&shiping[name]=x')).not.toEqual([])
    expect(post('/v1/payment_intents', 'amount=1&currency=eur&shipping[nam]=x')).not.toEqual([])
    expect(post('/v1/nothing', '')).toEqual(['no post /v1/nothing'])
  })

  test('every POST has an idempotency key, every call the API version and secret key, and no URL a card number', async () => {
    const requests = await everyRequest()
    for (const { verb, headers, url, body } of requests) {
      expect(headers).toMatchObject({
        authorization: 'Bearer sk_test_1',
        'stripe-version': '2026-08-26.dahlia',
      })
      expect(verb === 'POST').toBe(/^[0-9a-f]{32}(-[a-z0-9-]+)?$/.test(headers['idempotency-key'] ?? ''))
      expect(url).not.toContain('4242')
      if (url.endsWith('/v1/payment_intents') && verb === 'POST') {
        expect(decodeURIComponent(String(body))).toContain(`metadata[tollgate]=${reference}`)
      }
      if (/\/(capture|increment_authorization)$/.test(url)) expect(String(body)).not.toContain('metadata')
    }
  })
})

const asked = { reference, amount: { value: 1000, currency: 'EUR' }, captureReference }
const kinds = ['approved', 'declined', 'pending', 'action']

describe('answers', () => {
  test('every status of an intent and a session has an outcome', () => {
    if (!materialIsThere) return sayItIsAbsent()
    const document = openDocument(newestCodes)
    const statuses = new Set([
      ...document.enumAt('payment_intent', 'status'),
      ...unionIn('PaymentIntents', 'Status', 'export declare namespace PaymentIntent '),
    ])
    expect(statuses.size).toBeGreaterThanOrEqual(7)
    for (const status of statuses) {
      expect(kinds, status).toContain(readIntent(intentOf(status), asked).authorization.kind)
    }
    for (const status of document.enumAt('checkout.session', 'status')) {
      for (const payment_status of document.enumAt('checkout.session', 'payment_status')) {
        const session = sessionOf(status, { payment_status, payment_intent: null })
        expect(kinds, `${status} ${payment_status}`).toContain(readSession(session, asked).authorization.kind)
      }
    }
  })

  test('every next action is shown, followed or waited for', () => {
    if (!materialIsThere) return sayItIsAbsent()
    const types = openDocument(newestCodes)
      .propertiesOf('payment_intent_next_action')
      .filter(type => type !== 'type')
    expect(types.length).toBeGreaterThan(10)
    for (const type of types) {
      const intent = intentOf('requires_action', { next_action: { type, [type]: {} } })
      expect(['action', 'pending'], type).toContain(readIntent(intent, asked).authorization.kind)
    }
  })

  test('every status of a refund has an outcome', () => {
    const refund = { id: 're_1', amount: 1000, currency: 'eur', metadata: { tollgate: reference } }
    for (const status of ['pending', 'requires_action', 'succeeded', 'failed', 'canceled']) {
      expect(kinds, status).toContain(readRefund({ ...refund, status }, asked).kind)
    }
    expect(readRefund({ ...refund, status: 'tomorrow' }, asked).kind).toBe('unknown')
  })

  test('every status of a dispute is mapped', () => {
    const statuses = unionIn('Disputes', 'Status', 'export declare namespace Dispute ')
    expect(statuses).toHaveLength(10)
    expect(statuses.filter(status => !(status in disputeStatuses))).toEqual([])
  })

  test('every error code is in our table or belongs to another product of Stripe', () => {
    const codes = unionIn('PaymentIntents', 'Code', 'namespace LastPaymentError')
    const missing = codes.filter(code => !errorDetails.has(code) && !declineDetails.has(code))
    expect(missing.filter(code => !otherProducts.test(code))).toEqual([])
    expect(codes.length).toBeGreaterThan(180)
  })

  test('every event that we read is one that Stripe sends', () => {
    const known = new Set(unionIn('WebhookEndpoints', 'EnabledEvent'))
    expect(eventTypes.filter(type => !known.has(type))).toEqual([])
  })
})

/** Accounts, payouts, tax, invoices, terminals, subscriptions, issuing, treasury, bank account checks by micro-deposits. */
const otherProducts = new RegExp(
  [
    '^(account_|financial_|forwarding_|instant_payouts|invoice_|payouts?_|tax|stripe_tax|terminal_|transfers?_|coupon)',
    '^(customer_(max_subscriptions|tax)|shipping_calculation|failed_tax|sku_|product_|out_of_inventory|siret)',
    '^(intent_verification|payment_method_(microdeposit|bank_account_already)|setup_intent_|storer_|subscription_)',
    '^(balance_invalid|bank_account_exists|bitcoin|cardholder_phone|clearing_code|invalid_(canceled|tax)|ownership)',
    '^(application_fees|progressive_|service_period|payment_evaluation)',
  ].join('|'),
)
