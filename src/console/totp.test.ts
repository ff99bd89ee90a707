import { expect, test } from 'vitest'
import { findTotpStep, toBase32, totpCode, totpStep } from '#console/totp.ts'

/** The vectors of RFC 6238, appendix B, cut to six digits. */
const secret = Buffer.from('12345678901234567890')
test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('at %d seconds the code is %s', (seconds, code) => {
  expect(totpCode(secret, totpStep(seconds * 1000))).toBe(code)
})

test('a code of the step before or after is accepted, one of two steps away is not', () => {
  const nowMs = 1_000_000_000_000
  const now = totpStep(nowMs)
  const found = [-2, -1, 0, 1, 2].map(drift => findTotpStep(secret, totpCode(secret, now + drift), nowMs))
  expect(found).toEqual([undefined, now - 1, now, now + 1, undefined])
})

test('secrets are written in base32 as in RFC 4648', () => {
  expect(toBase32(Buffer.from('foobar'))).toBe('MZXW6YTBOI')
})
