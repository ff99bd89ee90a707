/** Calendar days as text (YYYY-MM-DD), and recurring due days. All days are UTC; callers pass the current time. */
export type Frequency = 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'

const dayMs = 24 * 60 * 60 * 1000

/** The day of an instant. */
export const dayOf = (instant: Date): string => instant.toISOString().slice(0, 10)

/** The first moment of a day. */
export const startOfDay = (day: string): Date => new Date(`${day}T00:00:00Z`)

export const addDays = (day: string, days: number): string =>
  dayOf(new Date(startOfDay(day).getTime() + days * dayMs))

/** The last day that can be written with four digits. */
const lastDay = '9999-12-31'

/**
 * The first due day after the given day. Due days are counted from the anchor, not from the previous due day, so that a
 * plan due on the 31st is due on the last day of shorter months and on the 31st again afterwards. Undefined after the
 * year 9999.
 */
export function nextDueDay(
  { anchor, frequency }: { readonly anchor: string; readonly frequency: Frequency },
  after: string,
): string | undefined {
  if (after < anchor) return anchor
  const due = frequency === 'DAILY' || frequency === 'WEEKLY' ? nextByDays : nextByMonths
  return due(anchor, { DAILY: 1, WEEKLY: 7, MONTHLY: 1, YEARLY: 12 }[frequency], after)
}

/** The last due day up to the given day. Undefined before the anchor. */
export function lastDueDay(
  { anchor, frequency }: { readonly anchor: string; readonly frequency: Frequency },
  upTo: string,
): string | undefined {
  if (upTo < anchor) return undefined
  if (frequency === 'DAILY' || frequency === 'WEEKLY') {
    const passed = (startOfDay(upTo).getTime() - startOfDay(anchor).getTime()) / dayMs
    return addDays(upTo, -(passed % (frequency === 'DAILY' ? 1 : 7)))
  }
  const step = frequency === 'MONTHLY' ? 1 : 12
  const passed = Math.floor((monthOf(upTo) - monthOf(anchor)) / step) * step
  const due = monthsLater(anchor, passed)
  return due !== undefined && due <= upTo ? due : monthsLater(anchor, passed - step)
}

function nextByDays(anchor: string, step: number, after: string): string | undefined {
  const passed = (startOfDay(after).getTime() - startOfDay(anchor).getTime()) / dayMs
  const days = (Math.floor(passed / step) + 1) * step
  const time = startOfDay(anchor).getTime() + days * dayMs
  return time > startOfDay(lastDay).getTime() ? undefined : dayOf(new Date(time))
}

function nextByMonths(anchor: string, step: number, after: string): string | undefined {
  const passed = Math.floor((monthOf(after) - monthOf(anchor)) / step) * step
  const due = monthsLater(anchor, passed)
  return due === undefined || due > after ? due : monthsLater(anchor, passed + step)
}

const monthOf = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1

/** The same day of a later month, or that month's last day if it is shorter. */
function monthsLater(anchor: string, months: number): string | undefined {
  const total = monthOf(anchor) + months
  const [year, month] = [Math.floor(total / 12), total % 12]
  if (year > 9999) return undefined
  const date = new Date(0)
  // Day 0 of the following month is the last day of this one. Not Date.UTC, which takes the year 20 for 1920.
  date.setUTCFullYear(year, month + 1, 0)
  date.setUTCDate(Math.min(Number(anchor.slice(8)), date.getUTCDate()))
  return dayOf(date)
}
