/**
 * Compares our requests with the same calls through the provider's own library: path, verb, idempotency key and every
 * field must be equal. The library drops fields that it does not know.
 */
import { createRequire } from 'node:module'
import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { adyen } from '#connectors/adyen/connector.ts'
import * as adyenExamples from '#connectors/adyen/examples.test-support.ts'
import type { Connector, HttpAnswer, HttpRequest, ProviderAccount } from '#connectors/contract.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import * as stripeExamples from '#connectors/stripe/examples.test-support.ts'
import { inquiryOf } from '#connectors/stripe/talk.test-support.ts'
import { Secret } from '#domain/secret.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'
import { parseForm } from '#test/support/stripe/form.ts'

const signal = AbortSignal.timeout(60_000)

/** The requests that a connector sends, whatever the outcome. */
async function sentBy(
  open: (exchange: (request: HttpRequest) => Promise<HttpAnswer>) => Connector,
  act: (connector: Connector) => Promise<unknown> | undefined,
): Promise<HttpRequest> {
  const sent: HttpRequest[] = []
  const connector = open(async request => {
    sent.push(request)
    return { kind: 'lost', reason: 'recorded only' }
  })
  await act(connector)
  const [first] = sent
  if (!first) throw new Error('the connector sent nothing')
  return first
}

/** A later charge under an agreement, for both providers. */
const merchantInitiated = {
  customerPresent: false,
  credentialOnFile: {
    type: 'RECURRING',
    initial: false,
    initiator: 'MERCHANT',
    schemeReferenceId: 'MCC000000101010',
  },
} as const

describe('Stripe', () => {
  const account = stripeExamples.accountOf()

  /** The library, with its requests recorded instead of sent. */
  function library(version: string) {
    const sent: HttpRequest[] = []
    const send = async (address: unknown, init: RequestInit = {}) => {
      const { method: verb, headers, body } = init
      const names = Object.fromEntries(new Headers(headers))
      const text = typeof body === 'string' ? body : undefined
      sent.push({
        verb: verb as 'GET',
        url: String(address),
        headers: names,
        ...(text ? { body: text } : {}),
      })
      return Response.json({ id: 'x', object: 'list', data: [] })
    }
    const httpClient = Stripe.createFetchHttpClient(send as typeof fetch)
    const apiVersion = version as never
    return { sent, sdk: new Stripe('sk_test_1', { httpClient, apiVersion, maxNetworkRetries: 0 }) }
  }

  const card = { card: stripeExamples.testCard }
  const page = { returnUrl: 'https://shop.example/pay/return/abc', customerPresent: true }
  const keyed = (key: string | undefined) => ({ idempotencyKey: key })

  type Call = (sdk: Stripe, fields: AnyJson, key: string | undefined) => Promise<unknown>
  const cases: readonly [string, (connector: Connector) => Promise<unknown> | undefined, Call][] = [
    [
      'a card',
      connector => connector.authorize(stripeExamples.authorizationOf('CARD', card), signal),
      (sdk, fields, key) => sdk.paymentIntents.create(fields, keyed(key)),
    ],
    [
      'a merchant-initiated payment',
      connector =>
        connector.authorize(
          stripeExamples.authorizationOf('CARD', {
            ...card,
            ...merchantInitiated,
          }),
          signal,
        ),
      (sdk, fields, key) => sdk.paymentIntents.create(fields, keyed(key)),
    ],
    [
      'a page',
      connector => connector.authorize(stripeExamples.authorizationOf('IDEAL', page), signal),
      (sdk, fields, key) => sdk.checkout.sessions.create(fields, keyed(key)),
    ],
    [
      'a capture',
      connector => connector.capture?.(stripeExamples.followUpOf('CAPTURE'), signal),
      (sdk, fields, key) => sdk.paymentIntents.capture('pi_1', fields, keyed(key)),
    ],
    [
      'an increment',
      connector => connector.increment?.(stripeExamples.followUpOf('INCREMENTAL'), signal),
      (sdk, fields, key) => sdk.paymentIntents.incrementAuthorization('pi_1', fields, keyed(key)),
    ],
    [
      'a reversal',
      connector => connector.reverse?.(stripeExamples.followUpOf('REVERSAL'), signal),
      (sdk, fields, key) => sdk.paymentIntents.cancel('pi_1', fields, keyed(key)),
    ],
    [
      'a refund',
      connector => connector.refund?.(stripeExamples.followUpOf('REFUND'), signal),
      (sdk, fields, key) => sdk.refunds.create(fields, keyed(key)),
    ],
    [
      'the end of a page',
      connector =>
        connector.cancelAction?.(
          inquiryOf('AUTHORIZATION', {
            provider: {
              echo: { reference: stripeExamples.reference, amount: { value: 1000, currency: 'EUR' } },
              transactionId: 'cs_test_1',
            },
          }),
          signal,
        ),
      (sdk, fields, key) => sdk.checkout.sessions.expire('cs_test_1', fields, keyed(key)),
    ],
    [
      'a look-up of a refund',
      connector => connector.inquire?.(inquiryOf('REFUND'), signal),
      (sdk, fields) => sdk.refunds.list(fields),
    ],
    [
      'an accepted dispute',
      connector => connector.disputes?.accept?.(openDispute('dp_1'), 'key-1', signal),
      (sdk, fields, key) => sdk.disputes.close('dp_1', fields, keyed(key)),
    ],
  ]

  const comparable = ({ verb, url, headers, body }: HttpRequest) => {
    const { pathname, search, origin } = new URL(url)
    return {
      verb,
      address: `${origin}${pathname}`,
      fields: parseForm(verb === 'GET' ? search.slice(1) : String(body ?? '')),
      key: headers['idempotency-key'],
      version: headers['stripe-version'],
      authorization: headers.authorization,
    }
  }

  test.each(cases)('%s', async (_, act, call) => {
    const ours = comparable(
      await sentBy(exchange => stripe.open(account, { http: { exchange }, nowMs: () => 0 }), act),
    )
    const { sdk, sent } = library(ours.version ?? '')
    await call(sdk, ours.fields, ours.key)
    expect(sent.map(comparable)).toEqual([ours])
  })
})

