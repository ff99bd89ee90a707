import { expect, test } from 'vitest'
import { now } from '#lifecycle/example-payment.test-support.ts'
import { inquiryTime } from '#lifecycle/inquiry.ts'

const minute = 60
const hour = 60 * minute

// Each line: the number of the inquiry, and how many seconds after the operation it comes (undefined: no more).
test.each([
  [0, 10],
  [1, 30],
  [2, minute],
  [3, 5 * minute],
  [4, 15 * minute],
  [5, hour],
  [6, 2 * hour],
  [27, 23 * hour],
  [28, 24 * hour],
  [29, undefined],
  [1_000, undefined],
])('inquiry %i comes after %s seconds', (attempt, seconds) => {
  expect(inquiryTime(now, attempt)).toEqual(seconds && new Date(now.getTime() + seconds * 1_000))
})

test('each inquiry comes after the one before', () => {
  const times = Array.from({ length: 29 }, (_, attempt) => inquiryTime(now, attempt)?.getTime() ?? 0)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(new Set(times).size).toBe(times.length)
})
