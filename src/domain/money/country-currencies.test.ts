import { expect, test } from 'vitest'
import { countries } from '#domain/countries.ts'
import { currencyOfCountry } from '#domain/money/country-currencies.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'

test('every country but Antarctica has an active currency', () => {
  const without = countries.filter(({ alpha3 }) => {
    const currency = currencyOfCountry(alpha3)
    return currency === undefined || !isActiveCurrency(currency)
  })
  expect(without.map(({ alpha3 }) => alpha3)).toEqual(['ATA'])
})

test.each([
  ['DEU', 'EUR'],
  ['HRV', 'EUR'],
  ['BGR', 'EUR'],
  ['CHE', 'CHF'],
  ['JPN', 'JPY'],
  ['SLV', 'USD'],
  ['CUW', 'XCG'],
])('%s pays in %s', (country, currency) => {
  expect(currencyOfCountry(country)).toBe(currency)
})
