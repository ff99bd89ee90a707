/** The merchant's test clock: it moves forward only, and moving it returns once everything that became due has run. */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Clock } from '#operations/engine.ts'
import type { ClockStore } from '#storage/clock.ts'

export interface TestClock {
  /** The merchant's time after moving it. */
  move(merchant: Merchant, way: ClockWay): Promise<Date>
  /** Estimates how many charges of plans would become due by that instant. */
  countCharges(merchant: Merchant, instantMs: number): Promise<number>
  /**
   * Whether more than `dueMax` captures, expiries, inquiries, deliveries and so on become due by that instant. A step
   * to one minute after the first of them is always allowed, so that the clock cannot get stuck.
   */
  isTooMuch(merchant: Merchant, instantMs: number, dueMax: number): Promise<boolean>
}

/** `byMs` adds to concurrent moves of the clock; `toMs` moves it to an instant and never beyond. */
export type ClockWay = { readonly byMs: number } | { readonly toMs: number }

export interface TestClockDeps {
  readonly clock: Clock
  readonly store: ClockStore
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  readonly runDue: (merchantId: MerchantId) => Promise<number>
  /** Waits for the merchant's timers that are running, and returns how many there were. */
  readonly finishTimers: (merchantId: MerchantId) => Promise<number>
  /** Deletes a batch of expired idempotency keys and personal data, and returns how many rows it deleted. */
  readonly reap: (merchantId: MerchantId) => Promise<number>
  readonly onChange: (merchantId: string) => void
}

const smallStepMs = 60_000

/** 100 batches of keys and personal data, some seconds of work. */
const batchesMax = 100

/** 20 ms: how long to wait for timers that another worker is running. */
const pauseMs = 20

/** 30 s in which no timer ran: another process has died while running one. As long as timers run, there is no limit. */
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
        // Timers that the background worker has claimed may set further timers.
        await deps.finishTimers(merchantId)
        await finishElsewhere(merchantId, deps)
      } while (await hasDue())
      // Rows beyond the limit are deleted in the background.
      for (let batch = 0; batch < batchesMax && (await deps.reap(merchantId)) > 0; batch += 1);
      const moved = await deps.findMerchant(merchantId)
      return new Date(deps.clock.nowMs() + (moved?.clockOffsetMs ?? 0))
    },
  }
}

async function runAll(
  merchantId: MerchantId,
  hasDue: () => Promise<boolean>,
  { clock, runDue, finishTimers }: TestClockDeps,
): Promise<void> {
  let untilMs = clock.nowMs() + patienceMs
  while (await hasDue()) {
    // What the background worker has claimed waits for its places: at a provider that hangs they are few.
    const ran = (await runDue(merchantId)) || (await finishTimers(merchantId))
    if (ran > 0) untilMs = clock.nowMs() + patienceMs
    if (clock.nowMs() > untilMs)
      throw new Error('the test clock was moved, but the work that became due did not finish in time')
    if (ran === 0) await clock.waitMs(pauseMs)
  }
}

/**
 * Other processes run timers of this merchant too. A timer is gone once it has sent its operation, so what they have sent
 * by now is waited for; what they send later is not, because the merchant's own requests are among it.
 */
async function finishElsewhere(merchantId: MerchantId, { clock, store }: TestClockDeps): Promise<void> {
  const untilMs = clock.nowMs() + patienceMs
  let sent = await store.listSentElsewhere(merchantId)
  while (sent.length > 0 && clock.nowMs() <= untilMs) {
    await clock.waitMs(pauseMs)
    const still = new Set(await store.listSentElsewhere(merchantId))
    sent = sent.filter(xId => still.has(xId))
  }
}