describe('Adyen', () => {
  const load = createRequire(import.meta.url)
  const root = '@adyen/api-library/lib/src'
  const settings = { merchantAccount: 'ExampleShopECOM', rawCards: 'true' }
  const secrets = { apiKey: new Secret('AQE-key'), hmacKey: new Secret('ab'.repeat(32)) }
  const account: ProviderAccount = { ...stripeExamples.accountOf(), connector: 'adyen', settings, secrets }

  /** The library takes days and times as dates, and writes them with milliseconds. */
  const revive = (_: string, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d(T|$)/.test(value) ? new Date(value) : value

  /** Only two files of the library, because loading all of it takes seconds. */
  function library() {
    const sent: AnyJson[] = []
    const httpClient = {
      request: async (url: string, json: string, _: unknown, __: unknown, options: AnyJson) => {
        const key = options?.idempotencyKey
        sent.push({ url, verb: options?.method, key, body: JSON.parse(json, revive) })
        return '{}'
      },
    }
    const { default: Client } = load(`${root}/client.js`)
    const { PaymentsApi } = load(`${root}/services/checkout/paymentsApi.js`)
    const { ModificationsApi } = load(`${root}/services/checkout/modificationsApi.js`)
    const client = new Client({ apiKey: 'AQE-key', environment: 'TEST' }, httpClient)
    return { sent, payments: new PaymentsApi(client), modifications: new ModificationsApi(client) }
  }

  const { authorizationOf, followUpOf, card, richContext, contextOf } = adyenExamples
  const named = { authorizationTransactionId: 'PSP0000000000001' }
  type Call = (sdk: ReturnType<typeof library>, body: AnyJson, options: AnyJson) => Promise<unknown>
  const cases: readonly [string, (connector: Connector) => Promise<unknown> | undefined, Call][] = [
    [
      'a card with every optional field',
      connector => connector.authorize(authorizationOf('CARD', { card }, richContext), signal),
      ({ payments }, body, options) => payments.payments(body, options),
    ],
    [
      'a merchant-initiated payment',
      connector =>
        connector.authorize(
          authorizationOf('CARD', {
            card,
            ...merchantInitiated,
          }),
          signal,
        ),
      ({ payments }, body, options) => payments.payments(body, options),
    ],
    [
      'a hosted page',
      connector => connector.authorize(authorizationOf('BLIK', { customerPresent: true }), signal),
      ({ payments }, body, options) => payments.sessions(body, options),
    ],
    [
      'a capture',
      connector => connector.capture?.(followUpOf('CAPTURE', named), signal),
      ({ modifications }, body, options) =>
        modifications.captureAuthorisedPayment('PSP0000000000001', body, options),
    ],
    [
      'a refund',
      connector => connector.refund?.(followUpOf('REFUND', named), signal),
      ({ modifications }, body, options) =>
        modifications.refundCapturedPayment('PSP0000000000001', body, options),
    ],
    [
      'a reversal',
      connector =>
        connector.reverse?.(
          followUpOf('REVERSAL', { ...named, newTotal: 1000, amount: { value: 1000, currency: 'EUR' } }),
          signal,
        ),
      ({ modifications }, body, options) =>
        modifications.cancelAuthorisedPaymentByPspReference('PSP0000000000001', body, options),
    ],
    [
      'an increment',
      connector => connector.increment?.(followUpOf('INCREMENTAL', { ...named, newTotal: 1200 }), signal),
      ({ modifications }, body, options) =>
        modifications.updateAuthorisedAmount('PSP0000000000001', body, options),
    ],
    [
      'an undoing by our reference',
      connector =>
        connector.undo?.(
          {
            operation: 'AUTHORIZATION',
            reference: stripeExamples.reference,
            amount: { value: 1000, currency: 'EUR' },
            payment: contextOf('CARD'),
            sentAt: new Date(0),
          },
          signal,
        ),
      ({ modifications }, body, options) => modifications.cancelAuthorisedPayment(body, options),
    ],
  ]

  test.each(cases)('%s', async (_, act, call) => {
    const { verb, url, headers, body } = await sentBy(
      exchange => adyen.open(account, { http: { exchange }, nowMs: () => 0 }),
      act,
    )
    const ours = { verb, url, key: headers['idempotency-key'], body: JSON.parse(String(body), revive) }
    const sdk = library()
    await call(sdk, ours.body, { idempotencyKey: ours.key })
    expect(sdk.sent).toEqual([ours])
  })
})
