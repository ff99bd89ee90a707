/** The loop that applies notices never loses a wake-up. */
import { expect, test } from 'vitest'
import { keepRunning } from '#providers/create-providers.ts'

/** Wakes the loop a number of turns of the microtask queue after its first run, and counts the runs. */
async function wakeAfter(turns: number, first: () => Promise<number>): Promise<number> {
  let runs = 0
  const errors: unknown[] = []
  const loop = keepRunning(
    { runDue: () => (++runs === 1 ? first() : Promise.resolve(0)), finish: async () => false },
    { onError: error => errors.push(error) },
  )
  const finished = loop.runDue()
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
  loop.wake()
  await finished
  await loop.stop()
  return runs
}

// A run ends within a few turns: some of these wake-ups come during it, some just as it ends, some after it.
test.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'a wake-up after %i turns starts another run',
  async turns => {
    expect(await wakeAfter(turns, () => Promise.resolve(0))).toBe(2)
  },
)

test.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'a wake-up after %i turns starts another run even if the first one fails',
  async turns => {
    expect(await wakeAfter(turns, () => Promise.reject(new Error('no database')))).toBe(2)
  },
)
