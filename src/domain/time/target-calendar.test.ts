/** Settlement days and the hour in Berlin, against dates published by the European Central Bank and the tz database. */
import { expect, test } from 'vitest'
import { bankTimeOf, isTargetDay, targetDayAfter, targetDayFrom } from '#domain/time/target-calendar.ts'

test.each([
  ['2026-01-01', false, 'New Year'],
  ['2026-04-03', false, 'Good Friday 2026'],
  ['2026-04-06', false, 'Easter Monday 2026'],
  ['2026-04-02', true, 'Maundy Thursday'],
  ['2026-04-07', true, 'the Tuesday after Easter'],
  ['2027-03-26', false, 'Good Friday 2027'],
  ['2027-03-29', false, 'Easter Monday 2027'],
  ['2024-03-29', false, 'Good Friday 2024'],
  ['2038-04-23', false, 'Good Friday 2038'],
  ['2026-05-01', false, 'Labour Day'],
  ['2026-12-24', true, 'Christmas Eve'],
  ['2026-12-25', false, 'Christmas Day'],
  ['2026-12-26', false, 'the day after Christmas, and a Saturday'],
  ['2026-12-31', true, 'New Year’s Eve'],
  ['2026-10-03', false, 'a Saturday'],
  ['2025-10-03', true, 'a German holiday is none of TARGET'],
  ['2026-11-15', false, 'a Sunday'],
  ['2026-11-16', true, 'a Monday'],
])('%s is a settlement day: %s (%s)', (day, expected) => {
  expect(isTargetDay(day)).toBe(expected)
})

test.each([
  ['2026-04-02', 1, '2026-04-07'],
  ['2026-12-23', 1, '2026-12-24'],
  ['2026-12-24', 1, '2026-12-28'],
  ['2026-12-31', 2, '2027-01-05'],
  ['2026-11-14', 1, '2026-11-16'],
])('after %s the settlement day number %i is %s', (day, count, expected) => {
  expect(targetDayAfter(day, count)).toBe(expected)
})

test('the first settlement day from a date on is the date itself if it is one', () => {
  expect(targetDayFrom('2026-11-16')).toBe('2026-11-16')
  expect(targetDayFrom('2026-11-14')).toBe('2026-11-16')
})

test.each([
  ['2026-11-16T10:59:59Z', { day: '2026-11-16', hour: 11 }],
  ['2026-07-01T22:30:00Z', { day: '2026-07-02', hour: 0 }],
  ['2026-03-29T00:59:59Z', { day: '2026-03-29', hour: 1 }],
  ['2026-03-29T01:00:00Z', { day: '2026-03-29', hour: 3 }],
  ['2026-12-31T23:00:00Z', { day: '2027-01-01', hour: 0 }],
])('the date in Berlin at %s', (instant, expected) => {
  expect(bankTimeOf(new Date(instant))).toEqual(expected)
})
