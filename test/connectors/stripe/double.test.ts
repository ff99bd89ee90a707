/** The connector over real HTTP against the double of Stripe: every operation, every fault, and both books at the end. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AuthorizationOutcome, Connector, Inquiry, NoticeFact } from '#connectors/contract.ts'
import { createProviderHttp, type ProviderHttpPool } from '#connectors/http.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import {
  accountOf,
  authorizationOf,
  captureReference,
  followUpOf,
  paymentOf,
  reference,
  testAccount,
  testCard,
  xId,
} from '#connectors/stripe/examples.test-support.ts'
import type { XId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { challengedCard } from '#test/support/stripe/books.ts'
import { type Fault, StripeDouble } from '#test/support/stripe/double.ts'

const keys = { secretKey: 'sk_test_double', webhookSecret: 'whsec_double' }
let pool: ProviderHttpPool
let double: StripeDouble
let connector: Connector

beforeAll(() => {
  pool = createProviderHttp()
})
afterAll(() => pool.close())

beforeEach(async () => {
  double = await StripeDouble.start(keys)
  connector = openWith(keys.secretKey)
})
afterEach(() => double.stop())

const openWith = (secretKey: string): Connector =>
  stripe.open(
    accountOf({
      settings: { baseUrl: double.origin, rawCards: 'true' },
      secrets: { secretKey: new Secret(secretKey), webhookSecret: new Secret(keys.webhookSecret) },
    }),
    { http: pool.forHosts(), nowMs: () => Date.now() },
  )

const signal = (): AbortSignal => AbortSignal.timeout(20_000)

const card = authorizationOf('CARD', { card: testCard })
const withCard = (number: string, more: Partial<typeof card> = {}) =>
  authorizationOf('CARD', { card: { ...testCard, number: new Secret(number) }, ...more })

const inquiryOf = (operation: Inquiry['operation'], more: Partial<Inquiry> = {}): Inquiry => ({
  operation,
  reference,
  amount: card.amount,
  payment: card.payment,
  sentAt: new Date(),
  ...more,
})

function transactionIdOf({ authorization }: AuthorizationOutcome): string {
  const id = 'provider' in authorization ? authorization.provider.transactionId : undefined
  if (id === undefined) throw new Error(`no transaction id: ${authorization.kind}`)
  return id
}

const follow = (
  operation: 'CAPTURE' | 'REFUND' | 'REVERSAL' | 'INCREMENTAL',
  id: string,
  parts: { reference: XId; value: number; newTotal: number; authorized?: number; final?: boolean },
) =>
  followUpOf(operation, {
    reference: parts.reference,
    amount: { value: parts.value, currency: 'EUR' },
    newTotal: parts.newTotal,
    final: parts.final,
    authorizationTransactionId: id,
    payment: paymentOf('CARD', { authorizedValue: parts.authorized ?? 1000 }),
  })

/** The facts of all notices so far, as the connector reads them. */
function factsSoFar(): NoticeFact[] {
  return double.takeEvents().flatMap(({ payload }) => {
    const notice = connector.readNotice?.({
      headers: { 'stripe-signature': double.sign(payload) },
      body: Buffer.from(payload),
      query: {},
    })
    return notice?.verdict === 'genuine' ? notice.items.map(({ fact }) => fact) : []
  })
}

const kindOf = (outcome: Outcome | undefined): string | undefined => outcome?.kind

