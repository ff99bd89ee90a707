/** The calls of each operation, and the outcomes of their answers. */
import { describe, expect, test } from 'vitest'
import type { HttpAnswer, Inquiry } from '#connectors/contract.ts'
import {
  answered,
  authorizationOf,
  captureReference,
  followUpOf,
  intentOf,
  reference,
  sessionOf,
  testAccount,
  testCard,
} from '#connectors/stripe/examples.test-support.ts'
import { stripeFacts } from '#connectors/stripe/facts.ts'
import {
  back,
  inquiryOf,
  left,
  list,
  refused,
  sentAt,
  signal,
  talk,
  told,
} from '#connectors/stripe/talk.test-support.ts'
import { Secret } from '#domain/secret.ts'

describe('authorisation', () => {
  test('a card number is sent to Stripe only if the account allows raw cards', async () => {
    const card = authorizationOf('CARD', { card: testCard })
    const without = talk([answered(sessionOf('open'))])
    expect((await without.connector.authorize(card, signal)).authorization.kind).toBe('action')
    expect(without.calls()).toEqual(['POST /v1/checkout/sessions'])
    expect(String(without.requests[0]?.body)).not.toContain('4242')
    const allowed = talk([answered(intentOf('requires_capture'))], { settings: { rawCards: 'true' } })
    expect((await allowed.connector.authorize(card, signal)).authorization.kind).toBe('approved')
    expect(allowed.calls()).toEqual(['POST /v1/payment_intents'])
  })

  test('an IBAN needs no page', async () => {
    const { connector, calls } = talk([answered(intentOf('processing'))])
    const request = authorizationOf('DIRECTDEBIT', { account: testAccount, captureReference })
    expect((await connector.authorize(request, signal)).authorization.kind).toBe('pending')
    expect(calls()).toEqual(['POST /v1/payment_intents'])
  })

  test('without a customer there is no page, and nothing is sent', async () => {
    const { connector, calls } = talk([])
    const request = authorizationOf('IDEAL', { customerPresent: false })
    expect((await connector.authorize(request, signal)).authorization).toMatchObject({
      kind: 'declined',
      detail: '0312',
    })
    expect(calls()).toEqual([])
  })

  test('a bank transfer creates a customer first', async () => {
    const { connector, requests, calls } = talk([answered({ id: 'cus_1' }), answered(sessionOf('open'))])
    await connector.authorize(authorizationOf('SEPACREDITTRANSFER'), signal)
    expect(calls()).toEqual(['POST /v1/customers', 'POST /v1/checkout/sessions'])
    expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
      `${reference}-customer`,
      reference,
    ])
    const lost = talk([{ kind: 'lost', reason: 'reset' }])
    const outcome = await lost.connector.authorize(authorizationOf('SEPACREDITTRANSFER'), signal)
    expect(outcome.authorization.kind).toBe('unreached')
  })

  test('the same key with another body proves arrival: the look-up finds the outcome', async () => {
    const conflict = refused({ type: 'idempotency_error' }, 400)
    const found = talk([conflict, list(intentOf('requires_capture'))])
    expect((await found.connector.authorize(authorizationOf('IDEAL'), signal)).authorization.kind).toBe(
      'approved',
    )
    expect(found.calls()).toEqual(['POST /v1/checkout/sessions', 'GET /v1/payment_intents/search'])
    const hidden = talk([conflict, list(), list()])
    expect((await hidden.connector.authorize(authorizationOf('IDEAL'), signal)).authorization.kind).toBe(
      'unknown',
    )
  })

  // The answer to the first call was lost while Stripe was still making the page.
  test.each(['/v1/checkout/sessions', '/v1/customers'])(
    'a page is asked for again while the first call to %s is under way',
    async path => {
      const inUse = refused({ type: 'idempotency_error', code: 'idempotency_key_in_use' }, 409)
      const { connector, calls } = talk([inUse])
      const type = path.endsWith('customers') ? 'SEPACREDITTRANSFER' : 'IDEAL'
      const outcome = await connector.authorize(authorizationOf(type), signal)
      expect(outcome.authorization.kind).toBe('unreached')
      expect(calls()).toEqual([`POST ${path}`])
    },
  )

  test.each<[string, HttpAnswer, string]>([
    ['never sent', { kind: 'unreached', reason: 'refused' }, 'unreached'],
    ['lost', { kind: 'lost', reason: 'reset' }, 'unknown'],
    ['an error page', answered('<html>', 502), 'unknown'],
    ['declined', refused({ type: 'card_error', decline_code: 'do_not_honor' }, 402), 'declined'],
  ])('an answer that is %s', async (_, answer, kind) => {
    const { connector, requests } = talk([answer], { settings: { rawCards: 'true' } })
    const outcome = await connector.authorize(authorizationOf('CARD', { card: testCard }), signal)
    expect(outcome.authorization.kind).toBe(kind)
    expect(requests).toHaveLength(1)
  })
})

