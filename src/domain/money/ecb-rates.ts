/**
 * Parses the reference rates that the European Central Bank publishes every working day, as XML or CSV. A file may
 * contain several days; the newest one is used. An error names the part that does not have the expected form.
 */
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { isRate } from '#domain/money/conversion.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'
import { isDate } from '#domain/time/dates.ts'

export interface DailyRates {
  /** YYYY-MM-DD */
  readonly date: string
  /** Units for one euro. */
  readonly rates: ReadonlyMap<string, string>
}

/** The file cannot be used; the message says where it is wrong. */
export class RateFileError extends Error {}

export function parseEcbRates(text: string): DailyRates {
  const days = text.trimStart().startsWith('<') ? parseXml(text) : parseCsv(text)
  const newest = days.reduce(
    (best, day) => (best === undefined || day.date > best.date ? day : best),
    days[0],
  )
  if (newest === undefined || newest.rates.size === 0) throw new RateFileError('the file holds no rates')
  return newest
}

/** `<Cube time='2026-11-13'>` holds one `<Cube currency='USD' rate='1.1634'/>` per currency. */
function parseXml(text: string): DailyRates[] {
  const days: { date: string; rates: Map<string, string> }[] = []
  for (const [tag] of text.matchAll(/<Cube\b[^<>]*>/g)) {
    const [date, currency, rate] = ['time', 'currency', 'rate'].map(name => readAttribute(tag, name))
    if (date !== undefined) days.push({ date: checkDate(date), rates: new Map() })
    if (currency === undefined && rate === undefined) continue
    const day = days.at(-1)
    if (day === undefined || currency === undefined || rate === undefined) {
      throw new RateFileError(`${cut(tag)} is not the rate of a day`)
    }
    addRate(day, currency, rate)
  }
  return days
}

const readAttribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}\\s*=\\s*['"]([^'"]*)['"]`).exec(tag)?.[1]

/** The first line names the currencies; each further line is a day. Cells may end with spaces, lines with a comma. */
function parseCsv(text: string): DailyRates[] {
  const [head, ...lines] = text
    .split(/\r?\n/)
    .filter(line => line.trim() !== '')
    .map(line => line.split(',').map(cell => cell.trim()))
  if (head?.[0]?.toLowerCase() !== 'date') {
    throw new RateFileError('it is neither XML nor a table that begins with Date')
  }
  return lines.map(([date = '', ...cells]) => {
    const day = { date: checkDate(toIsoDate(date)), rates: new Map<string, string>() }
    for (const [index, cell] of cells.entries()) {
      const currency = head[index + 1] ?? ''
      // N/A: the currency was not quoted on that day.
      if (cell === '' || cell === 'N/A') continue
      addRate(day, currency, cell)
    }
    return day
  })
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** The file of one day has 13 November 2026, the file of all days 2026-11-13. */
function toIsoDate(text: string): string {
  const [, day = '', month = '', year] = /^([0-9]{1,2}) ([A-Z][a-z]+) ([0-9]{4})$/.exec(text) ?? []
  if (year === undefined) return text
  return `${year}-${String(months.indexOf(month) + 1).padStart(2, '0')}-${day.padStart(2, '0')}`
}

function checkDate(text: string): string {
  if (!isDate(text)) throw new RateFileError(`${cut(text)} is not a day`)
  return text
}

/** Currencies that are no longer active are skipped. */
function addRate(day: { date: string; rates: Map<string, string> }, currency: string, rate: string): void {
  if (!/^[A-Z]{3}$/.test(currency))
    throw new RateFileError(`${cut(currency) || 'an empty heading'} is not a currency`)
  if (!isRate(rate))
    throw new RateFileError(
      `the rate of ${currency} on ${day.date} is "${cut(rate)}", not a number above zero`,
    )
  if (day.rates.has(currency)) throw new RateFileError(`${day.date} has ${currency} twice`)
  if (isActiveCurrency(currency)) day.rates.set(currency, rate)
}

/**
 * As for card lists: the quoted text is short and contains no card number, even if the operator passed the wrong file.
 */
const cut = (text: string): string => scrubCardNumbers(text).slice(0, 40)
