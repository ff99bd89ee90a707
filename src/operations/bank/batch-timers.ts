/**
 * The queue for the next file to a bank: one `BATCH` timer per pending operation, and an `ANNOUNCE` timer for each
 * debit. A payment that ended after a partial transfer is queued too, so that the money is paid back.
 */
import type { Connector } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { endedAfterReceipt } from '#lifecycle/receive.ts'
import { timerAt } from '#operations/timer.ts'
import { queueTime } from '#storage/bank/batches.ts'
import type { Timer } from '#storage/commit/change.ts'

const batchedTypes: ReadonlySet<string> = new Set(['CAPTURE', 'REFUND', 'CREDIT'])

/**
 * Whether the operation goes into the next file. Its outcome comes from the bank's files only, never from an inquiry.
 */
export const waitsForFile = ({ type, state }: Operation, connector: Connector | undefined): boolean =>
  connector?.facts.batched === true && state === 'PENDING' && batchedTypes.has(type)

/** The timer that pays back a partial transfer when its payment has just ended; none if no money has arrived. */
export function giveBackTimers(ended: Payment): readonly Timer[] {
  const received = endedAfterReceipt(ended)
  if (!received) return []
  const { merchantId, payId } = ended
  return [{ merchantId, payId, xId: received.xId, kind: 'BATCH', runAt: queueTime, attempt: 0 }]
}

export function batchTimers(
  change: {
    readonly before: Payment
    readonly payment: Payment
    readonly touched: readonly Operation[]
    readonly merchant: Merchant
  },
  connector: Connector | undefined,
): readonly Timer[] {
  const { before, payment, touched, merchant } = change
  const { merchantId, payId } = payment
  return touched
    .filter(
      operation =>
        waitsForFile(operation, connector) && findOperation(before, operation.xId)?.state !== 'PENDING',
    )
    .flatMap(({ xId, type, updatedAt }) => {
      const key = { merchantId, payId, xId }
      const queued: Timer = { ...key, kind: 'BATCH', runAt: queueTime, attempt: 0 }
      return type === 'CAPTURE'
        ? [queued, timerAt({ ...key, kind: 'ANNOUNCE' }, updatedAt, merchant)]
        : [queued]
    })
}
