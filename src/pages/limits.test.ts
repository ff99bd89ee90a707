import { expect, test } from 'vitest'
import { createLimits } from '#pages/limits.ts'

const minuteMs = 60_000

test('each key has its own count; the window begins with the first decline', () => {
  let now = 0
  const limits = createLimits({ most: 3, nowMs: () => now })
  for (let n = 1; n <= 3; n += 1) {
    expect(limits.allows(['address a', 'card 1'])).toBe(true)
    limits.count(['address a', `card ${n}`])
    now += minuteMs
  }
  expect(limits.allows(['address a', 'card 4'])).toBe(false)
  expect(limits.allows(['address b', 'card 1'])).toBe(true)
  now = 10 * minuteMs - 1
  expect(limits.allows(['address a'])).toBe(false)
  now = 10 * minuteMs
  expect(limits.allows(['address a'])).toBe(true)
})

test('one card from many addresses is counted too', () => {
  const limits = createLimits({ most: 2, nowMs: () => 0 })
  limits.count(['address a', 'card 1'])
  limits.count(['address b', 'card 1'])
  expect(limits.allows(['address c', 'card 1'])).toBe(false)
  expect(limits.allows(['address c', 'card 2'])).toBe(true)
})

test('counts of 100,000 other keys do not erase the count of one that goes on', () => {
  const limits = createLimits({ most: 4, nowMs: () => 0 })
  for (let n = 0; n < 120_000; n += 1) {
    if (n % 40_000 === 0) limits.count(['address a'])
    limits.count([`address ${n}`])
  }
  limits.count(['address a'])
  expect(limits.allows(['address a'])).toBe(false)
})

test('of tries that begin at the same moment, at most twice the limit are declined', async () => {
  const limits = createLimits({ most: 3, nowMs: () => 0 })
  limits.count(['address a'])
  limits.count(['address a'])
  let declines = 0
  const tryOnce = async (card: number): Promise<void> => {
    const keys = [`card ${card}`, 'address a']
    await limits.inTurn(keys, async () => {
      if (!limits.allows(keys)) return
      await new Promise(setImmediate)
      limits.count(keys)
      declines += 1
    })
  }
  await Promise.all(Array.from({ length: 20 }, (_, card) => tryOnce(card)))
  expect(declines).toBe(3)
})