describe('a card', () => {
  test('is authorised, incremented, captured twice and refunded, and both books agree', async () => {
    const approved = await connector.authorize(card, signal())
    expect(approved.authorization).toMatchObject({
      kind: 'approved',
      provider: {
        echo: { reference, amount: card.amount },
        approvalCode: 123456,
        schemeReferenceId: expect.stringMatching(/^ntx/),
      },
    })
    const id = transactionIdOf(approved)
    const raise = follow('INCREMENTAL', id, { reference: xId('e1'), value: 500, newTotal: 1500 })
    expect(kindOf(await connector.increment?.(raise, signal()))).toBe('approved')
    const first = follow('CAPTURE', id, { reference: xId('c1'), value: 400, newTotal: 400, authorized: 1500 })
    expect(await connector.capture?.(first, signal())).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference: xId('c1'), amount: { value: 400 } } },
    })
    const second = follow('CAPTURE', id, {
      reference: xId('c2'),
      value: 1000,
      newTotal: 1400,
      authorized: 1500,
      final: true,
    })
    expect(kindOf(await connector.capture?.(second, signal()))).toBe('approved')
    const refund = follow('REFUND', id, { reference: xId('f1'), value: 300, newTotal: 300 })
    expect(kindOf(await connector.refund?.(refund, signal()))).toBe('approved')
    const tooMuch = follow('REFUND', id, { reference: xId('f2'), value: 2000, newTotal: 2300 })
    expect(await connector.refund?.(tooMuch, signal())).toMatchObject({ kind: 'declined', detail: '0312' })
    expect(double.books.ledger()).toEqual([{ reference, captured: 1400, refunded: 300, status: 'succeeded' }])
    const operations = factsSoFar().flatMap(fact =>
      fact.kind === 'outcome' ? [[fact.operation, fact.subject.reference, fact.amount?.value]] : [],
    )
    expect(operations).toEqual([
      ['AUTHORIZATION', reference, 1000],
      ['INCREMENTAL', xId('e1'), 500],
      ['CAPTURE', xId('c1'), 400],
      ['CAPTURE', xId('c2'), 1000],
      // The last capture left a rest, which Stripe has released.
      ['REVERSAL', undefined, 100],
      ['REFUND', xId('f1'), 300],
    ])
  })

  test('is captured at once where the request says so', async () => {
    const outcome = await connector.authorize({ ...card, captureReference }, signal())
    expect(outcome.capture).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference: captureReference, amount: card.amount } },
    })
    expect(factsSoFar()).toMatchObject([
      {
        kind: 'outcome',
        operation: 'AUTHORIZATION',
        capture: { provider: { echo: { reference: captureReference } } },
      },
    ])
  })

  test.each([
    ['4000000000000002', '0305'],
    ['4000000000009995', '0351'],
    ['4000000000009987', '0341'],
    ['4000000000009979', '0343'],
    ['4000000000000069', '0354'],
  ])('%s is declined as %s', async (number, detail) => {
    expect((await connector.authorize(withCard(number), signal())).authorization).toMatchObject({
      kind: 'declined',
      detail,
    })
  })

  test('is released as a whole', async () => {
    const id = transactionIdOf(await connector.authorize(card, signal()))
    const release = follow('REVERSAL', id, { reference: xId('f1'), value: 1000, newTotal: 1000 })
    expect(kindOf(await connector.reverse?.(release, signal()))).toBe('approved')
    expect(double.books.ledger()).toMatchObject([{ captured: 0, status: 'canceled' }])
    expect(
      await connector.capture?.(
        follow('CAPTURE', id, { reference: xId('c1'), value: 1, newTotal: 1 }),
        signal(),
      ),
    ).toMatchObject({ kind: 'declined', detail: '0312' })
  })

  test('in a challenge is approved when the customer comes back, and declined when they fail', async () => {
    for (const [choice, kind] of [
      ['yes', 'approved'],
      ['no', 'declined'],
    ] as const) {
      const xid = xId(choice === 'yes' ? 'a5' : 'a6')
      const { authorization } = await connector.authorize(
        withCard(challengedCard, { reference: xid }),
        signal(),
      )
      if (authorization.kind !== 'action' || authorization.action.type !== 'redirect')
        throw new Error('no redirect')
      expect(authorization.action.challenge).toBe(true)
      const answer = await fetch(`${authorization.action.url}?choice=${choice}`, { redirect: 'manual' })
      expect(answer.headers.get('location')).toMatch(
        /^https:\/\/shop\.example\/pay\/return\/abc\?payment_intent=pi_/,
      )
      const returned = {
        ...inquiryOf('AUTHORIZATION', { reference: xid, provider: authorization.provider }),
        query: {},
        form: {},
      }
      expect((await connector.complete?.(returned, signal()))?.authorization.kind).toBe(kind)
    }
  })

  test('of a customer who is not there is not left in a challenge', async () => {
    const { authorization } = await connector.authorize(
      withCard(challengedCard, { customerPresent: false }),
      signal(),
    )
    expect(authorization).toMatchObject({ kind: 'declined', detail: '0305' })
  })
})

