import { describe, expect, test } from 'vitest'
import { recordConfirm } from '#lifecycle/confirm.ts'
import {
  later,
  methodOf,
  now,
  operationOf,
  outcomes,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { delayedCaptureTime, dueDelayedCapture, settle, settleAutomaticCapture } from '#lifecycle/settle.ts'

describe('a confirm', () => {
  /** A payment created for 1000 at noon and confirmed for 900 an hour later. */
  const confirmed = (type: Payment['captureMethod']['type'] = 'MANUAL', delayedHours?: number) =>
    recordConfirm(
      paymentOf({
        status: 'AUTHORIZE_REQUEST',
        awaits: 'CONFIRM',
        sums: { authorized: 0 },
        authorizationExpiresAt: undefined,
        operations: [operationOf({ state: 'AUTHORIZE_REQUEST', responseCode: '60000100' })],
      }),
      {
        transId: 'order-1',
        amount: { value: 900, currency: 'EUR' },
        captureMethod: { type, delayedHours },
        details: {},
      },
      { xId: xIdOf(2), prepared: {}, captureXId: xIdOf(3), now: later(1) },
    )

  test.each([
    ['approved', 'AUTHORIZED', 900, 'AUTHORIZED', 'AUTHORIZED', undefined],
    ['declined', 'FAILED', 0, 'FAILED', 'FAILED', undefined],
    ['unreached', 'FAILED', 0, 'FAILED', 'FAILED', undefined],
    ['pending', 'PENDING', 0, 'AUTHORIZE_REQUEST', 'PENDING', 'CONFIRM'],
    ['unknown', 'PENDING', 0, 'AUTHORIZE_REQUEST', 'PENDING', 'CONFIRM'],
  ] as const)(
    '%s: payment %s, %i authorised, first step %s, confirm %s',
    (kind, status, authorized, first, state, awaits) => {
      const settled = settle(confirmed(), xIdOf(2), outcomes[kind], later(2))
      expect(settled).toMatchObject({ status, amount: { value: 1000 }, sums: { authorized } })
      expect(settled.awaits).toBe(awaits)
      expect(settled.operations.map(operation => operation.state)).toEqual([first, state])
    },
  )

  test('gives its response code to the first step', () => {
    const settled = settle(confirmed(), xIdOf(2), outcomes.declined, later(2))
    expect(settled.operations.map(({ responseCode }) => responseCode)).toEqual(['21000351', '21000351'])
  })

  test('starts the lifetime of the authorisation when it is approved, not when the payment was created', () => {
    const settled = settle(confirmed(), xIdOf(2), outcomes.approved, later(2))
    expect(settled.authorizationExpiresAt).toEqual(later(2 + 7 * 24))
  })

  test('captures the confirmed amount automatically', () => {
    const authorized = settle(confirmed('AUTOMATIC'), xIdOf(2), outcomes.approved, later(2))
    const settled = settleAutomaticCapture(authorized, xIdOf(2), outcomes.approved, later(2))
    expect(settled).toMatchObject({ status: 'OK', sums: { authorized: 900, captured: 900, capturing: 0 } })
    expect(settled.operations.map(({ type, state, amount }) => [type, state, amount])).toEqual([
      ['AUTHORIZATION', 'OK', 1000],
      ['CONFIRM', 'OK', 900],
      ['CAPTURE', 'OK', 900],
    ])
  })

  test('schedules the delayed capture that it asks for', () => {
    const settled = settle(confirmed('DELAYED', 5), xIdOf(2), outcomes.approved, later(2))
    expect(settled.status).toBe('CAPTURE_REQUEST')
    expect(delayedCaptureTime(settled, later(2))).toEqual(later(7))
  })
})

describe('a delayed payment', () => {
  const delayed = (delayedHours: number, method = methodOf('CARD')) => {
    const opening = paymentOf({
      method,
      status: 'PENDING',
      sums: { authorized: 0 },
      authorizationExpiresAt: undefined,
      captureMethod: { type: 'DELAYED', delayedHours },
      operations: [operationOf({ state: 'SENT' })],
    })
    return settle(opening, xIdOf(1), outcomes.approved, now)
  }

  // Each line: hours of delay, method, time of the capture, end of the authorisation.
  test.each([
    [1, 'CARD', later(1), later(7 * 24)],
    [167, 'CARD', later(167), later(7 * 24)],
    [168, 'CARD', later(168), later(169)],
    [696, 'CARD', later(696), later(697)],
    [696, 'PROVIDERP', later(696), later(697)],
    [696, 'PROVIDERZ', later(696), later(30 * 24)],
  ])('%i hours, %s: the authorisation lives until its capture has fired', (hours, type, fires, ends) => {
    const payment = delayed(hours, methodOf(type))
    expect(payment).toMatchObject({ status: 'CAPTURE_REQUEST', operations: [{ state: 'AUTHORIZED' }] })
    expect(delayedCaptureTime(payment, now)).toEqual(fires)
    expect(payment.authorizationExpiresAt).toEqual(ends)
  })

  const firing = (amount: number, createdAt = later(10)) => {
    const payment = delayed(10)
    const fired = operationOf({
      xId: xIdOf(2),
      sequence: 2,
      type: 'CAPTURE',
      state: 'SENT',
      amount,
      createdAt,
    })
    return {
      ...payment,
      sums: { ...payment.sums, capturing: amount },
      operations: [...payment.operations, fired],
    }
  }

  // Each line: the outcome, the hour in which it becomes known, and the status then.
  test.each([
    ['approved', later(10), 'OK'],
    ['declined', later(10), 'AUTHORIZED'],
    ['unreached', later(10), 'AUTHORIZED'],
    ['pending', later(10), 'CAPTURE_REQUEST'],
    ['unknown', later(10), 'CAPTURE_REQUEST'],
  ] as const)('its capture is %s: %s', (kind, at, status) => {
    expect(settle(firing(1000), xIdOf(2), outcomes[kind], at).status).toBe(status)
  })

  test.each([9, 11])(
    'an earlier manual capture whose failure is known after %i h does not cancel the delayed one',
    hours => {
      const byHand = firing(400, new Date(later(10).getTime() - 1))
      const settled = settle(byHand, xIdOf(2), outcomes.declined, later(hours))
      expect(settled).toMatchObject({ status: 'CAPTURE_REQUEST', sums: { capturing: 0, captured: 0 } })
      expect(dueDelayedCapture(settled)).toEqual(later(10))
    },
  )

  test.each(['approved', 'declined', 'unknown'] as const)(
    'is not due again once it was made and %s',
    kind => {
      expect(dueDelayedCapture(settle(firing(1000), xIdOf(2), outcomes[kind], later(10)))).toBeUndefined()
    },
  )

  test('a payment with another capture method has no delayed capture', () => {
    expect(delayedCaptureTime(paymentOf(), now)).toBeUndefined()
  })
})
