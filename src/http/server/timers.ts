/** Timers as a dependency, so that tests can control them. */
export interface Timers {
  /** Calls back after the time; the returned function cancels it. */
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

/** The promise's value, or undefined when the time is over first. The timer never outlives the answer. */
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