describe('a page', () => {
  const page = authorizationOf('IDEAL', { captureReference })
  const open = async () => {
    const { authorization } = await connector.authorize(page, signal())
    if (authorization.kind !== 'action' || authorization.action.type !== 'redirect')
      throw new Error('no page')
    return {
      url: authorization.action.url,
      provider: authorization.provider,
      expiresAt: authorization.expiresAt,
    }
  }
  const returned = (provider: Inquiry['provider'], query: Record<string, string> = {}) => ({
    ...inquiryOf('AUTHORIZATION', { provider, captureReference }),
    query,
    form: {},
  })

  test('is paid, and the customer comes back', async () => {
    const { url, provider, expiresAt } = await open()
    expect(expiresAt?.getTime()).toBeGreaterThan(Date.now() + 80_000_000)
    const answer = await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    expect(answer.headers.get('location')).toBe(page.payment.returnUrl)
    const outcome = await connector.complete?.(returned(provider), signal())
    expect([outcome?.authorization.kind, outcome?.capture?.kind]).toEqual(['approved', 'approved'])
    expect(double.books.ledger()).toEqual([{ reference, captured: 1000, refunded: 0, status: 'succeeded' }])
  })

  test('is left by its own link, and cannot be paid afterwards', async () => {
    const { url, provider } = await open()
    const answer = await fetch(`${url}?choice=no`, { redirect: 'manual' })
    const query = Object.fromEntries(new URL(answer.headers.get('location') ?? '').searchParams)
    const outcome = await connector.complete?.(returned(provider, query), signal())
    expect(outcome?.authorization).toMatchObject({ kind: 'declined', detail: '0703' })
    await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    expect(double.books.ledger()).toEqual([])
  })

  test('that is paid already cannot be ended, and says so', async () => {
    const { url, provider } = await open()
    await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    const ended = await connector.cancelAction?.(inquiryOf('AUTHORIZATION', { provider }), signal())
    expect(kindOf(ended)).toBe('approved')
  })

  test('survives a failed try', async () => {
    const { url, provider } = await open()
    double.books.payOnPage(provider.transactionId ?? '', 'insufficient_funds')
    expect(factsSoFar().map(({ kind }) => kind)).toEqual(['ignored'])
    expect((await connector.complete?.(returned(provider), signal()))?.authorization.kind).toBe('action')
    await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    expect((await connector.inquire?.(returned(provider), signal()))?.authorization.kind).toBe('approved')
  })

  test('whose answer was lost can be asked for again: the same key brings the same page', async () => {
    double.arm('POST', /sessions$/, 'lost after')
    expect((await connector.authorize(page, signal())).authorization.kind).toBe('unreached')
    await open()
    expect(double.books.sessions.size).toBe(1)
  })
})

describe('a debit', () => {
  const debit = authorizationOf('DIRECTDEBIT', { account: testAccount, captureReference })

  test.each([
    ['succeeds', 'approved'],
    ['fails', 'declined'],
  ])('stays pending for days and then %s', async (end, kind) => {
    const outcome = await connector.authorize(debit, signal())
    expect(outcome.authorization.kind).toBe('pending')
    const intent = double.books.findIntent(transactionIdOf(outcome))
    if (end === 'succeeds') double.books.succeed(intent)
    else double.books.decline(intent, 'insufficient_funds')
    const facts = factsSoFar().filter(fact => fact.kind === 'outcome')
    expect(facts.map(fact => fact.outcome.kind)).toEqual(['pending', kind])
  })

  test('that the bank sends back is a return', async () => {
    const id = transactionIdOf(await connector.authorize(debit, signal()))
    double.books.succeed(double.books.findIntent(id))
    double.takeEvents()
    double.books.dispute(id, 'insufficient_funds', 'lost')
    expect(factsSoFar()).toMatchObject([
      { kind: 'return', subject: { paymentTransactionId: id }, amount: { value: 1000 }, detail: '0351' },
    ])
  })

  test('is refunded later, and the refund may fail', async () => {
    const id = transactionIdOf(await connector.authorize(debit, signal()))
    double.books.succeed(double.books.findIntent(id))
    const refund = follow('REFUND', id, { reference: xId('f1'), value: 400, newTotal: 400 })
    const outcome = await connector.refund?.(refund, signal())
    expect(kindOf(outcome)).toBe('pending')
    double.takeEvents()
    const refundId = [...double.books.refunds.keys()][0] ?? ''
    double.books.moveRefund(refundId, 'succeeded')
    double.books.moveRefund(refundId, 'failed', 'expired_or_canceled_card')
    expect(factsSoFar()).toMatchObject([
      { kind: 'outcome', operation: 'REFUND', outcome: { kind: 'approved' } },
      { kind: 'takenBack', operation: 'REFUND', detail: '0354' },
    ])
    expect(double.books.ledger()).toMatchObject([{ captured: 1000, refunded: 0 }])
  })
})

