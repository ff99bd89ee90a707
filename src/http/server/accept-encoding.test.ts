import { expect, test } from 'vitest'
import { accepts } from '#http/server/send.ts'

// Each line: the header Accept-Encoding, and whether the client accepts gzip.
test.each([
  ['gzip', true],
  ['gzip, deflate, br', true],
  ['br;q=1.0, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000, br', false],
  ['identity', false],
  ['x-gzip', false],
  ['*', false],
  ['', false],
  [undefined, false],
])('whether “Accept-Encoding: %s” allows gzip', (said, expected) => {
  expect(accepts(said, 'gzip')).toBe(expected)
})
