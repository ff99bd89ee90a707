import { expect, test } from 'vitest'
import { addDuration, isDuration } from '#domain/time/duration.ts'

test.each([
  ['2026-11-15T12:00:00.000Z', 'PT1H', '2026-11-15T13:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'PT90M', '2026-11-15T13:30:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'PT10S', '2026-11-15T12:00:10.000Z'],
  ['2026-11-15T12:00:00.000Z', 'PT0.25S', '2026-11-15T12:00:00.250Z'],
  ['2026-11-15T12:00:00.000Z', 'PT1,5S', '2026-11-15T12:00:01.500Z'],
  ['2026-11-15T12:00:00.000Z', 'PT0.0009999S', '2026-11-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'PT0S', '2026-11-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P1D', '2026-11-16T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P7D', '2026-11-22T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P2W', '2026-11-29T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P1W1D', '2026-11-23T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P1M', '2026-12-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P14M', '2028-01-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P1Y', '2027-11-15T12:00:00.000Z'],
  ['2026-11-15T12:00:00.000Z', 'P1Y2M3DT4H5M6S', '2028-01-18T16:05:06.000Z'],
  ['2026-11-15T12:00:00.000Z', 'PT696H', '2026-12-14T12:00:00.000Z'],
  ['2027-01-31T23:59:59.999Z', 'P1M', '2027-02-28T23:59:59.999Z'],
  ['2028-01-31T00:00:00.000Z', 'P1M', '2028-02-29T00:00:00.000Z'],
  ['2028-02-29T00:00:00.000Z', 'P1Y', '2029-02-28T00:00:00.000Z'],
  ['2028-02-29T00:00:00.000Z', 'P4Y', '2032-02-29T00:00:00.000Z'],
  // Months are added before days; otherwise another month would be added.
  ['2027-01-31T00:00:00.000Z', 'P1M1D', '2027-03-01T00:00:00.000Z'],
  // UTC knows no summer time.
  ['2027-03-28T00:30:00.000Z', 'P1D', '2027-03-29T00:30:00.000Z'],
])('%s and %s is %s', (start, duration, end) => {
  const sum = addDuration(Date.parse(start), duration)
  expect(sum === undefined ? undefined : new Date(sum).toISOString()).toBe(end)
})

test.each([
  ['nothing', ''],
  ['no part', 'P'],
  ['no time', 'PT'],
  ['a time without parts', 'P1DT'],
  ['half a day', 'P0.5D'],
  ['half an hour', 'PT1.5H'],
  ['backwards', '-PT1H'],
  ['a part below zero', 'PT-1H'],
  ['small letters', 'pt1h'],
  ['parts in another order', 'P1D1M'],
  ['seconds without digits', 'PTS'],
  ['a trailing dot', 'PT1.S'],
  ['no P', '1H'],
  ['spaces', 'PT1H '],
  ['a line break', 'PT1H\n'],
  ['digits without an end', `PT${'9'.repeat(40)}S`],
])('%s is no duration', (_, text) => {
  expect(isDuration(text)).toBe(false)
  expect(addDuration(0, text)).toBeUndefined()
})

test.each(['P300000Y', 'P9999999999M', 'PT99999999999999999999S'])('%s leaves the calendar', text => {
  expect(isDuration(text)).toBe(true)
  expect(addDuration(Date.parse('2026-11-15T12:00:00Z'), text)).toBeUndefined()
})
