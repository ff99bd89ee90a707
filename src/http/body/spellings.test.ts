import { expect, test } from 'vitest'
import { listSpellings, unifySpellings } from '#http/body/spellings.ts'
import { createPayment } from '#schemas/create-payment.ts'
import { creditRequest } from '#schemas/credit.ts'
import { confirmIntent } from '#schemas/payment-intent.ts'
import { tokenQuestion } from '#schemas/services/tokenize.ts'

test.each([
  ['a payment', createPayment, ['paymentMethods', 'card']],
  ['a credit', creditRequest, ['paymentMethods', 'card']],
  ['the confirmation of an intent', confirmIntent, ['card']],
  ['an exchange for a pseudo number', tokenQuestion, []],
])('%s takes cardHolderName too', (_, schema, path) =>
  expect(listSpellings(schema)).toEqual([{ path, name: 'cardholderName', other: 'cardHolderName' }]),
)

const spellings = [{ path: ['card'], name: 'cardholderName', other: 'cardHolderName' }]

test.each([
  [
    'the second spelling becomes the first',
    { card: { cardHolderName: 'Ada' } },
    { card: { cardholderName: 'Ada' } },
  ],
  [
    'both stay, so that the second is refused',
    { card: { cardholderName: 'Ada', cardHolderName: 'Bo' } },
    { card: { cardholderName: 'Ada', cardHolderName: 'Bo' } },
  ],
  [
    'the same name elsewhere stays',
    { metadata: { cardHolderName: 'Ada' } },
    { metadata: { cardHolderName: 'Ada' } },
  ],
  ['what is no object stays', { card: 'x' }, { card: 'x' }],
])('%s', (_, body, expected) => {
  unifySpellings(body, spellings)
  expect(body).toEqual(expected)
})
