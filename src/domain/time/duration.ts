/**
 * Durations as ISO 8601 writes them (`PT1H`, `P1M`, `P2W`), added to an instant in UTC. Only seconds may have decimals,
 * because half a month has no length.
 */
const shape =
  /^P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,9}))?S)?)?$/

/** 32 characters: enough for any sensible duration, and no number that takes long to parse. */
const lengthMax = 32

const dayMs = 86_400_000

export const isDuration = (text: string): boolean => text.length <= lengthMax && shape.test(text)

/** Undefined for text that is not a duration, and where the sum is outside the calendar. */
export function addDuration(instantMs: number, duration: string): number | undefined {
  if (!isDuration(duration)) return undefined
  const [, years, months, weeks, days, hours, minutes, seconds, fraction] = shape.exec(duration) ?? []
  const monthStart = addMonths(instantMs, count(years) * 12 + count(months))
  const wholeDays = count(weeks) * 7 + count(days)
  const wholeSeconds = (count(hours) * 60 + count(minutes)) * 60 + count(seconds)
  // Cut, not rounded, to milliseconds, as instants are.
  const milliseconds = Number((fraction ?? '').slice(0, 3).padEnd(3, '0'))
  const sum = monthStart + wholeDays * dayMs + wholeSeconds * 1000 + milliseconds
  return Number.isFinite(new Date(sum).getTime()) ? sum : undefined
}

const count = (digits: string | undefined): number => Number(digits ?? 0)

/** The same day of a later month, or the month's last day where it has no such day: January 31 and a month is February 28. */
function addMonths(instantMs: number, months: number): number {
  const start = new Date(instantMs)
  const moved = new Date(instantMs)
  moved.setUTCMonth(start.getUTCMonth() + months)
  // Too short a month has pushed the date into the next one; day 0 is the last of the month before.
  if (moved.getUTCDate() !== start.getUTCDate()) moved.setUTCDate(0)
  return moved.getTime()
}
