/**
 * Lets the database work in parallel with this process: while it handles a page, the next one is read and the previous
 * one is written.
 */

/** Requests the next page before yielding the current one. An error is thrown when the failed page is due. */
export async function* readAhead<T>(pages: AsyncGenerator<T>): AsyncGenerator<T> {
  const ask = (): Promise<IteratorResult<T>> => deferred(pages.next())
  let next = ask()
  try {
    for (;;) {
      const { value, done } = await next
      if (done) return
      next = ask()
      yield value
    }
  } finally {
    // A caller that stops early must not leave a query running on a connection that is released.
    await Promise.allSettled([next])
  }
}

export interface Follower {
  /** Starts the work once the previous work has ended, and resolves without waiting for it to end. */
  follow(work: () => Promise<void>): Promise<void>
  /** Waits for the work that was started last. */
  finish(): Promise<void>
}

export function createFollower(): Follower {
  let running: Promise<void> = Promise.resolve()
  return {
    async follow(work) {
      await running
      running = deferred(work())
    },
    finish: () => running,
  }
}

/**
 * Prevents an unhandled rejection if the promise fails before it is awaited; the later await still throws the error.
 */
function deferred<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
