import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Engine } from '#operations/engine.ts'
import type { ClaimedTimer, WorkFinder } from '#storage/payments/unanswered.ts'
import { createTimerWorker } from '#workers/timers.ts'

test('a timer whose turn comes so late that its lease may end meanwhile is left to the next claim', async () => {
  let nowMs = 0
  const timers = Array.from({ length: 65 }, (_, number) => ({
    ...{ merchantId: 'mer_1' as MerchantId, payId: `pay_${number}`, xId: 'x', kind: 'BATCH', attempt: 0 },
    ...{ runAt: new Date(number), clockOffsetMs: 0 },
  })) as unknown as readonly ClaimedTimer[]
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
