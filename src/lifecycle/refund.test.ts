import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import {
  factsFor,
  methodOf,
  now,
  operationOf,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Operation, Payment } from '#lifecycle/payment.ts'
import { decideRefund, findRefundedCapture, type RefundCommand, reserveRefund } from '#lifecycle/refund.ts'

const back = (value: number, change: Partial<RefundCommand> = {}): RefundCommand => ({
  transId: 'order-1',
  amount: { value, currency: 'EUR' },
  details: {},
  ...change,
})
const named = (value: number, captureTransactionId: string) => back(value, { captureTransactionId })

/** Capture number `n`, with the provider's id T`n`. */
function took(n: number, amount: number, state: Operation['state'] = 'OK'): Operation {
  const capture = operationOf({ xId: xIdOf(n), sequence: n, type: 'CAPTURE', state, amount })
  return { ...capture, provider: { ...factsFor(capture), transactionId: `T${n}` } }
}
/** The same with the id of the second operation, as Stripe has one charge for all captures. */
const tookOfCharge = (n: number, amount: number): Operation => {
  const capture = took(n, amount)
  return { ...capture, provider: { ...factsFor(capture), transactionId: 'T2' } }
}
const gave = (n: number, of: number, amount: number, state: Operation['state'] = 'OK'): Operation =>
  operationOf({ xId: xIdOf(n), sequence: n, type: 'REFUND', state, amount, details: { refundOf: xIdOf(of) } })

const isOpen = ({ state }: Operation) => state === 'SENT' || state === 'PENDING'
const total = (operations: readonly Operation[], type: string, isWanted: (operation: Operation) => boolean) =>
  operations
    .filter(operation => operation.type === type && isWanted(operation))
    .reduce((sum, { amount }) => sum + amount, 0)

/** A payment authorised for 1000, with these operations and the sums that follow from them. */
const after = (...operations: Operation[]): Payment =>
  paymentOf({
    status: 'OK',
    operations: [operationOf({}), ...operations],
    sums: {
      captured: total(operations, 'CAPTURE', ({ state }) => state === 'OK'),
      capturing: total(operations, 'CAPTURE', isOpen),
      refunded: total(operations, 'REFUND', ({ state }) => state === 'OK'),
      refunding: total(operations, 'REFUND', isOpen),
    },
  })
const whole = after(took(2, 1000))
const inTwo = after(took(2, 600), took(3, 400))
/** Three captures, of which the first is refunded in part and the last as a whole. */
const inOneCharge = after(
  tookOfCharge(2, 500),
  tookOfCharge(3, 300),
  tookOfCharge(4, 200),
  gave(5, 2, 300),
  gave(6, 4, 200),
)
const by = (type: string, payment: Payment): Payment => ({ ...payment, method: methodOf(type) })
const credit = paymentOf({ kind: 'CREDIT', status: 'OK', sums: { authorized: 0, refunded: 1000 } })
const usd = { amount: { value: 1, currency: 'USD' } }

