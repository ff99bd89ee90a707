/**
 * Runs what is due: inquiries, delayed captures, lapses, expiries, charges of plans, returns. Timers of one payment run
 * in the order of their times, those of different payments side by side; a failure is reported, and its timer becomes
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

/** Sets the timer for the end of the wait, as the same try. Returns false where the provider may be asked now. */
async function postpone({ timer, merchant }: DueTimer, engine: Engine): Promise<boolean> {
  const { attempt, ...key } = timer
  const payment = await engine.payments.byPayId(key.merchantId, key.payId)
  const operation = payment && findOperation(payment, key.xId)
  const accountId = operation?.prepared.account ?? payment?.provider?.account
  const account = payment && (await engine.providers.open(key.merchantId, accountId))
  const waitMs = account?.waitMs?.() ?? 0
  if (waitMs === 0) return false
  // From now on: a timer may run long after the time that it was set for.
  const time = new Date(merchantNow(engine.clock, merchant).getTime() + waitMs)
  const alongside = { setTimers: [timerAt(key, time, merchant, attempt)] }
  return (await engine.queue.update(key, () => ({ alongside, result: true }))) ?? false
}

/** The same work, but not while its provider wants to be left alone. */
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
  PLAN: runPlan,
  ANNOUNCE: announceDebit,
  APPROVE: approveDebit,
  GIVE_BACK: unlessAskedToWait(giveBackDue),
  // Its time lies thousands of years ahead: the row is the queue for the next file to the bank.
  BATCH: async () => undefined,
}

export interface TimerWorker {
  /** Runs one round of what is due now, for one merchant or for all, and returns how much that was. */
  runDue(merchantId?: MerchantId): Promise<number>
  /** Runs rounds until one finds less than it could take: a thousand plans that are due at midnight do not wait their turn. */
  runAllDue(): Promise<void>
  /**
   * Resolves when the rounds that are under way now have ended. A timer is gone from the table while what it began still
   * waits for its provider, so an empty table alone does not say that all is done.
   */
  finishRounds(): Promise<void>
}

/** 60 s: longer than an inquiry may take; after a crash the timer is visible again. */
const leaseMs = 60_000

/** 200: enough to keep the database busy, few enough to finish within a lease. */
const chunk = 200

/**
 * 64: two batches of commits. All of a round at once would queue for the few connections and time out: on a busy
 * machine plans missed their time because of that (seen).
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
      // The cached merchant may be from before its clock was moved, here or by another process.
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
    const runWaiting = async () => {
      for (const timers of waiting) for (const timer of timers) await runOne(timer)
    }
    await Promise.all(Array.from({ length: atOnce }, runWaiting))
    return claimed.length
  }

  return {
    runDue,
    async runAllDue() {
      if ((await runDue()) < chunk) return
      // There is more than one round can take: two at a time, so that the next round does not wait for the last timer of this one.
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
