/** Timers of debits: the announcement, and the approval where the merchant does not wait for the bank. */
import { textAt } from '#domain/json.ts'
import type { EventSubject } from '#lifecycle/event.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'
import type { DueTimer } from '#operations/timer.ts'

/**
 * Sends the merchant the event with the collection date of a debit, so that they can notify their customer
 * (pre-notification).
 */
export async function announceDebit({ timer, at }: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId, xId } = timer
  const dueDay = await engine.debits.dueDay(merchantId, xId)
  await engine.queue.update({ merchantId, payId }, stored => {
    const debit = findOperation(stored, xId)
    // The debit has an outcome by now, so there is nothing left to announce.
    if (debit?.state !== 'PENDING') return { alongside: { dropTimers: [timer] }, result: true }
    const subject = announcement(stored, debit, dueDay)
    const emitted = emitEvent(stored, { subject, owed: true, now: at }, engine)
    return {
      next: { ...emitted.payment, version: stored.version + 1 },
      alongside: { ...emitted.alongside, dropTimers: [timer] },
      result: dueDay !== undefined,
    }
  })
}

/** `dueDay`: set if a batch has moved the debit from the day it was first announced for. */
function announcement(payment: Payment, debit: Operation, dueDay: string | undefined): EventSubject {
  const mandateId = textAt(debit.details.directDebit ?? payment.account, 'mandateId')
  const { dueDate, creditorId } = debit.provider?.fields ?? {}
  const members = { mandateId, creditorId, dueDate: dueDay ?? dueDate }
  return { type: 'debit.announced', xId: debit.xId, operation: debit, members }
}

/**
 * The debit was not returned within the merchant's waiting period, so it is approved. An outcome that a bank file has
 * brought in the meantime takes precedence.
 */
export async function approveDebit({ timer, merchant, at }: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId, xId } = timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  const capture = payment && findOperation(payment, xId)
  if (payment && capture) {
    const echo = { reference: xId, amount: { value: capture.amount, currency: payment.amount.currency } }
    const outcome: Outcome = { kind: 'approved', provider: { ...capture.provider, echo } }
    await recordOutcome({ merchant, payment, xId, outcome, at, unattended: true }, engine)
  }
  await engine.commit({ dropTimers: [timer] })
}
