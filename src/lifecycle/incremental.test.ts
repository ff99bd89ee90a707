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
/** Approved for 0: the card exists, and nothing is held on it. */
const verified = (status: Payment['status']) => paymentOf({ status, sums: { authorized: 0 } })
const week = later(7 * 24)
const top = maximumAmount - 1000
/** A raise of 1 that is in this state. */
const raised = (state: Operation['state']) =>
  paymentOf({
    operations: [
      operationOf({}),
      operationOf({ xId: xIdOf(2), sequence: 2, type: 'INCREMENTAL', state, amount: 1 }),
    ],
  })

/** The provider of this account is told the new total. */
const byTotal = (payment: Payment): Payment => ({
  ...payment,
  method: { ...payment.method, amountByTotal: true },
})

// Each line: what is true, the payment, the command, the answer (undefined: go ahead). In the order of the guards.
const cases: [string, Payment, IncrementalCommand, Refusal | undefined, Date?][] = [
  ['an authorised card', paymentOf(), more(500), undefined],
  ['instalments that can grow', paymentOf({ method: methodOf('PROVIDERT') }), more(500), undefined],
  ['before the delayed capture', paymentOf({ status: 'CAPTURE_REQUEST' }), more(500), undefined],
  ['after a partial reversal', paymentOf({ sums: { reversed: 400 } }), more(500), undefined],
  ['while a reversal is under way', paymentOf({ sums: { reversing: 400 } }), more(500), undefined],
  [
    'a method that cannot grow',
    paymentOf({ method: methodOf('PROVIDERK'), status: 'FAILED' }),
    more(1),
    'METHOD_LACKS_OPERATION',
  ],
  ['customer to act', paymentOf({ status: 'AUTHORIZE_REQUEST' }), more(1), 'NOT_AUTHORIZED'],
  ['no answer yet', paymentOf({ status: 'PENDING', sums: { authorized: 0 } }), more(1), 'NOT_AUTHORIZED'],
  ['declined', paymentOf({ status: 'FAILED', sums: { authorized: 0 } }), more(1), 'NOT_AUTHORIZED'],
  ['a credit', credit, more(1), 'NOT_AUTHORIZED'],
  ['an account verified, no amount approved', verified('AUTHORIZED'), more(1), 'NOT_AUTHORIZED'],
  ['that, with its capture of nothing', verified('OK'), more(1), 'NOT_AUTHORIZED'],
  ['that, long ago', verified('AUTHORIZED'), more(1), 'NOT_AUTHORIZED', week],
  ['lapsed this instant', paymentOf(), more(1), 'EXPIRED', week],
  ['one millisecond before it lapses', paymentOf(), more(1), undefined, new Date(week.getTime() - 1)],
  ['lapsed and released', reversed, more(1), 'EXPIRED', week],
  ['reversed', reversed, more(1), 'ALREADY_REVERSED'],
  ['that, before the currency', reversed, usd(1), 'ALREADY_REVERSED'],
  ['a part was captured', paymentOf({ status: 'OK', sums: { captured: 1 } }), more(1), 'ALREADY_CAPTURED'],
  ['a part may have been captured', paymentOf({ sums: { capturing: 1 } }), more(1), 'ALREADY_CAPTURED'],
  ['that, before the currency', paymentOf({ sums: { capturing: 1 } }), usd(1), 'ALREADY_CAPTURED'],
  ['another currency', paymentOf(), usd(1), 'CURRENCY_DIFFERS'],
  ['up to the largest amount there is', paymentOf(), more(top), undefined],
  ['beyond the largest amount there is', paymentOf(), more(top + 1), 'ABOVE_OPEN_AMOUNT'],
  ['beyond it with a raise under way', raised('SENT'), more(top), 'ABOVE_OPEN_AMOUNT'],
  ['beyond it with a raise unknown', raised('PENDING'), more(top), 'ABOVE_OPEN_AMOUNT'],
  ['a failed raise counts for nothing', raised('FAILED'), more(top), undefined],
  ['a raise under way, added to by a difference', raised('SENT'), more(1), undefined],
  [
    'a raise under way, at a provider that is told totals',
    byTotal(raised('SENT')),
    more(1),
    'OUTCOME_OUTSTANDING',
  ],
  ['a raise unknown there', byTotal(raised('PENDING')), more(1), 'OUTCOME_OUTSTANDING'],
  ['that, after the currency', byTotal(raised('PENDING')), usd(1), 'CURRENCY_DIFFERS'],
  ['a failed raise there', byTotal(raised('FAILED')), more(1), undefined],
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

test('the ceiling rises with the approval, never before', () => {
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
