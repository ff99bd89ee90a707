/**
 * Lets the database work in parallel with this process: the next page is read and the previous one written meanwhile.
 */

/** Requests the next page before yielding the current one. An error is thrown in the place of its page. */
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
  /** Starts the work once the previous one has ended, and does not wait for its end. */
  follow(work: () => Promise<void>): Promise<void>
  /** Waits for the last work. */
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

/** A promise that may fail before anybody waits for it. Its error is not lost: the later await throws it. */
function deferred<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
