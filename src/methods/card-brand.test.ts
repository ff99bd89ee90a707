import { expect, test } from 'vitest'
import { findBrandMisfit } from '#methods/catalogue.ts'

const number = '4111111111111111'

test.each([
  ['no card', undefined],
  ['no brand', { number }],
  ['no number', { brand: 'mastercard' }],
  ['its brand', { number, brand: 'visa' }],
  ['a co-badge', { number, brand: 'cartes_bancaires' }],
  ['a brand of its own', { number, brand: 'shop card' }],
  ['a pseudo card number', { number: '0123456789012345', brand: 'mastercard' }],
])('a card number and brand that fit are accepted: %s', (_, card) =>
  expect(findBrandMisfit(card)).toBeUndefined(),
)

test('a contradiction names the field and the brand, never the number', () => {
  expect(findBrandMisfit({ number, brand: 'mastercard' })).toEqual({
    field: 'paymentMethods.card.brand',
    error: 'mastercard is not the brand of this card number; allowed: visa',
  })
})