describe('a lost answer', () => {
  test.each<[Fault, string, string]>([
    ['lost before', 'unknown', 'unreached'],
    ['lost after', 'unknown', 'approved'],
    ['error page', 'unknown', 'unreached'],
    ['error page after', 'unknown', 'approved'],
    ['truncated', 'unknown', 'approved'],
  ])('of an authorisation (%s) is %s, and the look-up says %s', async (fault, first, then) => {
    // Search lags behind: only the list by time can prove anything.
    double.searchIsFresh = false
    double.arm('POST', /payment_intents$/, fault)
    expect((await connector.authorize(card, signal())).authorization.kind).toBe(first)
    expect((await connector.inquire?.(inquiryOf('AUTHORIZATION'), signal()))?.authorization.kind).toBe(then)
    expect(double.calls.filter(({ verb }) => verb === 'POST').length).toBeLessThanOrEqual(1)
  })

  test('that comes too late is unknown, and found afterwards', async () => {
    double.arm('POST', /payment_intents$/, 'slow')
    const limit = new AbortController()
    const held = double.untilHeld()
    const outcome = connector.authorize(card, limit.signal)
    await held
    limit.abort()
    expect((await outcome).authorization.kind).toBe('unknown')
    double.release()
    expect((await connector.inquire?.(inquiryOf('AUTHORIZATION'), signal()))?.authorization.kind).toBe(
      'approved',
    )
  })

  test('about another amount shows it', async () => {
    double.arm('POST', /payment_intents$/, 'wrong echo')
    expect((await connector.authorize(card, signal())).authorization).toMatchObject({
      provider: { echo: { amount: { value: 11_000 } } },
    })
  })

  test.each<[Fault, string]>([
    ['lost before', 'unreached'],
    ['lost after', 'approved'],
  ])('of a capture, a refund, an increment and a reversal (%s): the look-up says %s', async (fault, then) => {
    const id = transactionIdOf(await connector.authorize(card, signal()))
    const asked = (
      operation: Inquiry['operation'],
      xid: XId,
      value: number,
      sums: { authorizedValue: number; capturedValue: number },
    ) =>
      connector.inquire?.(
        inquiryOf(operation, {
          reference: xid,
          amount: { value, currency: 'EUR' },
          authorizationTransactionId: id,
          payment: paymentOf('CARD', sums),
        }),
        signal(),
      )
    double.arm('POST', /increment/, fault)
    await connector.increment?.(
      follow('INCREMENTAL', id, { reference: xId('e1'), value: 500, newTotal: 1500 }),
      signal(),
    )
    expect(
      (await asked('INCREMENTAL', xId('e1'), 500, { authorizedValue: 1000, capturedValue: 0 }))?.authorization
        .kind,
    ).toBe(then)
    double.arm('POST', /capture$/, fault)
    await connector.capture?.(
      follow('CAPTURE', id, { reference: xId('c1'), value: 300, newTotal: 300 }),
      signal(),
    )
    expect(
      (await asked('CAPTURE', xId('c1'), 300, { authorizedValue: 1000, capturedValue: 0 }))?.authorization
        .kind,
    ).toBe(then)
    double.arm('POST', /refunds$/, fault)
    await connector.refund?.(
      follow('REFUND', id, { reference: xId('f1'), value: 100, newTotal: 100 }),
      signal(),
    )
    expect(
      (await asked('REFUND', xId('f1'), 100, { authorizedValue: 1000, capturedValue: 300 }))?.authorization
        .kind,
    ).toBe(then)
    double.arm('POST', /cancel$/, fault)
    await connector.reverse?.(
      follow('REVERSAL', id, { reference: xId('f2'), value: 700, newTotal: 700 }),
      signal(),
    )
    expect(
      (await asked('REVERSAL', xId('f2'), 700, { authorizedValue: 1000, capturedValue: 300 }))?.authorization
        .kind,
    ).toBe(then)
  })

  test('of a follow-up is answered again under the same key, without doing it twice', async () => {
    const id = transactionIdOf(await connector.authorize(card, signal()))
    const capture = follow('CAPTURE', id, { reference: xId('c1'), value: 300, newTotal: 300 })
    double.arm('POST', /capture$/, 'lost after')
    expect(kindOf(await connector.capture?.(capture, signal()))).toBe('unknown')
    expect(kindOf(await connector.capture?.(capture, signal()))).toBe('approved')
    expect(double.books.ledger()).toMatchObject([{ captured: 300 }])
  })

  test('with a revoked key proves nothing', async () => {
    double.arm('POST', /payment_intents$/, 'lost after')
    await connector.authorize(card, signal())
    const revoked = openWith('sk_test_revoked')
    expect((await revoked.inquire?.(inquiryOf('AUTHORIZATION'), signal()))?.authorization.kind).toBe(
      'unknown',
    )
    expect((await revoked.check(signal()))[0]).toMatchObject({ name: 'credentials', ok: false })
  })
})

