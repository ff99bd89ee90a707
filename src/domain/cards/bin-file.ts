/**
 * Parses card lists in CSV, line by line: the first line names the columns, each further one is a range. Schemes and
 * open lists name their columns differently, so several names are accepted for each. An error names the invalid column.
 */
import { type BinRange, type CardSource, cardSources, toSpan } from '#domain/cards/bin-ranges.ts'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { findCountryByAlpha2, findCountryByAlpha3 } from '#domain/countries.ts'
import { splitCsvLine } from '#domain/csv.ts'
import { entryOf } from '#domain/json.ts'
import { currencyOfCountry } from '#domain/money/country-currencies.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'

/** The line cannot be used; the message says why. */
export class BinFileError extends Error {}

/** The names of each column, by preference: if a list has both a country's code and its name, the code is used. */
const columnNames = {
  first: ['first', 'low', 'bin', 'iin', 'iin_start'],
  last: ['last', 'high', 'iin_end'],
  brand: ['brand', 'scheme'],
  coBrands: ['cobrands', 'co_brands'],
  product: ['product', 'category'],
  source: ['source', 'type'],
  issuer: ['issuer', 'bank', 'bank_name'],
  country: ['alpha_3', 'alpha3', 'alpha_2', 'alpha2', 'country'],
  currency: ['currency'],
  dccEligible: ['dcceligible', 'dcc_eligible'],
} as const satisfies Record<string, readonly string[]>

type Column = keyof typeof columnNames

/** The position of each column; -1 if the file does not have it. */
export type BinColumns = Readonly<Record<Column, number>>

export function readBinHeading(line: string): BinColumns {
  const names = splitCsvLine(line.replace(/^\ufeff/, ''))?.map(name => name.toLowerCase()) ?? []
  // Object.entries and Object.fromEntries forget the type of the keys.
  const places = Object.fromEntries(
    Object.entries(columnNames).map(([column, known]) => {
      const found = known.find(name => names.includes(name))
      return [column, found === undefined ? -1 : names.indexOf(found)]
    }),
  ) as Record<Column, number>
  for (const needed of ['first', 'brand'] as const) {
    if (places[needed] !== -1) continue
    throw new BinFileError(
      `the first line must name the columns, and has none called ${columnNames[needed].join(' or ')}`,
    )
  }
  return places
}

export function readBinLine(line: string, columns: BinColumns): BinRange {
  const cells = splitCsvLine(line)
  if (cells === undefined) throw new BinFileError('it has a quotation mark without its counterpart')
  const cell = (column: Column): string => cells[columns[column]] ?? ''
  const country = readCountry(cell('country'))
  const currency = readCurrency(cell('currency'), country)
  return {
    span: readSpan(cell('first'), cell('last')),
    brand: readBrand(cell('brand')),
    coBrands: cell('coBrands').split('|').filter(Boolean).map(readBrand),
    product: readText(cell('product'), 'product', 64),
    source: readSource(cell('source')),
    issuer: readText(cell('issuer'), 'issuer', 128),
    country,
    currency,
    dccEligible: readFlag(cell('dccEligible'), currency !== undefined),
  }
}

/** Six to eight digits, and both ends of the same length. */
function readSpan(first: string, last: string) {
  const end = last === '' ? first : last
  if (!/^[0-9]{6,8}$/.test(first))
    throw new BinFileError(`the range begins with "${cut(first)}", not 6 to 8 digits`)
  if (!/^[0-9]{6,8}$/.test(end) || end.length !== first.length) {
    throw new BinFileError(`the range ends with "${cut(end)}", not as many digits as ${first} has`)
  }
  const span = toSpan(first, end)
  if (span.first > span.last)
    throw new BinFileError(`the range ends with ${end}, before it begins with ${first}`)
  return span
}

/** Our names of brands that lists spell differently. */
const brandNames: Readonly<Record<string, string>> = {
  'american express': 'amex',
  'diners club': 'diners',
  'diners club international': 'diners',
  'china union pay': 'unionpay',
  'union pay': 'unionpay',
}

function readBrand(text: string): string {
  const brand = text.trim().toLowerCase()
  if (!/^[a-z0-9_ -]{1,32}$/.test(brand))
    throw new BinFileError(
      `the brand is "${cut(text)}", not 1 to 32 letters, digits, spaces, hyphens or underscores`,
    )
  return entryOf(brandNames, brand) ?? brand
}

/** Open lists add words (CHARGE CARD, DEBIT OR CREDIT); the first known word counts. */
function readSource(text: string): CardSource | undefined {
  const words = text.toUpperCase().split(/[^A-Z]+/)
  return cardSources.find(source => words.includes(source))
}

function readCountry(text: string): string | undefined {
  if (text === '') return undefined
  const code = text.toUpperCase()
  const country = code.length === 2 ? findCountryByAlpha2(code) : findCountryByAlpha3(code)
  if (country === undefined) throw new BinFileError(`the country is "${cut(text)}", not a code of ISO 3166-1`)
  return country.alpha3
}

function readCurrency(text: string, country: string | undefined): string | undefined {
  if (text === '') return country && currencyOfCountry(country)
  if (!isActiveCurrency(text))
    throw new BinFileError(`the currency is "${cut(text)}", not a code of ISO 4217`)
  return text
}

function readText(text: string, column: string, max: number): string | undefined {
  if (text.length > max) throw new BinFileError(`the ${column} is longer than ${max} characters`)
  if (text.includes('\0')) throw new BinFileError(`the ${column} holds U+0000`)
  return text === '' ? undefined : text
}

function readFlag(text: string, otherwise: boolean): boolean {
  if (text === '') return otherwise
  if (/^(true|yes|y|1)$/i.test(text)) return true
  if (/^(false|no|n|0)$/i.test(text)) return false
  throw new BinFileError(`dccEligible is "${cut(text)}", not true or false`)
}

/**
 * 40 characters are enough to find the line. Card numbers are masked, because the operator may have passed the wrong
 * file.
 */
const cut = (text: string): string => scrubCardNumbers(text).slice(0, 40)
