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
/** A raise of 1 has no answer yet. */
const raising = (method = paymentOf().method) =>
  paymentOf({
    method,
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type: 'INCREMENTAL', state: 'PENDING', amount: 1 }),
    ],
  })

// Each line: what is true, the payment, the command, the answer (undefined: go ahead). In the order of the guards.
const cases: [string, Payment, FollowUpCommand, Refusal | undefined, Date?][] = [
  ['all that was authorised', paymentOf(), giveBack(1000), undefined],
  ['a part', paymentOf(), giveBack(1), undefined],
  ['the rest after a part', paymentOf({ sums: { reversed: 400 } }), giveBack(600), undefined],
  ['before the delayed capture', paymentOf({ status: 'CAPTURE_REQUEST' }), giveBack(1000), undefined],
  [
    'a method without reversals',
    paymentOf({ method: ideal, status: 'FAILED' }),
    giveBack(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['customer to act', paymentOf({ status: 'AUTHORIZE_REQUEST' }), giveBack(1), 'NOT_AUTHORIZED'],
  ['no answer yet', paymentOf({ status: 'PENDING', sums: { authorized: 0 } }), giveBack(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), giveBack(1), 'NOT_AUTHORIZED'],
  ['a credit', credit, giveBack(1), 'NOT_AUTHORIZED'],
  ['declined and long ago', paymentOf({ status: 'FAILED' }), giveBack(1), 'NOT_AUTHORIZED', week],
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
    'captured in full, long ago',
    paymentOf({ status: 'OK', sums: { captured: 1000 } }),
    giveBack(1),
    'ALREADY_CAPTURED',
    week,
  ],
  ['reversed before', reversed, giveBack(1), 'ALREADY_REVERSED'],
  ['that, before the currency', reversed, giveBack(1, 'USD'), 'ALREADY_REVERSED'],
  [
    'a part was captured',
    paymentOf({ status: 'OK', sums: { captured: 1 } }),
    giveBack(1),
    'ALREADY_CAPTURED',
  ],
  ['a part may have been captured', paymentOf({ sums: { capturing: 1 } }), giveBack(1), 'ALREADY_CAPTURED'],
  [
    'that, before the currency',
    paymentOf({ sums: { capturing: 1 } }),
    giveBack(1, 'USD'),
    'ALREADY_CAPTURED',
  ],
  ['another currency', paymentOf(), giveBack(1, 'USD'), 'CURRENCY_DIFFERS'],
  ['the currency comes before the amount', paymentOf(), giveBack(1001, 'USD'), 'CURRENCY_DIFFERS'],
  ['one cent too many', paymentOf(), giveBack(1001), 'ABOVE_OPEN_AMOUNT'],
  [
    'too many with what was given back',
    paymentOf({ sums: { reversed: 400 } }),
    giveBack(601),
    'ABOVE_OPEN_AMOUNT',
  ],
  [
    'too many with what is under way',
    paymentOf({ sums: { reversing: 400 } }),
    giveBack(601),
    'ABOVE_OPEN_AMOUNT',
  ],
  ['never 115 % of it', paymentOf({ method: methodOf('PROVIDERP') }), giveBack(1001), 'ABOVE_OPEN_AMOUNT'],
  ['a raise under way', raising(), giveBack(1), undefined],
  [
    'a raise under way, at a provider that is told totals',
    raising(byTotal),
    giveBack(1),
    'OUTCOME_OUTSTANDING',
  ],
  ['that, for the whole rest', raising(byTotal), giveBack(1000), undefined],
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
