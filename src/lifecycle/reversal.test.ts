import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import {
  later,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { FollowUpCommand } from '#lifecycle/follow-up.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { decideReversal, reserveReversal } from '#lifecycle/reversal.ts'

const giveBack = (value: number, currency = 'EUR'): FollowUpCommand => ({
  transId: 'order-1',
  amount: { value, currency },
  details: {},
})

const ideal = methodOf('IDEAL')
const reversed = paymentOf({ status: 'REVERSED', sums: { reversed: 1000 } })
const credit = paymentOf({ kind: 'CREDIT', status: 'OK', sums: { authorized: 0, refunded: 1000 } })
const week = later(7 * 24)
const justBefore = new Date(week.getTime() - 1)

const byTotal = { ...paymentOf().method, amountByTotal: true }
/** A payment with an unanswered increment of 1. */
const raising = (method = paymentOf().method) =>
  paymentOf({
    method,
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type: 'INCREMENTAL', state: 'PENDING', amount: 1 }),
    ],
  })

// Each line: the case, the payment, the command, the refusal (undefined: accepted). In the order of the checks.
const cases: [string, Payment, FollowUpCommand, Refusal | undefined, Date?][] = [
  ['the whole authorised amount', paymentOf(), giveBack(1000), undefined],
  ['a part', paymentOf(), giveBack(1), undefined],
  ['the rest after a part', paymentOf({ sums: { reversed: 400 } }), giveBack(600), undefined],
  ['before the delayed capture', paymentOf({ status: 'CAPTURE_REQUEST' }), giveBack(1000), undefined],
  [
    'a method without reversals',
    paymentOf({ method: ideal, status: 'FAILED' }),
    giveBack(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['waiting for the customer', paymentOf({ status: 'AUTHORIZE_REQUEST' }), giveBack(1), 'NOT_AUTHORIZED'],
  ['no answer yet', paymentOf({ status: 'PENDING', sums: { authorized: 0 } }), giveBack(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), giveBack(1), 'NOT_AUTHORIZED'],
  ['a credit', credit, giveBack(1), 'NOT_AUTHORIZED'],
  ['declined a week ago', paymentOf({ status: 'FAILED' }), giveBack(1), 'NOT_AUTHORIZED', week],
  ['lapsed this instant', paymentOf(), giveBack(1), 'EXPIRED', week],
  ['one millisecond before it lapses', paymentOf(), giveBack(1), undefined, justBefore],
  ['lapsed and released', reversed, giveBack(1), 'EXPIRED', week],
  [
    'lapsed after a part was captured',
    paymentOf({ status: 'OK', sums: { captured: 1 } }),
    giveBack(1),
    'EXPIRED',
    week,
  ],
  [
    'captured in full a week ago',
    paymentOf({ status: 'OK', sums: { captured: 1000 } }),
    giveBack(1),
    'ALREADY_CAPTURED',
    week,
  ],
  ['reversed before', reversed, giveBack(1), 'ALREADY_REVERSED'],
  ['reversed comes before the currency', reversed, giveBack(1, 'USD'), 'ALREADY_REVERSED'],
  [
    'a part was captured',
    paymentOf({ status: 'OK', sums: { captured: 1 } }),
    giveBack(1),
    'ALREADY_CAPTURED',
  ],
  ['a part may have been captured', paymentOf({ sums: { capturing: 1 } }), giveBack(1), 'ALREADY_CAPTURED'],
  [
    'a capture comes before the currency',
    paymentOf({ sums: { capturing: 1 } }),
    giveBack(1, 'USD'),
    'ALREADY_CAPTURED',
  ],
  ['another currency', paymentOf(), giveBack(1, 'USD'), 'CURRENCY_DIFFERS'],
  ['the currency comes before the amount', paymentOf(), giveBack(1001, 'USD'), 'CURRENCY_DIFFERS'],
  ['one cent too much', paymentOf(), giveBack(1001), 'ABOVE_OPEN_AMOUNT'],
  [
    'too much after a partial reversal',
    paymentOf({ sums: { reversed: 400 } }),
    giveBack(601),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'too much with a reversal under way',
    paymentOf({ sums: { reversing: 400 } }),
    giveBack(601),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'more than 100 %, where captures of 115 % are allowed',
    paymentOf({ method: methodOf('PROVIDERP') }),
    giveBack(1001),
    'ABOVE_OPEN_AMOUNT',
  ],
  ['an increment under way', raising(), giveBack(1), undefined],
  [
    'an increment under way, at a provider that takes totals',
    raising(byTotal),
    giveBack(1),
    'OUTCOME_OUTSTANDING',
  ],
  [
    'the whole rest with an increment under way, at a provider that takes totals',
    raising(byTotal),
    giveBack(1000),
    undefined,
  ],
]

describe('decideReversal', () => {
  test.each(cases)('%s', (_, payment, command, refusal, at = now) => {
    expect(decideReversal(payment, command, at)).toEqual(
      refusal ? { accepted: false, refusal } : { accepted: true },
    )
  })
})

describe('reserveReversal', () => {
  const reserved = reserveReversal(paymentOf(), giveBack(300), { xId: xIdOf(2), prepared: {}, now })

  test('counts as reversed from the moment it is recorded', () => {
    expect(reserved.sums).toMatchObject({ reversing: 300, reversed: 0 })
    expect(decideReversal(reserved, giveBack(700), now).accepted).toBe(true)
    expect(decideReversal(reserved, giveBack(701), now).accepted).toBe(false)
  })

  test('records the operation before the provider is called; the status changes with the answer', () => {
    expect(reserved.operations.at(-1)).toMatchObject({
      sequence: 2,
      type: 'REVERSAL',
      state: 'SENT',
      amount: 300,
    })
    expect(reserved).toMatchObject({ status: 'AUTHORIZED', version: 3 })
  })
})
