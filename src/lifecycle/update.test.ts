import { describe, expect, test } from 'vitest'
import type { Refusal } from '#domain/response-codes.ts'
import { later, operationOf, paymentOf } from '#lifecycle/example-payment.test-support.ts'
import type { PaymentStatus } from '#lifecycle/payment.ts'
import { decideUpdate, type UpdateCommand, update } from '#lifecycle/update.ts'

const terms: UpdateCommand[] = [{ transId: 'order-2' }, { amount: { value: 5, currency: 'EUR' } }]
const notes: UpdateCommand[] = [{ refNr: 'r' }, { order: { invoiceId: 'i' } }, { metadata: { a: 1 } }]

// Each line: the status, and the refusal of a new transId or amount (undefined: accepted).
const cases: [PaymentStatus, Refusal | undefined][] = [
  ['AUTHORIZE_REQUEST', undefined],
  ['PENDING', 'NOT_UPDATABLE'],
  ['AUTHORIZED', 'NOT_UPDATABLE'],
  ['CAPTURE_REQUEST', 'NOT_UPDATABLE'],
  ['OK', 'NOT_UPDATABLE'],
  ['FAILED', 'NOT_UPDATABLE'],
  ['REVERSED', 'NOT_UPDATABLE'],
]

describe('decideUpdate', () => {
  test.each(cases)('%s: transId or amount %s; the other fields always change', (status, refusal) => {
    const payment = paymentOf({ status })
    const answer = refusal ? { accepted: false, refusal } : { accepted: true }
    for (const command of terms) expect(decideUpdate(payment, command)).toEqual(answer)
    for (const command of notes) expect(decideUpdate(payment, command)).toEqual({ accepted: true })
    // One field that must not change refuses the whole request.
    expect(decideUpdate(payment, { ...notes[0], ...terms[0] })).toEqual(answer)
  })
})

// Each line: whether the cardholder accepted their own currency, the state of the try, and the refusal of another
// amount.
test.each([
  [true, 'AUTHORIZE_REQUEST', { accepted: false, refusal: 'NOT_UPDATABLE' }],
  [false, 'AUTHORIZE_REQUEST', { accepted: true }],
  [true, 'FAILED', { accepted: true }],
] as const)('an offer accepted: %s, the try %s', (accepted, state, answer) => {
  const masked = { first6Digits: '411111', last4Digits: '1111', brand: 'visa' }
  const payment = paymentOf({
    status: 'AUTHORIZE_REQUEST',
    instrument: { cardId: 'c', ...masked, dcc: { quoteId: 'q', accepted } },
    operations: [operationOf({ state })],
  })
  expect(decideUpdate(payment, { amount: { value: 5, currency: 'EUR' } })).toEqual(answer)
  expect(decideUpdate(payment, { transId: 'order-2' })).toEqual({ accepted: true })
})

// Each line: who acts next, where the customer was, and the refusals of more, of the same in another currency and of
// less.
test.each([
  ['CONFIRM', 'HOSTED', false, false, true],
  ['CONFIRM', 'DIRECT', true, true, true],
  ['CUSTOMER', 'HOSTED', true, true, true],
] as const)('awaits %s, %s: more %s, another currency %s, less %s', (awaits, integrationType, ...answers) => {
  const payment = paymentOf({ status: 'AUTHORIZE_REQUEST', awaits, integrationType })
  const { value, currency } = payment.amount
  const amounts = [
    { value: value + 1, currency },
    { value, currency: 'USD' },
    { value: value - 1, currency },
  ]
  expect(amounts.map(amount => decideUpdate(payment, { amount }).accepted)).toEqual(answers)
})

describe('update', () => {
  const waiting = operationOf({ state: 'AUTHORIZE_REQUEST', refNr: 'r-1' })
  const payment = paymentOf({
    status: 'AUTHORIZE_REQUEST',
    refNr: 'r-1',
    sums: { authorized: 0 },
    details: {
      amount: { taxTotal: 7 },
      order: { invoiceId: 'i-1', description: 'd' },
      metadata: { a: 1, b: 2 },
      channel: 'ECOM',
    },
    operations: [waiting],
  })

  // Each line: the case, the command, and the fields of the payment that change. All others stay.
  test.each<[string, UpdateCommand, object]>([
    [
      'a transId, also in the waiting operation',
      { transId: 'order-2' },
      { transId: 'order-2', operations: [{ ...waiting, transId: 'order-2' }] },
    ],
    [
      'a refNr, also in the waiting operation',
      { refNr: 'r-2' },
      { refNr: 'r-2', operations: [{ ...waiting, refNr: 'r-2' }] },
    ],
    [
      'metadata, merged',
      { metadata: { b: 3, c: 4 } },
      { details: { ...payment.details, metadata: { a: 1, b: 3, c: 4 } } },
    ],
    [
      'an order, merged',
      { order: { invoiceId: 'i-2' } },
      { details: { ...payment.details, order: { invoiceId: 'i-2', description: 'd' } } },
    ],
  ])('%s', (_, command, changed) => {
    const updated = { updatedAt: later(1), version: payment.version + 1 }
    expect(update(payment, command, later(1))).toEqual({ ...payment, ...changed, ...updated })
  })

  test('a new amount replaces the amount details and the amount of the waiting operation', () => {
    const updated = update(payment, { amount: { value: 5, currency: 'USD', netItemTotal: 4 } }, later(1))
    expect(updated.amount).toEqual({ value: 5, currency: 'USD' })
    expect(updated.details.amount).toEqual({ netItemTotal: 4 })
    expect(updated.operations.map(({ amount }) => amount)).toEqual([5])
  })

  test('metadata is added to a payment that has none', () => {
    expect(update(paymentOf(), { metadata: { a: 1 } }, later(1)).details).toEqual({ metadata: { a: 1 } })
  })

  test('an update does not change operations that were already sent', () => {
    expect(update(paymentOf(), { refNr: 'r' }, later(1)).operations).toEqual(paymentOf().operations)
  })
})
