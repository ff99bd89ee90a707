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

/** 1 s: the pause of the most frequent loops that ask the database. */
const spreadMs = 1_000

/**
 * Pauses before the first runs, for loops that are started together: at most a second shorter than their usual pauses,
 * and each of them different. Loops that run at the same moment need a connection each and hold up requests.
 */
export const firstPauses = (pausesMs: readonly number[]): readonly number[] =>
  pausesMs.map((pauseMs, index) => {
    const laterShare = (pausesMs.length - 1 - index) / pausesMs.length
    return pauseMs - Math.min(pauseMs, spreadMs) * laterShare
  })

interface LoopOptions {
  readonly pauseMs: number
  /** Before the first run; `pauseMs` unless given. */
  readonly firstPauseMs?: number | undefined
  readonly onError: (error: unknown) => void
}

export function startLoop(work: () => Promise<unknown>, options: LoopOptions): Loop {
  const { pauseMs, firstPauseMs = pauseMs, onError } = options
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  function schedule(afterMs: number): void {
    if (stopped) return
    timer = setTimeout(() => {
      running = work()
        .catch(onError)
        .finally(() => schedule(pauseMs))
    }, afterMs)
  }
  schedule(firstPauseMs)

  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
