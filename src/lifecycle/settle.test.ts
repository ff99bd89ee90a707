import { describe, expect, test } from 'vitest'
import { decideCapture } from '#lifecycle/capture.ts'
import {
  factsFor,
  later,
  methodOf,
  now,
  operationOf,
  outcomes,
  type PaymentChange,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { type Operation, openAmount, type Payment, type Sums } from '#lifecycle/payment.ts'
import { settle, settleAutomaticCapture } from '#lifecycle/settle.ts'

const authorization = operationOf({ state: 'SENT' })
const opened = (type: Payment['captureMethod']['type'] = 'MANUAL') =>
  paymentOf({
    status: 'PENDING',
    sums: { authorized: 0 },
    authorizationExpiresAt: undefined,
    captureMethod: { type },
    version: 1,
    operations: [{ ...authorization, details: type === 'AUTOMATIC' ? { captureXId: xIdOf(2) } : {} }],
  })

const capture = operationOf({ xId: xIdOf(2), sequence: 2, type: 'CAPTURE', state: 'SENT', amount: 400 })
const capturing = (change: Partial<Payment> = {}) =>
  paymentOf({ ...change, sums: { capturing: 400 }, operations: [operationOf({}), capture] })

describe('an authorisation', () => {
  test.each([
    ['approved', 'AUTHORIZED', 'AUTHORIZED', 1000, '00000000'],
    ['declined', 'FAILED', 'FAILED', 0, '21000351'],
    ['unreached', 'FAILED', 'FAILED', 0, '21000391'],
    ['pending', 'PENDING', 'PENDING', 0, '60000200'],
    ['unknown', 'PENDING', 'PENDING', 0, '60000200'],
  ] as const)(
    '%s: payment %s, operation %s, %i authorised, code %s',
    (kind, status, state, authorized, code) => {
      const settled = settle(opened(), xIdOf(1), outcomes[kind], now)
      expect(settled).toMatchObject({ status, sums: { authorized }, version: 2 })
      expect(settled.operations[0]).toMatchObject({ state, responseCode: code })
    },
  )

  test('with a delayed capture is CAPTURE_REQUEST, unless it only verified an account', () => {
    const delayed = { ...opened(), captureMethod: { type: 'DELAYED', delayedHours: 5 } } as const
    const verification = { ...delayed, operations: [{ ...authorization, amount: 0 }] }
    expect(settle(delayed, xIdOf(1), outcomes.approved, now).status).toBe('CAPTURE_REQUEST')
    expect(settle(verification, xIdOf(1), outcomes.approved, now).status).toBe('AUTHORIZED')
  })

  test('lives for the days of its method', () => {
    expect(settle(opened(), xIdOf(1), outcomes.approved, now).authorizationExpiresAt).toEqual(later(7 * 24))
  })
})

describe('a capture', () => {
  test.each([
    ['approved', 'OK', 'OK', 0, 400],
    ['declined', 'AUTHORIZED', 'FAILED', 0, 0],
    ['unreached', 'AUTHORIZED', 'FAILED', 0, 0],
    ['pending', 'AUTHORIZED', 'PENDING', 400, 0],
    ['unknown', 'AUTHORIZED', 'PENDING', 400, 0],
  ] as const)(
    '%s: payment %s, operation %s, %i under way, %i captured',
    (kind, status, state, open, captured) => {
      const settled = settle(capturing(), xIdOf(2), outcomes[kind], now)
      expect(settled).toMatchObject({ status, sums: { authorized: 1000, capturing: open, captured } })
      expect(settled.operations[1]).toMatchObject({ state })
    },
  )

  test.each([[{ manual: { final: true } }], [{ closes: true }]])('%j closes the payment', details => {
    const payment = { ...capturing(), operations: [operationOf({}), { ...capture, details }] }
    expect(settle(payment, xIdOf(2), outcomes.approved, now).closedForCapture).toBe(true)
    expect(settle(payment, xIdOf(2), outcomes.declined, now).closedForCapture).toBe(false)
  })
})

describe('an automatic capture', () => {
  const authorized = settle(opened('AUTOMATIC'), xIdOf(1), outcomes.approved, now)

  test.each([
    ['approved', 'OK', 'OK', 0, 1000],
    ['declined', 'AUTHORIZED', 'FAILED', 0, 0],
    ['unreached', 'AUTHORIZED', 'FAILED', 0, 0],
    ['pending', 'AUTHORIZED', 'PENDING', 1000, 0],
    ['unknown', 'AUTHORIZED', 'PENDING', 1000, 0],
  ] as const)(
    '%s: payment %s, capture %s, %i under way, %i captured',
    (kind, status, state, open, captured) => {
      const settled = settleAutomaticCapture(authorized, xIdOf(1), outcomes[kind], now)
      expect(settled).toMatchObject({ status, sums: { authorized: 1000, capturing: open, captured } })
      expect(settled.operations.map(operation => [operation.type, operation.xId])).toEqual([
        ['AUTHORIZATION', xIdOf(1)],
        ['CAPTURE', xIdOf(2)],
      ])
      expect(settled.operations[1]?.state).toBe(state)
    },
  )
})

test('a settled operation never changes', () => {
  const declined = settle(opened(), xIdOf(1), outcomes.declined, now)
  expect(settle(declined, xIdOf(1), outcomes.approved, later(1))).toBe(declined)
})

test('an unknown outcome may still become any other', () => {
  const waiting = settle(opened(), xIdOf(1), outcomes.unknown, now)
  expect(settle(waiting, xIdOf(1), outcomes.approved, later(1)).status).toBe('AUTHORIZED')
  expect(settle(waiting, xIdOf(1), outcomes.declined, later(1)).status).toBe('FAILED')
})

const kinds = ['approved', 'declined', 'unreached', 'pending', 'unknown'] as const
const states = ['OK', 'FAILED', 'FAILED', 'PENDING', 'PENDING'] as const
const codes = ['00000000', '21000351', '21000391', '60000200', '60000200'] as const

/** An unanswered operation of 400 on a payment of 1000. */
const underWay = (type: Operation['type'], change: PaymentChange = {}) =>
  paymentOf({
    ...change,
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type, state: 'SENT', amount: 400 }),
    ],
  })

