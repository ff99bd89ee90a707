/** Converting amounts to Stripe's unit and back, for every currency. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exponent, fromStripeAmount, toStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { currencies } from '#domain/money/currencies.ts'
import { maximumAmount } from '#domain/money/money.ts'

const taken = currencies.filter(({ code }) => exponent(code) !== undefined)

test('every amount that Stripe can express converts there and back unchanged', () => {
  const cases = fc.record({
    currency: fc.constantFrom(...taken.map(({ code }) => code)),
    value: fc.integer({ min: 0, max: maximumAmount }),
  })
  fc.assert(
    fc.property(cases, money => {
      const amount = toStripeAmount(money)
      if (amount !== undefined) expect(fromStripeAmount(amount, money.currency.toLowerCase())).toEqual(money)
    }),
    { numRuns: 2000 },
  )
})

test('exactly the amounts with no more decimals than Stripe counts can be expressed', () => {
  for (const { code, exponent: iso } of taken) {
    const step = 10 ** Math.max(0, iso - (exponent(code) ?? 0))
    expect(toStripeAmount({ value: step, currency: code }), code).toBeDefined()
    if (step > 1) expect(toStripeAmount({ value: step + 1, currency: code }), code).toBeUndefined()
  }
})

test.each([
  ['EUR', 1050, 1050],
  ['JPY', 500, 500],
  // No decimals by ISO, but two zero decimals at Stripe.
  ['ISK', 5, 500],
  ['UGX', 5, 500],
  // Two decimals by ISO, none at Stripe.
  ['MGA', 500, 5],
  ['MGA', 501, undefined],
  // Three decimals, the last of which must be zero.
  ['KWD', 5120, 5120],
  ['KWD', 5124, undefined],
  // Four decimals, funds codes and unknown currencies.
  ['CLF', 10_000, undefined],
  ['CHE', 100, undefined],
  ['XXX', 100, undefined],
])('%s %i is %s on the wire', (currency, value, amount) => {
  expect(toStripeAmount({ value, currency })).toBe(amount)
})

test('an answer without an amount or currency has no money', () => {
  expect(fromStripeAmount(undefined, 'eur')).toBeUndefined()
  expect(fromStripeAmount(100, undefined)).toBeUndefined()
  expect(fromStripeAmount(100.5, 'eur')).toBeUndefined()
  expect(fromStripeAmount(101, 'isk')).toBeUndefined()
})
