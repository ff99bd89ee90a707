import { describe, expect, test } from 'vitest'
import { maximumAmount } from '#domain/money/money.ts'
import type { Refusal } from '#domain/response-codes.ts'
import {
  later,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import { decideIncremental, type IncrementalCommand, recordIncremental } from '#lifecycle/incremental.ts'
import { captureCeiling, type Operation, type Payment } from '#lifecycle/payment.ts'
import { allMethods } from '#methods/catalogue.ts'

const more = (value: number, change: Partial<IncrementalCommand> = {}): IncrementalCommand => ({
  transId: 'order-1',
  amount: { value, currency: 'EUR' },
  details: {},
  ...change,
})
const usd = (value: number) => more(value, { amount: { value, currency: 'USD' } })

const reversed = paymentOf({ status: 'REVERSED', sums: { reversed: 1000 } })
const credit = paymentOf({ kind: 'CREDIT', status: 'OK', sums: { authorized: 0, refunded: 1000 } })
/** An account verification: approved for 0, so nothing is held on the card. */
const verified = (status: Payment['status']) => paymentOf({ status, sums: { authorized: 0 } })
const week = later(7 * 24)
const top = maximumAmount - 1000
/** A payment with an increment of 1 in the given state. */
const raised = (state: Operation['state']) =>
  paymentOf({
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type: 'INCREMENTAL', state, amount: 1 }),
    ],
  })

/** The same payment with a method whose provider takes the new total. */
const byTotal = (payment: Payment): Payment => ({
  ...payment,
  method: { ...payment.method, amountByTotal: true },
})

// Each line: the case, the payment, the command, the refusal (undefined: accepted). In the order of the checks.
const cases: [string, Payment, IncrementalCommand, Refusal | undefined, Date?][] = [
  ['an authorised card', paymentOf(), more(500), undefined],
  [
    'an instalment method that allows increments',
    paymentOf({ method: methodOf('PROVIDERT') }),
    more(500),
    undefined,
  ],
  ['before the delayed capture', paymentOf({ status: 'CAPTURE_REQUEST' }), more(500), undefined],
  ['after a partial reversal', paymentOf({ sums: { reversed: 400 } }), more(500), undefined],
  ['while a reversal is under way', paymentOf({ sums: { reversing: 400 } }), more(500), undefined],
  [
    'a method without increments',
    paymentOf({ method: methodOf('PROVIDERK'), status: 'FAILED' }),
    more(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['waiting for the customer', paymentOf({ status: 'AUTHORIZE_REQUEST' }), more(1), 'NOT_AUTHORIZED'],
  ['no answer yet', paymentOf({ status: 'PENDING', sums: { authorized: 0 } }), more(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), more(1), 'NOT_AUTHORIZED'],
  ['a credit', credit, more(1), 'NOT_AUTHORIZED'],
  ['an account verified, no amount approved', verified('AUTHORIZED'), more(1), 'NOT_AUTHORIZED'],
  ['an account verified and captured for 0', verified('OK'), more(1), 'NOT_AUTHORIZED'],
  ['an account verified a week ago', verified('AUTHORIZED'), more(1), 'NOT_AUTHORIZED', week],
  ['lapsed this instant', paymentOf(), more(1), 'EXPIRED', week],
  ['one millisecond before it lapses', paymentOf(), more(1), undefined, new Date(week.getTime() - 1)],
  ['lapsed and released', reversed, more(1), 'EXPIRED', week],
  ['reversed', reversed, more(1), 'ALREADY_REVERSED'],
  ['reversed comes before the currency', reversed, usd(1), 'ALREADY_REVERSED'],
  ['a part was captured', paymentOf({ status: 'OK', sums: { captured: 1 } }), more(1), 'ALREADY_CAPTURED'],
  ['a part may have been captured', paymentOf({ sums: { capturing: 1 } }), more(1), 'ALREADY_CAPTURED'],
  [
    'a capture under way comes before the currency',
    paymentOf({ sums: { capturing: 1 } }),
    usd(1),
    'ALREADY_CAPTURED',
  ],
  ['another currency', paymentOf(), usd(1), 'CURRENCY_DIFFERS'],
  ['up to the largest allowed amount', paymentOf(), more(top), undefined],
  ['beyond the largest allowed amount', paymentOf(), more(top + 1), 'ABOVE_OPEN_AMOUNT'],
  ['beyond it with an increment under way', raised('SENT'), more(top), 'ABOVE_OPEN_AMOUNT'],
  ['beyond it with an increment of unknown outcome', raised('PENDING'), more(top), 'ABOVE_OPEN_AMOUNT'],
  ['a failed increment does not count', raised('FAILED'), more(top), undefined],
  ['an increment under way, at a provider that takes differences', raised('SENT'), more(1), undefined],
  [
    'an increment under way, at a provider that takes totals',
    byTotal(raised('SENT')),
    more(1),
    'OUTCOME_OUTSTANDING',
  ],
  [
    'an increment of unknown outcome, at a provider that takes totals',
    byTotal(raised('PENDING')),
    more(1),
    'OUTCOME_OUTSTANDING',
  ],
  ['the currency comes before the unanswered total', byTotal(raised('PENDING')), usd(1), 'CURRENCY_DIFFERS'],
  ['a failed increment, at a provider that takes totals', byTotal(raised('FAILED')), more(1), undefined],
]

describe('decideIncremental', () => {
  test.each(cases)('%s', (_, payment, command, refusal, at = now) => {
    expect(decideIncremental(payment, command, at)).toEqual(
      refusal ? { accepted: false, refusal } : { accepted: true },
    )
  })

  test('the catalogue decides which methods allow increments', () => {
    const growing = allMethods.filter(
      method => decideIncremental(paymentOf({ method }), more(1), now).accepted,
    )
    expect(growing).toEqual(allMethods.filter(({ operations }) => operations.includes('increment')))
  })
})

test('the limit for captures rises with the approval, not before', () => {
  const command = more(500, { durationDays: 3 })
  const recorded = recordIncremental(paymentOf(), command, { xId: xIdOf(2), prepared: {}, now })
  expect(captureCeiling(recorded)).toBe(1000)
  expect(recorded).toMatchObject({ status: 'AUTHORIZED', version: 3, authorizationExpiresAt: week })
  const operation = {
    sequence: 2,
    type: 'INCREMENTAL',
    state: 'SENT',
    amount: 500,
    details: { durationDays: 3 },
  }
  expect(recorded.operations.at(-1)).toMatchObject(operation)
})
