/** The loop that claims messages: no wake-up is lost, whenever it comes. */
import { expect, test, vi } from 'vitest'
import { createPump } from '#workers/deliver.ts'

/** Wakes the loop a number of turns of the microtask queue after its first run; returns how many runs there were. */
async function wakeAfter(turns: number, first: () => Promise<unknown>): Promise<number> {
  let runs = 0
  const errors: unknown[] = []
  const run = () => (++runs === 1 ? first() : Promise.resolve())
  const wake = createPump({ run, isStopped: () => false, onError: error => errors.push(error) })
  wake()
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
  wake()
  await vi.waitFor(() => expect(runs).toBeGreaterThan(1))
  await new Promise(setImmediate)
  return runs
}

// A run ends within a few turns: some of these wake-ups come during it, some in the moment of its end, some after it.
const turns = Array.from({ length: 12 }, (_, turn) => turn)

test.each(turns)('a wake-up after %i turns starts another run', async turn => {
  expect(await wakeAfter(turn, () => Promise.resolve())).toBe(2)
})

test.each(turns)('a wake-up after %i turns starts another run though the first one fails', async turn => {
  expect(await wakeAfter(turn, () => Promise.reject(new Error('no database')))).toBe(2)
})
