/** The connector over real HTTP against the double of Stripe: lost answers, disputes, settlement and the check. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Connector, Inquiry } from '#connectors/contract.ts'
import { createProviderHttp, type ProviderHttpPool } from '#connectors/http.ts'
import { captureReference, paymentOf, xId } from '#connectors/stripe/examples.test-support.ts'
import type { XId } from '#domain/ids.ts'
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
} from '#test/support/stripe/connector.ts'
import { type Fault, StripeDouble } from '#test/support/stripe/double.ts'

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

describe('a lost answer', () => {
  test.each<[Fault, string, string]>([
    ['lost before', 'unknown', 'unreached'],
    ['lost after', 'unknown', 'approved'],
    ['error page', 'unknown', 'unreached'],
    ['error page after', 'unknown', 'approved'],
    ['truncated', 'unknown', 'approved'],
  ])('of an authorisation (%s) is %s, and the look-up says %s', async (fault, first, then) => {
    // Search lags, so only the list by time can prove anything.
    double.searchIsFresh = false
    double.arm('POST', /payment_intents$/, fault)
    expect((await connector.authorize(card, signal())).authorization.kind).toBe(first)
    expect((await connector.inquire?.(inquiryOf('AUTHORIZATION'), signal()))?.authorization.kind).toBe(then)
    expect(double.calls.filter(({ verb }) => verb === 'POST').length).toBeLessThanOrEqual(1)
  })

  test('that comes too late is unknown, and is found by the look-up', async () => {
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

  test('with another amount echoes that amount', async () => {
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

  test('of a follow-up is returned again under the same key, without a second effect', async () => {
    const id = transactionIdOf(await connector.authorize(card, signal()))
    const capture = follow('CAPTURE', id, { reference: xId('c1'), value: 300, newTotal: 300 })
    double.arm('POST', /capture$/, 'lost after')
    expect(kindOf(await connector.capture?.(capture, signal()))).toBe('unknown')
    expect(kindOf(await connector.capture?.(capture, signal()))).toBe('approved')
    expect(double.books.ledger()).toMatchObject([{ captured: 300 }])
  })

  test('under the key of another account proves nothing about what was sent before', async () => {
    const elsewhere = await StripeDouble.start({ ...keys, secretKey: 'sk_test_elsewhere' })
    const changed = openConnectorAt(elsewhere, pool, 'sk_test_elsewhere')
    const kept = await connector.keep?.({ request: card })
    double.arm('POST', /payment_intents$/, 'lost after')
    await connector.authorize(card, signal())
    const asked = async (about: Inquiry) => (await changed.inquire?.(about, signal()))?.authorization.kind
    expect(await asked(inquiryOf('AUTHORIZATION', { kept }))).toBe('unknown')
    const [id] = double.books.intents.keys()
    const ofIntent = { authorizationTransactionId: id, reference: xId('f1') }
    expect(await asked(inquiryOf('REFUND', { kept, ...ofIntent }))).toBe('unknown')
    const refund = follow('REFUND', id ?? '', { reference: xId('f1'), value: 100, newTotal: 100 })
    expect(kindOf(await changed.refund?.({ ...refund, kept }, signal()))).toBe('unknown')
    const own = await changed.keep?.({ request: card })
    expect(await asked(inquiryOf('AUTHORIZATION', { kept: own }))).toBe('unreached')
    await elsewhere.stop()
  })

  test('with a revoked key proves nothing', async () => {
    double.arm('POST', /payment_intents$/, 'lost after')
    await connector.authorize(card, signal())
    const revoked = openConnectorAt(double, pool, 'sk_test_revoked')
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

  test('the balance lines are the captures and refunds, less Stripe’s fees', async () => {
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

  test('the check accepts the key', async () => {
    expect((await connector.check(signal())).every(({ ok }) => ok)).toBe(true)
  })
})
