/** Several processes that share one limit, without a database between them. */
import { expect, test } from 'vitest'
import { createFailedLogins, createRateLimit } from '#http/authentication/rate-limit.ts'
import { type CountExchange, createCountExchange } from '#http/authentication/shared-counts.ts'
import { toyMerchant } from '#test/support/toy-http.ts'

const openProcesses = (count: number): readonly CountExchange[] => {
  const processes = Array.from({ length: count }, createCountExchange)
  exchange(processes)
  return processes
}

/** Exchanges the counts between all processes. */
function exchange(processes: readonly CountExchange[]): void {
  const uses = processes.map(each => each.take(processes.length))
  for (const [index, each] of processes.entries())
    each.give(uses.filter((_, other) => other !== index).flat())
}

const count = 10

/** One merchant's limit of requests in each of several processes that share their counts. */
function openLimits(size: number, nowMs: () => number) {
  const processes = openProcesses(size)
  const merchant = toyMerchant('shop', { requestsPerSecond: count })
  const limits = processes.map(each => createRateLimit({ nowMs, shared: each.scope('requests') }))
  return {
    exchange: () => exchange(processes),
    /** Sends that many requests to every process, and counts the accepted ones. */
    askAll(times: number): number {
      const asked = limits.flatMap(limit => Array.from({ length: times }, () => limit.take(merchant)))
      return asked.filter(({ allowed }) => allowed).length
    },
  }
}

test.each([1, 2, 3, 4, 8])(
  'failed logins that reach %i processes at once exceed the limit by at most itself',
  size => {
    const processes = openProcesses(size)
    const logins = processes.map(each => createFailedLogins({ nowMs: () => 0, shared: each.scope('logins') }))
    const fail = () =>
      logins.reduce((passed, each) => {
        for (let tries = 0; tries < 100; tries += 1) if (!each.count('shop', '1.1.1.1')) passed += 1
        return passed
      }, 0)
    expect(fail()).toBeLessThanOrEqual(2 * count)
    exchange(processes)
    expect(fail()).toBe(0)
  },
)

test.each([1, 2, 3, 4, 8])(
  'requests that reach %i processes at once exceed the limit by at most itself, and then every process refuses',
  size => {
    const { askAll, exchange } = openLimits(size, () => 0)
    const passed = askAll(100)
    expect(passed).toBeLessThanOrEqual(2 * count)
    expect(passed).toBeGreaterThanOrEqual(count)
    exchange()
    expect(askAll(100)).toBe(0)
  },
)

test.each([2, 3, 8])(
  'continuous requests to %i processes exceed the allowed rate by at most the limit, and never stay below it',
  size => {
    let nowMs = 0
    const { askAll, exchange } = openLimits(size, () => nowMs)
    let passed = 0
    for (; nowMs <= 5_000; nowMs += 50) {
      passed += askAll(3)
      expect(passed, `after ${nowMs} ms`).toBeLessThanOrEqual(count + (nowMs / 1_000) * count + count)
      if (nowMs % 250 === 0) exchange()
    }
    expect(passed).toBeGreaterThanOrEqual(5 * count)
  },
)

test.each([2, 3, 8])('%i processes without an exchange for seconds stay within the bound', size => {
  let nowMs = 0
  const { askAll } = openLimits(size, () => nowMs)
  let passed = 0
  for (; nowMs <= 3_000; nowMs += 10) passed += askAll(1)
  expect(passed).toBeLessThanOrEqual(count + 3 * count + count)
})

test('one process of many may use the whole limit once the others have read its counts', () => {
  const processes = openProcesses(4)
  const [first] = processes
  const logins = createFailedLogins({ nowMs: () => 0, shared: first?.scope('logins') })
  let passed = 0
  for (let tries = 0; passed < count && tries < count; tries += 1) {
    if (!logins.isOver('shop', '1.1.1.1') && !logins.count('shop', '1.1.1.1')) passed += 1
    // The first exchange hands the counts over, the second shows that they were read.
    exchange(processes)
    exchange(processes)
  }
  expect(passed).toBe(count)
})

test('a request refused because its process has used up its share says that nothing is left', () => {
  const [first] = openProcesses(8)
  const limit = createRateLimit({ nowMs: () => 0, shared: first?.scope('requests') })
  const merchant = toyMerchant('shop', { requestsPerSecond: count })
  const asked = Array.from({ length: count }, () => limit.take(merchant))
  const refused = asked.filter(({ allowed }) => !allowed)
  expect(refused.length).toBeGreaterThan(0)
  expect(new Set(refused.map(({ state }) => state))).toEqual(new Set(['"merchant";r=0;t=1']))
})
