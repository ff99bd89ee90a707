/**
 * The settlement days of euro payments between banks (TARGET), and the time in Europe/Berlin by which cut-off hours are
 * defined. Days are YYYY-MM-DD; callers pass the current time.
 */
import { addDays, dayOf, startOfDay } from '#domain/time/calendar.ts'

/** New Year, Labour Day, Christmas Day and the day after; Good Friday and Easter Monday move with Easter. */
const fixedHolidays: ReadonlySet<string> = new Set(['01-01', '05-01', '12-25', '12-26'])

export function isTargetDay(day: string): boolean {
  const weekday = startOfDay(day).getUTCDay()
  if (weekday === 0 || weekday === 6 || fixedHolidays.has(day.slice(5))) return false
  const easter = easterSunday(Number(day.slice(0, 4)))
  return day !== addDays(easter, -2) && day !== addDays(easter, 1)
}

/** The day itself if it is a TARGET day, otherwise the next one. */
export function targetDayFrom(day: string): string {
  let candidate = day
  while (!isTargetDay(candidate)) candidate = addDays(candidate, 1)
  return candidate
}

/** The n-th TARGET day after the given day, which need not be a TARGET day. */
export function targetDayAfter(day: string, count = 1): string {
  let candidate = day
  for (let step = 0; step < count; step++) candidate = targetDayFrom(addDays(candidate, 1))
  return candidate
}

/** Easter Sunday of a year of the Gregorian calendar (the anonymous algorithm that Meeus, Jones and Butcher published). */
function easterSunday(year: number): string {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const ofCentury = year % 100
  const correction = Math.floor((century + 8) / 25)
  const moon =
    (19 * golden + century - Math.floor(century / 4) - Math.floor((century - correction + 1) / 3) + 15) % 30
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - moon - (ofCentury % 4)) % 7
  const shift = Math.floor((golden + 11 * moon + 22 * weekday) / 451)
  const total = moon + weekday - 7 * shift + 114
  return dayOf(new Date(Date.UTC(year, Math.floor(total / 31) - 1, (total % 31) + 1)))
}

export interface BankTime {
  readonly day: string
  /** 0 to 23. */
  readonly hour: number
}

let berlin: Intl.DateTimeFormat | undefined

/** Created on first use, because it loads 6 MB of time zone tables and most gateways have no bank account. */
const berlinClock = (): Intl.DateTimeFormat => {
  berlin ??= new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  return berlin
}

/** Day and hour of an instant in Europe/Berlin, by which cut-off hours are defined. */
export function bankTimeOf(instant: Date): BankTime {
  const parts = new Map(
    berlinClock()
      .formatToParts(instant)
      .map(({ type, value }) => [type, value]),
  )
  return {
    day: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
    hour: Number(parts.get('hour')),
  }
}
