/** Letting the database work while this process does: the next page is read and the last one written meanwhile. */

/** Asks for the next one before the present one is handed out. An error is thrown where its page would have come. */
export async function* readAhead<T>(pages: AsyncGenerator<T>): AsyncGenerator<T> {
  const ask = (): Promise<IteratorResult<T>> => heard(pages.next())
  let next = ask()
  try {
    for (;;) {
      const { value, done } = await next
      if (done) return
      next = ask()
      yield value
    }
  } finally {
    // Whoever stops early must not leave a question under way on a connection that is given back.
    await Promise.allSettled([next])
  }
}

export interface Follower {
  /** Starts when the one before it has ended, and does not wait for the end of this one. */
  follow(work: () => Promise<void>): Promise<void>
  /** Waits for the last one. */
  finish(): Promise<void>
}

export function createFollower(): Follower {
  let running: Promise<void> = Promise.resolve()
  return {
    async follow(work) {
      await running
      running = heard(work())
    },
    finish: () => running,
  }
}

/** A promise that may fail before anybody waits for it. Its error is not lost: whoever waits for it gets it. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