describe('a follow-up', () => {
  const captured = { status: 'OK', sums: { captured: 900, refunding: 400 } } as const
  // Each line: the operation, the payment before its outcome, and status and sums after each outcome, in their order.
  test.each<[Operation['type'], Payment, (Partial<Sums> & { status?: Payment['status'] })[]]>([
    [
      'INCREMENTAL',
      underWay('INCREMENTAL'),
      [
        { authorized: 1400 },
        { authorized: 1000 },
        { authorized: 1000 },
        { authorized: 1000 },
        { authorized: 1000 },
      ],
    ],
    [
      'CAPTURE',
      underWay('CAPTURE', { sums: { capturing: 400 } }),
      [{ status: 'OK', captured: 400 }, {}, {}, { capturing: 400 }, { capturing: 400 }],
    ],
    [
      'REVERSAL',
      underWay('REVERSAL', { sums: { reversing: 400 } }),
      [{ reversed: 400 }, {}, {}, { reversing: 400 }, { reversing: 400 }],
    ],
    [
      'REFUND',
      underWay('REFUND', captured),
      [{ refunded: 400 }, {}, {}, { refunding: 400 }, { refunding: 400 }].map(sums => ({
        status: 'OK' as const,
        captured: 900,
        ...sums,
      })),
    ],
  ])('%s', (_, payment, expected) => {
    for (const [n, kind] of kinds.entries()) {
      const { status = 'AUTHORIZED', ...sums } = expected[n] ?? {}
      const settled = settle(payment, xIdOf(2), outcomes[kind], later(1))
      const none = {
        capturing: 0,
        captured: 0,
        reversing: 0,
        reversed: 0,
        refunding: 0,
        refunded: 0,
        disputed: 0,
        returned: 0,
      }
      expect([kind, settled.status, settled.sums]).toEqual([
        kind,
        status,
        { authorized: 1000, ...none, ...sums },
      ])
      expect(settled.operations[1]).toMatchObject({
        state: states[n],
        responseCode: codes[n],
        updatedAt: later(1),
      })
      expect(settled).toMatchObject({
        version: 3,
        updatedAt: later(1),
        operations: [payment.operations[0], {}],
      })
    }
  })
})

describe('a credit', () => {
  const credit = paymentOf({
    kind: 'CREDIT',
    status: 'PENDING',
    sums: { authorized: 0, refunding: 1000 },
    operations: [operationOf({ type: 'CREDIT', state: 'SENT' })],
  })
  test.each([
    ['approved', 'OK', 'OK', 0, 1000],
    ['declined', 'FAILED', 'FAILED', 0, 0],
    ['unreached', 'FAILED', 'FAILED', 0, 0],
    ['pending', 'PENDING', 'PENDING', 1000, 0],
    ['unknown', 'PENDING', 'PENDING', 1000, 0],
  ] as const)(
    '%s: payment %s, operation %s, %i under way, %i paid out',
    (kind, status, state, refunding, refunded) => {
      const settled = settle(credit, xIdOf(1), outcomes[kind], now)
      expect(settled).toMatchObject({ status, sums: { authorized: 0, captured: 0, refunding, refunded } })
      expect(settled.operations).toMatchObject([{ state }])
    },
  )
})

