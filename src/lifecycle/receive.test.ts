/** How much of each transfer is beyond what was asked for. */
import { expect, test } from 'vitest'
import { now, operationOf, paymentOf } from '#lifecycle/example-payment.test-support.ts'
import { addReceipt, receiptPlace } from '#lifecycle/receive.ts'

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
