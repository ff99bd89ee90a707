/**
 * When a worker that answers no pings is killed: a frozen one soon, one that is only short of processor time much later. And
 * what its end leaves in the sums of all workers.
 */
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMetricsReports, watchWorker } from '#commands/serve/worker-watch.ts'

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

/** A worker that has counted some payments, and may be frozen. */
function createCounting(reports: ReturnType<typeof createMetricsReports>, payments: number) {
  const registry = new Registry()
  new Counter({ name: 'payments_total', help: 'payments', registers: [registry] }).inc(payments)
  new Gauge({ name: 'open', help: 'connections', registers: [registry] }).set(1)
  const worker = {
    isFrozen: false,
    isConnected: () => true,
    send({ question }: { question: number }) {
      if (!worker.isFrozen)
        void registry.getMetricsAsJSON().then(metrics => reports.onReport(question, metrics))
      return true
    },
  }
  return worker as typeof worker & Parameters<typeof reports.onEnd>[0]
}

test('what workers have counted stays in the sums when they are silent and when they end', async () => {
  const reports = createMetricsReports()
  const [first, second, third] = [3, 4, 5].map(payments => createCounting(reports, payments)) as [
    ReturnType<typeof createCounting>,
    ReturnType<typeof createCounting>,
    ReturnType<typeof createCounting>,
  ]
  const sums = async (...workers: readonly ReturnType<typeof createCounting>[]): Promise<unknown[]> => {
    const collecting = reports.collect(workers)
    await vi.advanceTimersByTimeAsync(2_000)
    const text = await AggregatorRegistry.aggregate([...(await collecting)]).metrics()
    return ['payments_total', 'open'].map(name => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]))
  }
  expect(await sums(first, second, third)).toEqual([12, 3])
  second.isFrozen = true
  expect(await sums(first, second, third)).toEqual([12, 2])
  reports.onEnd(second)
  expect(await sums(first, third)).toEqual([12, 2])
  reports.onEnd(first)
  expect(await sums(third)).toEqual([12, 1])
})
