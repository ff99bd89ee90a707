/** When the clocks of process and database count as different, also if the answer is slow. */
import { expect, test } from 'vitest'
import {
  compareClocks,
  describeDifference,
  leastDifferenceMs,
  watchClocks,
} from '#storage/processes/clock-difference.ts'

/** A reading that was requested at 100 s of this process's time. */
const read = (databaseS: number, tripS = 0) =>
  compareClocks({ askedAt: 100_000, answeredAt: 100_000 + tripS * 1_000, databaseAt: databaseS * 1_000 })

test.each([
  ['the same time', 100, 0, 0],
  ['a database behind', 90, 0, 10_000],
  ['a database ahead', 108, 2, 6_000],
  ['a slow answer of a database that read its clock at the beginning', 100, 20, 0],
  ['a slow answer of a database that read its clock at the end', 120, 20, 0],
])('the least difference of the clocks: %s', (_, databaseS, tripS, leastMs) => {
  expect(leastDifferenceMs(read(databaseS, tripS))).toBe(leastMs)
})

test.each([
  [87.7, '12.3 s ahead of'],
  [107, '7.0 s behind'],
])('a database at %s s: this process is %s it', (databaseS, sentence) => {
  expect(describeDifference(read(databaseS))).toBe(sentence)
})

test.each<[string, (readonly [number, number])[], string[]]>([
  [
    'nothing while they agree',
    [
      [100, 0],
      [104, 0],
      [95.1, 0],
    ],
    [],
  ],
  [
    'once when they begin to differ',
    [
      [94, 0],
      [93, 0],
      [92, 0],
    ],
    ['apart'],
  ],
  [
    'once when they no longer do',
    [
      [94, 0],
      [100, 0],
      [101, 0],
    ],
    ['apart', 'together'],
  ],
  [
    'nothing in between',
    [
      [94, 0],
      [95.5, 0],
      [94, 0],
      [95.5, 0],
    ],
    ['apart'],
  ],
  [
    'nothing after a slow answer',
    [
      [110, 20],
      [90, 1],
      [110, 20],
    ],
    ['apart'],
  ],
])('the watch reports %s', (_, readings, expected) => {
  const reported: string[] = []
  const watch = watchClocks({
    onApart: () => reported.push('apart'),
    onTogether: () => reported.push('together'),
  })
  for (const [databaseS, tripS] of readings) watch(read(databaseS, tripS))
  expect(reported).toEqual(expected)
})
