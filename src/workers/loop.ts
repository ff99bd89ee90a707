/** Runs work repeatedly with a pause in between, one run at a time, until it is stopped. */

export interface Loop {
  /** Resolves when the run under way, if any, has ended. */
  stop(): Promise<void>
}

/** 100: work whose duration grows with the stored data takes at most a hundredth of the time. */
const restFactor = 100

/** Skips runs until a hundred times the duration of the last run has passed. */
export function restAfter(work: () => Promise<unknown>, nowMs: () => number): () => Promise<void> {
  let restedAt = Number.NEGATIVE_INFINITY
  return async () => {
    const begun = nowMs()
    if (begun < restedAt) return
    try {
      await work()
    } finally {
      const ended = nowMs()
      restedAt = ended + (ended - begun) * restFactor
    }
  }
}

export function startLoop(
  work: () => Promise<unknown>,
  pauseMs: number,
  onError: (error: unknown) => void,
): Loop {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  function schedule(): void {
    if (stopped) return
    timer = setTimeout(() => {
      running = work().catch(onError).finally(schedule)
    }, pauseMs)
  }
  schedule()

  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
