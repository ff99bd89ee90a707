/** Writes events: sequence number and row are part of the commit of the change that the event reports. */

import type { EventType } from '#domain/event-types.ts'
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { addressMax } from '#domain/text.ts'
import { type EventSubject, raiseEvent, sampleMembers } from '#lifecycle/event.ts'
import { lastOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { withoutOperation } from '#schemas/event-body.ts'
import type { Change, EventRow } from '#storage/commit/change.ts'

/** An event and whether it must be sent. */
export interface Emission {
  readonly subject: EventSubject
  /** No response has shown this result, so the event also goes to the webhook address of the payment or merchant. */
  readonly owed: boolean
}

/** An event that is neither owed nor wanted by a webhook endpoint is not stored. */
export function emitEvents(
  payment: Payment,
  { emissions, now }: { emissions: readonly Emission[]; now: Date },
  { newId, endpoints }: Pick<Engine, 'newId' | 'endpoints'>,
): { readonly payment: Payment; readonly alongside: Pick<Change, 'events'> } {
  let current = payment
  const events: EventRow[] = []
  const wanted = emissions.filter(
    ({ subject, owed }) => owed || endpoints.wants(payment.merchantId, subject.type),
  )
  // Lists are ordered by id, and ids made within the same millisecond are in no particular order.
  const eventIds = wanted.map(newId).sort()
  for (const [index, { subject, owed }] of wanted.entries()) {
    const raised = raiseEvent(current, subject)
    const { merchantId, payId } = payment
    const url = webhookOf(payment)
    events.push({
      ...raised.event,
      merchantId,
      payId,
      eventId: eventIds[index] ?? newId(),
      url,
      owed,
      createdAt: now,
    })
    current = raised.payment
  }
  return { payment: current, alongside: events.length > 0 ? { events } : {} }
}

export const emitEvent = (
  payment: Payment,
  { now, ...emission }: Emission & { now: Date },
  engine: Pick<Engine, 'newId' | 'endpoints'>,
) => emitEvents(payment, { emissions: [emission], now }, engine)

/**
 * The webhook address in the request that created the payment. An earlier release stored longer ones than an event may have;
 * their events go to the merchant's own address, because without its event a result could not be stored.
 */
function webhookOf({ details }: Payment): string | undefined {
  const webhook = details.urls?.webhook
  return typeof webhook === 'string' && webhook.length <= addressMax ? webhook : undefined
}

/**
 * Writes a sample event of any type, so that receivers can be tried out in the test environment. Apart from its counter
 * of events, the payment stays unchanged. Returns undefined if the merchant has no such payment.
 */
export async function writeSampleEvent(
  { merchant, payId, type }: { merchant: Merchant; payId: PayId; type: EventType },
  engine: Engine,
): Promise<string | undefined> {
  const { merchantId } = merchant
  const now = merchantNow(engine.clock, merchant)
  return engine.queue.update({ merchantId, payId }, payment => {
    const operation = lastOperation(payment)
    const members = sampleMembers(type)
    const about = withoutOperation.includes(type) ? {} : { operation }
    const subject = { type, xId: operation.xId, members, ...about }
    const emitted = emitEvent(payment, { subject, owed: true, now }, engine)
    const [event] = emitted.alongside.events ?? []
    return {
      next: { ...emitted.payment, version: payment.version + 1 },
      alongside: emitted.alongside,
      result: event?.eventId ?? '',
    }
  })
}
