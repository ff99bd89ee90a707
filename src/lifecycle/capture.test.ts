import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import { type CaptureCommand, decideCapture, maximumCaptures, reserveCapture } from '#lifecycle/capture.ts'
import {
  cardMethod,
  later,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Operation, Payment } from '#lifecycle/payment.ts'

const take = (value: number, change: Partial<CaptureCommand> = {}): CaptureCommand => ({
  transId: 'order-1',
  amount: { value, currency: 'EUR' },
  details: {},
  ...change,
})

/** A payment with one capture of 400 in the given state and with the given details. */
const afterOne = (
  state: 'SENT' | 'PENDING' | 'FAILED' | 'OK',
  details: Operation['details'],
  method: Payment['method'] = cardMethod(),
) =>
  paymentOf({
    method,
    status: state === 'OK' ? 'OK' : 'AUTHORIZED',
    sums: {
      captured: state === 'OK' ? 400 : 0,
      capturing: state === 'SENT' || state === 'PENDING' ? 400 : 0,
    },
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type: 'CAPTURE', state, amount: 400, details }),
    ],
  })
const [providerK, providerP] = [methodOf('PROVIDERK'), methodOf('PROVIDERP')]
/** A method with one partial capture, and one with whole captures only. */
const [oncePart, onceWhole] = [methodOf('PROVIDERZ'), methodOf('LINEPAY')]
const usd = { amount: { value: 1, currency: 'USD' } }

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

