import { expect, test } from 'vitest'
import { createFailedLogins, createRateLimit, refuseRate } from '#http/authentication/rate-limit.ts'
import { toyMerchant } from '#test/support/toy-http.ts'

test('requests use up the limit, the headers say so, and a second later it is full again', () => {
  let now = 0
  const limit = createRateLimit({ nowMs: () => now })
  const merchant = toyMerchant('shop', { requestsPerSecond: 2 })
  expect(limit.take(merchant)).toEqual({
    allowed: true,
    policy: '"merchant";q=2;w=1',
    state: '"merchant";r=1;t=1',
  })
  expect(limit.take(merchant).allowed).toBe(true)
  expect(limit.take(merchant)).toMatchObject({ allowed: false, state: '"merchant";r=0;t=1' })
  now += 500
  expect(limit.take(merchant).allowed).toBe(true)
  expect(limit.take(merchant).allowed).toBe(false)
  now += 60_000
  expect(limit.take(merchant).state).toBe('"merchant";r=1;t=1')
})

test('merchants do not share a bucket, and a changed limit applies at once', () => {
  const limit = createRateLimit({ nowMs: () => 0 })
  const small = toyMerchant('small', { requestsPerSecond: 1 })
  expect([limit.take(small), limit.take(small)].map(({ allowed }) => allowed)).toEqual([true, false])
  expect(limit.take(toyMerchant('other', { requestsPerSecond: 1 })).allowed).toBe(true)
  expect(limit.take({ ...small, requestsPerSecond: 5 }).allowed).toBe(true)
})

test('setting the clock back does not empty the bucket', () => {
  let now = 10_000
  const limit = createRateLimit({ nowMs: () => now })
  const merchant = toyMerchant('shop', { requestsPerSecond: 3 })
  limit.take(merchant)
  now = 0
  expect(limit.take(merchant).state).toBe('"merchant";r=1;t=1')
})

test('the refusal has the headers that describe the limit', () => {
  const refusal = refuseRate({ allowed: false, policy: 'p', state: 's' })
  expect(refusal.headers).toEqual({ 'retry-after': '1', ratelimit: 's', 'ratelimit-policy': 'p' })
})

test('ten failures of one client and address are allowed in a minute, the eleventh is refused', () => {
  let now = 0
  const logins = createFailedLogins({ nowMs: () => now })
  for (let failure = 0; failure < 10; failure++) expect(logins.count('shop', '1.1.1.1')).toBeUndefined()
  now = 20_000
  expect(logins.count('shop', '1.1.1.1')?.headers['retry-after']).toBe('40')
  expect(logins.count('shop', '2.2.2.2')).toBeUndefined()
  expect(logins.count('other', '1.1.1.1')).toBeUndefined()
  now = 60_000
  expect(logins.count('shop', '1.1.1.1')).toBeUndefined()
})
