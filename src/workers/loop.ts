/** Runs a piece of work repeatedly with a pause in between, one run at a time, until it is stopped. */

export interface Loop {
  /** Resolves when the run under way, if any, has ended. */
  stop(): Promise<void>
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
