/**
 * The second commit of every operation: what the provider said becomes sums, status, the key's stored answer, the next
 * inquiry and, when the merchant has already been answered, an event. Used by the request itself and by the worker.
 */
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { raiseEvent } from '#lifecycle/event.ts'
import { inquiryTime } from '#lifecycle/inquiry.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, isUnanswered, type Operation, type Payment } from '#lifecycle/payment.ts'
import { settle, settleAutomaticCapture } from '#lifecycle/settle.ts'
import { answerOperation, type OperationAnswer } from '#operations/answer.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { Step } from '#operations/payment-queue.ts'
import type { EventRow, Timer } from '#storage/change.ts'

export interface OutcomeRecord {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly xId: XId
  readonly outcome: AuthorizationOutcome | Outcome
  /** Number of the inquiry this outcome came from; undefined while the merchant still waits for its answer. */
  readonly inquiry?: number
}

export async function recordOutcome(record: OutcomeRecord, engine: Engine): Promise<OperationAnswer> {
  const { merchant, payment, xId } = record
  const answer = await engine.queue.update(
    { merchantId: payment.merchantId, payId: payment.payId, known: payment },
    stored => toStep(stored, record, engine),
  )
  if (!answer)
    throw new Error(`payment ${payment.payId} of ${merchant.merchantId} vanished while ${xId} was under way`)
  return answer
}

function toStep(stored: Payment, record: OutcomeRecord, engine: Engine): Step<OperationAnswer> {
  const { merchant, xId, inquiry } = record
  const before = findOperation(stored, xId)
  // Somebody else, here or in another process, was faster: the first answer stands.
  if (!before || !isUnanswered(before)) return { result: answerOperation(stored, xId) }
  const now = merchantNow(engine.clock, merchant)
  const settled = settleAll(stored, xId, record.outcome, now)
  const touched = settled.operations.filter(operation => !stored.operations.includes(operation))
  const decided = touched.some(operation => !isUnanswered(operation))
  const told =
    inquiry !== undefined && decided ? raiseEvent(settled, xId) : { payment: settled, event: undefined }
  const answer = answerOperation(told.payment, xId)
  const events: EventRow[] = told.event
    ? [
        {
          ...told.event,
          merchantId: stored.merchantId,
          payId: stored.payId,
          eventId: engine.newId(),
          createdAt: now,
        },
      ]
    : []
  return {
    next: told.payment,
    alongside: {
      ...(events.length > 0 ? { events } : {}),
      ...timerWrites(touched, record),
      // A retry of the request gets what the first call would have said.
      ...(before.key && before.state === 'SENT'
        ? { keyAnswer: { merchantId: stored.merchantId, ...before.key, answer } }
        : {}),
    },
    result: answer,
  }
}

function settleAll(payment: Payment, xId: XId, outcome: AuthorizationOutcome | Outcome, now: Date): Payment {
  if ('kind' in outcome) return settle(payment, xId, outcome, now)
  const authorized = settle(payment, xId, outcome.authorization, now)
  return outcome.capture && authorized.status === 'AUTHORIZED'
    ? settleAutomaticCapture(authorized, xId, outcome.capture, now)
    : authorized
}

/** Undecided operations get their next inquiry; decided ones that had been waiting need no more. */
function timerWrites(touched: readonly Operation[], { merchant, payment, inquiry }: OutcomeRecord) {
  const key = { merchantId: payment.merchantId, payId: payment.payId, kind: 'INQUIRY' as const }
  const setTimers: Timer[] = []
  const dropTimers: Omit<Timer, 'runAt' | 'attempt'>[] = []
  for (const operation of touched) {
    const attempt = inquiry === undefined ? 0 : inquiry + 1
    const time = isUnanswered(operation) ? inquiryTime(operation.createdAt, attempt) : undefined
    // The timer runs in real time; the merchant's clock is ahead of it by the offset.
    if (time) {
      const runAt = new Date(time.getTime() - merchant.clockOffsetMs)
      setTimers.push({ ...key, xId: operation.xId, runAt, attempt })
    } else if (inquiry !== undefined) dropTimers.push({ ...key, xId: operation.xId })
  }
  return { ...(setTimers.length > 0 ? { setTimers } : {}), ...(dropTimers.length > 0 ? { dropTimers } : {}) }
}
