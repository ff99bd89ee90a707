/** How long a provider asks us to wait, and how long we do. */
import { expect, test } from 'vitest'
import { noteWaits } from '#connectors/asked-waits.ts'
import type { HttpAnswer } from '#connectors/contract.ts'

const realMs = Date.UTC(2026, 10, 15, 12)
const request = { verb: 'GET', url: 'https://provider.example/', headers: {} } as const

/** An HTTP client with scripted answers, and a clock that only tests move. */
function listen(...answers: readonly HttpAnswer[]) {
  const left = [...answers]
  const clock = { ms: 5_000_000 }
  const http = { exchange: async () => left.shift() ?? ({ kind: 'lost', reason: 'none left' } as const) }
  return { clock, ...noteWaits(http, { nowMs: () => clock.ms, realMs: () => realMs }) }
}

const answered = (status: number, retryAfter?: string): HttpAnswer => ({
  kind: 'answered',
  status,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  body: '',
})

test.each<readonly [string, HttpAnswer, number]>([
  ['429 with seconds', answered(429, '30'), 30_000],
  ['429 with a date', answered(429, 'Sun, 15 Nov 2026 12:02:00 GMT'), 120_000],
  ['429 with a past date', answered(429, 'Sun, 15 Nov 2026 11:00:00 GMT'), 0],
  ['429 with 0', answered(429, '0'), 0],
  ['429 without a time', answered(429), 1_000],
  ['429 with words', answered(429, 'soon'), 1_000],
  ['429 with a negative number', answered(429, '-30'), 1_000],
  ['429 with more than an hour', answered(429, '7200'), 3_600_000],
  ['429 with a year', answered(429, '31536000'), 1_000],
  ['429 with a number too large for a date', answered(429, '99999999999999999999'), 1_000],
  ['503 with seconds', answered(503, '30'), 30_000],
  ['503 without a time', answered(503), 0],
  ['503 with a year', answered(503, '31536000'), 0],
  ['200 with seconds', answered(200, '30'), 0],
  ['no answer', { kind: 'lost', reason: 'the line broke' }, 0],
])('%s', async (_, answer, waitMs) => {
  const line = listen(answer)
  expect(await line.http.exchange(request, AbortSignal.any([]))).toBe(answer)
  expect(line.waitMs()).toBe(waitMs)
})

test('the longest requested wait applies until it is over', async () => {
  const line = listen(answered(429, '30'), answered(429, '10'), answered(200))
  for (let sent = 0; sent < 3; sent += 1) await line.http.exchange(request, AbortSignal.any([]))
  expect(line.waitMs()).toBe(30_000)
  line.clock.ms += 29_000
  expect(line.waitMs()).toBe(1_000)
  line.clock.ms += 1_000
  expect(line.waitMs()).toBe(0)
})
