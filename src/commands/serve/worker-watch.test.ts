/** When a worker that answers no pings is killed: a frozen one soon, one that is only short of processor time much later. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchWorker } from '#commands/serve/worker-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Watches a worker that is ready and then silent; returns after how many seconds it is killed. */
function secondsUntilKilled(readTime: (second: number) => number | undefined): number {
  let killedAt = Number.POSITIVE_INFINITY
  let second = 0
  const worker = {
    process: { pid: 1, kill: () => true },
    isConnected: () => true,
    send: () => true,
    once: () => worker,
  }
  const { onReady } = watchWorker(
    worker as unknown as Parameters<typeof watchWorker>[0],
    () => {
      killedAt = second
    },
    () => readTime(second),
  )
  onReady()
  for (second = 1; second <= 60 && killedAt > second; second += 1) vi.advanceTimersByTime(1_000)
  return killedAt
}

test('a worker that uses no processor time counts as frozen and is killed after four unanswered pings', () => {
  expect(secondsUntilKilled(() => 7)).toBe(5)
})

test('a worker that is busy gets more time, and is killed if it never answers', () => {
  expect(secondsUntilKilled(second => second)).toBe(31)
})

test('where the system does not report processor time, four unanswered pings decide', () => {
  expect(secondsUntilKilled(() => undefined)).toBe(5)
})