// Each line: the case, the payment, the command, the refusal (undefined: accepted). In the order of the checks.
const cases: [string, Payment, RefundCommand, Refusal | undefined][] = [
  ['all that was captured', whole, back(1000), undefined],
  ['a part', whole, back(1), undefined],
  ['the rest after a part', after(took(2, 1000), gave(3, 2, 400)), back(600), undefined],
  ['a method without refunds', by('INVOICE', whole), back(1), 'METHOD_LACKS_OPERATION'],
  [
    'the method comes before everything else',
    by('INVOICE', paymentOf()),
    back(1, usd),
    'METHOD_LACKS_OPERATION',
  ],
  [
    'waiting for the customer',
    paymentOf({ status: 'AUTHORIZE_REQUEST' }),
    back(1),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['no answer yet', paymentOf({ status: 'PENDING' }), back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['declined', paymentOf({ status: 'FAILED' }), back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  [
    'reversed',
    paymentOf({ status: 'REVERSED', sums: { reversed: 1000 } }),
    back(1),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['authorised only', paymentOf(), back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['delayed capture to come', paymentOf({ status: 'CAPTURE_REQUEST' }), back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['capture under way', after(took(2, 1000, 'PENDING')), back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['nothing captured comes before the currency', paymentOf(), back(1, usd), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['a credit', credit, back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  // Two states that cannot occur: each check holds by itself, even if sums and operations contradict each other.
  ['any status but OK', { ...whole, status: 'AUTHORIZED' }, back(1), 'ABOVE_REFUNDABLE_AMOUNT'],
  [
    'sums that count more than the operations',
    { ...whole, sums: { ...whole.sums, refunding: 400 } },
    back(601),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['another currency', whole, back(1, usd), 'CURRENCY_DIFFERS'],
  [
    'the currency comes before the amount',
    whole,
    back(9999, { amount: { value: 9999, currency: 'USD' } }),
    'CURRENCY_DIFFERS',
  ],
  ['an unknown capture', inTwo, named(1, 'T9'), 'ABOVE_REFUNDABLE_AMOUNT'],
  [
    'a capture that failed',
    after(took(2, 600), took(3, 400, 'FAILED')),
    named(1, 'T3'),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  [
    'a capture without an answer',
    after(took(2, 600), took(3, 400, 'PENDING')),
    named(1, 'T3'),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  [
    'the id of the authorisation',
    { ...whole, operations: [{ ...operationOf({}), provider: factsFor(operationOf({})) }, took(2, 1000)] },
    named(1, 'T1'),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['one cent too much', whole, back(1001), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['too much after a refund', after(took(2, 1000), gave(3, 2, 400)), back(601), 'ABOVE_REFUNDABLE_AMOUNT'],
  [
    'too much with a refund under way',
    after(took(2, 1000), gave(3, 2, 400, 'SENT')),
    back(601),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  [
    'too much with a refund of unknown outcome',
    after(took(2, 1000), gave(3, 2, 400, 'PENDING')),
    back(601),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['a failed refund does not count', after(took(2, 1000), gave(3, 2, 400, 'FAILED')), back(1000), undefined],
  ['all of the last capture', inTwo, back(400), undefined],
  ['more than the last capture', inTwo, back(401), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['all of the named capture', inTwo, named(600, 'T2'), undefined],
  ['more than the named capture', inTwo, named(601, 'T2'), 'ABOVE_REFUNDABLE_AMOUNT'],
  [
    'more than the rest of the named capture',
    after(took(2, 600), took(3, 400), gave(4, 2, 200)),
    named(401, 'T2'),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  [
    'the rest of the named capture after a refund of the other',
    after(took(2, 600), took(3, 400), gave(4, 3, 400)),
    named(600, 'T2'),
    undefined,
  ],
  [
    'the last capture is already refunded',
    after(took(2, 600), took(3, 400), gave(4, 3, 400)),
    back(1),
    'ABOVE_REFUNDABLE_AMOUNT',
  ],
  ['the middle one of captures with one id', inOneCharge, named(300, 'T2'), undefined],
  ['more than any of captures with one id', inOneCharge, named(501, 'T2'), 'ABOVE_REFUNDABLE_AMOUNT'],
  ['the whole amount, where parts are not allowed', by('TATRAPAY', whole), back(1000), undefined],
  ['a part, where parts are not allowed', by('TATRAPAY', whole), back(999), 'METHOD_LACKS_OPERATION'],
]

describe('decideRefund', () => {
  test.each(cases)('%s', (_, payment, command, refusal) => {
    expect(decideRefund(payment, command)).toEqual(
      refusal ? { accepted: false, refusal } : { accepted: true },
    )
  })
})

test.each([
  ['the last successful one', after(took(2, 600), took(3, 300), took(4, 100, 'PENDING')), back(1), 3],
  ['the named one', inTwo, named(1, 'T2'), 2],
  ['the last one with that id and that much left', inOneCharge, named(201, 'T2'), 3],
  ['none if none succeeded', paymentOf(), back(1), undefined],
])('gives back %s', (_, payment, command, n) => {
  expect(findRefundedCapture(payment, command)?.xId).toBe(n && xIdOf(n))
})

describe('reserveRefund', () => {
  const reserved = reserveRefund(inTwo, named(250, 'T2'), { xId: xIdOf(4), prepared: {}, now })

  test('counts as refunded from the moment it is recorded, against its capture', () => {
    expect(reserved.sums).toMatchObject({ refunding: 250, refunded: 0, captured: 1000 })
    expect(decideRefund(reserved, named(350, 'T2')).accepted).toBe(true)
    expect(decideRefund(reserved, named(351, 'T2')).accepted).toBe(false)
    expect(decideRefund(reserved, back(400)).accepted).toBe(true)
  })

  test('records the operation and the refunded capture before the provider is called', () => {
    const recorded = {
      sequence: 4,
      type: 'REFUND',
      state: 'SENT',
      amount: 250,
      details: { refundOf: xIdOf(2) },
    }
    expect(reserved.operations.at(-1)).toMatchObject(recorded)
    expect(reserved).toMatchObject({ status: 'OK', version: inTwo.version + 1 })
  })

  test('throws for a missing capture, because the rule must be checked first', () => {
    expect(() => reserveRefund(paymentOf(), back(1), { xId: xIdOf(4), prepared: {}, now })).toThrow(
      'no capture',
    )
  })
})
