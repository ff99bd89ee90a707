/**
 * Ends the open page at a provider before a payment is cancelled or continues in another way, so that no page is left
 * on which the customer could still pay. If the page turns out to be paid, the payment continues as paid.
 */
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import { abandonTry } from '#lifecycle/customer-step.ts'
import { type Operation, openTry, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { verifyBoth } from '#operations/payments/authorize.ts'
import { callProvider } from '#operations/payments/provider-calls/call-provider.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'

/**
 * `ended`: the page can no longer be paid. `paid`: it was paid, and the payment is recorded so. `unknown`: it may still
 * be paid.
 */
export type EndedAction = 'ended' | 'paid' | 'unknown'

export interface OpenAction {
  readonly merchant: Merchant
  readonly payment: Payment
}

/** The try whose customer was sent to a provider account and may still pay there. */
function tryAtProvider(payment: Payment): Operation | undefined {
  const waiting = openTry(payment)
  return waiting?.prepared.step !== undefined && waiting.prepared.account !== undefined ? waiting : undefined
}

/** Whether the customer has opened another page since `seen` was read. That page is not ended yet. */
export function hasOtherPage(stored: Payment, seen: Payment): boolean {
  const [waiting, before] = [tryAtProvider(stored), tryAtProvider(seen)]
  return (
    waiting !== undefined &&
    (waiting.xId !== before?.xId || waiting.prepared.attempt !== before.prepared.attempt)
  )
}

/** A payment without an open page at a provider account is `ended` at once. */
export async function endAction({ merchant, payment }: OpenAction, engine: Engine): Promise<EndedAction> {
  const waiting = tryAtProvider(payment)
  if (!waiting) return 'ended'
  const account = await engine.providers.open(payment.merchantId, waiting.prepared.account)
  if (!account) return 'unknown'
  const { connector, waitMs } = account
  const inquiry = toInquiry(payment, waiting)
  const question = { operation: waiting.type, reference: waiting.xId, amount: inquiry.amount }
  const context = { question, timeoutMs: connector.facts.timeoutMs, waitMs, engine }
  const ask = (ask: (signal: AbortSignal) => Promise<AuthorizationOutcome>): Promise<AuthorizationOutcome> =>
    callProvider(
      { ask: (_, signal) => ask(signal), outcomeOf: answer => answer.authorization, withoutAnswer: unknown },
      context,
    )
  const { cancelAction, inquire } = connector
  const cancelled = cancelAction
    ? await ask(async signal => ({ authorization: await cancelAction(inquiry, signal) }))
    : unknown
  const { kind } = cancelled.authorization
  if (kind === 'declined') return 'ended'
  const captureXId = payment.captureMethod.type === 'AUTOMATIC' ? waiting.details.captureXId : undefined
  const found = inquire ? await ask(signal => inquire(inquiry, signal)) : cancelled
  const outcome = verifyBoth(found, captureXId, context)
  switch (outcome.authorization.kind) {
    case 'approved':
      await recordOutcome({ merchant, payment, xId: waiting.xId, outcome, inquiry: 0 }, engine)
      return 'paid'
    case 'declined':
      return 'ended'
    default:
      return 'unknown'
  }
}

const unknown: AuthorizationOutcome = { authorization: { kind: 'unknown' } }

/**
 * Ends the open try so that another one may follow. Returns undefined if it turned out to be paid, or cannot be ended.
 */
export async function leaveTry(
  { merchant, payment }: OpenAction,
  engine: Engine,
): Promise<Payment | undefined> {
  const waiting = tryAtProvider(payment)
  if (!waiting) return payment
  if ((await endAction({ merchant, payment }, engine)) !== 'ended') return undefined
  const { merchantId, payId } = payment
  return engine.queue.update({ merchantId, payId }, stored => {
    const now = merchantNow(engine.clock, merchant)
    const next = abandonTry(stored, waiting.xId, now)
    return next ? { next, result: next } : { result: undefined }
  })
}
