import { beforeEach, expect, test } from 'vitest'
import type { ClaimedTimer } from '#storage/payments/unanswered.ts'
import { createTimerPlaces, type TimerPlaces } from '#workers/timer-places.ts'

let nowMs: number
let started: string[]
let ends: Map<string, () => void>
let places: TimerPlaces
beforeEach(() => {
  nowMs = 0
  started = []
  ends = new Map()
  places = createTimerPlaces({
    nowMs: () => nowMs,
    onEnd: () => undefined,
    run: ({ payId, kind }) =>
      new Promise(resolve => {
        started.push(`${payId} ${kind}`)
        ends.set(payId, resolve)
      }),
  })
})

const timersOf = (account: string, count: number, kind = 'INQUIRY') =>
  Array.from({ length: count }, (_, number) => ({
    ...{ merchantId: 'mer_1', payId: `${account}-${number}`, xId: 'x', kind, attempt: 0 },
    ...{ runAt: new Date(number), account, clockOffsetMs: 0 },
  })) as unknown as readonly ClaimedTimer[]

const take = (timers: readonly ClaimedTimer[]) => places.take(timers, nowMs)

const countOf = (account: string): number => started.filter(name => name.startsWith(`${account}-`)).length

/** The first timers of the account end, so many milliseconds later. */
async function end(account: string, count: number, afterMs: number): Promise<void> {
  nowMs += afterMs
  const under = [...ends].filter(([payId]) => payId.startsWith(`${account}-`)).slice(0, count)
  for (const [payId, resolve] of under) {
    ends.delete(payId)
    resolve()
  }
  await new Promise(setImmediate)
}

test('an account that hangs holds eight places at first, and others start at once', () => {
  take(timersOf('slow', 200))
  take(timersOf('fast', 1))
  expect([countOf('slow'), countOf('fast')]).toEqual([8, 1])
})

test('timers that call no provider need no place of its account', () => {
  take(timersOf('slow', 200))
  take(timersOf('slow', 201, 'LAPSE').slice(200))
  expect(started.at(-1)).toBe('slow-200 LAPSE')
})

test('more are claimed once an account has ended nothing for eight seconds', () => {
  take(timersOf('slow', 200))
  nowMs += 7_999
  expect(places.hasRoom()).toBe(false)
  nowMs += 1
  expect(places.hasRoom()).toBe(true)
})

test('an account that was slow keeps a single place and 64 waiting timers', async () => {
  take(timersOf('slow', 8))
  await end('slow', 8, 20_000)
  take(timersOf('slow', 200))
  expect(countOf('slow')).toBe(8 + 1)
  expect(places.hasRoom()).toBe(true)
  for (let number = 1; number < 200; number += 1) await end('slow', 1, 0)
  expect(countOf('slow')).toBe(8 + 64)
})

test('an account that answers in time gets up to 64 places', async () => {
  take(timersOf('fast', 200))
  for (let number = 0; number < 56; number += 1) await end('fast', 1, 10)
  expect(countOf('fast')).toBe(56 + 64)
})

test('an account that has ended nothing for eight seconds keeps 64 waiting timers more', () => {
  take(timersOf('slow', 200))
  nowMs += 8_000
  for (let claims = 0; claims < 60; claims += 1) take(timersOf('slow', 200))
  expect(places.hasRoom()).toBe(true)
})

test('accounts that hang with a few timers each hold up no other account', () => {
  for (let number = 0; number < 64; number += 1) take(timersOf(`slow${number}`, 1))
  take(timersOf('fast', 1))
  nowMs += 8_000
  expect(places.hasRoom()).toBe(true)
  expect(countOf('fast')).toBe(1)
})

test('slow timers that call no provider still count, because they wait for the database', () => {
  take(timersOf('one', 64, 'LAPSE'))
  nowMs += 8_000
  take(timersOf('other', 1, 'LAPSE'))
  expect([countOf('one'), countOf('other')]).toEqual([64, 0])
})

test('64 run at once, not counting those of accounts that hang', () => {
  for (let number = 0; number < 10; number += 1) take(timersOf(`slow${number}`, 8))
  expect(started).toHaveLength(64)
  nowMs += 8_000
  expect(places.hasRoom()).toBe(true)
  take(timersOf('fast', 1))
  expect([started.length, countOf('fast')]).toEqual([81, 1])
})

test('a timer that has waited 40 s is left to the next claim, because its lease may end while it runs', async () => {
  take(timersOf('slow', 9))
  await end('slow', 8, 40_000)
  expect(countOf('slow')).toBe(8)
})

test('a timer that is claimed again while it runs is not run twice', async () => {
  take(timersOf('slow', 1))
  take(timersOf('slow', 1))
  await end('slow', 1, 0)
  expect(countOf('slow')).toBe(1)
})

test('timers of one payment run one after the other', async () => {
  take([...timersOf('one', 1, 'CAPTURE'), ...timersOf('one', 1, 'LAPSE')])
  expect(started).toEqual(['one-0 CAPTURE'])
  await end('one', 1, 0)
  expect(started).toEqual(['one-0 CAPTURE', 'one-0 LAPSE'])
})

test('a stop starts nothing that waits', async () => {
  take(timersOf('slow', 9))
  const stopped = places.stop()
  await end('slow', 8, 0)
  await stopped
  expect(countOf('slow')).toBe(8)
})
