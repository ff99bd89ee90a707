/**
 * Adds ISO 8601 durations (`PT1H`, `P1M`, `P2W`) to an instant in UTC. Only seconds may have decimals, because half a
 * month has no defined length.
 */
const shape =
  /^P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,9}))?S)?)?$/

/** 32 characters: enough for any sensible duration, and short enough to parse quickly. */
const lengthMax = 32

const dayMs = 86_400_000

export const isDuration = (text: string): boolean => text.length <= lengthMax && shape.test(text)

/** Undefined for text that is no duration, or if the sum is outside the calendar. */
export function addDuration(instantMs: number, duration: string): number | undefined {
  if (!isDuration(duration)) return undefined
  const [, years, months, weeks, days, hours, minutes, seconds, fraction] = shape.exec(duration) ?? []
  const monthStart = addMonths(instantMs, count(years) * 12 + count(months))
  const wholeDays = count(weeks) * 7 + count(days)
  const wholeSeconds = (count(hours) * 60 + count(minutes)) * 60 + count(seconds)
  // Truncated to milliseconds, like instants.
  const milliseconds = Number((fraction ?? '').slice(0, 3).padEnd(3, '0'))
  const sum = monthStart + wholeDays * dayMs + wholeSeconds * 1000 + milliseconds
  return Number.isFinite(new Date(sum).getTime()) ? sum : undefined
}

const count = (digits: string | undefined): number => Number(digits ?? 0)

/** The same day of a later month, or that month's last day if it is shorter: January 31 plus a month is February 28. */
function addMonths(instantMs: number, months: number): number {
  const start = new Date(instantMs)
  const moved = new Date(instantMs)
  moved.setUTCMonth(start.getUTCMonth() + months)
  // The month was too short, so the date overflowed into the next one; day 0 is the last day of the month before.
  if (moved.getUTCDate() !== start.getUTCDate()) moved.setUTCDate(0)
  return moved.getTime()
}
