/**
 * Runs due timers: inquiries, delayed captures, lapses, expiries, charges of plans, returns. Timers of one payment run
 * in the order of their times, those of different payments in parallel. A failure is reported, and its timer becomes
 * due again after the lease.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation } from '#lifecycle/payment.ts'
import { announceDebit, approveDebit } from '#operations/bank/collect-debit.ts'
import { lookForDispute } from '#operations/disputes/look-for-dispute.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import { expirePayment, lapseAuthorization } from '#operations/payments/expire.ts'
import { captureDelayed } from '#operations/payments/follow-up-kinds.ts'
import { returnDebit } from '#operations/payments/notices/debit-return.ts'
import { giveBackDue } from '#operations/payments/notices/paid-late.ts'
import { settleByInquiry } from '#operations/payments/provider-calls/settle-by-inquiry.ts'
import { runPlan } from '#operations/plans/charge-due-plan.ts'
import { type DueTimer, timerAt } from '#operations/timer.ts'
import type { TimerKind } from '#storage/commit/change.ts'
import type { ClaimedTimer, WorkFinder } from '#storage/payments/unanswered.ts'

/**
 * If the provider has asked us to wait, sets the timer to the end of the wait without counting a try. Returns false if
 * not.
 */
async function postpone({ timer, merchant }: DueTimer, engine: Engine): Promise<boolean> {
  const { attempt, ...key } = timer
  const payment = await engine.payments.byPayId(key.merchantId, key.payId)
  const operation = payment && findOperation(payment, key.xId)
  const accountId = operation?.prepared.account ?? payment?.provider?.account
  const account = payment && (await engine.providers.open(key.merchantId, accountId))
  const waitMs = account?.waitMs?.() ?? 0
  if (waitMs === 0) return false
  // Counted from now, because a timer may run long after the time that it was set for.
  const time = new Date(merchantNow(engine.clock, merchant).getTime() + waitMs)
  const alongside = { setTimers: [timerAt(key, time, merchant, attempt)] }
  return (await engine.queue.update(key, () => ({ alongside, result: true }))) ?? false
}

/** Runs the work, or postpones it while the provider has asked us to wait. */
const unlessAskedToWait =
  (run: (due: DueTimer, engine: Engine) => Promise<unknown>) =>
  async (due: DueTimer, engine: Engine): Promise<void> => {
    if (!(await postpone(due, engine))) await run(due, engine)
  }

const work: Record<TimerKind, (due: DueTimer, engine: Engine) => Promise<unknown>> = {
  INQUIRY: unlessAskedToWait(({ timer, merchant, at }, engine) =>
    settleByInquiry({ merchant, payId: timer.payId, xId: timer.xId, inquiry: timer.attempt, at }, engine),
  ),
  CAPTURE: unlessAskedToWait(captureDelayed),
  LAPSE: lapseAuthorization,
  EXPIRE: expirePayment,
  RETURN: async (due, engine) => (await lookForDispute(due, engine)) || returnDebit(due, engine),
  PLAN: unlessAskedToWait(runPlan),
  ANNOUNCE: announceDebit,
  APPROVE: approveDebit,
  GIVE_BACK: unlessAskedToWait(giveBackDue),
  // Never due, because its time is thousands of years ahead: these rows are the queue for the next file to the bank.
  BATCH: async () => undefined,
}

export interface TimerWorker {
  /** Runs one round of due timers, for one merchant or for all, and returns their number. */
  runDue(merchantId?: MerchantId): Promise<number>
  /**
   * Runs rounds until one is not full, so that a thousand plans that are due at midnight do not wait for the next poll.
   */
  runAllDue(): Promise<void>
  /**
   * Resolves when the rounds under way have ended. A timer is deleted before its provider call has ended, so an empty
   * table does not mean that all work is done.
   */
  finishRounds(): Promise<void>
}

/** 60 s: longer than a provider call; after a crash the timer is due again. Running a timer twice has one effect. */
const leaseMs = 60_000

/**
 * 40 s after its claim a timer is not started any more: with a provider call of 20 s it would outlast its lease, and
 * another process would run it at the same time. The next claim gets it when the lease has ended.
 */
const startWithinMs = 40_000

/** 200: enough to keep the database busy, few enough to finish within a lease unless providers are slow. */
const chunk = 200

/**
 * 64: two batches of commits. Running a whole round at once would queue for the few database connections and time out:
 * on a busy machine plans missed their time because of that (seen).
 */
const atOnce = 64

export interface TimerDeps {
  readonly engine: Engine
  readonly finder: WorkFinder
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  readonly gate?: Gate | undefined
}

export function createTimerWorker({ engine, finder, findMerchant, gate = openGate }: TimerDeps): TimerWorker {
  async function runOne(claimed: ClaimedTimer): Promise<void> {
    const { runAt, clockOffsetMs, ...timer } = claimed
    const leave = gate(timer.merchantId)
    if (!leave) return
    try {
      const known = await findMerchant(timer.merchantId)
      if (!known) throw new Error(`the timer belongs to the unknown merchant ${timer.merchantId}`)
      // The merchant may have been cached before its clock was moved.
      const merchant = { ...known, clockOffsetMs }
      const at = new Date(runAt.getTime() + clockOffsetMs)
      await work[timer.kind]({ timer, merchant, at }, engine)
    } catch (error) {
      const { payId, xId, kind } = timer
      engine.onAlarm({
        code: 'TIMER_FAILED',
        message: `a timer of the kind ${kind} failed; it will be tried again`,
        payId,
        xId,
        error,
      })
    } finally {
      leave()
    }
  }

  const underWay = new Set<Promise<number>>()

  function runDue(merchantId?: MerchantId): Promise<number> {
    const round = runRound(merchantId)
    underWay.add(round)
    return round.finally(() => underWay.delete(round))
  }

  async function runRound(merchantId?: MerchantId): Promise<number> {
    const now = new Date(engine.clock.nowMs())
    const claimed = await finder.claimTimers({ now, limit: chunk, leaseMs, merchantId })
    const byPayment = Map.groupBy(
      claimed.toSorted((a, b) => a.runAt.getTime() - b.runAt.getTime()),
      timer => timer.payId,
    )
    const waiting = byPayment.values()
    // A merchant whose test clock is moved waits for all of them.
    const mayStart = () => merchantId !== undefined || engine.clock.nowMs() - now.getTime() < startWithinMs
    const runWaiting = async () => {
      for (const timers of waiting) for (const timer of timers) if (mayStart()) await runOne(timer)
    }
    await Promise.all(Array.from({ length: atOnce }, runWaiting))
    return claimed.length
  }

  return {
    runDue,
    async runAllDue() {
      if ((await runDue()) < chunk) return
      // More is due than one round takes: run two rounds at a time, so that none waits for the slowest timer of
      // another.
      const drain = async () => {
        while ((await runDue()) === chunk);
      }
      await Promise.all([drain(), drain()])
    },
    async finishRounds() {
      await Promise.allSettled(underWay)
    },
  }
}
