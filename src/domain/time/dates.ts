/** Dates and instants of the API as text, checked against the calendar. Callers pass the current time. */
const dayShape = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/

/**
 * The last day that any field accepts. Later days are typing errors, and arithmetic with them would exceed the range of
 * databases and calendars.
 */
export const latestDay = '2199-12-31'
export const latestMs = Date.parse(`${latestDay}T23:59:59.999Z`)
const latestYear = 2199

/** Whether the text is an existing day, YYYY-MM-DD, not after 2199-12-31. */
export function isDate(text: string): boolean {
  const [, year, month, day] = dayShape.exec(text) ?? []
  if (year === undefined || Number(year) < 1 || Number(year) > latestYear) return false
  if (Number(month) < 1 || Number(month) > 12) return false
  return Number(day) >= 1 && Number(day) <= daysInMonth(Number(year), Number(month))
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** Converts DD.MM.YYYY, the format of mandates, to YYYY-MM-DD. */
export const toIsoDay = (dotted: string): string =>
  `${dotted.slice(6)}-${dotted.slice(3, 5)}-${dotted.slice(0, 2)}`

/** Whether the text is an existing day, DD.MM.YYYY. */
export function isDottedDate(text: string): boolean {
  const [, day, month, year] = /^([0-9]{2})\.([0-9]{2})\.([0-9]{4})$/.exec(text) ?? []
  return isDate(`${year}-${month}-${day}`)
}

const instantShape =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})?$/

/**
 * Milliseconds since 1970 of an RFC 3339 instant; undefined for anything else. Without a zone it is UTC, as in the API
 * contract. Leap seconds are rejected.
 */
export function parseInstant(text: string): number | undefined {
  const [, day, hours, minutes, seconds, fraction = '', zone = 'Z'] = instantShape.exec(text) ?? []
  if (day === undefined || !isDate(day)) return undefined
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  if (zone.length > 1 && (Number(zone.slice(1, 3)) > 23 || Number(zone.slice(4)) > 59)) return undefined
  // Truncated to milliseconds, not rounded, so that an instant is never moved into the future.
  const instant = Date.parse(
    `${day}T${hours}:${minutes}:${seconds}${fraction.slice(0, 4)}${zone.toUpperCase()}`,
  )
  return instant > latestMs ? undefined : instant
}

/**
 * The bound of a range of times that are stored in whole milliseconds. What is finer is rounded up: nothing lies between,
 * and a time is at or after the next millisecond exactly if it is at or after the bound, and before it likewise.
 */
export function parseBound(text: string): number | undefined {
  const instant = parseInstant(text)
  const isFiner = /\.[0-9]{3}[0-9]*[1-9]/.test(text)
  return instant !== undefined && isFiner ? instant + 1 : instant
}

export const isInstant = (text: string): boolean => parseInstant(text) !== undefined

/** A card's last month, written YYYYMM. */
export const isExpiryDate = (text: string): boolean =>
  /^[0-9]{4}(?:0[1-9]|1[0-2])$/.test(text) && Number(text.slice(0, 4)) <= latestYear

/** A card is valid until the end (UTC) of the printed month. */
export function hasExpired(expiryDate: string, nowMs: number): boolean {
  const year = Number(expiryDate.slice(0, 4))
  const month = Number(expiryDate.slice(4))
  // Date.UTC counts months from 0, so the printed month's number denotes the month after it.
  return nowMs >= Date.UTC(year, month, 1)
}

/**
 * Parses the HTTP header `Retry-After`, seconds or an HTTP date, into milliseconds; 0 for a past date, undefined for
 * anything else.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^[0-9]{1,10}$/.test(text)) return Number(text) * 1_000
  // An HTTP date begins with the name of a day. Date.parse alone would accept nearly any text.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(date - nowMs, 0)
}
