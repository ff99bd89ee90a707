/**
 * Tracks the operations that this process has recorded as SENT, and whether it may still send them. While this process
 * is cut off from the database, others may take its operations over; and a commit without an answer may be written long
 * after its request was answered 503. In both cases recovery asks the provider about the operation. If it were sent
 * after that inquiry, an approval would be overlooked.
 */
import type { XId } from '#domain/ids.ts'
import type { Clock } from '#operations/engine.ts'
import { DatabaseSilent } from '#storage/breaker.ts'
import { type Change, type Committed, CommitUnknown, type OperationWrite } from '#storage/commit/change.ts'
import { isNeverSent } from '#storage/database.ts'
import type { Orphan } from '#storage/payments/unanswered.ts'

export interface Sendings {
  /** False if another process may have taken the operation over, or `listDoubtful` has returned it. */
  maySend(xId: XId): boolean
  /** Forgets an operation whose provider call has ended. */
  end(xId: XId): void
  /**
   * Operations whose commit may still be written although their requests have given up. From then on they are never
   * sent.
   */
  listDoubtful(): readonly Orphan[]
  /** The operation is not in the database. It is listed for 30 s more, because its commit may be late. */
  miss(xId: XId): void
}

export interface Standing {
  /** False while the last heartbeat of this process is too old. */
  readonly isAlive: () => boolean
  /** How often the heartbeat was so old that other processes may have taken over. */
  readonly countInterruptions: () => number
}

interface Sending extends Orphan {
  /** The count of interruptions before the first of its commits that may have succeeded. */
  readonly begunIn: number
  /** Set while it is unknown whether the commit was written. */
  readonly doubtfulSinceMs?: number
  readonly missedSinceMs?: number
  readonly isGivenUp?: boolean
}

/** 10 s: by then the request has either found its commit or given up; it tries for 6 s. */
const doubtfulAfterMs = 10_000

/**
 * 30 s: a database that is back executes the statements it had received within seconds; none may take longer than 10 s.
 */
const missedForMs = 30_000

/** 10,000: far more than are ever under way. Only operations whose request failed before its call stay in the map. */
const sendingsMax = 10_000

type Commit = (change: Change) => Promise<Committed>

/** Returns the sendings, and a `commit` that keeps track of them. */
export function createSendings(
  write: Commit,
  { isAlive, countInterruptions, nowMs }: Standing & Pick<Clock, 'nowMs'>,
): { readonly sendings: Sendings; readonly commit: Commit } {
  const sendings = new Map<XId, Sending>()

  function change(xId: XId, to: Partial<Sending>): void {
    const known = sendings.get(xId)
    if (known) sendings.set(xId, { ...known, ...to })
  }

  function begin({ payment, operation: { xId } }: OperationWrite, begunIn: number): void {
    if (sendings.has(xId)) return
    const [oldest] = sendings.keys()
    if (oldest !== undefined && sendings.size >= sendingsMax) sendings.delete(oldest)
    sendings.set(xId, { merchantId: payment.merchantId, payId: payment.payId, xId, begunIn })
  }

  async function commitSent(written: Change, sent: readonly OperationWrite[]): Promise<Committed> {
    // Do not record an operation that could not be sent. The caller retries, and the next heartbeat is due by then.
    if (!isAlive()) throw new DatabaseSilent()
    const begunIn = countInterruptions()
    for (const one of sent) begin(one, begunIn)
    const xIds = sent.map(({ operation }) => operation.xId)
    try {
      const committed = await write(written)
      // Earlier commits without an answer were not written, or this one would have been refused.
      if (committed.committed) for (const xId of xIds) change(xId, { begunIn, doubtfulSinceMs: undefined })
      else dropCertain(xIds)
      return committed
    } catch (error) {
      if (isInDoubt(error)) for (const xId of xIds) change(xId, { doubtfulSinceMs: nowMs() })
      else dropCertain(xIds)
      throw error
    }
  }

  /** Forgets operations whose commits, this one and all earlier ones, were certainly not written. */
  function dropCertain(xIds: readonly XId[]): void {
    for (const xId of xIds) if (sendings.get(xId)?.doubtfulSinceMs === undefined) sendings.delete(xId)
  }

  const isOverdue = ({ doubtfulSinceMs }: Sending): boolean =>
    doubtfulSinceMs !== undefined && nowMs() - doubtfulSinceMs >= doubtfulAfterMs

  return {
    commit(written) {
      const sent = sentBy(written)
      return sent.length === 0 ? write(written) : commitSent(written, sent)
    },
    sendings: {
      maySend(xId) {
        const known = sendings.get(xId)
        // From here on the request itself records the outcome.
        change(xId, { doubtfulSinceMs: undefined })
        // Another process may have taken over an operation that is no longer known here, so its inquiry decides.
        return isAlive() && !known?.isGivenUp && known?.begunIn === countInterruptions()
      },
      end: xId => void sendings.delete(xId),
      listDoubtful() {
        const overdue = [...sendings.values()].filter(isOverdue)
        for (const { xId } of overdue) change(xId, { isGivenUp: true })
        return overdue
      },
      miss(xId) {
        const since = sendings.get(xId)?.missedSinceMs ?? nowMs()
        if (nowMs() - since >= missedForMs) sendings.delete(xId)
        else change(xId, { missedSinceMs: since })
      },
    },
  }
}

const isInDoubt = (error: unknown): boolean => error instanceof CommitUnknown && !isNeverSent(error.cause)

const none: readonly OperationWrite[] = []

function sentBy({ insertOperations = none, updateOperations = none }: Change): readonly OperationWrite[] {
  const isSent = ({ operation }: OperationWrite): boolean => operation.state === 'SENT'
  if (!insertOperations.some(isSent) && !updateOperations.some(isSent)) return none
  return [...insertOperations, ...updateOperations].filter(isSent)
}
