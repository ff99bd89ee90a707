/**
 * Runs due timers: inquiries, delayed captures, lapses, expiries, charges of plans, returns. Timers of one payment run
 * in the order of their times, those of different payments in parallel; those of one provider account have a few places
 * (timer-places.ts). A failure is reported, and its timer becomes due again after the lease.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation } from '#lifecycle/payment.ts'
import { announceDebit, approveDebit } from '#operations/bank/collect-debit.ts'
import { lookForDispute } from '#operations/disputes/look-for-dispute.ts'
import { type Engine, effectTime, merchantNow } from '#operations/engine.ts'
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
import { createPump } from '#workers/deliver.ts'
import { atOnce, createTimerPlaces, startWithinMs } from '#workers/timer-places.ts'

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
  /** Claims and starts due timers. Does not wait for them, so that a provider that hangs does not delay others. */
  wake(): void
  /** Runs one round of due timers, for one merchant or for all, waits for them and returns their number. */
  runDue(merchantId?: MerchantId): Promise<number>
  /**
   * Waits for the timers that are running, of one merchant or of all, and returns how many there were. A timer is deleted
   * before its provider call has ended, so an empty table does not mean that all work is done.
   */
  finish(merchantId?: MerchantId): Promise<number>
  /** Starts no more timers, and waits for those that are running. */
  stop(): Promise<void>
}

/** 60 s: longer than a provider call; after a crash the timer is due again. Running a timer twice has one effect. */
const leaseMs = 60_000

/** 200: enough to keep the database busy, few enough to finish within a lease unless providers are slow. */
const chunk = 200

export interface TimerDeps {
  readonly engine: Engine
  readonly finder: WorkFinder
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  readonly gate?: Gate | undefined
  /** Called when timers could not be claimed; the next poll tries again. */
  readonly onError: (error: unknown) => void
}

/** Returns the function that runs one timer. It never rejects. */
function createRun({ engine, findMerchant, gate = openGate }: TimerDeps) {
  return async (claimed: ClaimedTimer): Promise<void> => {
    const { merchantId, payId, xId, kind, attempt, runAt, clockOffsetMs } = claimed
    const leave = gate(merchantId)
    if (!leave) return
    try {
      const known = await findMerchant(merchantId)
      if (!known) throw new Error(`the timer belongs to the unknown merchant ${merchantId}`)
      // The merchant may have been cached before its clock was moved.
      const merchant = { ...known, clockOffsetMs }
      const dueAt = new Date(runAt.getTime() + clockOffsetMs)
      const at = effectTime(engine, merchant, dueAt)
      await work[kind]({ timer: { merchantId, payId, xId, kind, attempt }, merchant, dueAt, at }, engine)
    } catch (error) {
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
}

export function createTimerWorker(deps: TimerDeps): TimerWorker {
  const { engine, finder, onError } = deps
  const run = createRun(deps)
  const nowMs = () => engine.clock.nowMs()
  const rounds = new Set<{ readonly merchantId: MerchantId | undefined; readonly done: Promise<number> }>()
  let stopped = false
  let isMoreDue = false

  const claim = (merchantId?: MerchantId) =>
    finder.claimTimers({ now: new Date(nowMs()), limit: chunk, leaseMs, merchantId })

  const wake = createPump({ run: claimMore, isStopped: () => stopped, onError })
  const places = createTimerPlaces({ run, nowMs, onEnd: () => isMoreDue && wake() })

  /** A full claim is followed by the next one, so that a thousand plans due at midnight do not wait for the next poll. */
  async function claimMore(): Promise<void> {
    if (!places.hasRoom()) return
    // Leases count from here: a process that is frozen while it claims must not run timers that others have by now.
    const claimedMs = nowMs()
    const claimed = await claim()
    places.take(claimed, claimedMs)
    isMoreDue = claimed.length === chunk
    if (isMoreDue) wake()
  }

  async function runRound(merchantId?: MerchantId): Promise<number> {
    const begunMs = nowMs()
    const claimed = await claim(merchantId)
    const byPayment = Map.groupBy(
      claimed.toSorted((a, b) => a.runAt.getTime() - b.runAt.getTime()),
      timer => timer.payId,
    )
    const waiting = byPayment.values()
    // A merchant whose test clock is moved waits for all of them.
    const mayStart = () => merchantId !== undefined || nowMs() - begunMs < startWithinMs
    const runWaiting = async () => {
      for (const timers of waiting) for (const timer of timers) if (mayStart()) await run(timer)
    }
    await Promise.all(Array.from({ length: atOnce }, runWaiting))
    return claimed.length
  }

  return {
    wake,
    runDue(merchantId) {
      const done = runRound(merchantId)
      const round = { merchantId, done }
      rounds.add(round)
      return done.finally(() => rounds.delete(round))
    },
    async finish(merchantId) {
      const mine = [...rounds].filter(
        round => merchantId === undefined || [undefined, merchantId].includes(round.merchantId),
      )
      const inRounds = mine.map(({ done }) => done.catch(() => 0))
      const counts = await Promise.all([...inRounds, places.finish(merchantId)])
      return counts.reduce((sum, count) => sum + count, 0)
    },
    async stop() {
      stopped = true
      await places.stop()
    },
  }
}