describe('the rest after a capture', () => {
  const capturingWith = (type: string, details: Operation['details'], sums: Partial<Sums> = {}) =>
    paymentOf({
      method: methodOf(type),
      sums: { capturing: 400, ...sums },
      operations: [operationOf({}), { ...capture, details }],
    })
  // Each line: the case, the payment, the outcome; then whether it is closed, the reversed amount and the open amount.
  test.each<[string, Payment, Outcome['kind'], boolean, number, number]>([
    ['a part was captured', capturingWith('PROVIDERK', {}), 'approved', false, 0, 600],
    ['the rest is released', capturingWith('PROVIDERK', { releasesRest: true }), 'approved', true, 600, 0],
    [
      'a capture that releases the rest failed',
      capturingWith('PROVIDERK', { releasesRest: true }),
      'declined',
      false,
      0,
      1000,
    ],
    [
      'a capture that releases the rest has an unknown outcome',
      capturingWith('PROVIDERK', { releasesRest: true }),
      'unknown',
      false,
      0,
      600,
    ],
    [
      'the rest is released, except for a reversal under way',
      capturingWith('PROVIDERK', { releasesRest: true }, { capturing: 500 }),
      'approved',
      true,
      500,
      0,
    ],
    [
      'closed: the rest stays until it lapses',
      capturingWith('CARD', { closes: true }),
      'approved',
      true,
      0,
      600,
    ],
    [
      'the whole amount was captured, where 100 % are allowed',
      capturingWith('CARD', {}, { captured: 600 }),
      'approved',
      false,
      0,
      0,
    ],
    ['below 100 % of 115', capturingWith('PROVIDERP', {}, { captured: 599 }), 'approved', false, 0, 1],
    ['at 100 % of 115', capturingWith('PROVIDERP', {}, { captured: 600 }), 'approved', true, 0, 0],
    ['above 100 % of 115', capturingWith('PROVIDERP', {}, { captured: 750 }), 'approved', true, 0, 0],
  ])('%s', (_, payment, kind, closed, reversed, open) => {
    const settled = settle(payment, xIdOf(2), outcomes[kind], now)
    expect([settled.closedForCapture, settled.sums.reversed, openAmount(settled)]).toEqual([
      closed,
      reversed,
      open,
    ])
  })

  test('a payment closed for capture stays closed when later operations are settled', () => {
    const payment = { ...capturingWith('CARD', {}), closedForCapture: true }
    for (const kind of kinds)
      expect(settle(payment, xIdOf(2), outcomes[kind], now).closedForCapture).toBe(true)
  })

  test('after a final capture no further one is accepted', () => {
    const closed = settle(
      capturingWith('CARD', { manual: { final: true } }),
      xIdOf(2),
      outcomes.approved,
      now,
    )
    const more = { transId: 'order-1', amount: { value: 1, currency: 'EUR' }, details: {} }
    expect(decideCapture(closed, more, now)).toMatchObject({ refusal: 'CLOSED_FOR_CAPTURE' })
  })
})

describe('a reversal', () => {
  // Each line: the amount reversed before, the status before, and the status after a reversal of 400 more.
  test.each([
    [0, 'AUTHORIZED', 'AUTHORIZED'],
    [599, 'AUTHORIZED', 'AUTHORIZED'],
    [600, 'AUTHORIZED', 'REVERSED'],
    [0, 'CAPTURE_REQUEST', 'CAPTURE_REQUEST'],
    [600, 'CAPTURE_REQUEST', 'REVERSED'],
  ] as const)('after %i, %s becomes %s', (reversed, before, status) => {
    const payment = underWay('REVERSAL', {
      status: before,
      sums: { reversing: 400, reversed },
    })
    expect(settle(payment, xIdOf(2), outcomes.approved, now)).toMatchObject({
      status,
      sums: { reversing: 0, reversed: reversed + 400 },
    })
    for (const kind of ['declined', 'unreached', 'pending', 'unknown'] as const) {
      expect(settle(payment, xIdOf(2), outcomes[kind], now)).toMatchObject({
        status: before,
        sums: { reversed },
      })
    }
  })
})

