/** Writes a change of a plan together with its event, in one commit with the payment that the event names. */
import type { EventType } from '#domain/event-types.ts'
import { lastOperation } from '#lifecycle/payment.ts'
import type { Plan } from '#lifecycle/plans/plan.ts'
import type { Engine } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Change, Committed } from '#storage/commit/change.ts'

export interface PlanEvent {
  readonly type: EventType
  /** The event must be sent, because no request of the merchant was answered with this result. */
  readonly owed: boolean
  readonly now: Date
}

/** The event belongs to the plan's initial payment and names no operation. */
export async function commitWithPlanEvent(
  plan: Pick<Plan, 'merchantId' | 'initialPayId'>,
  change: Change,
  { event, engine }: { event: PlanEvent; engine: Pick<Engine, 'queue' | 'commit' | 'newId' | 'endpoints'> },
): Promise<Committed> {
  const { merchantId, initialPayId: payId } = plan
  const { type, owed, now } = event
  if (!owed) await engine.endpoints.refresh()
  if (!owed && !engine.endpoints.wants(merchantId, type)) return engine.commit(change)
  try {
    const done = await engine.queue.update({ merchantId, payId }, payment => {
      const subject = { type, xId: lastOperation(payment).xId }
      const emitted = emitEvent(payment, { subject, owed, now }, engine)
      const next = { ...emitted.payment, version: payment.version + 1 }
      return { next, alongside: { ...change, ...emitted.alongside }, result: true }
    })
    // Every plan was created by its initial payment.
    if (!done) throw new Error(`payment ${payId}, which began a plan, does not exist any more`)
    return { committed: true }
  } catch (error) {
    if (!(error instanceof CommitRefused)) throw error
    return { committed: false, conflict: error.conflict }
  }
}