// Each line: the case, the payment, the command, the refusal (undefined: accepted). In the order of the checks.
const cases: [string, Payment, CaptureCommand, Refusal | undefined, Date?][] = [
  ['the whole authorised amount', paymentOf(), take(1000), undefined],
  ['a part', paymentOf(), take(1), undefined],
  ['the rest after a part', paymentOf({ status: 'OK', sums: { captured: 400 } }), take(600), undefined],
  [
    'a method without captures',
    paymentOf({ method: withoutCapture, status: 'FAILED' }),
    take(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['no approval yet', paymentOf({ status: 'PENDING', sums: { authorized: 0 } }), take(1), 'NOT_AUTHORIZED'],
  ['waiting for the customer', paymentOf({ status: 'AUTHORIZE_REQUEST' }), take(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), take(1), 'NOT_AUTHORIZED'],
  [
    'a credit',
    paymentOf({ kind: 'CREDIT', status: 'OK', sums: { authorized: 0, refunded: 1000 } }),
    take(1),
    'NOT_AUTHORIZED',
  ],
  ['before the delayed capture', paymentOf({ status: 'CAPTURE_REQUEST' }), take(400), undefined],
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
  ['reversed comes before the currency', paymentOf({ status: 'REVERSED' }), take(1, usd), 'ALREADY_REVERSED'],
  ['captured in full', paymentOf({ status: 'OK', sums: { captured: 1000 } }), take(1), 'ALREADY_CAPTURED'],
  [
    'captured in full, and the authorisation has lapsed',
    paymentOf({ status: 'OK', sums: { captured: 1000 } }),
    take(1),
    'ALREADY_CAPTURED',
    later(999),
  ],
  [
    'a capture of the whole amount under way',
    paymentOf({ sums: { capturing: 1000 } }),
    take(1),
    'ALREADY_CAPTURED',
  ],
  [
    'closed by a final capture',
    paymentOf({ closedForCapture: true, sums: { captured: 10 } }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  [
    'captured in full comes before closed',
    paymentOf({ closedForCapture: true, sums: { captured: 1000 } }),
    take(1),
    'ALREADY_CAPTURED',
  ],
  ['a final capture made', afterOne('OK', { manual: { final: true } }), take(1), 'CLOSED_FOR_CAPTURE'],
  ['a final capture under way', afterOne('SENT', { manual: { final: true } }), take(1), 'CLOSED_FOR_CAPTURE'],
  [
    'a final capture without an answer',
    afterOne('PENDING', { manual: { final: true } }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  ['a final capture that failed', afterOne('FAILED', { manual: { final: true } }), take(1), undefined],
  ['a capture that was not final', afterOne('OK', { manual: { final: false } }), take(1), undefined],
  ['a closing capture under way', afterOne('SENT', { closes: true }), take(1), 'CLOSED_FOR_CAPTURE'],
  [
    'a capture under way that releases the rest',
    afterOne('SENT', { releasesRest: true }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  [
    'captured 100 %, where 115 % are allowed',
    paymentOf({ method: providerP, status: 'OK', sums: { captured: 1000 } }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  [
    'capturing 100 %, where 115 % are allowed',
    paymentOf({ method: providerP, sums: { captured: 600, capturing: 400 } }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  [
    'at 115 %',
    paymentOf({ method: providerP, status: 'OK', sums: { captured: 1150 } }),
    take(1),
    'ALREADY_CAPTURED',
  ],
  ['closed comes before the currency', afterOne('OK', { closes: true }), take(1, usd), 'CLOSED_FOR_CAPTURE'],
  [
    'forty-nine captures made',
    paymentOf({ operations: [operationOf({}), ...fiftyCaptures.slice(1)] }),
    take(1),
    undefined,
  ],
  [
    'fifty captures failed',
    paymentOf({
      operations: [operationOf({}), ...fiftyCaptures.map(each => ({ ...each, state: 'FAILED' as const }))],
    }),
    take(1),
    undefined,
  ],
  [
    'fifty captures made',
    paymentOf({ operations: [operationOf({}), ...fiftyCaptures] }),
    take(1),
    'CLOSED_FOR_CAPTURE',
  ],
  ['another currency', paymentOf(), take(1, { amount: { value: 1, currency: 'USD' } }), 'CURRENCY_DIFFERS'],
  [
    'the currency comes before the sequence',
    paymentOf(),
    take(1, { ...usd, manual: { currentSequence: 3, total: 2 } }),
    'CURRENCY_DIFFERS',
  ],
  ['the last of the series', paymentOf(), take(1, { manual: { currentSequence: 2, total: 2 } }), undefined],
  ['a sequence number without a total', paymentOf(), take(1, { manual: { currentSequence: 9 } }), undefined],
  ['a total without a sequence number', paymentOf(), take(1, { manual: { total: 1 } }), undefined],
  [
    'the sequence number of a failed capture',
    afterOne('FAILED', { manual: { currentSequence: 1 } }),
    take(1, { manual: { currentSequence: 1 } }),
    undefined,
  ],
  [
    'the sequence number of an unanswered capture',
    afterOne('PENDING', { manual: { currentSequence: 1 } }),
    take(1, { manual: { currentSequence: 1 } }),
    'SEQUENCE',
  ],
  [
    'the sequence comes before the amount',
    paymentOf(),
    take(1001, { manual: { currentSequence: 3, total: 2 } }),
    'SEQUENCE',
  ],
  ['beyond the series', paymentOf(), take(1, { manual: { currentSequence: 3, total: 2 } }), 'SEQUENCE'],
  [
    'a sequence number used before',
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
    'the next sequence number',
    capturedWith({ currentSequence: 1, total: 2 }),
    take(1, { manual: { currentSequence: 2 } }),
    undefined,
  ],
  ['one cent too much', paymentOf(), take(1001), 'ABOVE_OPEN_AMOUNT'],
  [
    'too much with a capture under way',
    paymentOf({ sums: { capturing: 600 } }),
    take(401),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'too much after a partial reversal',
    paymentOf({ sums: { reversed: 600 } }),
    take(401),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'too much with a reversal under way',
    paymentOf({ sums: { reversing: 600 } }),
    take(401),
    'ABOVE_OPEN_AMOUNT',
  ],
  ['all of 115 %', paymentOf({ method: providerP }), take(1150), undefined],
  ['one cent above 115 %', paymentOf({ method: providerP }), take(1151), 'ABOVE_OPEN_AMOUNT'],
  [
    'up to 115 % after a part',
    paymentOf({ method: providerP, status: 'OK', sums: { captured: 999 } }),
    take(151),
    undefined,
  ],
  [
    'above 115 % after a part',
    paymentOf({ method: providerP, status: 'OK', sums: { captured: 999 } }),
    take(152),
    'ABOVE_OPEN_AMOUNT',
  ],
  ['the one partial capture that the method allows', paymentOf({ method: oncePart }), take(400), undefined],
  [
    'a second partial capture, where one is allowed',
    afterOne('OK', {}, oncePart),
    take(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['a partial capture after one that failed', afterOne('FAILED', {}, oncePart), take(400), undefined],
  ['the whole amount, where parts are not allowed', paymentOf({ method: onceWhole }), take(1000), undefined],
  [
    'a part, where parts are not allowed',
    paymentOf({ method: onceWhole }),
    take(999),
    'METHOD_LACKS_OPERATION',
  ],
  ['the rest to be released', paymentOf({ method: providerK }), take(999, { releasesRest: true }), undefined],
  [
    'a release of the rest without a rest',
    paymentOf({ method: providerK }),
    take(1000, { releasesRest: true }),
    'ABOVE_OPEN_AMOUNT',
  ],
  ['closing with all of it', paymentOf({ method: providerP }), take(1000, { closes: true }), undefined],
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

  test('counts as captured from the moment it is recorded', () => {
    expect(reserved.sums).toMatchObject({ capturing: 300, captured: 0 })
    expect(decideCapture(reserved, take(701), now)).toEqual({ accepted: false, refusal: 'ABOVE_OPEN_AMOUNT' })
  })

  test('records the operation before the provider is called, with the next sequence and version', () => {
    expect(reserved.operations.at(-1)).toMatchObject({
      xId: xIdOf(2),
      sequence: 2,
      type: 'CAPTURE',
      state: 'SENT',
      amount: 300,
    })
    expect(reserved.version).toBe(3)
  })

  test('stores the merchant’s capture options for when it is settled', () => {
    const manual = { currentSequence: 1, total: 2, final: true }
    const command = take(300, { manual, closes: true, releasesRest: true, details: { order: { id: 1 } } })
    const { operations } = reserveCapture(paymentOf(), command, { xId: xIdOf(2), prepared: {}, now })
    expect(operations.at(-1)?.details).toMatchObject({
      manual,
      closes: true,
      releasesRest: true,
      order: { id: 1 },
    })
  })
})
