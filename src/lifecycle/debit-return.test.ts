import { expect, test } from 'vitest'
import { returnCapture } from '#lifecycle/debit-return.ts'
import {
  factsFor,
  later,
  methodOf,
  operationOf,
  type PaymentChange,
  paymentOf,
  xIdOf,
} from '#lifecycle/example-payment.test-support.ts'
import type { Operation } from '#lifecycle/payment.ts'

const capture = operationOf({ xId: xIdOf(2), sequence: 2, type: 'CAPTURE', state: 'OK', amount: 600 })
const refund = (amount: number, state: Operation['state'], of = capture.xId): Operation =>
  operationOf({ xId: xIdOf(5), sequence: 3, type: 'REFUND', state, amount, details: { refundOf: of } })

const paid = (change: PaymentChange = {}) =>
  paymentOf({
    method: methodOf('DIRECTDEBIT'),
    status: 'OK',
    operations: [operationOf({}), capture],
    ...change,
    sums: { captured: 600, ...change.sums },
  })

const returned = {
  capture: capture.xId,
  xId: xIdOf(9),
  detail: '0351',
  provider: factsFor(capture),
  now: later(48),
}

// Each line: the earlier refunds, and the amount of the return.
test.each<[string, PaymentChange, number]>([
  ['nothing', {}, 600],
  [
    'a partial refund',
    { operations: [operationOf({}), capture, refund(200, 'OK')], sums: { refunded: 200 } },
    400,
  ],
  [
    'a partial refund without an answer',
    { operations: [operationOf({}), capture, refund(200, 'SENT')], sums: { refunding: 200 } },
    400,
  ],
  ['a partial refund that failed', { operations: [operationOf({}), capture, refund(200, 'FAILED')] }, 600],
  [
    'refunded but for a cent',
    { operations: [operationOf({}), capture, refund(599, 'PENDING')], sums: { refunding: 599 } },
    1,
  ],
])('a returned debit takes what is left when %s was refunded before', (_, change, amount) => {
  const before = paid(change)
  const after = returnCapture(before, returned)
  expect(after).toMatchObject({ status: 'OK', updatedAt: later(48), version: before.version + 1 })
  expect(after?.sums).toEqual({ ...before.sums, returned: before.sums.returned + amount })
  expect(after?.operations.slice(0, -1)).toEqual(before.operations)
  expect(after?.operations.at(-1)).toMatchObject({
    xId: xIdOf(9),
    sequence: before.operations.length + 1,
    type: 'RETURN',
    state: 'OK',
    amount,
    responseCode: '23000351',
    details: { refundOf: capture.xId },
    createdAt: later(48),
  })
})

test('the return has the amount that the bank names, even after a refund', () => {
  const before = paid({ operations: [operationOf({}), capture, refund(600, 'OK')], sums: { refunded: 600 } })
  const after = returnCapture(before, { ...returned, amount: 600 })
  expect(after?.sums).toEqual({ ...before.sums, returned: 600 })
  expect(after?.operations.at(-1)).toMatchObject({ type: 'RETURN', amount: 600 })
})

test.each<[string, PaymentChange]>([
  [
    'the capture was refunded in full',
    { operations: [operationOf({}), capture, refund(600, 'OK')], sums: { refunded: 600 } },
  ],
  [
    'a full refund has no answer yet',
    { operations: [operationOf({}), capture, refund(600, 'SENT')], sums: { refunding: 600 } },
  ],
  [
    'the capture failed',
    { operations: [operationOf({}), { ...capture, state: 'FAILED' }], sums: { captured: 0 } },
  ],
  [
    'the outcome of the capture is unknown',
    { operations: [operationOf({}), { ...capture, state: 'PENDING' }], sums: { captured: 0 } },
  ],
  ['there is no such capture', { operations: [operationOf({})], sums: { captured: 0 } }],
])('a debit is not returned when there is nothing to send back: %s', (_, change) =>
  expect(returnCapture(paid(change), returned)).toBeUndefined(),
)
