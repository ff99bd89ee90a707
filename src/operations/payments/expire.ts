/** Timers that end payments: an authorisation lapses, or a customer does not come back. One commit, with its event. */
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

/** The provider has ended the authorisation before its time here. Returns whether there was something left to lapse. */
export async function lapseAtProvider(
  { merchant, payment: { merchantId, payId } }: { readonly merchant: Merchant; readonly payment: Payment },
  engine: Engine,
): Promise<boolean> {
  const isLapsed = await engine.queue.update({ merchantId, payId }, stored => {
    const now = merchantNow(engine.clock, merchant)
    const next = lapse({ ...stored, authorizationExpiresAt: now }, now)
    if (!next) return { result: false }
    const subject = lapseSubject(stored, next, approvingOperation(stored).xId)
    const emitted = emitEvent(next, { subject, owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, result: true }
  })
  return isLapsed === true
}

export async function expirePayment(due: DueTimer, engine: Engine): Promise<void> {
  const { merchantId, payId } = due.timer
  const payment = await engine.payments.byPayId(merchantId, payId)
  // A page of a provider is ended first: money that arrives after the end would have to be given back.
  if (payment?.provider && payment.expiresAt && payment.expiresAt.getTime() <= due.at.getTime()) {
    await endAction({ merchant: due.merchant, payment }, engine)
  }
  await end(
    due,
    {
      rule: expireRequest,
      deadline: stored => stored.expiresAt,
      // The last try shows how the request ended.
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
  /** The customer has opened a page at a provider meanwhile, which must be ended first. */
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
    // The authorisation was prolonged meanwhile: come back then.
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