test('live goes to Stripe, test to the address of the account', async () => {
  const live = talk([answered(intentOf('canceled'))], { environment: 'live' })
  await live.connector.reverse?.(followUpOf('REVERSAL'), signal)
  expect(live.requests[0]?.url).toBe('https://api.stripe.com/v1/payment_intents/pi_1/cancel')
  const double = talk([answered(intentOf('canceled'))], { settings: { baseUrl: 'http://127.0.0.1:1234/' } })
  await double.connector.reverse?.(followUpOf('REVERSAL'), signal)
  expect(double.requests[0]?.url).toBe('http://127.0.0.1:1234/v1/payment_intents/pi_1/cancel')
})

describe('the customer returns', () => {
  const open = { ...inquiryOf('AUTHORIZATION'), ...told('cs_1'), amount: { value: 1000, currency: 'EUR' } }

  test('what was stored with the try that they made stays with it', async () => {
    const { connector } = talk([])
    const request = authorizationOf('CARD')
    const approval = { keyMark: '0123abcd', sentOnce: true }
    expect(await connector.keep?.({ request, approval, returned: back })).toEqual(approval)
    expect(await connector.keep?.({ request, approval })).not.toMatchObject(approval)
  })

  test('after paying on Stripe’s page, the payment is approved', async () => {
    const paid = sessionOf('complete', { payment_status: 'paid', payment_intent: intentOf('succeeded') })
    const { connector, calls } = talk([answered(paid)])
    const outcome = await connector.complete?.({ ...open, ...back, captureReference }, signal)
    expect([outcome?.authorization.kind, outcome?.capture?.kind]).toEqual(['approved', 'approved'])
    expect(calls()).toEqual(['GET /v1/checkout/sessions/cs_1'])
  })

  test('by the cancel link of Stripe’s page: the page is ended', async () => {
    const { connector, calls, requests } = talk([answered(sessionOf('expired'))])
    const outcome = await connector.complete?.({ ...open, ...left }, signal)
    expect(outcome?.authorization).toMatchObject({ kind: 'declined', detail: '0703' })
    expect(calls()).toEqual(['POST /v1/checkout/sessions/cs_1/expire'])
    expect(requests[0]?.headers['idempotency-key']).toBe(`${reference}-expire`)
  })

  test('by the cancel link after paying in another tab: the payment is approved', async () => {
    const paid = sessionOf('complete', { payment_status: 'paid', payment_intent: intentOf('succeeded') })
    const { connector } = talk([refused({ type: 'invalid_request_error' }, 400), answered(paid)])
    const outcome = await connector.complete?.({ ...open, ...left, captureReference }, signal)
    expect([outcome?.authorization.kind, outcome?.capture?.kind]).toEqual(['approved', 'approved'])
  })

  test('a challenge that was never passed is ended as an intent', async () => {
    const { connector, calls } = talk([answered(intentOf('canceled', { cancellation_reason: 'abandoned' }))])
    expect(await connector.cancelAction?.({ ...open, ...told('pi_1') }, signal)).toMatchObject({
      kind: 'declined',
      detail: '0703',
    })
    expect(calls()).toEqual(['POST /v1/payment_intents/pi_1/cancel'])
  })

  test.each<HttpAnswer>([
    { kind: 'lost', reason: 'reset' },
    { kind: 'unreached', reason: 'refused' },
  ])('whether the page was ended stays unknown when there is no answer: %o', async answer => {
    const { connector } = talk([answer])
    expect((await connector.cancelAction?.(open, signal))?.kind).toBe('unknown')
  })
})

