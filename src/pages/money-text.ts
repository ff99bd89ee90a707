/**
 * Amounts, numbers and dates as the customer reads them. The exponent is that of our own currency table: the run time's
 * locale data rounds some currencies to decimals that are not in use.
 */
import { strict as assert } from 'node:assert'
import { exponentOf } from '#domain/money/currencies.ts'

export interface Money {
  /** In the smallest unit. */
  readonly value: number
  readonly currency: string
}

/**
 * 1,000: more pairs of locale and currency than a shop meets in a day. Locales come from browsers, so the cache must be
 * bounded; it is cleared when full.
 */
const formattersMax = 1_000
const formatters = new Map<string, Intl.NumberFormat>()
const dateFormatters = new Map<string, Intl.DateTimeFormat>()

function remember<Formatter>(memory: Map<string, Formatter>, key: string, make: () => Formatter): Formatter {
  const known = memory.get(key)
  if (known !== undefined) return known
  if (memory.size >= formattersMax) memory.clear()
  const made = make()
  memory.set(key, made)
  return made
}

const isNumeral = (text: string): text is Intl.StringNumericLiteral => /^-?\d+(\.\d+)?$/.test(text)

function toNumeral(text: string): Intl.StringNumericLiteral {
  assert(isNumeral(text), 'a decimal is digits with at most one point')
  return text
}

/** 1234 with two decimals is "12.34". Text, because a fraction is not exact as a number. */
function toDecimal(value: number, exponent: number): string {
  assert(Number.isSafeInteger(value), 'amounts are whole numbers of the smallest unit')
  const digits = String(Math.abs(value)).padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  const fraction = digits.slice(digits.length - exponent)
  return `${value < 0 ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

export function formatMoney({ value, currency }: Money, locale: string): string {
  const exponent = exponentOf(currency)
  assert(exponent !== undefined, `${currency} is no active currency`)
  const formatter = remember(
    formatters,
    `${locale} ${currency}`,
    () =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency,
        minimumFractionDigits: exponent,
        maximumFractionDigits: exponent,
      }),
  )
  const text = formatter.format(toNumeral(toDecimal(value, exponent)))
  return endsInSign.test(text) ? `${text}${leftToRight}` : text
}

/** Text from right to left that ends in a symbol such as US$ or UK£. */
const endsInSign = /^[\u200e\u200f\u061c].*[A-Z]\p{Sc}$/u
/** An invisible mark. Without it the sign takes the direction of the text, and US$ is shown as $US. */
const leftToRight = '\u200e'

/** A decimal written with a point, as in quotes of exchange rates; its own count of decimals is kept. */
export function formatDecimal(decimal: string, locale: string): string {
  const decimals = decimal.split('.')[1]?.length ?? 0
  const formatter = remember(
    formatters,
    `${locale} ${decimals}`,
    () => new Intl.NumberFormat(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
  )
  return formatter.format(toNumeral(decimal))
}

/** "3.00" is 3.00 %, not 300 %. */
export function formatPercentage(percentage: string, locale: string): string {
  const decimals = percentage.split('.')[1]?.length ?? 0
  const formatter = remember(
    formatters,
    `${locale} % ${decimals}`,
    () =>
      new Intl.NumberFormat(locale, {
        style: 'unit',
        unit: 'percent',
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      }),
  )
  return formatter.format(toNumeral(percentage))
}

export function formatCount(count: number, locale: string): string {
  return remember(formatters, `${locale} #`, () => new Intl.NumberFormat(locale)).format(count)
}

/** The name of a currency in the customer's language: "US dollar". */
export const nameCurrency = (currency: string, locale: string): string =>
  new Intl.DisplayNames(locale, { type: 'currency' }).of(currency) ?? currency

/** Some locales count years from elsewhere; a deadline must look like the one on documents of the bank and the shop. */
const calendar = 'gregory'

/** A day without a time, read as UTC: due dates are days, not moments. */
export const formatDay = (instant: string, locale: string): string =>
  remember(
    dateFormatters,
    `${locale} day`,
    () =>
      new Intl.DateTimeFormat(locale, {
        calendar,
        year: 'numeric',
        month: 'long',
        day: 'numeric',
        timeZone: 'UTC',
      }),
  ).format(new Date(instant))

/** We do not know where the customer is, so the zone is named. */
export const formatMoment = (instant: string, locale: string): string =>
  remember(
    dateFormatters,
    `${locale} moment`,
    () =>
      new Intl.DateTimeFormat(locale, {
        calendar,
        year: 'numeric',
        month: 'long',
        day: 'numeric',
        hour: 'numeric',
        minute: '2-digit',
        timeZone: 'UTC',
        timeZoneName: 'short',
      }),
  ).format(new Date(instant))
