import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import { type CaptureCommand, decideCapture, maximumCaptures, reserveCapture } from '#lifecycle/capture.ts'
import {
  cardMethod,
  later,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'

const take = (value: number, change: Partial<CaptureCommand> = {}): CaptureCommand => ({
  transId: 'order-1',
  amount: { value, currency: 'EUR' },
  details: {},
  ...change,
})

const withoutCapture = { ...cardMethod(), operations: ['refund'] as const } as unknown as Payment['method']
const capturedWith = (manual: object) =>
  paymentOf({
    sums: { captured: 100 },
    status: 'OK',
    operations: [
      operationOf({}),
      operationOf({ sequence: 2, type: 'CAPTURE', state: 'OK', amount: 100, details: { manual } }),
    ],
  })
const fiftyCaptures = Array.from({ length: maximumCaptures }, (_, n) =>
  operationOf({ xId: xIdOf(n + 2), sequence: n + 2, type: 'CAPTURE', state: 'OK', amount: 1 }),
)

// Each line: what is true, the payment, the command, the answer (undefined: go ahead). In the order of the guards.
const cases: [string, Payment, CaptureCommand, Refusal | undefined, Date?][] = [
  ['all that was authorised', paymentOf(), take(1000), undefined],
  ['a part', paymentOf(), take(1), undefined],
  ['the rest after a part', paymentOf({ status: 'OK', sums: { captured: 400 } }), take(600), undefined],
  [
    'a method without captures',
    paymentOf({ method: withoutCapture, status: 'FAILED' }),
    take(1),
    'METHOD_LACKS_OPERATION',
  ],
  [
    'nothing approved yet',
    paymentOf({ status: 'PENDING', sums: { authorized: 0 } }),
    take(1),
    'NOT_AUTHORIZED',
  ],
  ['customer still to act', paymentOf({ status: 'AUTHORIZE_REQUEST' }), take(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), take(1), 'NOT_AUTHORIZED'],
  ['lapsed this instant', paymentOf(), take(1), 'EXPIRED', later(7 * 24)],
  [
    'one millisecond before it lapses',
    paymentOf(),
    take(1),
    undefined,
    new Date(later(7 * 24).getTime() - 1),
  ],
  [
    'lapsed and released',
    paymentOf({ status: 'REVERSED', sums: { reversed: 1000 } }),
    take(1),
    'EXPIRED',
    later(8 * 24),
  ],
  [
    'reversed by the merchant',
    paymentOf({ status: 'REVERSED', sums: { reversed: 1000 } }),
    take(1),
    'ALREADY_REVERSED',
  ],
  ['captured in full', paymentOf({ status: 'OK', sums: { captured: 1000 } }), take(1), 'ALREADY_CAPTURED'],
  [
    'captured in full, long ago',
    paymentOf({ status: 'OK', sums: { captured: 1000 } }),
    take(1),
    'ALREADY_CAPTURED',
    later(999),
  ],
  ['all of it under way', paymentOf({ sums: { capturing: 1000 } }), take(1), 'ALREADY_CAPTURED'],
  [
    'closed by a final capture',
    paymentOf({ closedForCapture: true, sums: { captured: 10 } }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  [
    'fifty captures made',
    paymentOf({ operations: [operationOf({}), ...fiftyCaptures] }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  ['another currency', paymentOf(), take(1, { amount: { value: 1, currency: 'USD' } }), 'CURRENCY_DIFFERS'],
  ['beyond the series', paymentOf(), take(1, { manual: { currentSequence: 3, total: 2 } }), 'SEQUENCE'],
  [
    'a number used before',
    capturedWith({ currentSequence: 1 }),
    take(1, { manual: { currentSequence: 1 } }),
    'SEQUENCE',
  ],
  [
    'beyond the total given before',
    capturedWith({ currentSequence: 1, total: 2 }),
    take(1, { manual: { currentSequence: 3 } }),
    'SEQUENCE',
  ],
  [
    'the next number',
    capturedWith({ currentSequence: 1, total: 2 }),
    take(1, { manual: { currentSequence: 2 } }),
    undefined,
  ],
  ['one cent too many', paymentOf(), take(1001), 'ABOVE_OPEN_AMOUNT'],
  [
    'too many with what is under way',
    paymentOf({ sums: { capturing: 600 } }),
    take(401),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'too many with what was given back',
    paymentOf({ sums: { reversed: 600 } }),
    take(401),
    'ABOVE_OPEN_AMOUNT',
  ],
]

describe('decideCapture', () => {
  test.each(cases)('%s', (_, payment, command, refusal, at = now) => {
    expect(decideCapture(payment, command, at)).toEqual(
      refusal ? { accepted: false, refusal } : { accepted: true },
    )
  })
})

describe('reserveCapture', () => {
  const reserved = reserveCapture(paymentOf(), take(300), { xId: xIdOf(2), prepared: {}, now })

  test('counts as taken from now on', () => {
    expect(reserved.sums).toMatchObject({ capturing: 300, captured: 0 })
    expect(decideCapture(reserved, take(701), now)).toEqual({ accepted: false, refusal: 'ABOVE_OPEN_AMOUNT' })
  })

  test('records the operation before anybody is asked, under the next number and version', () => {
    expect(reserved.operations.at(-1)).toMatchObject({
      xId: xIdOf(2),
      sequence: 2,
      type: 'CAPTURE',
      state: 'SENT',
      amount: 300,
    })
    expect(reserved.version).toBe(3)
  })
})
