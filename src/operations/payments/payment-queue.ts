/**
 * One payment, one writer at a time in this process: steps on a payment wait for each other, and the payment is kept in
 * memory only while somebody waits. Other processes are held off by the version guard: the loser reads the payment again.
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

/** What a step wants: the payment's next state (or none), what else is to be written with it, and its own result. */
export interface Step<T> {
  readonly next?: Payment
  readonly alongside?: Omit<
    Change,
    'insertPayment' | 'updatePayment' | 'insertOperations' | 'updateOperations'
  >
  readonly result: T
}

export interface PaymentQueue {
  /**
   * Loads the payment, lets the step decide, and commits. The step may run again on a newer state, so it must not have
   * effects; it may wait, for example for the account of the payment. Resolves to undefined when the merchant has no
   * such payment.
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

/** After a lost connection the database may be coming back: about 6 s in all, then the worker settles what is left. */
export const reconnectDelaysMs = [100, 400, 1_500, 4_000]

/**
 * A payment that stays as it is, while its timers do not: whoever changes it meanwhile may set the same timers, and those
 * must not be lost.
 */
const holdFor = (
  { merchantId, payId, version: expectedVersion }: Payment,
  alongside: Change | undefined,
): Pick<Change, 'holdPayment'> =>
  alongside?.dropTimers || alongside?.setTimers ? { holdPayment: { merchantId, payId, expectedVersion } } : {}

/** Those who wait for one payment. */
interface Line {
  tail: Promise<unknown>
  waiting: number
  payment: Payment | undefined
  /** How many steps had been asked for when the payment was read or written: it is new enough for all of these. */
  seenAt: number
}

interface Asked<T> {
  readonly target: Target
  readonly step: StepOf<T>
  /** How many steps had been asked for by then. */
  readonly cameAt: number
}

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
      const { next, alongside, result } = await step(payment)
      const moved = next !== undefined && next !== payment
      // No version guards a refusal, and another process may have changed the payment before this step was asked for.
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
      if (committed.conflict !== 'version_changed') throw new CommitRefused(committed.conflict)
    }
    throw new Error(
      `payment ${target.payId} was changed by others in each of ${maximumRounds} tries to write it`,
    )
  }

  /**
   * A commit with an unknown outcome is looked up, not repeated blindly: the step sees the stored state and decides
   * again.
   */
  async function persist<T>(line: Line, request: Asked<T>): Promise<T | undefined> {
    for (const delayMs of reconnectDelaysMs) {
      try {
        return await attempt(line, request)
      } catch (error) {
        line.payment = undefined
        if (!(error instanceof CommitUnknown) && !isConnectionLost(error)) throw error
        await deps.waitMs(delayMs)
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
        line = { tail: Promise.resolve(), waiting: 0, payment: target.known, seenAt: cameAt }
        lines.set(id, line)
      }
      const mine = line
      mine.waiting += 1
      const turn = mine.tail.then(() => persist(mine, { target, step, cameAt }))
      // The next in line runs whether or not this one succeeded; the caller still sees the error.
      mine.tail = turn.then(
        () => undefined,
        () => undefined,
      )
      return turn.finally(() => {
        mine.waiting -= 1
        if (mine.waiting === 0) lines.delete(id)
      })
    },
  }
}
