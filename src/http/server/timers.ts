/** Timers as an injected dependency, so that tests can control them. */
export interface Timers {
  /** Calls back after the delay. The returned function cancels the timer. */
  after(delayMs: number, callback: () => void): () => void
}

export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

export const wait = (delayMs: number, timers: Timers): Promise<void> =>
  new Promise(resolve => timers.after(delayMs, resolve))

/** The promise's value, or undefined after a timeout. The timer is always cancelled. */
export async function within<T>(
  delayMs: number,
  promise: Promise<T>,
  timers: Timers,
): Promise<T | undefined> {
  let cancel = () => {}
  const timeout = new Promise<undefined>(resolve => {
    cancel = timers.after(delayMs, () => resolve(undefined))
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    cancel()
  }
}
