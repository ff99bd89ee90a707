/** Requests that arrive at a constant rate, whether or not earlier ones are answered: the clock of an open loop. */

export interface Arrivals {
  /** The time at which the next request should start, never in the future. Undefined when all have been taken. */
  take(): Promise<number | undefined>
}

/** 1 ms: the finest that a timer of Node does; a request starts up to that much late, which counts as its latency. */
const tickMs = 1

export function makeArrivals(perSecond: number, endAtMs: number): Arrivals {
  const stepMs = 1000 / perSecond
  const due: number[] = []
  const idle: ((startAt: number | undefined) => void)[] = []
  let next = performance.now()

  const timer = setInterval(() => {
    const now = Math.min(performance.now(), endAtMs)
    for (; next < now; next += stepMs) {
      const worker = idle.shift()
      if (worker) worker(next)
      else due.push(next)
    }
    if (now < endAtMs) return
    clearInterval(timer)
    for (const worker of idle.splice(0)) worker(undefined)
  }, tickMs)

  return {
    take: () =>
      new Promise(resolve => {
        // Requests that found every caller busy are still sent after the end, because they are the slow ones.
        if (due.length > 0 || performance.now() > endAtMs) resolve(due.shift())
        else idle.push(resolve)
      }),
  }
}
