/** Timers that end payments: an authorisation lapses, or the customer's deadline passes. One commit, with its event. */
import type { Merchant } from '#domain/merchant.ts'
import { type EventSubject, endingSubject, lapseSubject } from '#lifecycle/event.ts'
import { type Ending, expireRequest, lapse } from '#lifecycle/expiry.ts'
import { approvingOperation, type Payment } from '#lifecycle/payment.ts'
import { giveBackTimers } from '#operations/bank/batch-timers.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { endAction, hasOtherPage } from '#operations/payments/customer-pages/end-action.ts'
import { type DueTimer, timerAt } from '#operations/timer.ts'

export const lapseAuthorization = (due: DueTimer, engine: Engine): Promise<void> =>
  end(
    due,
    {
      rule: (payment, { now }) => lapse(payment, now),
      deadline: payment => payment.authorizationExpiresAt,
      // A lapse has no operation of its own; its event names the authorisation.
      subject: (before, after) => lapseSubject(before, after, due.timer.xId),
    },
    engine,
  )

/**
 * Lapses an authorisation that the provider has ended early. `repeated`: nothing was left to lapse. `unmatched`: what is left
 * depends on a capture or reversal without an outcome; if it fails, its amount lapses, so the notice must be tried again.
 */
export async function lapseAtProvider(
  { merchant, payment: { merchantId, payId } }: { readonly merchant: Merchant; readonly payment: Payment },
  engine: Engine,
): Promise<'applied' | 'repeated' | 'unmatched'> {
  const result = await engine.queue.update<'applied' | 'repeated' | 'unmatched'>(
    { merchantId, payId },
    stored => {
      const now = merchantNow(engine.clock, merchant)
      const next = lapse({ ...stored, authorizationExpiresAt: now }, now)
      if (!next)
        return { result: stored.sums.capturing + stored.sums.reversing > 0 ? 'unmatched' : 'repeated' }
      const subject = lapseSubject(stored, next, approvingOperation(stored).xId)
      const emitted = emitEvent(next, { subject, owed: true, now }, engine)
      return { next: emitted.payment, alongside: emitted.alongside, result: 'applied' }
    },
  )
  return result ?? 'unmatched'
}

export async function expirePayment(due: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId } = due.timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  // End a provider's page first: money that arrives after the payment's end would have to be given back.
  if (payment?.provider && payment.expiresAt && payment.expiresAt.getTime() <= due.at.getTime()) {
    await endAction({ merchant: due.merchant, payment }, engine)
  }
  await end(
    due,
    {
      rule: expireRequest,
      deadline: stored => stored.expiresAt,
      // The event names the last try.
      subject: (_, after) => endingSubject(after, due.at),
      isMoved: stored => payment !== undefined && hasOtherPage(stored, payment),
    },
    engine,
  )
}

interface Deadline {
  readonly rule: (payment: Payment, ending: Ending) => Payment | undefined
  readonly deadline: (payment: Payment) => Date | undefined
  readonly subject: (before: Payment, after: Payment) => EventSubject
  /** Whether the customer has opened another page at a provider, which must be ended first. */
  readonly isMoved?: (stored: Payment) => boolean
}

async function end(
  { timer, merchant, at }: DueTimer,
  { rule, deadline, subject, isMoved }: Deadline,
  engine: Engine,
): Promise<void> {
  const { merchantId, payId } = timer
  const ending = { now: at, xId: newXId(engine) }
  await engine.queue.update({ merchantId, payId }, payment => {
    const until = deadline(payment)
    // The deadline has been moved since the timer was set: run again at the new one.
    if (until && until.getTime() > at.getTime()) {
      return { alongside: { setTimers: [timerAt(timer, until, merchant)] }, result: true }
    }
    if (isMoved?.(payment)) return { alongside: { setTimers: [timerAt(timer, at, merchant)] }, result: true }
    const ended = rule(payment, ending)
    if (!ended) return { alongside: { dropTimers: [timer] }, result: true }
    const emitted = emitEvent(ended, { subject: subject(payment, ended), owed: true, now: at }, engine)
    const setTimers = giveBackTimers(ended)
    return {
      next: emitted.payment,
      alongside: {
        ...emitted.alongside,
        dropTimers: [timer],
        ...(setTimers.length > 0 ? { setTimers } : {}),
      },
      result: true,
    }
  })
}
