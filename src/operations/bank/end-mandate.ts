/**
 * Ends a mandate: the plan that collects with it is suspended, and the event names the payment whose return or
 * rejection revealed the end.
 */
import { endsMandate } from '#connectors/bank/bank-facts.ts'
import type { XId } from '#domain/ids.ts'
import { findOperation } from '#lifecycle/payment.ts'
import { endPlan, type Plan } from '#lifecycle/plans/plan.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { planTimers } from '#operations/plans/plan-book.ts'
import type { BankItem } from '#storage/bank/items.ts'

/** Does nothing unless the bank's reason ends a mandate. `xId`: the operation that came back with this reason. */
export async function endMandateOf(
  item: BankItem,
  end: { readonly reason: string | undefined; readonly on: string; readonly xId: XId },
  account: BankAccount,
  bank: Bank,
): Promise<void> {
  const { reason, on, xId } = end
  if (item.mandateId === null || reason === undefined || !endsMandate(reason)) return
  await bank.items.endMandate(account, { mandateId: item.mandateId, on, reason })
  await suspendPlanOf(item, xId, account, bank.engine)
}

/** 5 tries: a conflict means that another request is charging or changing the plan, which does not take long. */
const maximumTries = 5

/** Whether the plan can be suspended and still debits this mandate; it may have been moved to another method since. */
const isDebited = ({ status, charged }: Plan, mandateId: string | null): boolean =>
  (status === 'ACTIVE' || status === 'PAUSED' || status === 'PENDING') &&
  (charged === undefined || charged.account?.mandateId?.toUpperCase() === mandateId?.toUpperCase())

async function suspendPlanOf(
  { merchantId, payId, mandateId }: BankItem,
  xId: XId,
  { merchant }: BankAccount,
  engine: Engine,
): Promise<void> {
  for (let tries = 0; tries < maximumTries; tries++) {
    const payment = await engine.payments.byPayId(merchantId, payId)
    const plan = payment?.planId && (await engine.plans.find(merchantId, payment.planId))
    if (!plan || !isDebited(plan, mandateId)) return
    const now = merchantNow(engine.clock, merchant)
    const suspended = endPlan(plan, 'SUSPENDED', now)
    const change = {
      updatePlan: { plan: suspended, expectedVersion: plan.version },
      ...planTimers(suspended, merchant),
    }
    try {
      await engine.queue.update({ merchantId, payId }, stored => {
        // Another entry that reports the same return may have recorded it under its own reference.
        const operation =
          findOperation(stored, xId) ?? stored.operations.findLast(({ type }) => type === 'RETURN')
        const subject = { type: 'plan.suspended', xId: operation?.xId ?? xId, operation } as const
        const emitted = emitEvent(stored, { subject, owed: true, now }, engine)
        const next = { ...emitted.payment, version: stored.version + 1 }
        return { next, alongside: { ...change, ...emitted.alongside }, result: true }
      })
      return
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
    }
  }
  throw new Error(
    `the plan of payment ${payId} could not be suspended, because others changed it at every try`,
  )
}
