/** The merchant's test clock: it moves forward only, and moving it returns once everything that became due has run. */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Clock } from '#operations/engine.ts'
import type { ClockStore } from '#storage/clock.ts'

export interface TestClock {
  /** The merchant's time after moving it. */
  move(merchant: Merchant, way: ClockWay): Promise<Date>
  /** About how many charges of plans would become due by then. */
  countCharges(merchant: Merchant, instantMs: number): Promise<number>
  /**
   * Whether more than that many captures, expiries, inquiries, deliveries and the like become due by then. A step to the first of
   * them and a minute beyond is never too much, so that the clock cannot get stuck.
   */
  isTooMuch(merchant: Merchant, instantMs: number, dueMax: number): Promise<boolean>
}

/** By so much, whatever else moves the clock at that moment; or to an instant, and not beyond. */
export type ClockWay = { readonly byMs: number } | { readonly toMs: number }

export interface TestClockDeps {
  readonly clock: Clock
  readonly store: ClockStore
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  readonly runDue: (merchantId: MerchantId) => Promise<number>
  /** Waits for rounds that have begun and not ended. */
  readonly finishRounds: () => Promise<void>
  /** Deletes a batch of expired keys and personal data, and returns how many there were. */
  readonly reap: (merchantId: MerchantId) => Promise<number>
  readonly onChange: (merchantId: string) => void
}

const smallStepMs = 60_000

/** 100 batches of keys and personal data, some seconds of work. */
const batchesMax = 100

/** 20 ms: how long to wait for timers that another worker is running. */
const pauseMs = 20

/** 30 s without any timer run: another process has died while running one. As long as timers run, there is no limit. */
const patienceMs = 30_000

export function createTestClock(deps: TestClockDeps): TestClock {
  return {
    countCharges: ({ merchantId }, instantMs) => deps.store.countCharges(merchantId, new Date(instantMs)),
    async isTooMuch({ merchantId, clockOffsetMs }, instantMs, dueMax) {
      const until = new Date(instantMs - clockOffsetMs)
      const { count, first } = await deps.store.countDue(merchantId, until, dueMax + 1)
      return count > dueMax && until.getTime() > (first?.getTime() ?? 0) + smallStepMs
    },
    async move({ merchantId }, way) {
      if ('toMs' in way) await deps.store.setOffset(merchantId, Math.ceil(way.toMs - deps.clock.nowMs()))
      else if (way.byMs > 0) await deps.store.advance(merchantId, Math.ceil(way.byMs))
      deps.onChange(merchantId)
      const hasDue = () => deps.store.hasDue(merchantId, new Date(deps.clock.nowMs()))
      do {
        await runAll(merchantId, hasDue, deps)
        // Timers that the background worker claimed first may set further timers when they are done.
        await deps.finishRounds()
      } while (await hasDue())
      // A batch at a time. The rest is deleted in the background.
      for (let batch = 0; batch < batchesMax && (await deps.reap(merchantId)) > 0; batch += 1);
      const moved = await deps.findMerchant(merchantId)
      return new Date(deps.clock.nowMs() + (moved?.clockOffsetMs ?? 0))
    },
  }
}

async function runAll(
  merchantId: MerchantId,
  hasDue: () => Promise<boolean>,
  { clock, runDue }: TestClockDeps,
): Promise<void> {
  let untilMs = clock.nowMs() + patienceMs
  while (await hasDue()) {
    const ran = await runDue(merchantId)
    if (clock.nowMs() > untilMs)
      throw new Error('the test clock was moved, but the work that became due did not finish in time')
    if (ran > 0) untilMs = clock.nowMs() + patienceMs
    if (ran === 0) await clock.waitMs(pauseMs)
  }
}
