/** Figures that were quick to count are counted anew for every look; slow ones are kept for a minute. */
import { expect, test } from 'vitest'
import { createOverviews } from '#console/overviews.ts'
import type { FigureStore } from '#storage/console/figures.ts'

const period = { since: new Date(0), lately: new Date(0), dueBefore: new Date(0) }

/** A store whose counts take that long on a clock of its own. */
function makeStore(tookMs: number) {
  const clock = { nowMs: 1_000_000, counts: 0 }
  const store: FigureStore = {
    async volumes() {
      clock.nowMs += tookMs
      clock.counts += 1
      return []
    },
    approvals: async () => [],
    declines: async () => [],
    health: async () => [],
    waiting: async () => ({ pending: clock.counts, failedEvents: 0, disputesDue: 0 }),
  }
  return { clock, overviews: createOverviews(store, () => clock.nowMs) }
}

test('counts that are quick are made anew each time', async () => {
  const { clock, overviews } = makeStore(5)
  await overviews.read('a', period)
  expect(await overviews.read('a', period)).toMatchObject({ figures: { waiting: { pending: 2 } } })
  expect(clock.counts).toBe(2)
})

test('counts that are slow are kept for a minute, with the time at which they were made', async () => {
  const { clock, overviews } = makeStore(900)
  expect((await overviews.read('a', period)).readAt).toBeUndefined()
  expect((await overviews.read('a', period)).readAt).toEqual(new Date(1_000_000))
  clock.nowMs += 60_001
  expect((await overviews.read('a', period)).readAt).toBeUndefined()
  expect(clock.counts).toBe(2)
})

test('each merchant sees its own figures', async () => {
  const { clock, overviews } = makeStore(900)
  await overviews.read('a', period)
  await overviews.read('b', period)
  expect(clock.counts).toBe(2)
})

test('a count that failed is made again', async () => {
  let failures = 0
  const store = failingStore(() => {
    failures += 1
  })
  const overviews = createOverviews(store, () => 0)
  await expect(overviews.read('a', period)).rejects.toThrow('no database')
  await expect(overviews.read('a', period)).rejects.toThrow('no database')
  expect(failures).toBe(2)
})

test('a count that the database gave up is not repeated for a minute', async () => {
  let [nowMs, counts] = [0, 0]
  const store: FigureStore = {
    ...failingStore(() => {}),
    async volumes() {
      counts += 1
      nowMs += 10_000
      throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
    },
  }
  const overviews = createOverviews(store, () => nowMs)
  for (let look = 0; look < 2; look++) expect((await overviews.read('a', period)).figures).toBeUndefined()
  expect(counts).toBe(1)
  nowMs += 60_001
  await overviews.read('a', period)
  expect(counts).toBe(2)
})

const failingStore = (onFailure: () => void): FigureStore => ({
  async volumes() {
    onFailure()
    throw new Error('no database')
  },
  approvals: async () => [],
  declines: async () => [],
  health: async () => [],
  waiting: async () => ({ pending: 0, failedEvents: 0, disputesDue: 0 }),
})
