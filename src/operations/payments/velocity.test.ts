import { expect, test } from 'vitest'
import type { Merchant } from '#domain/merchant.ts'
import { createVelocity } from '#operations/payments/velocity.ts'
import type { VelocityStore } from '#storage/velocity.ts'

const merchant = { merchantId: 'mer_1', declinesPerCard: { count: 4, window: 'PT1H' } } as unknown as Merchant
const now = new Date('2026-11-16T12:00:00Z')

/** Counts for ever and blocks for an hour. */
function createStore(): VelocityStore {
  const counts = new Map<string, number>()
  return {
    async countDecline({ subject }, { count }) {
      const counted = (counts.get(subject) ?? 0) + 1
      counts.set(subject, counted)
      return counted >= count ? new Date(now.getTime() + 3_600_000) : undefined
    },
    readChanges: async () => ({ blocks: [], until: now }),
    reservePayout: async () => true,
    releasePayout: async () => {},
    reap: async () => {},
  }
}

const open = (store: VelocityStore, processes: number) =>
  createVelocity({
    store,
    environment: 'test',
    publishedCardIds: () => new Set(),
    countOthers: () => processes - 1,
  })

test.each([1, 2, 4])('%i processes: a burst of declines ends below twice the limit', async processes => {
  const store = createStore()
  const velocities = Array.from({ length: processes }, () => open(store, processes))
  let declined = 0
  const attempt = (velocity: ReturnType<typeof open>) =>
    velocity.limit(async admit => {
      if (!(await admit(merchant, { cardId: 'c' }, now))) return
      await new Promise(setImmediate)
      declined += 1
      await velocity.countDecline(merchant, { cardId: 'c' }, now)
    })
  await Promise.all(Array.from({ length: 15 }, () => velocities.map(attempt)).flat())
  expect(declined).toBeGreaterThanOrEqual(4)
  expect(declined).toBeLessThanOrEqual(8)
})

test('tries that share something else wait for each other, too', async () => {
  const velocity = open(createStore(), 2)
  let underWay = 0
  let most = 0
  const attempt = () =>
    velocity.limit(async admit => {
      expect(await admit(merchant, {}, now, [{ name: 'address', size: 6 }])).toBe(true)
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(setImmediate)
      underWay -= 1
    })
  await Promise.all(Array.from({ length: 10 }, attempt))
  expect([most, underWay]).toEqual([3, 0])
})

test('work that fails gives its place back', async () => {
  const velocity = open(createStore(), 4)
  const fail = async () => {
    throw new Error('no provider')
  }
  for (let at = 0; at < 3; at += 1)
    await expect(
      velocity.limit(async admit => {
        await admit(merchant, { cardId: 'c' }, now)
        return fail()
      }),
    ).rejects.toThrow('no provider')
})
