import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Engine } from '#operations/engine.ts'
import type { ClaimedTimer, WorkFinder } from '#storage/payments/unanswered.ts'
import { createTimerWorker } from '#workers/timers.ts'

const timersOf = (count: number) =>
  Array.from({ length: count }, (_, number) => ({
    ...{ merchantId: 'mer_1' as MerchantId, payId: `pay_${number}`, xId: 'x', kind: 'BATCH', attempt: 0 },
    ...{ runAt: new Date(number), account: null, clockOffsetMs: 0 },
  })) as unknown as readonly ClaimedTimer[]

test('a timer whose turn comes so late that its lease may end meanwhile is left to the next claim', async () => {
  let nowMs = 0
  const timers = timersOf(65)
  let asked = 0
  const worker = createTimerWorker({
    engine: { clock: { nowMs: () => nowMs }, onAlarm: () => undefined } as unknown as Engine,
    finder: { claimTimers: async () => timers } as unknown as WorkFinder,
    // The first 64 run at once, and take so long that another process may claim the last one a moment later.
    onError: error => expect.fail(String(error)),
    async findMerchant() {
      asked += 1
      await Promise.resolve()
      nowMs = 50_000
      return undefined
    },
  })
  expect(await worker.runDue()).toBe(65)
  expect(asked).toBe(64)
})

test('timers whose claim took so long that their leases have ended are left to the process that has them by now', async () => {
  let nowMs = 0
  let asked = 0
  const claimed = Promise.withResolvers<void>()
  const worker = createTimerWorker({
    engine: { clock: { nowMs: () => nowMs }, onAlarm: () => undefined } as unknown as Engine,
    finder: {
      async claimTimers() {
        // The process is frozen between the statement and its answer.
        nowMs = 70_000
        claimed.resolve()
        return timersOf(1)
      },
    } as unknown as WorkFinder,
    onError: error => expect.fail(String(error)),
    async findMerchant() {
      asked += 1
      return undefined
    },
  })
  worker.wake()
  await claimed.promise
  await new Promise(setImmediate)
  await worker.stop()
  expect(asked).toBe(0)
})
