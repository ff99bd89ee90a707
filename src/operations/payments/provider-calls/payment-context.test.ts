/** Every field of every request either reaches the provider or is on the list of those that we keep to ourselves. */
import { expect, test } from 'vitest'
import { paymentOf } from '#lifecycle/example-payment.test-support.ts'
import { contextFields, toContext } from '#operations/payments/provider-calls/payment-context.ts'
import { confirmRequest } from '#schemas/confirm.ts'
import { createPayment } from '#schemas/create-payment.ts'
import { creditRequest } from '#schemas/credit.ts'
import { captureRequest, incrementalRequest, refundRequest, reversalRequest } from '#schemas/follow-ups.ts'
import { hintFields } from '#schemas/parts/hints.ts'
import { createIntent } from '#schemas/payment-intent.ts'
import { createLink, createSession } from '#schemas/session.ts'

const known = new Set<string>([
  ...Object.keys(contextFields.passed),
  ...Object.keys(contextFields.own),
  ...hintFields,
])

const requests: readonly (readonly [string, object])[] = [
  ['payment', createPayment],
  ['session', createSession],
  ['link', createLink],
  ['intent', createIntent],
  ['confirm', confirmRequest],
  ['capture', captureRequest],
  ['refund', refundRequest],
  ['reversal', reversalRequest],
  ['incremental', incrementalRequest],
  ['credit', creditRequest],
]
const fieldsOf = (schema: object): string[] =>
  Object.keys((schema as { properties: Record<string, unknown> }).properties)

test.each(requests)(
  'every field of a %s either reaches the provider or is listed as one that does not',
  (_, schema) => {
    expect(fieldsOf(schema).filter(name => !known.has(name))).toEqual([])
  },
)

test('the lists name only fields that a request has', () => {
  const sent = new Set(requests.flatMap(([, schema]) => fieldsOf(schema)))
  expect([...known].filter(name => !sent.has(name))).toEqual([])
})

test("the breakdown of an operation's own amount overrides that of the payment", () => {
  const payment = paymentOf({ details: { amount: { taxTotal: 190 } } })
  expect(toContext(payment, { details: { amount: { taxTotal: 19 } } }).amountDetails).toEqual({
    taxTotal: 19,
  })
  expect(toContext(payment, { details: {} }).amountDetails).toEqual({ taxTotal: 190 })
})

test('no field is on both lists', () => {
  const both = Object.keys(contextFields.own).filter(name => Object.hasOwn(contextFields.passed, name))
  expect(both).toEqual([])
})
