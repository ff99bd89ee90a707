/**
 * Splits long work that can be requested without credentials into steps, so that the process answers other requests in
 * between. Each `yield` ends a step.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

export type Steps<Result> = Generator<undefined, Result, undefined>

/** For tests and tools, where no other requests wait. */
export function finishAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

export async function finishInSteps<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await nextTurn()
  }
}

/** Maps entries, one per step. */
export function* mapInSteps<Entry, Made>(
  entries: Iterable<Entry>,
  make: (entry: Entry) => Made,
): Steps<readonly Made[]> {
  const made: Made[] = []
  for (const entry of entries) {
    made.push(make(entry))
    yield
  }
  return made
}
