import { expect, test } from 'vitest'
import { nextGiveBack } from '#lifecycle/late-truth.ts'

const now = new Date('2027-03-10T12:00:00Z')
const rest = { refunds: true, value: 1000 }
const [minute, hour] = [60, 3600]

// Each line: the case, the rest, the tries so far, whether the last one was just made, and the seconds until the next
// check.
test.each([
  ['nothing is left', undefined, 0, true, undefined],
  ['the first try failed', rest, 1, true, 10 * minute],
  ['the last try failed', rest, 9, true, undefined],
  ['our own try is under way', 'under way', 1, true, 10 * minute],
  ['our own last try is under way', 'under way', 9, true, hour],
  ['our last try is still under way at the next check', 'under way', 9, false, hour],
  ['an operation of the merchant is under way', 'under way', 0, false, hour],
] as const)('%s', (_, left, tries, isTried, seconds) => {
  const next = nextGiveBack(left, { now, tries, isTried })
  expect(next && (next.getTime() - now.getTime()) / 1000).toBe(seconds)
})
