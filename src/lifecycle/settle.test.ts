import { describe, expect, test } from 'vitest'
import {
  factsFor,
  later,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { Payment } from '#lifecycle/payment.ts'
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

const outcomes: Record<Outcome['kind'], Outcome> = {
  approved: { kind: 'approved', provider: factsFor(authorization) },
  declined: { kind: 'declined', detail: '0351', provider: factsFor(authorization) },
  pending: { kind: 'pending', provider: factsFor(authorization) },
  unreached: { kind: 'unreached' },
  unknown: { kind: 'unknown' },
}

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

test('an operation that has its answer keeps it', () => {
  const declined = settle(opened(), xIdOf(1), outcomes.declined, now)
  expect(settle(declined, xIdOf(1), outcomes.approved, later(1))).toBe(declined)
})

test('an unknown outcome may still become any other', () => {
  const waiting = settle(opened(), xIdOf(1), outcomes.unknown, now)
  expect(settle(waiting, xIdOf(1), outcomes.approved, later(1)).status).toBe('AUTHORIZED')
  expect(settle(waiting, xIdOf(1), outcomes.declined, later(1)).status).toBe('FAILED')
})
