/** Warnings about a certificate that is about to expire. */
import { expect, test } from 'vitest'
import { warnOfEnd } from '#domain/time/certificate-end.ts'
import { makeCertificate } from '#test/support/certificate.ts'

// It is valid from 2020 on.
const { cert } = makeCertificate(new Date('2030-06-15T00:00:00Z'))
const say = (now: string) => warnOfEnd(cert, 'tls.pem', Date.parse(now))

test.each([
  ['2030-05-31T23:59:59Z', undefined],
  ['2030-06-01T00:00:00Z', 'the certificate in tls.pem ends 2030-06-15T00:00:00.000Z: renew it'],
  ['2030-06-15T00:00:00Z', 'the certificate in tls.pem ended 2030-06-15T00:00:00.000Z: renew it'],
])('at %s: %s', (now, warning) => {
  expect(say(now)).toBe(warning)
})

test('a certificate of a few days is near its end in the last fifth of its time', () => {
  const short = makeCertificate(new Date('2020-01-11T00:00:00Z'))
  const warnedAt = (now: string) => warnOfEnd(short.cert, 'tls.pem', Date.parse(now)) !== undefined
  expect([warnedAt('2020-01-08T23:59:59Z'), warnedAt('2020-01-09T00:00:00Z')]).toEqual([false, true])
})
