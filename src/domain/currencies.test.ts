import { expect, test } from 'vitest'
import { currencies, exponentOf, findCurrency, isActiveCurrency } from '#domain/currencies.ts'

test.each([
  ['BIF', '108', 0],
  ['CLP', '152', 0],
  ['ISK', '352', 0],
  ['JPY', '392', 0],
  ['KRW', '410', 0],
  ['UGX', '800', 0],
  ['UYI', '940', 0],
  ['VND', '704', 0],
  ['XAF', '950', 0],
  ['XPF', '953', 0],
  ['ALL', '008', 2],
  ['CHF', '756', 2],
  ['EUR', '978', 2],
  ['GBP', '826', 2],
  ['HUF', '348', 2],
  ['IDR', '360', 2],
  ['MGA', '969', 2],
  ['MRU', '929', 2],
  ['SLE', '925', 2],
  ['TWD', '901', 2],
  ['USD', '840', 2],
  ['VED', '926', 2],
  ['VES', '928', 2],
  ['XAD', '396', 2],
  ['XCG', '532', 2],
  ['ZWG', '924', 2],
  ['BHD', '048', 3],
  ['IQD', '368', 3],
  ['KWD', '414', 3],
  ['TND', '788', 3],
  ['CLF', '990', 4],
  ['UYW', '927', 4],
])('%s is %s with exponent %i', (code, numeric, exponent) => {
  expect(findCurrency(code)).toEqual({ code, numeric, exponent })
  expect(isActiveCurrency(code)).toBe(true)
  expect(exponentOf(code)).toBe(exponent)
})

test.each([
  ...['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL', 'DEM', 'LTL', 'VEF', 'STD', 'MRO', 'BYR'],
  ...['XAU', 'XAG', 'XTS', 'XXX', 'XDR', 'XBA', 'eur', 'EU', 'EURO', '', '978', '__proto__', 'constructor'],
])('%j is not an active currency', code => {
  expect(findCurrency(code)).toBeUndefined()
  expect(isActiveCurrency(code)).toBe(false)
  expect(exponentOf(code)).toBeUndefined()
})

test('every code and every number stands once and is well formed', () => {
  expect(new Set(currencies.map(currency => currency.code)).size).toBe(currencies.length)
  expect(new Set(currencies.map(currency => currency.numeric)).size).toBe(currencies.length)
  for (const { code, numeric } of currencies) expect(`${code}${numeric}`).toMatch(/^[A-Z]{3}[0-9]{3}$/)
})

test('the locale data of the run time knows no other current currency', () => {
  // It also lists codes that have been withdrawn and two without a smallest unit; the rest must be in our table.
  const withdrawn = new Set(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL', 'XDR', 'XSU'])
  const known = Intl.supportedValuesOf('currency').filter(code => !withdrawn.has(code))
  expect(known.length).toBeGreaterThan(140)
  expect(known.filter(code => !isActiveCurrency(code))).toEqual([])
})
