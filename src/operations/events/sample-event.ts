/** Writing an event of any type about a payment although nothing happened, so that receivers can be tried out in test. */
import type { EventType } from '#domain/event-types.ts'
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { sampleMembers } from '#lifecycle/event.ts'
import { lastOperation } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'

/** The payment itself stays as it is. Undefined: the merchant has no such payment. */
export async function writeSampleEvent(
  { merchant, payId, type }: { merchant: Merchant; payId: PayId; type: EventType },
  engine: Engine,
): Promise<string | undefined> {
  const { merchantId } = merchant
  const now = merchantNow(engine.clock, merchant)
  return engine.queue.update({ merchantId, payId }, payment => {
    const operation = lastOperation(payment)
    const members = sampleMembers(type)
    const isPlans = type === 'plan.completed' || type === 'plan.cancelled'
    const subject = { type, xId: operation.xId, members, ...(isPlans ? {} : { operation }) }
    const emitted = emitEvent(payment, { subject, owed: true, now }, engine)
    const [event] = emitted.alongside.events ?? []
    return {
      next: { ...emitted.payment, version: payment.version + 1 },
      alongside: emitted.alongside,
      result: event?.eventId ?? '',
    }
  })
}
