import { describe, expect, test } from 'vitest'
import { addDays, dayOf, type Frequency, lastDueDay, nextDueDay, startOfDay } from '#domain/time/calendar.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

describe('the next due day', () => {
  const cases: [frequency: Frequency, anchor: string, after: string, next: string | undefined][] = [
    ['DAILY', '2027-01-31', '2027-01-31', '2027-02-01'],
    ['DAILY', '2028-02-28', '2028-02-28', '2028-02-29'],
    ['DAILY', '2027-02-28', '2027-02-28', '2027-03-01'],
    ['DAILY', '2026-01-01', '2026-12-31', '2027-01-01'],
    ['DAILY', '2027-01-31', '2027-01-30', '2027-01-31'],
    ['WEEKLY', '2027-01-01', '2027-01-01', '2027-01-08'],
    ['WEEKLY', '2027-01-01', '2027-01-07', '2027-01-08'],
    ['WEEKLY', '2027-01-01', '2027-01-08', '2027-01-15'],
    // Across changes to and from summer time, which do not exist in UTC.
    ['WEEKLY', '2027-03-21', '2027-03-21', '2027-03-28'],
    ['WEEKLY', '2027-10-24', '2027-10-24', '2027-10-31'],
    ['WEEKLY', '2026-12-28', '2026-12-28', '2027-01-04'],
    ['MONTHLY', '2027-01-31', '2027-01-31', '2027-02-28'],
    ['MONTHLY', '2027-01-31', '2027-02-28', '2027-03-31'],
    ['MONTHLY', '2027-01-31', '2027-03-31', '2027-04-30'],
    ['MONTHLY', '2027-01-31', '2028-01-31', '2028-02-29'],
    ['MONTHLY', '2027-01-31', '2028-02-29', '2028-03-31'],
    ['MONTHLY', '2027-01-30', '2027-01-30', '2027-02-28'],
    ['MONTHLY', '2027-01-30', '2027-02-28', '2027-03-30'],
    ['MONTHLY', '2027-01-15', '2027-01-20', '2027-02-15'],
    ['MONTHLY', '2027-01-15', '2027-02-14', '2027-02-15'],
    ['MONTHLY', '2027-12-31', '2027-12-31', '2028-01-31'],
    // Not a leap year, although divisible by four.
    ['MONTHLY', '2100-01-31', '2100-01-31', '2100-02-28'],
    ['YEARLY', '2028-02-29', '2028-02-29', '2029-02-28'],
    ['YEARLY', '2028-02-29', '2029-02-28', '2030-02-28'],
    ['YEARLY', '2028-02-29', '2031-02-28', '2032-02-29'],
    ['YEARLY', '2028-02-29', '2032-02-28', '2032-02-29'],
    ['YEARLY', '2027-05-01', '2027-04-30', '2027-05-01'],
    ['YEARLY', '2027-05-01', '2030-05-01', '2031-05-01'],
    ['YEARLY', '2027-12-31', '2027-12-31', '2028-12-31'],
    // Years below 1000, and the last year with four digits.
    ['MONTHLY', '0020-01-31', '0020-01-31', '0020-02-29'],
    ['MONTHLY', '9999-12-31', '9999-12-31', undefined],
    ['DAILY', '9999-12-31', '9999-12-31', undefined],
    ['YEARLY', '9999-01-01', '9999-01-01', undefined],
  ]
  test.each(cases)('%s from %s after %s: %s', (frequency, anchor, after, next) => {
    expect(nextDueDay({ anchor, frequency }, after)).toBe(next)
  })

  test('every schedule of ten years, begun on any day of four years, keeps its rules', () => {
    // Every month has the days up to the 28th; of those up to the 26th the short run takes the 1st, 10th and 19th.
    const step = inLongRun(9, 1)
    const broken: string[] = []
    for (let offset = 0; offset < 4 * 366; offset += 1) {
      const anchor = addDays('2027-01-01', offset)
      const day = Number(anchor.slice(8))
      if (day <= 26 && (day - 1) % step > 0) continue
      broken.push(...walk(anchor, 'MONTHLY', 1), ...walk(anchor, 'YEARLY', 12))
    }
    expect(broken).toEqual([])
  })
})

/** Follows a schedule for ten years and returns its errors, by independent rules. */
function walk(anchor: string, frequency: Frequency, months: number): string[] {
  const first = Number(anchor.slice(0, 4)) * 12 + Number(anchor.slice(5, 7)) - 1
  const broken: string[] = []
  let day = anchor
  for (let turn = 1; turn * months <= 120; turn += 1) {
    const next = nextDueDay({ anchor, frequency }, day) ?? ''
    const counted = first + turn * months
    const inMonth = `${Math.floor(counted / 12)}-${String((counted % 12) + 1).padStart(2, '0')}`
    // The anchor's day, or the last one of a month that has no such day.
    const isLastOfShort = next.slice(8) < anchor.slice(8) && addDays(next, 1).endsWith('-01')
    const isRight = next.startsWith(inMonth) && (next.slice(8) === anchor.slice(8) || isLastOfShort)
    // Any day in between leads to the same one.
    if (!isRight || nextDueDay({ anchor, frequency }, addDays(next, -1)) !== next)
      broken.push(`${frequency} ${anchor}: ${next}`)
    day = next
  }
  return broken
}

test.each([
  ['DAILY', '2027-01-31', '2027-03-05', '2027-03-05'],
  ['WEEKLY', '2027-01-31', '2027-03-05', '2027-02-28'],
  ['MONTHLY', '2027-01-31', '2027-03-05', '2027-02-28'],
  ['MONTHLY', '2027-01-31', '2027-03-31', '2027-03-31'],
  ['YEARLY', '2024-02-29', '2027-02-27', '2026-02-28'],
  ['YEARLY', '2024-02-29', '2024-02-29', '2024-02-29'],
  ['MONTHLY', '2027-01-31', '2027-01-30', undefined],
] as const)('the last due day, %s from %s up to %s: %s', (frequency, anchor, upTo, last) => {
  expect(lastDueDay({ anchor, frequency }, upTo)).toBe(last)
  // No further due day lies within the range.
  if (last !== undefined) expect(String(nextDueDay({ anchor, frequency }, last)) > upTo).toBe(true)
})

test('days are those of UTC, whatever the zone of the machine', () => {
  expect(dayOf(new Date('2027-03-31T23:59:59.999Z'))).toBe('2027-03-31')
  expect(dayOf(new Date('2027-04-01T00:30:00+02:00'))).toBe('2027-03-31')
  expect(startOfDay('2027-03-28').toISOString()).toBe('2027-03-28T00:00:00.000Z')
  expect(addDays('2027-02-28', 1)).toBe('2027-03-01')
  expect(addDays('2028-03-01', -1)).toBe('2028-02-29')
})
