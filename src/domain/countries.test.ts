import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  countries,
  findCountryByAlpha2,
  findCountryByAlpha3,
  findCountryByNumeric,
} from '#domain/countries.ts'

test('there are 249 rows, unique and well formed each way', () => {
  expect(countries).toHaveLength(249)
  for (const column of ['alpha2', 'alpha3', 'numeric'] as const)
    expect(new Set(countries.map(country => country[column])).size).toBe(249)
  for (const { alpha2, alpha3, numeric } of countries)
    expect(`${alpha2} ${alpha3} ${numeric}`).toMatch(/^[A-Z]{2} [A-Z]{3} [0-9]{3}$/)
})

test.each([
  ['DE', 'DEU', '276'],
  ['AF', 'AFG', '004'],
  ['CH', 'CHE', '756'],
  ['CL', 'CHL', '152'],
  ['CN', 'CHN', '156'],
  ['DZ', 'DZA', '012'],
  ['GB', 'GBR', '826'],
  ['KR', 'KOR', '410'],
  ['KP', 'PRK', '408'],
  ['NL', 'NLD', '528'],
  ['SS', 'SSD', '728'],
  ['SZ', 'SWZ', '748'],
  ['TL', 'TLS', '626'],
  ['US', 'USA', '840'],
  ['UM', 'UMI', '581'],
  ['VA', 'VAT', '336'],
  ['ZA', 'ZAF', '710'],
])('%s, %s and %s are one country', (alpha2, alpha3, numeric) => {
  const country = { alpha2, alpha3, numeric }
  expect(findCountryByAlpha2(alpha2)).toEqual(country)
  expect(findCountryByAlpha3(alpha3)).toEqual(country)
  expect(findCountryByNumeric(numeric)).toEqual(country)
})

test.each(['XK', 'EU', 'UK', 'SU', 'AN', 'ZZ', 'de', '', 'DEU'])('%j is no alpha-2 code', alpha2 => {
  expect(findCountryByAlpha2(alpha2)).toBeUndefined()
})

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
const regionNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })

test('the locale data of the runtime names the same regions', () => {
  // Regions of the locale data that ISO has only reserved, or never assigned: islands, groupings, pseudo regions.
  const reserved = ['AC', 'CP', 'CQ', 'DG', 'EA', 'EU', 'EZ', 'IC', 'QO', 'TA', 'UN', 'XA', 'XB', 'XK', 'ZZ']
  const named = letters
    .flatMap(first => letters.map(second => first + second))
    // A withdrawn code such as DD resolves to its successor and is not a region of its own.
    .filter(code => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`)
    .filter(code => regionNames.of(code) !== undefined && !reserved.includes(code))
  expect(named).toEqual(countries.map(country => country.alpha2).sort())
})

test('the locale data of the runtime resolves every number to the same region', () => {
  for (const { alpha2, numeric } of countries)
    expect(Intl.getCanonicalLocales(`und-${numeric}`)).toEqual([`und-${alpha2}`])
})

test('alpha-2, alpha-3 and numeric match another published list', () => {
  // The locale data has no alpha-3 codes. The digest is that of the same lines from iso-3166 4.4.0 of 2025-11-03.
  const published = '4d932e20800ef58118d690522a71431d3c79f4efc70591bd3132fb646a97f879'
  const lines = countries.map(({ alpha2, alpha3, numeric }) => `${alpha2}-${alpha3}-${numeric}`)
  expect(createHash('sha256').update(lines.sort().join(' ')).digest('hex')).toBe(published)
})
