/** The connector over real HTTP against a double of Adyen that keeps its own ledger and injects faults. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { adyen } from '#connectors/adyen/connector.ts'
import {
  authorizationOf,
  account as bankAccount,
  card,
  followUpOf,
} from '#connectors/adyen/examples.test-support.ts'
import type {
  AuthorizationOutcome,
  Connector,
  CustomerReturn,
  FollowUpRequest,
  NoticeFact,
  Outcome,
} from '#connectors/contract.ts'
import { createProviderHttp } from '#connectors/http.ts'
import type { MerchantId, XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { now, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { challengeCard } from '#test/support/adyen/checkout.ts'
import { AdyenDouble, type AdyenFault } from '#test/support/adyen/double.ts'
import type { LedgerPayment } from '#test/support/adyen/ledger.ts'

const pool = createProviderHttp()
afterAll(() => pool.close())

let double: AdyenDouble
let connector: Connector
const signal = new AbortController().signal

beforeEach(async () => {
  double = await new AdyenDouble().start()
  connector = open({})
})
afterEach(() => double.close())

const open = (change: { readonly apiKey?: string; readonly merchantAccount?: string }): Connector =>
  adyen.open(
    {
      accountId: 'acc_1',
      merchantId: 'mer_1' as MerchantId,
      connector: 'adyen',
      name: 'Adyen',
      environment: 'test',
      settings: {
        merchantAccount: change.merchantAccount ?? double.checkout.merchantAccount,
        rawCards: 'true',
        baseUrl: double.origin,
      },
      secrets: {
        apiKey: new Secret(change.apiKey ?? double.apiKey),
        hmacKey: new Secret(double.hmacKey),
      },
    },
    { http: pool.forHosts(), nowMs: () => 0 },
  )

const said = (outcome: Outcome | AuthorizationOutcome['authorization'] | undefined): string | undefined =>
  outcome?.kind === 'declined' ? outcome.detail : outcome?.kind

/** The double's notices as the connector reads them. */
function readOwed(): NoticeFact[] {
  const message = double.sign(double.ledger.owed.splice(0))
  const notice = connector.readNotice?.({
    headers: {},
    query: {},
    body: Buffer.from(JSON.stringify(message)),
  })
  if (notice?.verdict !== 'genuine') throw new Error(`not genuine: ${JSON.stringify(notice)}`)
  return notice.items.map(({ fact }) => fact)
}

const tell = (fact: NoticeFact): string =>
  fact.kind === 'outcome' ? `${fact.operation} ${said(fact.outcome)}` : fact.kind

const manual = { captureMethod: 'MANUAL' } as const

async function authorizeCard(reference = xIdOf(1)) {
  const request = authorizationOf('CARD', { card, reference }, manual)
  const { authorization } = await connector.authorize(request, signal)
  if (authorization.kind !== 'approved') throw new Error(`not approved: ${authorization.kind}`)
  const { transactionId = '' } = authorization.provider
  const payment = double.ledger.payments.get(transactionId)
  if (!payment) throw new Error('not in the ledger')
  return { authorization, transactionId, payment }
}

const follow = (
  operation: FollowUpRequest['operation'],
  transactionId: string,
  value: number,
  change: Partial<FollowUpRequest> = {},
): FollowUpRequest =>
  followUpOf(operation, {
    amount: { value, currency: 'EUR' },
    authorizationTransactionId: transactionId,
    ...change,
  })