describe('looking up the outcome of a request', () => {
  const ours = intentOf('requires_capture')

  test.each<[string, readonly HttpAnswer[], string]>([
    ['search finds it', [list(ours)], 'approved'],
    [
      'search lags, the list shows it',
      [list(), list(intentOf('succeeded', { metadata: {} }), ours)],
      'approved',
    ],
    [
      'search is not offered, the list shows it',
      [refused({ type: 'invalid_request_error' }, 400), list(ours)],
      'approved',
    ],
    ['neither finds it', [list(), list()], 'unreached'],
    ['the list cannot be read', [list(), answered('<html>', 502)], 'unknown'],
    ['nothing can be read', [{ kind: 'lost', reason: 'reset' }], 'unknown'],
    ['the key was revoked', [refused({ type: 'invalid_request_error' }, 401)], 'unknown'],
  ])('of an authorisation: %s', async (_, answers, kind) => {
    const { connector } = talk(answers)
    const inquiry = inquiryOf('AUTHORIZATION', { authorizationTransactionId: undefined })
    expect((await connector.inquire?.(inquiry, signal))?.authorization.kind).toBe(kind)
  })

  test('the list is read page by page', async () => {
    const first = answered({
      object: 'list',
      data: [intentOf('succeeded', { id: 'pi_9', metadata: {} })],
      has_more: true,
    })
    const { connector, requests } = talk([list(), first, list(ours)])
    expect((await connector.inquire?.(inquiryOf('AUTHORIZATION'), signal))?.authorization.kind).toBe(
      'approved',
    )
    const url = new URL(requests[2]?.url ?? '')
    expect(url.searchParams.get('starting_after')).toBe('pi_9')
    expect(Number(url.searchParams.get('created[gte]'))).toBe(sentAt.getTime() / 1000 - 300)
  })

  test('a clock that runs ahead of Stripe’s searches the last day', async () => {
    const { connector, requests } = talk([list(), list()])
    await connector.inquire?.(
      inquiryOf('AUTHORIZATION', { sentAt: new Date('2027-01-01T00:00:00Z') }),
      signal,
    )
    const query = new URL(requests[1]?.url ?? '').searchParams
    expect(Number(query.get('created[gte]'))).toBe(sentAt.getTime() / 1000 + 60 - 86_400)
    expect(query.get('created[lte]')).toBeNull()
  })

  test.each<[Inquiry['operation'], Record<string, unknown>, string]>([
    ['CAPTURE', intentOf('requires_capture', { amount_received: 700 }), 'approved'],
    ['CAPTURE', intentOf('requires_capture', { amount_received: 300 }), 'unreached'],
    ['CAPTURE', intentOf('requires_capture', { amount_received: 500 }), 'unknown'],
    ['INCREMENTAL', intentOf('requires_capture', { amount: 1400 }), 'approved'],
    ['INCREMENTAL', intentOf('requires_capture', { amount: 1000 }), 'unreached'],
    ['REVERSAL', intentOf('canceled'), 'approved'],
    ['REVERSAL', intentOf('requires_capture'), 'unreached'],
    // All of it was captured in the dashboard, so the reversal has not arrived.
    ['REVERSAL', intentOf('succeeded'), 'unreached'],
    ['REVERSAL', intentOf('succeeded', { amount_received: 600 }), 'approved'],
    ['REVERSAL', intentOf('succeeded', { amount_received: 700 }), 'unknown'],
  ])('of a %s by the intent %o: %s', async (operation, intent, kind) => {
    const { connector } = talk([answered(intent)])
    expect((await connector.inquire?.(inquiryOf(operation), signal))?.authorization.kind).toBe(kind)
  })

  test.each<[string, readonly string[], string]>([
    ['only one holds money', ['requires_payment_method', 'canceled', 'requires_capture'], 'approved'],
    ['none holds money', ['canceled', 'canceled'], 'declined'],
    ['two hold money, so an operator must look', ['succeeded', 'requires_capture'], 'unknown'],
  ])('of several intents under one reference: %s', async (_, statuses, kind) => {
    const several = list(...statuses.map(status => intentOf(status)))
    for (const answers of [[several], [list(), several]]) {
      const { connector } = talk(answers)
      const found = await connector.inquire?.(inquiryOf('AUTHORIZATION', { provider: undefined }), signal)
      expect(found?.authorization.kind).toBe(kind)
    }
  })

  test.each<[string, readonly string[], string]>([
    ['one failed and one did not', ['failed', 'succeeded'], 'approved'],
    ['both were made', ['succeeded', 'pending'], 'unknown'],
  ])('of several refunds under one reference: %s', async (_, statuses, kind) => {
    const made = { amount: 400, currency: 'eur', metadata: { tollgate: reference } }
    const { connector } = talk([list(...statuses.map(status => ({ id: `re_${status}`, ...made, status })))])
    expect((await connector.inquire?.(inquiryOf('REFUND'), signal))?.authorization.kind).toBe(kind)
  })

  test.each<[string, HttpAnswer, string]>([
    [
      'is in the list',
      list({
        id: 're_1',
        amount: 400,
        currency: 'eur',
        status: 'succeeded',
        metadata: { tollgate: reference },
      }),
      'approved',
    ],
    [
      'is not in the list',
      list({ id: 're_2', amount: 400, currency: 'eur', status: 'succeeded', metadata: {} }),
      'unreached',
    ],
    ['may be on the next page', answered({ object: 'list', data: [], has_more: true }), 'unknown'],
  ])('of a refund that %s', async (_, answer, kind) => {
    const { connector } = talk([answer])
    expect((await connector.inquire?.(inquiryOf('REFUND'), signal))?.authorization.kind).toBe(kind)
  })
})

