/** What time alone does: an authorisation lapses, a customer does not come back. One commit, an event with it. */
import { expireRequest, lapse } from '#lifecycle/expiry.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { tell } from '#operations/event.ts'
import { type DueTimer, timerAt } from '#operations/timer.ts'

export const lapseAuthorization = (due: DueTimer, engine: Engine): Promise<void> =>
  end(due, { rule: lapse, deadline: payment => payment.authorizationExpiresAt }, engine)

export const expirePayment = (due: DueTimer, engine: Engine): Promise<void> =>
  end(due, { rule: expireRequest, deadline: payment => payment.expiresAt }, engine)

interface Ending {
  readonly rule: (payment: Payment, now: Date) => Payment | undefined
  readonly deadline: (payment: Payment) => Date | undefined
}

async function end(
  { timer, merchant, at }: DueTimer,
  { rule, deadline }: Ending,
  engine: Engine,
): Promise<void> {
  const { merchantId, payId, xId } = timer
  await engine.queue.update({ merchantId, payId }, payment => {
    const until = deadline(payment)
    // The authorisation was prolonged meanwhile: come back then.
    if (until && until.getTime() > at.getTime()) {
      return { alongside: { setTimers: [timerAt(timer, until, merchant)] }, result: true }
    }
    const ended = rule(payment, at)
    if (!ended) return { alongside: { dropTimers: [timer] }, result: true }
    const told = tell(ended, { xId, owed: true, now: at }, engine)
    return { next: told.payment, alongside: { ...told.alongside, dropTimers: [timer] }, result: true }
  })
}
