import { describe, expect, test } from 'vitest'
import { adyen } from '#connectors/adyen/connector.ts'
import { authorizationOf, card, contextOf, followUpOf } from '#connectors/adyen/examples.test-support.ts'
import type {
  CustomerReturn,
  HttpAnswer,
  HttpRequest,
  Inquiry,
  ProviderAccount,
} from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'

const account: ProviderAccount = {
  accountId: 'acc_1',
  merchantId: 'mer_1' as MerchantId,
  connector: 'adyen',
  name: 'Adyen',
  environment: 'test',
  settings: { merchantAccount: 'ExampleShopECOM', rawCards: 'true', baseUrl: 'http://127.0.0.1:18250/' },
  secrets: { apiKey: new Secret('AQE-key'), hmacKey: new Secret('ab'.repeat(32)) },
}
const signal = new AbortController().signal

/** A connector whose calls all get this answer and are recorded. */
function opened(status: number, body: AnyJson, change: Partial<ProviderAccount> = {}) {
  const calls: HttpRequest[] = []
  const exchange = async (request: HttpRequest): Promise<HttpAnswer> => {
    calls.push(request)
    return { kind: 'answered', status, headers: {}, body: JSON.stringify(body) }
  }
  const connector = adyen.open({ ...account, ...change }, { http: { exchange }, nowMs: () => 0 })
  return { connector, calls, bodies: () => calls.map(call => JSON.parse(String(call.body ?? 'null'))) }
}

const inquiry: Inquiry = {
  operation: 'AUTHORIZATION',
  reference: xIdOf(1),
  amount: { value: 1000, currency: 'EUR' },
  payment: contextOf('CARD'),
  sentAt: now,
}

const back = (query: Record<string, string>, change: Partial<CustomerReturn> = {}): CustomerReturn => ({
  ...inquiry,
  query,
  form: {},
  ...change,
})