describe('the check of an account', () => {
  const endpoint = {
    url: 'https://pay.example/providers/acc_1/notices',
    status: 'enabled',
    enabled_events: ['*'],
  }
  const find = async (answers: readonly HttpAnswer[], environment: 'test' | 'live' = 'test', key = 'sk_1') =>
    (
      await talk(answers, {
        environment,
        secrets: { secretKey: new Secret(key), webhookSecret: new Secret('whsec_1') },
      }).connector.check(signal)
    )
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => `${name}: ${detail}`)

  test('finds nothing wrong with an account that is set up correctly', async () => {
    expect(await find([list(intentOf('succeeded', { livemode: false })), list(endpoint)])).toEqual([])
  })

  test.each<[string, readonly HttpAnswer[], RegExp]>([
    [
      'a wrong key',
      [refused({ message: 'Invalid API Key provided' }, 401)],
      /^credentials: Stripe does not know the secret key: .*Invalid API Key/,
    ],
    [
      'a revoked key',
      [refused({ code: 'api_key_expired', message: 'Expired API Key' }, 401)],
      /^credentials: The secret key has expired or was revoked/,
    ],
    [
      'a key with few permissions',
      [refused({ message: 'no permission' }, 403)],
      /^credentials: The secret key may not read payments/,
    ],
    ['nobody', [{ kind: 'unreached', reason: 'refused' }], /^credentials: Stripe could not be reached/],
    [
      'a key of the other mode',
      [list(intentOf('succeeded', { livemode: true })), list(endpoint)],
      /^mode: The key belongs to Stripe's live mode/,
    ],
    [
      'another API version',
      [{ ...list(), headers: { 'stripe-version': '2020-08-27' } } as HttpAnswer, list(endpoint)],
      /^version: .*2020-08-27/,
    ],
    [
      'a version without a field',
      [list({ id: 'pi_1', status: 'succeeded' }), list(endpoint)],
      /^version: .*lack amount, currency/,
    ],
    [
      'an endpoint without our events',
      [list(), list({ ...endpoint, enabled_events: ['charge.captured'] })],
      /^notices: .*does not send .*refund.failed/,
    ],
  ])('%s', async (_, answers, finding) => {
    const [first] = await find(answers)
    expect(first).toMatch(finding)
  })

  test.each([
    ['sk_test_1', 'live', ["mode: The key belongs to Stripe's test mode, the account to live."]],
    ['rk_live_1', 'test', ["mode: The key belongs to Stripe's live mode, the account to test."]],
    ['rk_live_1', 'live', []],
    ['sk_1', 'live', []],
  ] as const)(
    'of a new account, where no payment shows the mode, the key %s in %s',
    async (key, environment, found) => {
      expect(await find([list(), list(endpoint)], environment, key)).toEqual(found)
    },
  )

  test.each([
    ['sk_test_1', 'live', 'test'],
    ['rk_test_1', 'live', 'test'],
    ['sk_live_1', 'test', 'live'],
    ['sk_test_1', 'test', undefined],
    ['rk_live_1', 'live', undefined],
    ['sk_1', 'live', undefined],
  ] as const)('the key %s of an account in %s', (key, environment, otherMode) => {
    const complaint = stripeFacts.secrets.secretKey?.check?.(key, environment)
    expect(complaint).toEqual(otherMode && expect.stringContaining(`Stripe's ${otherMode} mode`))
    expect(complaint ?? '').not.toContain(key)
  })

  test('a missing endpoint is an error in live, but not in test, where events may be forwarded otherwise', async () => {
    expect(await find([list(), list()], 'live')).toEqual([
      'notices: No enabled webhook endpoint at Stripe leads to …/providers/acc_1/notices.',
    ])
    expect(await find([list(), list()])).toEqual([])
  })
})

