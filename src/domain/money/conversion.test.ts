import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { convert, exchangeRate, isRate } from '#domain/money/conversion.ts'
import { currencies } from '#domain/money/currencies.ts'

test.each([
  ['1', true],
  ['1.1634', true],
  ['0.000001', true],
  ['179.79', true],
  ['', false],
  ['0', false],
  ['0.00', false],
  ['-1', false],
  ['1,5', false],
  ['1.', false],
  ['.5', false],
  ['1e3', false],
  ['N/A', false],
  ['1234567890123', false],
])('%j is a rate: %s', (text, expected) => {
  expect(isRate(text)).toBe(expected)
})

describe('the rate includes the markup, has six decimals and is rounded half up', () => {
  test.each([
    // Euro to dollar: 1.1634 · 1.03 = 1.198302
    ['1', '1.1634', '3.00', '1.198302'],
    ['1', '1.1634', '0.00', '1.163400'],
    // Dollar to yen: 179.79 / 1.1634 · 1.03 = 159.175…
    ['1.1634', '179.79', '3.00', '159.174575'],
    // Yen to dinar: 0.3571 / 179.79 · 1.03 = 0.00204580…
    ['179.79', '0.3571', '3.00', '0.002046'],
    ['3', '1', '0.00', '0.333333'],
    ['3', '2', '0.00', '0.666667'],
    // Exactly half of the last decimal rounds up.
    ['1', '0.0000005', '0.00', '0.000001'],
    ['1', '0.0000004999', '0.00', '0.000000'],
    ['1', '1', '2.50', '1.025000'],
  ])('from %s to %s with a markup of %s: %s', (from, to, markup, expected) => {
    expect(exchangeRate({ from, to }, markup)).toBe(expected)
  })
})

describe('amounts respect the exponents of both currencies', () => {
  test.each([
    [4999, 'EUR', '1.198302', 'USD', 5990],
    // 49.99 EUR at 185.1837 is 9,257.33… yen, and the yen has no decimals.
    [4999, 'EUR', '185.183700', 'JPY', 9257],
    [9257, 'JPY', '0.005562', 'EUR', 5149],
    // The dinar has three decimals.
    [4999, 'EUR', '0.367813', 'KWD', 18387],
    [18387, 'KWD', '2.800000', 'EUR', 5148],
    [100, 'JPY', '0.002046', 'KWD', 205],
    // Exactly half rounds up: 0.005 dollars are a cent.
    [1, 'EUR', '0.500000', 'USD', 1],
    [1, 'EUR', '0.499999', 'USD', undefined],
    [999_999_999_999, 'EUR', '1.000000', 'USD', 999_999_999_999],
    [999_999_999_999, 'EUR', '1.000001', 'USD', undefined],
    [1, 'EUR', '0.000000', 'USD', undefined],
    [1, 'XXX', '1.000000', 'USD', undefined],
  ])('%d %s at %s is %s %s', (value, currency, rate, to, expected) => {
    expect(convert({ value, currency }, rate, to)).toEqual(
      expected === undefined ? undefined : { value: expected, currency: to },
    )
  })
})

test('for every pair of currencies the amount is within half a smallest unit of the true product', () => {
  const codes = currencies.map(({ code }) => code)
  const exponents = new Map(currencies.map(({ code, exponent }) => [code, exponent]))
  fc.assert(
    fc.property(
      fc.constantFrom(...codes),
      fc.constantFrom(...codes),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      (from, to, value, millionths) => {
        const digits = String(millionths).padStart(7, '0')
        const rate = `${digits.slice(0, -6)}.${digits.slice(-6)}`
        const converted = convert({ value, currency: from }, rate, to)
        // Twice the difference over a common denominator, in integers.
        const scale = 10n ** BigInt(6 + (exponents.get(from) ?? 0))
        const product = BigInt(value) * BigInt(millionths) * 10n ** BigInt(exponents.get(to) ?? 0)
        const rest = 2n * product - 2n * scale * BigInt(converted?.value ?? 0)
        if (converted) expect(rest >= -scale && rest < scale).toBe(true)
        else expect(2n * product < scale || product / scale >= 999_999_999_999n).toBe(true)
      },
    ),
    { numRuns: 2_000 },
  )
})