describe('a card', () => {
  test('is authorised, captured in part (which releases the rest) and refunded; every notice matches its operation', async () => {
    const { transactionId, payment } = await authorizeCard()
    const captured = await connector.capture?.(follow('CAPTURE', transactionId, 400), signal)
    const refunded = await connector.refund?.(
      follow('REFUND', transactionId, 100, { reference: xIdOf(3) }),
      signal,
    )
    expect([said(captured), said(refunded)]).toEqual(['pending', 'pending'])
    const facts = readOwed()
    expect(facts.map(tell)).toEqual(['AUTHORIZATION approved', 'CAPTURE approved', 'REFUND approved'])
    expect(facts.map(fact => (fact.kind === 'outcome' ? fact.subject.reference : undefined))).toEqual([
      xIdOf(1),
      xIdOf(2),
      xIdOf(3),
    ])
    expect(payment).toMatchObject({ authorised: 1000, captured: 400, released: 600, refunded: 100 })
  })

  test('an increment and a partial reversal send the new total', async () => {
    const { transactionId, payment } = await authorizeCard()
    await connector.increment?.(follow('INCREMENTAL', transactionId, 500, { newTotal: 1500 }), signal)
    expect(payment.authorised).toBe(1500)
    const authorized = { payment: { ...authorizationOf('CARD').payment, authorizedValue: 1500 } }
    const part = { newTotal: 700, reference: xIdOf(3), ...authorized }
    expect(said(await connector.reverse?.(follow('REVERSAL', transactionId, 700, part), signal))).toBe(
      'pending',
    )
    expect(payment.authorised).toBe(800)
    const all = { newTotal: 1500, reference: xIdOf(4), ...authorized }
    await connector.reverse?.(follow('REVERSAL', transactionId, 800, all), signal)
    expect(payment).toMatchObject({ state: 'cancelled', released: 800 })
  })

  test.each([
    ['4000000000000002', '0305'],
    ['4000000000009995', '0351'],
    ['4000000000000069', '0354'],
  ])('%s is declined with %s', async (number, detail) => {
    const request = authorizationOf('CARD', { card: { ...card, number: new Secret(number) } })
    expect(said((await connector.authorize(request, signal)).authorization)).toBe(detail)
  })

  test('with 3-D Secure goes to the issuer by a form and is completed with the returned result', async () => {
    const request = authorizationOf('CARD', { card: { ...card, number: new Secret(challengeCard) } })
    const { authorization } = await connector.authorize(request, signal)
    if (authorization.kind !== 'action' || authorization.action.type !== 'redirect')
      throw new Error('no redirect')
    expect(authorization.action).toMatchObject({ verb: 'POST', challenge: true })
    const id = authorization.action.url.split('/').at(-1) ?? ''
    const back = new URL(double.checkout.decide('redirect', id, 'approve'))
    const outcome = await connector.complete?.(returnOf(request.reference, back, authorization), signal)
    expect(said(outcome?.authorization)).toBe('approved')
  })

  test('is captured with the authorisation if the capture is automatic', async () => {
    const request = authorizationOf('CARD', { card, captureReference: xIdOf(2) })
    const { authorization, capture } = await connector.authorize(request, signal)
    expect([said(authorization), said(capture)]).toEqual(['approved', 'approved'])
    expect([...double.ledger.payments.values()][0]).toMatchObject({ captured: 1000 })
  })
})

const returnOf = (
  reference: XId,
  back: URL,
  action: Extract<AuthorizationOutcome['authorization'], { kind: 'action' }>,
): CustomerReturn => ({
  operation: 'AUTHORIZATION',
  reference,
  amount: { value: 1000, currency: 'EUR' },
  payment: authorizationOf('CARD').payment,
  provider: action.provider,
  sentAt: now,
  query: Object.fromEntries(back.searchParams),
  form: {},
})

describe('a page of Adyen', () => {
  test.each([
    ['BLIK', 'hosted', 'approve', 'approved'],
    ['BLIK', 'hosted', 'refuse', '0305'],
    ['BLIK', 'hosted', 'cancel', '0703'],
    ['IDEAL', 'redirect', 'approve', 'approved'],
    ['IDEAL', 'redirect', 'refuse', '0305'],
    ['IDEAL', 'redirect', 'cancel', '0703'],
  ] as const)(
    '%s, %s: %s is %s, however often the customer returns',
    async (type, page, verdict, expected) => {
      const request = authorizationOf(type)
      const { authorization } = await connector.authorize(request, signal)
      if (authorization.kind !== 'action' || authorization.action.type !== 'redirect')
        throw new Error('no redirect')
      expect(authorization.action.url).toContain(`/${page}/`)
      const id = authorization.action.url.split('/').at(-1) ?? ''
      for (let times = 0; times < 2; times += 1) {
        const back = new URL(double.checkout.decide(page, id, verdict))
        const outcome = await connector.complete?.(returnOf(request.reference, back, authorization), signal)
        expect(said(outcome?.authorization)).toBe(expected)
      }
      expect(double.ledger.owed.length).toBeLessThanOrEqual(1)
    },
  )

  test('instructions are shown, and the payment is approved by its notice', async () => {
    const { authorization } = await connector.authorize(authorizationOf('MULTIBANCO'), signal)
    expect(authorization).toMatchObject({
      kind: 'action',
      action: { type: 'instructions', instructions: { reference: '501 422 944', entity: '12101' } },
    })
    const [payment] = double.ledger.payments.values()
    double.ledger.authorise(payment as LedgerPayment)
    expect(readOwed().map(tell)).toEqual(['AUTHORIZATION approved'])
  })

  test('a debit is pending until its notice', async () => {
    const { authorization } = await connector.authorize(
      authorizationOf('DIRECTDEBIT', { account: bankAccount }),
      signal,
    )
    expect(said(authorization)).toBe('pending')
  })
})