describe('a report that is ready', () => {
  const url = 'https://files.stripe.com/v1/files/file_1/contents'
  const name = 'balance_change_from_activity.itemized.3'
  const file: HttpAnswer = { kind: 'answered', status: 200, headers: {}, body: 'a,b\n' }

  test('is downloaded from Stripe’s host for files, with the key of the account', async () => {
    const { connector, requests } = talk([file])
    const fetched = await connector.fetchReport?.({ url, name }, signal)
    expect(fetched).toEqual({ kind: 'fetched', file: [Buffer.from('a,b\n')] })
    expect(requests).toMatchObject([{ verb: 'GET', url, headers: { authorization: 'Bearer sk_test_1' } }])
  })

  test.each([
    ['at another host', { url: 'https://files.stripe.example/v1/files/file_1/contents', name }, 'foreign'],
    ['at no address', { url: 'file_1', name }, 'foreign'],
    ['that is a summary', { url, name: 'balance.summary.1' }, 'none'],
    [
      'about connected accounts',
      { url, name: 'connected_account_balance_change_from_activity.itemized.3' },
      'none',
    ],
    ['about taxes', { url, name: 'tax.transactions.itemized.2' }, 'none'],
  ])('%s is not downloaded', async (_, report, kind) => {
    const { connector, requests } = talk([file])
    expect(await connector.fetchReport?.(report, signal)).toEqual({ kind })
    expect(requests).toEqual([])
  })

  test.each([
    ['refused', refused({ type: 'invalid_request_error' }, 403)],
    ['lost', { kind: 'lost', reason: 'reset' } as const],
  ])('that is %s is to be tried again', async (_, answer) => {
    const { connector } = talk([answer])
    expect(await connector.fetchReport?.({ url, name }, signal)).toMatchObject({ kind: 'failed' })
  })
})
