/**
 * Splits long work that anybody may request into steps, between which the process answers other requests. Each `yield`
 * ends a step.
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

/** One step for each entry. */
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
