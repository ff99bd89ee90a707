import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { currencies, exponentOf, findCurrency, isActiveCurrency } from '#domain/money/currencies.ts'

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

test('every code and every number is unique and well formed', () => {
  expect(new Set(currencies.map(currency => currency.code)).size).toBe(currencies.length)
  expect(new Set(currencies.map(currency => currency.numeric)).size).toBe(currencies.length)
  for (const { code, numeric } of currencies) expect(`${code}${numeric}`).toMatch(/^[A-Z]{3}[0-9]{3}$/)
})

test('the locale data of the runtime has no other current currency', () => {
  // It also lists codes that have been withdrawn and two without a smallest unit; the rest must be in our table.
  const withdrawn = new Set(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL', 'XDR', 'XSU'])
  const known = Intl.supportedValuesOf('currency').filter(code => !withdrawn.has(code))
  expect(known.length).toBeGreaterThan(140)
  expect(known.filter(code => !isActiveCurrency(code))).toEqual([])
})

test('the locale data of the runtime has the same decimals, except for known omissions', () => {
  // The locale data shows fewer decimals where small coins are out of use; the API uses ISO's exponent.
  const shownOtherwise = {
    ...{ AFN: 0, ALL: 0, COP: 0, HUF: 0, IDR: 0, IRR: 0, KPW: 0, LAK: 0, LBP: 0, MGA: 0, MMK: 0, PKR: 0 },
    ...{ SOS: 0, SYP: 0, YER: 0, IQD: 0 },
  }
  // Fund codes and newcomers that the locale data does not list; it then assumes what it knows of the code, or two.
  const unlisted = ['BOV', 'CHE', 'CHW', 'CLF', 'COU', 'MXV', 'USN', 'UYI', 'UYW', 'VED', 'XAD']
  const listed = new Set(Intl.supportedValuesOf('currency'))
  expect(
    currencies
      .map(({ code }) => code)
      .filter(code => !listed.has(code))
      .sort(),
  ).toEqual(unlisted)
  const shown = (code: string): number | undefined =>
    new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions().maximumFractionDigits
  const different = currencies
    .filter(({ code, exponent }) => shown(code) !== exponent)
    .map(({ code }) => [code, shown(code)])
  expect(Object.fromEntries(different)).toEqual(shownOtherwise)
})

test('undoing the amendments since then gives the list that was published on 2024-06-25', () => {
  const added = new Set(['XCG', 'XAD'])
  const withdrawn = ['ANG-532-2', 'CUC-931-2', 'BGN-975-2']
  const entries = currencies
    .filter(({ code }) => !added.has(code))
    .map(({ code, numeric, exponent }) => `${code}-${numeric}-${exponent}`)
  // Taken from another project's copy of list one (currency-codes 2.2.0), without the codes that have no smallest unit.
  const published = '2909cbee23df9d909a99fafc88237cfd4f51008cbe941051b93bff6c0709bf64'
  const digest = createHash('sha256')
    .update([...entries, ...withdrawn].sort().join(' '))
    .digest('hex')
  expect(digest).toBe(published)
})