describe('requests to Adyen', () => {
  test('go to the configured address in test, with API key and reference', async () => {
    const { connector, calls } = opened(200, {})
    await connector.authorize(authorizationOf('CARD', { card }), signal)
    expect(calls[0]).toMatchObject({
      verb: 'POST',
      url: 'http://127.0.0.1:18250/v72/payments',
      headers: {
        'x-api-key': 'AQE-key',
        'idempotency-key': xIdOf(1),
        'content-type': 'application/json',
      },
    })
  })

  test('have stable idempotency keys of at most 64 characters', async () => {
    const { connector, calls } = opened(200, { disputeServiceResult: { success: true } })
    const key = `dsp_${'1'.repeat(32)}-${'2'.repeat(32)}`
    for (const _ of [1, 2]) await connector.disputes?.accept?.(openDispute('DISPUTE1'), key, signal)
    await connector.disputes?.accept?.(openDispute('DISPUTE1'), `${key}-other`, signal)
    const [first, second, other] = calls.map(({ headers }) => headers['idempotency-key'] ?? '')
    expect(first).toMatch(/^[\w-]{1,64}$/)
    expect([second === first, other === first]).toEqual([true, false])
  })

  test('go to Adyen’s test system by default', async () => {
    const { connector, calls } = opened(200, {}, { settings: { merchantAccount: 'ExampleShopECOM' } })
    await connector.check(signal)
    expect(calls[0]?.url).toBe('https://checkout-test.adyen.com/v72/paymentMethods')
  })

  test('go to the merchant’s own host in live, even if baseUrl is set', async () => {
    const settings = {
      merchantAccount: 'ExampleShopECOM',
      liveUrlPrefix: '1797-Shop',
      baseUrl: 'http://evil.example',
    }
    const { connector, calls } = opened(200, {}, { environment: 'live', settings })
    await connector.check(signal)
    await connector.disputes?.accept?.({ providerDisputeId: 'D' } as never, 'k', signal)
    expect(calls.map(({ url }) => url)).toEqual([
      'https://1797-Shop-checkout-live.adyenpayments.com/checkout/v72/paymentMethods',
      'https://ca-live.adyen.com/ca/services/DisputeService/v30/acceptDispute',
    ])
  })

  test('a page that replaces an expired one gets a new key; a payment keeps its key', async () => {
    const { connector, calls } = opened(200, {})
    await connector.authorize(authorizationOf('BLIK', { send: 1 }), signal)
    await connector.authorize(authorizationOf('BLIK', { send: 2 }), signal)
    await connector.authorize(authorizationOf('IDEAL', { send: 2 }), signal)
    expect(calls.map(({ headers }) => headers['idempotency-key'])).toEqual([
      xIdOf(1),
      `${xIdOf(1)}-2`,
      xIdOf(1),
    ])
  })

  test('modifications go to the payment under their own reference', async () => {
    const { connector, calls, bodies } = opened(201, {})
    await connector.capture?.(followUpOf('CAPTURE'), signal)
    await connector.refund?.(followUpOf('REFUND'), signal)
    await connector.increment?.(followUpOf('INCREMENTAL', { newTotal: 1400 }), signal)
    await connector.reverse?.(followUpOf('REVERSAL', { newTotal: 1000 }), signal)
    expect(calls.map(({ url }) => url.split('/').at(-1))).toEqual([
      'captures',
      'refunds',
      'amountUpdates',
      'cancels',
    ])
    expect(new Set(calls.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set([xIdOf(2)]))
    expect(new Set(bodies().map(({ reference }) => reference))).toEqual(new Set([xIdOf(2)]))
  })

  test('undoing a payment and ending a page cancel by our reference', async () => {
    const { connector, calls, bodies } = opened(201, { status: 'received', paymentReference: xIdOf(1) })
    expect(await connector.undo?.(inquiry, signal)).toMatchObject({ kind: 'pending' })
    expect(await connector.cancelAction?.(inquiry, signal)).toMatchObject({ detail: '0704' })
    expect(bodies()[0]).toEqual({
      merchantAccount: 'ExampleShopECOM',
      paymentReference: xIdOf(1),
      reference: xIdOf(1),
    })
    expect(calls.map(({ headers }) => headers['idempotency-key'])).toEqual([
      `${xIdOf(1)}-undo`,
      `${xIdOf(1)}-cancel`,
    ])
  })

  test('a modification is not undone', async () => {
    const { connector, calls } = opened(201, {})
    expect(await connector.undo?.({ ...inquiry, operation: 'CAPTURE' }, signal)).toEqual({ kind: 'unknown' })
    expect(calls).toEqual([])
  })

  test('a payment without a PSP reference cannot be changed', async () => {
    const { connector, calls } = opened(201, {})
    const request = followUpOf('CAPTURE', { authorizationTransactionId: undefined })
    expect(await connector.capture?.(request, signal)).toMatchObject({ kind: 'declined' })
    expect(calls).toEqual([])
  })
})

describe('the customer returns', () => {
  test('from a redirect, by GET or POST: the result is passed to Adyen under one key', async () => {
    const { connector, calls, bodies } = opened(200, {
      resultCode: 'Authorised',
      merchantReference: xIdOf(1),
      pspReference: 'PSP1',
    })
    const outcome = await connector.complete?.(back({ redirectResult: 'eyJ0' }), signal)
    await connector.complete?.(back({}, { form: { redirectResult: 'eyJ0' } }), signal)
    await connector.complete?.(back({}, { form: { MD: 'a', PaRes: 'b' } }), signal)
    expect(outcome?.authorization.kind).toBe('approved')
    expect(bodies()).toEqual([
      { details: { redirectResult: 'eyJ0' } },
      { details: { redirectResult: 'eyJ0' } },
      { details: { MD: 'a', PaRes: 'b' } },
    ])
    const [first, second, third] = calls.map(({ headers }) => headers['idempotency-key'])
    expect(first).toBe(second)
    expect(third).not.toBe(first)
    expect(first?.length).toBeLessThanOrEqual(64)
  })

  test.each([
    ['approved by our reference', { merchantReference: xIdOf(1) }, 'approved'],
    ['unknown with the amount alone, which other payments have too', {}, 'unknown'],
  ])('with a result that may be of another payment: %s', async (_, named, kind) => {
    const { value, currency } = inquiry.amount
    const body = { resultCode: 'Authorised', amount: { value, currency }, pspReference: 'PSP9', ...named }
    const { connector } = opened(200, body)
    const outcome = await connector.complete?.(back({ redirectResult: 'of-another-payment' }), signal)
    expect(outcome?.authorization.kind).toBe(kind)
  })

  test('from a hosted page: the result of its session is read', async () => {
    const { connector, calls } = opened(200, { status: 'canceled', reference: xIdOf(1) })
    const provider = {
      echo: { reference: xIdOf(1), amount: inquiry.amount },
      fields: { sessionId: 'CS/1' },
    }
    const outcome = await connector.complete?.(back({ sessionResult: 'a b' }, { provider }), signal)
    expect(outcome?.authorization).toMatchObject({ kind: 'declined', detail: '0703' })
    expect(calls[0]).toMatchObject({
      verb: 'GET',
      url: 'http://127.0.0.1:18250/v72/sessions/CS%2F1?sessionResult=a%20b',
    })
  })

  test('without any result: Adyen is not called, and the notice decides', async () => {
    const { connector, calls } = opened(200, {})
    const outcome = await connector.complete?.(back({}), signal)
    expect(outcome?.authorization.kind).toBe('pending')
    expect(calls).toEqual([])
  })
})

describe('the check of an account', () => {
  test.each([
    [200, { paymentMethods: [{}, {}] }, ['apiKey true', 'merchantAccount true', 'notices true']],
    [200, { methods: [] }, ['apiKey true', 'version false']],
    [401, { message: 'HTTP Status Response - Unauthorized' }, ['apiKey false']],
    [403, { message: 'Not allowed' }, ['apiKey false', 'merchantAccount false']],
    [
      422,
      { errorCode: '901', message: 'Invalid Merchant Account' },
      ['apiKey true', 'merchantAccount false'],
    ],
    [500, {}, ['connection false']],
  ])('HTTP %i with %j finds %j', async (status, body, findings) => {
    const { connector } = opened(status, body)
    const found = await connector.check(signal)
    expect(found.map(({ name, ok }) => `${name} ${ok}`)).toEqual(findings)
  })
})

describe('facts of the connector', () => {
  const { facts } = adyen

  test.each([
    ['rawCards', 'yes'],
    ['multipleCaptures', '1'],
    ['merchantAccount', 'two words'],
    ['liveUrlPrefix', 'a.b'],
  ])('the setting %s cannot be %s', (name, value) =>
    expect(facts.settings[name]?.check?.(value)).toBeTypeOf('string'),
  )

  test('the key that signs notices must be hexadecimal', () => {
    expect(facts.secrets.hmacKey?.check?.('ab'.repeat(32), 'test')).toBeUndefined()
    expect(facts.secrets.hmacKey?.check?.('not hex', 'test')).toBeTypeOf('string')
  })

  test('the capabilities for cards follow from the settings', () => {
    const method = methodOf('CARD')
    expect(opened(200, {}).connector.supports(method)).toMatchObject({
      rawCards: true,
      capture: 'one',
      partialCaptureReleasesRest: true,
      partialReversal: true,
      increment: true,
      credit: false,
    })
    const settings = { merchantAccount: 'ExampleShopECOM', multipleCaptures: 'true' }
    expect(opened(200, {}, { settings }).connector.supports(method)).toMatchObject({
      rawCards: false,
      capture: 'several',
      partialCaptureReleasesRest: false,
    })
    expect(opened(200, {}).connector.supports(methodOf('PROVIDERT'))).toBeUndefined()
  })

  test.each([
    ['CARD', 3],
    ['DIRECTDEBIT', 14],
    ['MULTIBANCO', 30],
  ])('a payment by %s may stay pending for %i days', (type, days) => {
    expect(facts.pendingMs(methodOf(type), 'AUTHORIZATION')).toBe(days * 86_400_000)
  })
})