describe('faults', () => {
  const kinds: readonly [AdyenFault, string][] = [
    ['lostBefore', 'unknown'],
    ['lostAfter', 'unknown'],
    ['html500', 'unknown'],
    ['truncated', 'unknown'],
    ['wrongEcho', 'unknown'],
  ]

  test.each(kinds)(
    'a payment whose answer is %s is %s, and happened at most once',
    async (kind, expected) => {
      double.fail(/payments$/, kind)
      const request = authorizationOf('CARD', { card }, manual)
      expect(said((await connector.authorize(request, signal)).authorization)).toBe(expected)
      expect(double.ledger.payments.size).toBe(kind === 'lostBefore' ? 0 : 1)
    },
  )

  test.each(kinds)(
    'a capture whose answer is %s is %s; its key repeated counts once',
    async (kind, expected) => {
      const { transactionId, payment } = await authorizeCard()
      double.fail(/captures$/, kind)
      const request = follow('CAPTURE', transactionId, 400)
      expect(said(await connector.capture?.(request, signal))).toBe(expected)
      expect(said(await connector.capture?.(request, signal))).toBe('pending')
      expect(payment.captured).toBe(400)
    },
  )

  test('a session whose answer is lost has no effect and is created again', async () => {
    double.fail(/sessions$/, 'lostAfter')
    const first = await connector.authorize(authorizationOf('BLIK'), signal)
    expect(said(first.authorization)).toBe('unreached')
    const second = await connector.authorize(authorizationOf('BLIK', { send: 2 }), signal)
    expect(said(second.authorization)).toBe('action')
  })

  test('a call without an answer times out, and its payment is undone by our reference', async () => {
    double.fail(/payments$/, 'silent')
    const abort = new AbortController()
    double.onSilence = () => abort.abort()
    const request = authorizationOf('CARD', { card }, manual)
    const { authorization } = await connector.authorize(request, abort.signal)
    expect(said(authorization)).toBe('unknown')
    const inquiry = { ...request, operation: 'AUTHORIZATION' as const, sentAt: now }
    expect(said(await connector.undo?.(inquiry, signal))).toBe('pending')
    expect([...double.ledger.payments.values()][0]).toMatchObject({ state: 'cancelled', captured: 0 })
    expect(readOwed().map(tell)).toEqual(['AUTHORIZATION approved', 'AUTHORIZATION 0402'])
  })

  test('undoing a payment that never arrived is a decline too', async () => {
    const request = authorizationOf('CARD', { card })
    const inquiry = { ...request, operation: 'AUTHORIZATION' as const, sentAt: now }
    await connector.undo?.(inquiry, signal)
    expect(readOwed().map(tell)).toEqual(['AUTHORIZATION 0402'])
  })

  test('a refused connection is unreached', async () => {
    await double.close()
    const { authorization } = await connector.authorize(authorizationOf('CARD', { card }), signal)
    expect(said(authorization)).toBe('unreached')
    double = await new AdyenDouble().start()
  })

  test.each([
    ['a wrong key', { apiKey: 'wrong' }, '0396', 'apiKey false'],
    ['a wrong merchant account', { merchantAccount: 'Other' }, '0396', 'merchantAccount false'],
  ])('%s declines the payment, and the check of the account names it', async (_, change, detail, finding) => {
    const wrong = open(change)
    const { authorization } = await wrong.authorize(authorizationOf('CARD', { card }), signal)
    expect(said(authorization)).toBe(detail)
    const findings = await wrong.check(signal)
    expect(findings.map(({ name, ok }) => `${name} ${ok}`)).toContain(finding)
  })

  test('a correct account passes its check', async () => {
    expect((await connector.check(signal)).every(({ ok }) => ok)).toBe(true)
  })
})

test('every card number is sent once, and only in the body of its payment', async () => {
  double.fail(/payments$/, 'lostAfter')
  await connector.authorize(authorizationOf('CARD', { card }), signal)
  await connector.undo?.(
    { ...authorizationOf('CARD'), operation: 'AUTHORIZATION' as const, sentAt: now },
    signal,
  )
  const withNumber = double.requests.filter(request => JSON.stringify(request).includes('4111111111111111'))
  expect(withNumber.map(({ path }) => path)).toEqual(['/v72/payments'])
})
