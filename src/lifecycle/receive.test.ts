/** How much of each transfer exceeds the payment's amount. */
import { expect, test } from 'vitest'
import { now, operationOf, paymentOf } from '#lifecycle/example-payment.test-support.ts'
import { addLaterReceipt, addReceipt, receiptPlace } from '#lifecycle/receive.ts'

test.each([
  { received: [1000], beyond: [0] },
  { received: [1250], beyond: [250] },
  { received: [600, 600], beyond: [0, 200] },
  { received: [1100, 100], beyond: [100, 100] },
  { received: [400], beyond: [0] },
])('$received of 1000 leave $beyond to give back, whenever that is asked', ({ received, beyond }) => {
  const operations = [operationOf({ state: 'AUTHORIZE_REQUEST' })]
  const waiting = paymentOf({ status: 'AUTHORIZE_REQUEST', operations })
  const paid = received.reduce(
    (payment, value, at) => addReceipt(payment, { key: `E${at}`, value, now }),
    waiting,
  )
  expect(received.map((_, at) => receiptPlace(paid, `E${at}`).surplus)).toEqual(beyond)
  expect(receiptPlace(paid, 'another')).toMatchObject({ surplus: 0, completes: false })
})

test('a receipt stores whether its payment was still waiting when it arrived', () => {
  const operations = [operationOf({ state: 'AUTHORIZE_REQUEST' })]
  const begun = addReceipt(paymentOf({ status: 'AUTHORIZE_REQUEST', operations }), {
    key: 'E0',
    value: 400,
    now,
  })
  const failed = begun.operations.map(operation => ({ ...operation, state: 'FAILED' as const }))
  const ended = addLaterReceipt(
    { ...begun, status: 'FAILED', operations: failed },
    { key: 'E1', value: 600, now },
  )
  expect(['E0', 'E1'].map(key => receiptPlace(ended, key).isLate)).toEqual([false, true])
})