describe('disputes and settlement', () => {
  test('a dispute is answered with evidence, another is accepted', async () => {
    const id = transactionIdOf(await connector.authorize({ ...card, captureReference }, signal()))
    double.takeEvents()
    const dispute = double.books.dispute(id, 'fraudulent')
    const [fact] = factsSoFar()
    if (fact?.kind !== 'dispute') throw new Error('no dispute')
    expect(fact.dispute).toMatchObject({
      providerDisputeId: dispute.id,
      stage: 'CHARGEBACK',
      status: 'OPEN',
      reasonGroup: 'FRAUD',
    })
    const evidence = {
      text: 'Delivered.',
      files: [{ name: 'a.pdf', type: 'application/pdf', content: Uint8Array.of(0x25, 0x50) }],
    }
    expect(
      kindOf(await connector.disputes?.submitEvidence?.(fact.dispute, evidence, xId('d1'), signal())),
    ).toBe('approved')
    expect(factsSoFar()).toMatchObject([{ dispute: { status: 'UNDER_REVIEW' } }])
    expect(kindOf(await connector.disputes?.accept?.(fact.dispute, xId('d2'), signal()))).toBe('approved')
    expect(factsSoFar()).toMatchObject([{ dispute: { status: 'LOST' } }])
  })

  test('the lines of the balance are the captures and refunds, less what Stripe keeps', async () => {
    const id = transactionIdOf(await connector.authorize({ ...card, captureReference }, signal()))
    await connector.refund?.(
      follow('REFUND', id, { reference: xId('f1'), value: 300, newTotal: 300 }),
      signal(),
    )
    async function* file(): AsyncIterable<Uint8Array> {
      yield Buffer.from(JSON.stringify({ object: 'list', data: double.balanceTransactions() }))
    }
    const lines = []
    for await (const line of connector.readSettlement?.(file()) ?? []) lines.push(line)
    expect(lines).toMatchObject([
      {
        type: 'CAPTURE',
        gross: 1000,
        fee: 39,
        net: 961,
        currency: 'EUR',
        transactionId: expect.stringMatching(/^ch_/),
      },
      { type: 'REFUND', gross: -300, net: -300, reference: xId('f1') },
    ])
  })

  test('the check says that the key is right', async () => {
    expect((await connector.check(signal())).every(({ ok }) => ok)).toBe(true)
  })
})
