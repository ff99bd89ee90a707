import { describe, expect, test } from 'vitest'
import { decideNext, pausesMs, readRetryAfter } from '#webhooks/schedule.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)
const decide = (
  status: number | undefined,
  { tries = 1, chance = 0.5, retryAfter = undefined as string | undefined } = {},
) => decideNext({ status, tries, retryAfter }, { chance, nowMs })
const minuteMs = 60_000
const hourMs = 60 * minuteMs

describe('the status of an answer', () => {
  test.each([200, 201, 202, 204, 226, 299])('an answer %i counts as delivered', status => {
    expect(decide(status)).toEqual({ status: 'DELIVERED' })
  })
  test.each([199, 300, 301, 302, 307, 308, 400, 401, 404, 409, 429, 500, 502, 503, 504, 999, undefined])(
    'after %s the delivery is tried again',
    status => {
      expect(decide(status)).toEqual({ status: 'PENDING', pauseMs: 5_000 })
    },
  )
  test('an answer 410 ends the delivery', () => {
    expect(decide(410)).toEqual({ status: 'FAILED' })
    expect(decide(410, { retryAfter: '1' })).toEqual({ status: 'FAILED' })
  })
})

describe('pauses between attempts', () => {
  test('have the lengths of the contract', () => {
    const seconds = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]
    expect(pausesMs).toEqual(seconds.map(second => second * 1000))
  })
  test.each(pausesMs.map((pauseMs, index) => ({ tries: index + 1, pauseMs })))(
    'after attempt $tries the pause is that of the contract, a tenth more or less',
    ({ tries, pauseMs }) => {
      expect(decide(500, { tries, chance: 0 })).toEqual({
        status: 'PENDING',
        pauseMs: Math.round(pauseMs * 0.9),
      })
      expect(decide(500, { tries, chance: 0.5 })).toEqual({ status: 'PENDING', pauseMs })
      expect(decide(500, { tries, chance: 1 })).toEqual({
        status: 'PENDING',
        pauseMs: Math.round(pauseMs * 1.1),
      })
    },
  )
  test('the tenth attempt is the last', () => {
    expect(decide(500, { tries: 10 })).toEqual({ status: 'FAILED' })
    expect(decide(undefined, { tries: 11 })).toEqual({ status: 'FAILED' })
    expect(decide(200, { tries: 10 })).toEqual({ status: 'DELIVERED' })
  })
})

describe('Retry-After', () => {
  test.each<[string | undefined, number]>([
    ['120', 2 * minuteMs],
    [' 120 ', 2 * minuteMs],
    ['0', 0],
    ['Sun, 15 Nov 2026 12:10:00 GMT', 10 * minuteMs],
    ['Sunday, 15-Nov-26 12:10:00 GMT', 10 * minuteMs],
    ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
    ['86400', 24 * hourMs],
    ['9999999999', 24 * hourMs],
    ['Sun, 15 Nov 2099 12:10:00 GMT', 24 * hourMs],
    ['-5', 0],
    ['1.5', 0],
    ['soon', 0],
    ['2026-11-15T12:10:00Z', 0],
    ['99999999999999999999', 0],
    ['', 0],
    [undefined, 0],
  ])('%s', (header, expected) => {
    expect(readRetryAfter(header, nowMs)).toBe(expected)
  })
  test('lengthens a pause and never shortens one', () => {
    expect(decide(503, { retryAfter: '60' })).toEqual({ status: 'PENDING', pauseMs: minuteMs })
    expect(decide(503, { retryAfter: '1', tries: 2 })).toEqual({ status: 'PENDING', pauseMs: 5 * minuteMs })
    expect(decide(503, { retryAfter: '60', tries: 10 })).toEqual({ status: 'FAILED' })
  })
})
