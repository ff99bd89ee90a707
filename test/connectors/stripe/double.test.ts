/** The connector over real HTTP against the double of Stripe: cards, pages and debits. In the end both books agree. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Connector, Inquiry } from '#connectors/contract.ts'
import { createProviderHttp, type ProviderHttpPool } from '#connectors/http.ts'
import {
  authorizationOf,
  captureReference,
  reference,
  testAccount,
  xId,
} from '#connectors/stripe/examples.test-support.ts'
import { challengedCard } from '#test/support/stripe/books.ts'
import {
  card,
  follow,
  inquiryOf,
  keys,
  kindOf,
  openConnectorAt,
  readFacts,
  signal,
  transactionIdOf,
  withCard,
} from '#test/support/stripe/connector.ts'
import { StripeDouble } from '#test/support/stripe/double.ts'

let pool: ProviderHttpPool
let double: StripeDouble
let connector: Connector

beforeAll(() => {
  pool = createProviderHttp()
})
afterAll(() => pool.close())

beforeEach(async () => {
  double = await StripeDouble.start(keys)
  connector = openConnectorAt(double, pool)
})
afterEach(() => double.stop())

const factsSoFar = () => readFacts(connector, double)

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
      // Stripe has released the rest after the last capture.
      ['REVERSAL', undefined, 100],
      ['REFUND', xId('f1'), 300],
    ])
  })

  test('is captured at once if the request asks for it', async () => {
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

  test('with a challenge is approved when the customer returns, and declined when they fail', async () => {
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

  test('without the customer is not left in a challenge', async () => {
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

  test('is paid, and the customer returns', async () => {
    const { url, provider, expiresAt } = await open()
    expect(expiresAt?.getTime()).toBeGreaterThan(Date.now() + 80_000_000)
    const answer = await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    expect(answer.headers.get('location')).toBe(page.payment.returnUrl)
    const outcome = await connector.complete?.(returned(provider), signal())
    expect([outcome?.authorization.kind, outcome?.capture?.kind]).toEqual(['approved', 'approved'])
    expect(double.books.ledger()).toEqual([{ reference, captured: 1000, refunded: 0, status: 'succeeded' }])
  })

  test('is left by its cancel link, and cannot be paid afterwards', async () => {
    const { url, provider } = await open()
    const answer = await fetch(`${url}?choice=no`, { redirect: 'manual' })
    const query = Object.fromEntries(new URL(answer.headers.get('location') ?? '').searchParams)
    const outcome = await connector.complete?.(returned(provider, query), signal())
    expect(outcome?.authorization).toMatchObject({ kind: 'declined', detail: '0703' })
    await fetch(`${url}?choice=yes`, { redirect: 'manual' })
    expect(double.books.ledger()).toEqual([])
  })

  test('that is already paid cannot be ended: the outcome is the payment’s', async () => {
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

  test('whose answer was lost can be requested again: the same key returns the same page', async () => {
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

  test('that the bank takes back is a return', async () => {
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
