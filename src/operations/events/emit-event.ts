/** Owing the merchant an event: its number in the payment's sequence and its row are written with the state it tells of. */
import type { XId } from '#domain/ids.ts'
import { raiseEvent } from '#lifecycle/event.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import type { Change } from '#storage/commit/change.ts'

export function emitEvent(
  payment: Payment,
  { xId, owed, now }: { xId: XId; owed: boolean; now: Date },
  { newId }: Pick<Engine, 'newId'>,
): { readonly payment: Payment; readonly alongside: Pick<Change, 'events'> } {
  if (!owed) return { payment, alongside: {} }
  const raised = raiseEvent(payment, xId)
  const { merchantId, payId } = payment
  const event = {
    ...raised.event,
    merchantId,
    payId,
    eventId: newId(),
    url: webhookOf(payment),
    createdAt: now,
  }
  return { payment: raised.payment, alongside: { events: [event] } }
}

/** The address that the payment was created with. */
function webhookOf({ details }: Payment): string | undefined {
  const urls = details.urls as { readonly webhook?: unknown } | undefined
  return typeof urls?.webhook === 'string' ? urls.webhook : undefined
}
