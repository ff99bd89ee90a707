import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  adyenExponent,
  fromAdyenAmount,
  toAdyenAmount,
  tryAdyenAmount,
} from '#connectors/adyen/translate/amounts.ts'
import { currencies, exponentOf } from '#domain/money/currencies.ts'
import { maximumAmount } from '#domain/money/money.ts'

const payable = currencies.map(({ code }) => code).filter(code => adyenExponent(code) !== undefined)

test('every amount that Adyen can express converts there and back unchanged, in every currency', () => {
  const amount = fc.record({
    value: fc.integer({ min: 0, max: maximumAmount }),
    currency: fc.constantFrom(...payable),
  })
  fc.assert(
    fc.property(amount, money => {
      const sent = tryAdyenAmount(money)
      if (sent !== undefined) expect(fromAdyenAmount({ ...sent })).toEqual(money)
    }),
    { seed: 1, numRuns: 5000 },
  )
})

test('only currencies with fewer decimals at Adyen refuse an amount, and only those with a remainder', () => {
  const coarser = payable.filter(code => (adyenExponent(code) ?? 0) < (exponentOf(code) ?? 0))
  expect(coarser).toEqual(['CVE', 'IDR'])
  for (const currency of payable) {
    expect(tryAdyenAmount({ value: 100, currency })).toBeDefined()
    expect(tryAdyenAmount({ value: 101, currency }) === undefined).toBe(coarser.includes(currency))
  }
})

test.each([
  [{ value: 1000, currency: 'EUR' }, 1000],
  [{ value: 500, currency: 'JPY' }, 500],
  [{ value: 1234, currency: 'KWD' }, 1234],
  [{ value: 500, currency: 'CLP' }, 50_000],
  [{ value: 500, currency: 'ISK' }, 50_000],
  [{ value: 150_000, currency: 'IDR' }, 1500],
  [{ value: 700, currency: 'CVE' }, 7],
])('%j is %i at Adyen', (money, value) => {
  expect(toAdyenAmount(money)).toEqual({ currency: money.currency, value })
})

test.each([
  ['no amount', undefined],
  ['a fraction', { value: 1.5, currency: 'EUR' }],
  ['text', { value: '100', currency: 'EUR' }],
  ['a fraction of our unit', { value: 50_001, currency: 'CLP' }],
  ['a currency that is not used for payments', { value: 100, currency: 'CLF' }],
  ['a currency that does not exist', { value: 100, currency: 'XYZ' }],
])('%s from Adyen is not taken for an amount', (_, amount) => expect(fromAdyenAmount(amount)).toBeUndefined())
