import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import { type ConfirmCommand, decideConfirm, recordConfirm } from '#lifecycle/confirm.ts'
import {
  later,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'

const confirm = (value: number, change: Partial<ConfirmCommand> = {}): ConfirmCommand => ({
  transId: 'order-1',
  amount: { value, currency: 'EUR' },
  details: {},
  ...change,
})
const usd = (value: number) => confirm(value, { amount: { value, currency: 'USD' } })

/** A payment of 1000 that waits for its confirm until tomorrow. */
const waiting = (change: Partial<Payment> = {}): Payment =>
  paymentOf({
    status: 'AUTHORIZE_REQUEST',
    awaits: 'CONFIRM',
    expiresAt: later(24),
    authorizationExpiresAt: undefined,
    sums: { authorized: 0 },
    operations: [operationOf({ state: 'AUTHORIZE_REQUEST', details: { clientToken: 'token-1' } })],
    ...change,
  })
/** The same with a method whose confirm must carry the client token. */
const withToken = waiting({ method: methodOf('PROVIDERK') })
const token = (clientToken: string, value = 1000) => confirm(value, { clientToken })
const minutes = (n: number) => later(n / 60)
const justAfter = (at: Date) => new Date(at.getTime() + 1)

// Each line: the case, the payment, the command, the refusal (undefined: accepted). In the order of the checks.
const cases: [string, Payment, ConfirmCommand, Refusal | undefined, Date?][] = [
  ['the whole amount', waiting(), confirm(1000), undefined],
  ['a lower amount', waiting(), confirm(1), undefined],
  ['with its token', withToken, token('token-1'), undefined],
  ['a payment that was approved at once', paymentOf(), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['waiting for the customer', waiting({ awaits: 'CUSTOMER' }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['confirmed, no answer yet', waiting({ status: 'PENDING' }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['confirmed', waiting({ status: 'AUTHORIZED', awaits: undefined }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['captured', waiting({ status: 'OK', awaits: undefined }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['declined', waiting({ status: 'FAILED', awaits: undefined }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  ['a credit', paymentOf({ kind: 'CREDIT', status: 'OK' }), confirm(1000), 'CONFIRM_NOT_EXPECTED'],
  [
    'not awaiting a confirm comes before deadline and currency',
    waiting({ status: 'FAILED' }),
    usd(1),
    'CONFIRM_NOT_EXPECTED',
    later(99),
  ],
  ['the deadline is now', waiting(), confirm(1000), 'EXPIRED', later(24)],
  [
    'one millisecond before the deadline',
    waiting(),
    confirm(1000),
    undefined,
    new Date(later(24).getTime() - 1),
  ],
  ['the deadline comes before the currency', waiting(), usd(1), 'EXPIRED', later(24)],
  ['another currency', waiting(), usd(1), 'CURRENCY_DIFFERS'],
  ['the currency comes before the token', withToken, usd(1), 'CURRENCY_DIFFERS'],
  ['a token of 60 minutes', withToken, token('token-1'), undefined, minutes(60)],
  [
    'a token older than 60 minutes',
    withToken,
    token('token-1'),
    'CLIENT_TOKEN_EXPIRED',
    justAfter(minutes(60)),
  ],
  ['a payment of 23 hours without a token', waiting(), confirm(1000), undefined, later(23)],
  ['another token', withToken, token('token-2'), 'CLIENT_TOKEN_EXPIRED'],
  ['no token', withToken, confirm(1000), 'CLIENT_TOKEN_EXPIRED'],
  ['the token comes before the amount', withToken, token('token-2', 1001), 'CLIENT_TOKEN_EXPIRED'],
  ['one cent too much', waiting(), confirm(1001), 'ABOVE_OPEN_AMOUNT'],
]

describe('decideConfirm', () => {
  test.each(cases)('%s', (_, payment, command, refusal, at = now) => {
    expect(decideConfirm(payment, command, at)).toEqual(
      refusal ? { accepted: false, refusal } : { accepted: true },
    )
  })
})

describe('recordConfirm', () => {
  const recording = { xId: xIdOf(2), prepared: {}, captureXId: xIdOf(3), now: later(1) }
  const recorded = recordConfirm(waiting(), confirm(900), recording)

  test('leaves the payment PENDING while the provider decides, so that a second confirm is refused', () => {
    expect(recorded).toMatchObject({ status: 'PENDING', version: 3, updatedAt: later(1) })
    expect(decideConfirm(recorded, confirm(900), later(1))).toMatchObject({ refusal: 'CONFIRM_NOT_EXPECTED' })
  })

  test('adds the confirm after the first step, with the reference of its capture', () => {
    expect(recorded.operations.map(({ type, state, amount }) => [type, state, amount])).toEqual([
      ['AUTHORIZATION', 'AUTHORIZE_REQUEST', 1000],
      ['CONFIRM', 'SENT', 900],
    ])
    expect(recorded.operations[1]?.details.captureXId).toBe(xIdOf(3))
    expect(recorded).toMatchObject({ amount: { value: 1000 }, sums: { authorized: 0 } })
  })

  test('merges an order with that of the payment, in the payment and for the provider', () => {
    const order = { merchantReference: 'o-1', items: [{ name: 'Hat', quantity: 1 }] }
    const given = confirm(1, { details: { order: { description: 'One hat' } } })
    const merged = recordConfirm(waiting({ details: { order } }), given, recording)
    const whole = { ...order, description: 'One hat' }
    expect([merged.details.order, merged.operations[1]?.details.order]).toEqual([whole, whole])
  })

  test('replaces the capture method if one is given', () => {
    const captureMethod = { type: 'DELAYED', delayedHours: 5 } as const
    expect(recorded.captureMethod).toEqual({ type: 'MANUAL' })
    expect(recordConfirm(waiting(), confirm(1, { captureMethod }), recording).captureMethod).toEqual(
      captureMethod,
    )
  })
})
