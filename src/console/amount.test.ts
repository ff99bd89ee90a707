/** What people type as an amount is never taken for another amount. */
import { expect, test } from 'vitest'
import { amountProblem, readAmount } from '#console/amount.ts'

test.each([
  ['1000', 'EUR', 1000],
  [' 1000 ', 'EUR', 1000],
  ['10.00', 'EUR', 1000],
  ['10,00', 'EUR', 1000],
  ['0.05', 'EUR', 5],
  ['1.234', 'KWD', 1234],
  ['500', 'JPY', 500],
  // Half a cent, a thousands separator, a missing decimal: nobody knows what was meant.
  ['1.234', 'EUR', undefined],
  ['10.0', 'EUR', undefined],
  ['5.00', 'JPY', undefined],
  ['1,000.00', 'EUR', undefined],
  ['-1', 'EUR', undefined],
  ['1e3', 'EUR', undefined],
  ['', 'EUR', undefined],
  ['9999999999999', 'EUR', undefined],
  ['99999999999.99', 'EUR', undefined],
])('%j typed as an amount in %s', (typed, currency, value) => {
  expect(readAmount(typed, currency)).toBe(value)
})

test.each([
  ['10.00', 'JPY', /^The amount is 10\.00; allowed in JPY is .* such as 1000\.$/],
  [
    '5.00',
    'KWD',
    /^The amount is 5\.00; allowed in KWD is .* such as 1000, or with 3 decimals, such as 1\.000\.$/,
  ],
  [' ', 'EUR', /^The amount is missing; .* or with 2 decimals, such as 10\.00\.$/],
  // The amount is right in every currency that has two decimals; the code is what has to be corrected.
  ['10.00', 'eur', /^The currency is eur; allowed is an active ISO 4217 code such as EUR\.$/],
  ['10.00', '', /^The currency is missing; /],
])('what is wrong with %j in %j names it and what is allowed', (typed, currency, said) => {
  expect(amountProblem(typed, currency)).toMatch(said)
})
