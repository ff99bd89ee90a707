import { describe, expect, test } from 'vitest'
import {
  acceptsTry,
  askedCapture,
  capturesWith,
  countDeclines,
  mayTryAgain,
  offerFor,
  recordTry,
} from '#lifecycle/attempt.ts'
import {
  later,
  methodOf,
  now,
  operationOf,
  type PaymentChange,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { AccountInstrument, Instrument, Operation } from '#lifecycle/payment.ts'

const waiting = operationOf({ state: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
const failed = (n: number, responseCode = '21000351'): Operation =>
  operationOf({ xId: xIdOf(n), sequence: n, state: 'FAILED', responseCode })

/** A payment on our hosted page, open for a day, with no try yet. */
const hosted = (change: PaymentChange = {}) =>
  paymentOf({
    integrationType: 'HOSTED',
    status: 'AUTHORIZE_REQUEST',
    awaits: 'CUSTOMER',
    expiresAt: later(24),
    authorizationExpiresAt: undefined,
    operations: [waiting],
    ...change,
    sums: { authorized: 0 },
  })

const failures = (count: number, code?: string): Operation[] =>
  Array.from({ length: count }, (_, index) => failed(index + 1, code))

// Each line: the payment, and whether it accepts a try now.
test.each<[string, PaymentChange, boolean]>([
  ['nothing tried', {}, true],
  ['a failed try', { operations: [failed(1)] }, true],
  ['a provider page is open: the customer may choose another method', { operations: [waiting] }, true],
  ['pending after a visit to the provider page', { status: 'PENDING' }, false],
  ['the provider has not answered', { status: 'PENDING', awaits: undefined }, false],
  ['waits for the merchant’s confirm', { awaits: 'CONFIRM' }, false],
  ['paid', { status: 'OK', awaits: undefined }, false],
  ['over', { status: 'FAILED', awaits: undefined }, false],
  ['a challenge of a DIRECT card', { integrationType: 'DIRECT' }, false],
  ['the deadline is now', { expiresAt: now }, false],
  ['the deadline is one millisecond away', { expiresAt: new Date(now.getTime() + 1) }, true],
])('whether a payment accepts another try: %s', (_, change, expected) =>
  expect(acceptsTry(hosted(change), now)).toBe(expected),
)

// Each line: the earlier tries, and whether another one may follow.
test.each<[string, PaymentChange, boolean]>([
  ['nine declines', { operations: failures(9) }, true],
  ['ten declines', { operations: failures(10) }, false],
  ['ten that never reached the provider', { operations: failures(10, '21000391') }, true],
  ['49 that never reached the provider', { operations: failures(49, '21000391') }, true],
  ['fifty that never reached the provider', { operations: failures(50, '21000391') }, false],
  [
    'ten failures, some of which never reached the provider',
    { operations: [...failures(9), failed(10, '21000391')] },
    true,
  ],
  ['not on a hosted page', { integrationType: 'DIRECT' }, false],
  ['a credit', { kind: 'CREDIT' }, false],
  ['after the deadline', { expiresAt: now }, false],
])('whether the customer may try again after: %s', (_, change, expected) =>
  expect(mayTryAgain(hosted(change), now)).toBe(expected),
)

test('only declined authorisations are counted', () => {
  const capture = operationOf({ sequence: 2, type: 'CAPTURE', state: 'FAILED', responseCode: '21000305' })
  expect(countDeclines(hosted({ operations: [failed(1), capture, waiting] }))).toBe(1)
})

describe('the capture method of a try', () => {
  const automatic = (change: PaymentChange = {}) =>
    hosted({
      captureMethod: { type: 'AUTOMATIC' },
      operations: [{ ...waiting, details: { captureXId: xIdOf(7) } }],
      ...change,
    })
  const afterInvoice = automatic({ method: methodOf('INVOICE'), captureMethod: { type: 'MANUAL' } })

  test('is that of the request, not the one that an earlier try stored', () => {
    expect(askedCapture(afterInvoice)).toEqual({ type: 'AUTOMATIC' })
    expect(askedCapture(hosted())).toEqual({ type: 'MANUAL' })
    const delayed = { type: 'DELAYED', delayedHours: 5 } as const
    expect(askedCapture(hosted({ captureMethod: delayed }))).toBe(delayed)
  })

  test.each([
    ['CARD', true],
    ['INVOICE', false],
  ])('with a try by %s at once: %s', (type, expected) => {
    expect(capturesWith(afterInvoice, methodOf(type))).toBe(expected)
    expect(capturesWith(hosted(), methodOf(type))).toBe(false)
  })

  test('offers only methods that support the requested capture method', () => {
    const session = {
      details: { allowedPaymentMethod: ['INVOICE', 'EPS', 'CARD'] },
      own: { session: true },
    }
    const types = offerFor({ ...afterInvoice, ...session }).map(({ type }) => type)
    expect(types).toEqual(['INVOICE', 'EPS', 'CARD'])
    const byHand = offerFor({ ...hosted(), ...session }).map(({ type }) => type)
    expect(byHand).toEqual(['INVOICE', 'CARD'])
  })
})

describe('recordTry', () => {
  const instrument = { cardId: 'c', last4Digits: '1111' } as Instrument
  const account = { accountId: 'a', last4Digits: '3000' } as AccountInstrument
  const begun = {
    method: methodOf('CARD'),
    xId: xIdOf(20),
    captureXId: xIdOf(21),
    prepared: {},
    asks: true,
    now: later(1),
  }

  test('fills the waiting authorisation and marks it as sent', () => {
    const tried = recordTry(hosted(), { ...begun, instrument })
    expect(tried).toMatchObject({ status: 'PENDING', instrument, version: 3 })
    expect(tried.awaits).toBeUndefined()
    expect(tried.operations).toMatchObject([
      { xId: waiting.xId, state: 'SENT', prepared: { sentAtMs: later(1).getTime() } },
    ])
  })

  test('adds an authorisation with new references after failed ones', () => {
    const first = { ...failed(1), details: { captureXId: xIdOf(7), metadata: { a: 1 } } }
    const tried = recordTry(hosted({ operations: [first] }), begun)
    expect(tried.operations).toMatchObject([
      { xId: first.xId, state: 'FAILED' },
      { xId: xIdOf(20), sequence: 2, state: 'SENT', details: { captureXId: xIdOf(21), metadata: { a: 1 } } },
    ])
  })

  test('replaces the card or account of the earlier try', () => {
    const byCard = recordTry(hosted({ account }), { ...begun, instrument })
    expect([byCard.instrument, byCard.account]).toEqual([instrument, undefined])
    const debit = { ...begun, method: methodOf('DIRECTDEBIT'), account }
    const byAccount = recordTry(hosted({ instrument, operations: [failed(1)] }), debit)
    expect([byAccount.instrument, byAccount.account]).toEqual([undefined, account])
  })

  test('waits for the merchant when a confirm is required before the provider is called', () => {
    const operations = [{ ...waiting, details: { confirmsLater: true } }]
    const tried = recordTry(hosted({ operations }), { ...begun, asks: false })
    expect(tried).toMatchObject({ status: 'AUTHORIZE_REQUEST', awaits: 'CONFIRM' })
    expect(tried.operations).toMatchObject([{ state: 'AUTHORIZE_REQUEST', responseCode: '60000100' }])
  })
})
