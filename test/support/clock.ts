/** Time that stands still until a test moves it, so that no test waits. */
import type { Clock } from '#operations/engine.ts'

export interface TestClock extends Clock {
  move(milliseconds: number): void
}

/** A day far from any month's end, before the test cards expire. */
const startMs = Date.UTC(2027, 2, 10, 12)

export function createTestClock(fromMs = startMs): TestClock {
  let now = fromMs
  return {
    nowMs: () => now,
    waitMs: async () => undefined,
    move(milliseconds) {
      now += milliseconds
    },
  }
}

export const secondMs = 1_000
export const minuteMs = 60 * 1_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
