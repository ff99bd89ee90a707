/**
 * Recovery: settles operations that were sent and never answered, because their process died or was cut off. It does
 * not block requests, and one failure does not stop the others.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import { settleByInquiry } from '#operations/payments/provider-calls/settle-by-inquiry.ts'
import type { Orphan, WorkFinder } from '#storage/payments/unanswered.ts'
import { createTakeOver, type TakeOver } from '#workers/take-over.ts'

export interface SettleWorker extends TakeOver {
  /** Settles operations that were sent before that time and never answered. Returns how many were settled. */
  recover(sentBefore: Date): Promise<number>
  /** Settles operations that a process of an older release, which sends no heartbeats, may have left. */
  recoverAbandoned(): Promise<number>
  /**
   * Settles operations of this process whose commit was in doubt, and which were written after their request had given
   * up.
   */
  settleDoubtful(): Promise<number>
}

/** 90 s: longer than three sends of 20 s and both commits, so we never take over the operation of a live process. */
const abandonedAfterMs = 90_000

/** 200: enough to keep the providers busy, few enough to hold in memory. */
const chunk = 200

export interface SettleDeps {
  readonly engine: Engine
  readonly work: WorkFinder
  readonly findMerchant: (merchantId: MerchantId) => Promise<Merchant | undefined>
  readonly gate?: Gate | undefined
  /** Called when the operations of dead processes could not be read; they are looked for again. */
  readonly onError: (error: unknown) => void
}

export function createSettleWorker({
  engine,
  work,
  findMerchant,
  gate = openGate,
  onError,
}: SettleDeps): SettleWorker {
  const settleOne: SettleOne = async found => {
    const leave = gate(found.merchantId)
    if (!leave) return false
    try {
      const merchant = await findMerchant(found.merchantId)
      if (!merchant) throw new Error(`the operation belongs to the unknown merchant ${found.merchantId}`)
      await settleByInquiry({ ...found, merchant }, engine)
      return true
    } catch (error) {
      engine.onAlarm({
        code: 'SETTLE_FAILED',
        message: 'an unanswered operation could not be settled; it will be tried again',
        xId: found.xId,
        error,
      })
      return false
    } finally {
      leave()
    }
  }

  async function recover(sentBefore: Date): Promise<number> {
    let settled = 0
    for (;;) {
      const orphans = await work.findOrphans({ sentBefore, limit: chunk })
      const results = await Promise.all(orphans.map(orphan => settleOne({ ...orphan, inquiry: 0 })))
      settled += results.filter(Boolean).length
      // The mark is not advanced, so operations that could not be settled now are found again next time.
      if (results.includes(false)) return settled
      if (orphans.length < chunk) break
    }
    // The mark stays 90 s behind: a connection of the dead process may still be committing its last statement.
    await work.advanceMark(new Date(sentBefore.getTime() - abandonedAfterMs))
    return settled
  }

  return {
    recover,

    ...createTakeOver({
      ...{ work, onError, chunk },
      settle: orphan => settleOne({ ...orphan, inquiry: 0 }),
    }),

    settleDoubtful: () => settleDoubtful(settleOne, engine),

    async recoverAbandoned() {
      return recover(new Date((await work.now()).getTime() - abandonedAfterMs))
    },
  }
}

type SettleOne = (found: Orphan & { readonly inquiry: number }) => Promise<boolean>

async function settleDoubtful(settleOne: SettleOne, engine: Engine): Promise<number> {
  const [first, ...others] = engine.sendings.listDoubtful()
  // A process that was cut off must not call providers before its next heartbeat.
  if (!first || !engine.isAlive()) return 0
  // Try one alone first: while the database is unavailable, only one read fails.
  const results = [await settleIfWritten(first, settleOne, engine)]
  for (let next = 0; next < others.length; next += chunk) {
    const some = others.slice(next, next + chunk)
    results.push(...(await Promise.all(some.map(found => settleIfWritten(found, settleOne, engine)))))
  }
  return results.filter(Boolean).length
}

async function settleIfWritten(found: Orphan, settleOne: SettleOne, engine: Engine): Promise<boolean> {
  const { merchantId, payId, xId } = found
  const payment = await engine.payments.byPayId(merchantId, payId)
  if (!payment || findOperation(payment, xId)?.state !== 'SENT') {
    engine.sendings.miss(xId)
    return false
  }
  const isSettled = await settleOne({ merchantId, payId, xId, inquiry: 0 })
  if (isSettled) engine.sendings.end(xId)
  return isSettled
}
