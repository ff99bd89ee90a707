/** Writes the merchant's events: sequence number and row are part of the commit of the change that they report. */
import { type EventSubject, raiseEvent } from '#lifecycle/event.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import type { Change, EventRow } from '#storage/commit/change.ts'

/** An event that is sent to all who want it. */
export interface Emission {
  readonly subject: EventSubject
  /** No request was answered with this result, so the event goes to the payment's or merchant's own address too. */
  readonly owed: boolean
}

/** What is neither owed nor wanted by an added endpoint is not written. */
export function emitEvents(
  payment: Payment,
  { emissions, now }: { emissions: readonly Emission[]; now: Date },
  { newId, endpoints }: Pick<Engine, 'newId' | 'endpoints'>,
): { readonly payment: Payment; readonly alongside: Pick<Change, 'events'> } {
  let told = payment
  const events: EventRow[] = []
  const wanted = emissions.filter(
    ({ subject, owed }) => owed || endpoints.wants(payment.merchantId, subject.type),
  )
  // Lists are ordered by the id, and ids made within one millisecond come in any order.
  const eventIds = wanted.map(newId).sort()
  for (const [index, { subject, owed }] of wanted.entries()) {
    const raised = raiseEvent(told, subject)
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
    told = raised.payment
  }
  return { payment: told, alongside: events.length > 0 ? { events } : {} }
}

export const emitEvent = (
  payment: Payment,
  { now, ...emission }: Emission & { now: Date },
  engine: Pick<Engine, 'newId' | 'endpoints'>,
) => emitEvents(payment, { emissions: [emission], now }, engine)

/** The address that the payment was created with. */
function webhookOf({ details }: Payment): string | undefined {
  const urls = details.urls
  return typeof urls?.webhook === 'string' ? urls.webhook : undefined
}
