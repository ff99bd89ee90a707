/**
 * Serialises writes to a payment within this process: steps on one payment wait for each other, and the payment is kept
 * in memory only while steps wait. Between processes the version guard decides: the loser reads the payment again.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Payment } from '#lifecycle/payment.ts'
import {
  type Change,
  type Committed,
  CommitUnknown,
  type Conflict,
  writesBetween,
} from '#storage/commit/change.ts'
import { isConnectionLost } from '#storage/database.ts'
import type { PaymentReader } from '#storage/payments/payments.ts'

/**
 * The result of a step: the payment's next state, if it changes, the rows to write with it, and the value for the
 * caller.
 */
export interface Step<T> {
  readonly next?: Payment
  readonly alongside?: Omit<
    Change,
    'insertPayment' | 'updatePayment' | 'insertOperations' | 'updateOperations'
  >
  readonly result: T
  /** Takes back what the step did outside the database, such as using up an ordered fault, if its commit is refused. */
  readonly release?: () => Promise<void>
}

export interface PaymentQueue {
  /**
   * Loads the payment, lets the step decide, and commits. The step may run again on a newer state, so it must have no
   * side effects; it may be asynchronous, for example to open the payment's account. Resolves to undefined if the
   * merchant has no such payment.
   */
  update<T>(target: Target, step: StepOf<T>): Promise<T | undefined>
}

export type StepOf<T> = (payment: Payment) => Step<T> | Promise<Step<T>>

export interface Target {
  readonly merchantId: MerchantId
  readonly payId: PayId
  /** The state the caller has just committed, which saves the first read. */
  readonly known?: Payment
}

/** A conflict that another round cannot resolve: another request holds the key or the transId. */
export class CommitRefused extends Error {
  readonly conflict: Conflict

  constructor(conflict: Conflict) {
    super(`not written: ${conflict}`)
    this.conflict = conflict
  }
}

/** 50: when many processes change one payment, each round lets at least one of them through. */
const maximumRounds = 50

/** Retries after a lost connection, while the database restarts: about 6 s in all, then the worker settles the rest. */
export const reconnectDelaysMs = [100, 400, 1_500, 4_000]

/**
 * Guards the payment's version when only its timers are written: a concurrent change may set the same timers, and those
 * must not be overwritten.
 */
const holdFor = (
  { merchantId, payId, version: expectedVersion }: Payment,
  alongside: Change | undefined,
): Pick<Change, 'holdPayment'> =>
  alongside?.dropTimers || alongside?.setTimers ? { holdPayment: { merchantId, payId, expectedVersion } } : {}

/** The steps that wait for one payment. */
interface Line {
  tail: Promise<unknown>
  waiting: number
  payment: Payment | undefined
  /**
   * The number of the last step that was queued when the payment was read or written. It is fresh enough up to that
   * step.
   */
  seenAt: number
  /** For how long the steps in this line have waited for a lost database. */
  waitedMs: number
}

interface Asked<T> {
  readonly target: Target
  readonly step: StepOf<T>
  /** The number of this step in the order in which steps were queued. */
  readonly cameAt: number
  /** The `waitedMs` of the line when this step was queued. */
  readonly waitedBefore: number
}

/**
 * The delays that are left for a step that has waited this long in line while steps before it retried. If each of ten
 * steps waited the whole time, the last would be answered after a minute.
 */
function delaysAfter(waitedMs: number): readonly number[] {
  let sumMs = 0
  return reconnectDelaysMs.filter(delayMs => {
    sumMs += delayMs
    return sumMs > waitedMs
  })
}

const forget = (): undefined => undefined

async function read(
  line: Line,
  { merchantId, payId }: Target,
  { payments, seenAt }: { readonly payments: PaymentReader; readonly seenAt: number },
): Promise<void> {
  line.payment = await payments.byPayId(merchantId, payId)
  line.seenAt = seenAt
}

export function createPaymentQueue(deps: {
  commit: (change: Change) => Promise<Committed>
  payments: PaymentReader
  waitMs: (milliseconds: number) => Promise<void>
}): PaymentQueue {
  const lines = new Map<string, Line>()

  let asked = 0

  async function attempt<T>(line: Line, { target, step, cameAt }: Asked<T>): Promise<T | undefined> {
    for (let round = 0; round < maximumRounds; round += 1) {
      if (!line.payment) await read(line, target, { payments: deps.payments, seenAt: asked })
      const { payment } = line
      if (payment?.merchantId !== target.merchantId) return undefined
      const { next, alongside, result, release } = await step(payment)
      const moved = next !== undefined && next !== payment
      // No version guards a refusal, and another process may have changed the payment before this step was queued.
      if (!moved && line.seenAt < cameAt) {
        line.payment = undefined
        continue
      }
      if (!moved && !alongside) return result
      const writes = moved ? writesBetween(payment, next) : holdFor(payment, alongside)
      const seenAt = asked
      const committed = await deps.commit({ ...writes, ...alongside })
      if (committed.committed) {
        if (moved) Object.assign(line, { payment: next, seenAt })
        return result
      }
      line.payment = undefined
      await release?.()
      if (committed.conflict !== 'version_changed') throw new CommitRefused(committed.conflict)
    }
    throw new Error(
      `payment ${target.payId} was changed by others in each of ${maximumRounds} tries to write it`,
    )
  }

  /**
   * Retries after a lost connection. A commit with an unknown outcome is never repeated blindly: the step runs again on
   * the stored state.
   */
  async function persist<T>(line: Line, request: Asked<T>): Promise<T | undefined> {
    for (const delayMs of delaysAfter(line.waitedMs - request.waitedBefore)) {
      try {
        return await attempt(line, request)
      } catch (error) {
        line.payment = undefined
        if (!(error instanceof CommitUnknown) && !isConnectionLost(error)) throw error
        await deps.waitMs(delayMs)
        line.waitedMs += delayMs
      }
    }
    return attempt(line, request)
  }

  return {
    update(target, step) {
      const id = target.payId
      asked += 1
      const cameAt = asked
      let line = lines.get(id)
      if (!line) {
        line = { tail: Promise.resolve(), waiting: 0, payment: target.known, seenAt: cameAt, waitedMs: 0 }
        lines.set(id, line)
      }
      const mine = line
      mine.waiting += 1
      const request = { target, step, cameAt, waitedBefore: mine.waitedMs }
      const turn = mine.tail.then(() => persist(mine, request))
      // The next in line runs whether or not this one succeeded; the caller still sees the error.
      mine.tail = turn.then(forget, forget)
      return turn.finally(() => {
        mine.waiting -= 1
        if (mine.waiting === 0) lines.delete(id)
      })
    },
  }
}
