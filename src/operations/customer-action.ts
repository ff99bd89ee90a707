/** What the customer does on a provider's page: approve, decline, turn back, or leave it open. */
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import { cancelRequest } from '#lifecycle/expiry.ts'
import { approvingOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Authorization } from '#operations/authorize.ts'
import { authorize } from '#operations/authorize.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { tell } from '#operations/event.ts'
import type { Step } from '#operations/payment-queue.ts'

export type CustomerAction = 'approve' | 'decline' | 'cancel' | 'pending'

export interface CustomerStep {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly action: CustomerAction
}

/** 05, do not honour: what a provider says when its customer declines. */
const declinedByCustomer = '0305'

type Result = { readonly found: true; readonly authorization?: Authorization }

/** Undefined: the merchant has no such payment. A payment that waits for nobody is left as it is. */
export async function takeCustomerStep(step: CustomerStep, engine: Engine): Promise<Result | undefined> {
  const { merchant, payId } = step
  const result = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, step, engine),
  )
  if (result?.authorization) await authorize(result.authorization, engine)
  return result
}

function begin(payment: Payment, { merchant, action }: CustomerStep, engine: Engine): Step<Result> {
  const now = merchantNow(engine.clock, merchant)
  const waiting = payment.status === 'AUTHORIZE_REQUEST' && payment.awaits === 'CUSTOMER'
  // A customer who left it open may still come back to decide.
  const leftOpen = payment.status === 'PENDING' && payment.awaits === 'CUSTOMER'
  if (!waiting && !leftOpen) return { result: { found: true } }
  const first = approvingOperation(payment)
  switch (action) {
    case 'cancel': {
      const asked = withFirst(payment, { ...first, state: 'AUTHORIZE_REQUEST' }, now)
      const cancelled = cancelRequest({ ...asked, status: 'AUTHORIZE_REQUEST' }, now)
      if (!cancelled) return { result: { found: true } }
      const told = tell(cancelled, { xId: first.xId, owed: true, now }, engine)
      return { next: told.payment, alongside: told.alongside, result: { found: true } }
    }
    case 'pending':
      return {
        next: withFirst(
          payment,
          { ...first, state: 'PENDING', responseCode: providerResultOutstanding },
          now,
        ),
        result: { found: true },
      }
    case 'approve':
      if (first.details.confirmsLater) {
        const next: Payment = { ...payment, awaits: 'CONFIRM', updatedAt: now, version: payment.version + 1 }
        return { next, result: { found: true } }
      }
      return send(payment, merchant, engine)
    case 'decline':
      return send(payment, merchant, engine, declinedByCustomer)
  }
}

/** The customer has decided; now the provider is asked, as for any other payment. */
function send(payment: Payment, merchant: Merchant, engine: Engine, simulationMode?: string): Step<Result> {
  const now = merchantNow(engine.clock, merchant)
  const connector = engine.connectors.find(payment.method)
  if (!connector) return { result: { found: true } }
  const first = approvingOperation(payment)
  const question = {
    operation: 'AUTHORIZATION' as const,
    merchantId: payment.merchantId,
    payId: payment.payId,
    method: payment.method,
    reference: first.xId,
    amount: { value: first.amount, currency: payment.amount.currency },
    simulationMode,
    at: now,
    captureReference: first.details.captureXId,
  }
  const prepared = connector.prepare(question, first.prepared)
  // From here on it is the provider's move: a customer who turns back now could only hide what was approved.
  const next: Payment = {
    ...withFirst(
      payment,
      { ...first, state: 'SENT', responseCode: providerResultOutstanding, prepared },
      now,
    ),
    awaits: undefined,
  }
  const authorization = {
    merchant,
    payment: next,
    connector,
    message: { ...question, prepared },
    unattended: true,
  }
  return { next, result: { found: true, authorization } }
}

const withFirst = (payment: Payment, changed: Operation, now: Date): Payment => ({
  ...payment,
  status: 'PENDING',
  operations: payment.operations.map(operation =>
    operation.xId === changed.xId ? { ...changed, updatedAt: now } : operation,
  ),
  updatedAt: now,
  version: payment.version + 1,
})
