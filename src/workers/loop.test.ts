import { expect, test } from 'vitest'
import { firstPauses, restAfter } from '#workers/loop.ts'

/** Work that moves a test clock by the time it is said to take. */
function createWork() {
  const state = { nowMs: 0, takesMs: 0, runs: 0, fails: false }
  const work = async () => {
    state.runs += 1
    state.nowMs += state.takesMs
    if (state.fails) throw new Error('the database is away')
  }
  return { state, run: restAfter(work, () => state.nowMs) }
}

test('work that takes no time runs at every call', async () => {
  const { state, run } = createWork()
  await run()
  await run()
  expect(state.runs).toBe(2)
})

test('work rests a hundred times as long as it took, so that it takes at most 1 % of the time', async () => {
  const { state, run } = createWork()
  state.takesMs = 50
  await run()
  state.nowMs += 4_999
  await run()
  expect(state.runs).toBe(1)
  state.nowMs += 1
  await run()
  expect(state.runs).toBe(2)
})

test('work that fails rests too, and its error is thrown', async () => {
  const { state, run } = createWork()
  Object.assign(state, { takesMs: 10, fails: true })
  await expect(run()).rejects.toThrow('the database is away')
  await run()
  expect(state.runs).toBe(1)
})

test('loops that are started together run for the first time one after the other, none later than after its pause', () => {
  const pausesMs = [250, 1_000, 1_000, 1_000, 10_000, 10_000, 600_000]
  const first = firstPauses(pausesMs)
  expect(new Set(first).size).toBe(first.length)
  for (const [index, pauseMs] of pausesMs.entries()) {
    expect(first[index]).toBeGreaterThan(pauseMs - 1_000)
    expect(first[index]).toBeLessThanOrEqual(pauseMs)
    expect(first[index]).toBeGreaterThan(0)
  }
})