describe('an increment', () => {
  test('prolongs the authorisation by its additional days', () => {
    const payment = underWay('INCREMENTAL')
    const [first, raise] = payment.operations
    const longer = { ...payment, operations: [first, { ...raise, details: { durationDays: 3 } }] } as Payment
    expect(settle(longer, xIdOf(2), outcomes.approved, now).authorizationExpiresAt).toEqual(later(10 * 24))
    expect(settle(longer, xIdOf(2), outcomes.declined, now).authorizationExpiresAt).toEqual(later(7 * 24))
    expect(settle(payment, xIdOf(2), outcomes.approved, now).authorizationExpiresAt).toEqual(later(7 * 24))
  })

  test('of a payment that was reversed meanwhile is released with the rest', () => {
    const payment = underWay('INCREMENTAL', {
      status: 'REVERSED',
      sums: { reversed: 1000 },
    })
    const settled = settle(payment, xIdOf(2), outcomes.approved, now)
    expect(settled).toMatchObject({ status: 'REVERSED', sums: { authorized: 1400, reversed: 1400 } })
  })

  test.each([
    ['of a part, which released the rest', { releasesRest: true }, 0],
    ['that released nothing', {}, 400],
  ])('whose answer comes after that of a capture %s', (_, details, open) => {
    const payment = underWay('INCREMENTAL')
    const reversed = open === 0 ? 600 : 0
    const taken = operationOf({
      xId: xIdOf(3),
      sequence: 3,
      type: 'CAPTURE',
      state: 'OK',
      amount: 400,
      details,
    })
    const known: Payment = {
      ...payment,
      status: 'OK',
      sums: { ...payment.sums, captured: 400, reversed },
      operations: [...payment.operations, taken],
    }
    const settled = settle(known, xIdOf(2), outcomes.approved, now)
    expect(settled.sums.authorized).toBe(1400)
    expect(openAmount(settled) - openAmount(known)).toBe(open)
  })
})

test.each(['CAPTURE', 'REVERSAL'] as const)(
  'a %s without an answer that fails after a capture has released the rest leaves nothing open',
  type => {
    const payment = underWay(type, {
      status: 'OK',
      closedForCapture: true,
      sums: { [type === 'CAPTURE' ? 'capturing' : 'reversing']: 400, captured: 300, reversed: 300 },
    })
    const last = operationOf({
      xId: xIdOf(3),
      sequence: 3,
      type: 'CAPTURE',
      state: 'OK',
      amount: 300,
      prepared: { restReleased: true },
    })
    const known: Payment = { ...payment, operations: [...payment.operations, last] }
    const settled = settle(known, xIdOf(2), outcomes.declined, now)
    expect(settled.sums).toMatchObject({ capturing: 0, reversing: 0, captured: 300, reversed: 700 })
  },
)

test('a failed follow-up never changes the status of a payment that was approved', () => {
  for (const type of ['INCREMENTAL', 'CAPTURE', 'REVERSAL', 'REFUND'] as const) {
    for (const status of ['AUTHORIZED', 'OK', 'REVERSED'] as const) {
      const sums = { capturing: 400, captured: 400, reversing: 400, refunding: 400 }
      const payment = underWay(type, { status, sums })
      for (const kind of ['declined', 'unreached', 'pending', 'unknown'] as const) {
        expect(settle(payment, xIdOf(2), outcomes[kind], now).status).toBe(status)
      }
    }
  }
})

test('the operation stores what the provider reported; an answer without facts keeps the earlier ones', () => {
  const provider = { ...factsFor(authorization), transactionId: 'T9' }
  const heard = settle(opened(), xIdOf(1), { kind: 'pending', provider }, now)
  expect(heard.operations[0]?.provider).toEqual(provider)
  expect(settle(heard, xIdOf(1), { kind: 'unknown' }, now).operations[0]?.provider).toEqual(provider)
})

test('settling an operation of another payment, or a capture that was not requested, throws', () => {
  expect(() => settle(paymentOf(), xIdOf(7), outcomes.approved, now)).toThrow('does not belong to payment')
  const settled = settle(opened(), xIdOf(1), outcomes.approved, now)
  expect(() => settleAutomaticCapture(settled, xIdOf(1), outcomes.approved, now)).toThrow(
    'not to be captured',
  )
  expect(() => settleAutomaticCapture(opened('AUTOMATIC'), xIdOf(1), outcomes.approved, now)).toThrow(
    'is PENDING',
  )
})
