/**
 * Ends the open page at a provider before a payment is cancelled or continues in another way: no page may be left
 * behind that could still be paid. If the page turns out to be paid, the payment continues as paid.
 */
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import type { Merchant } from '#domain/merchant.ts'
import { abandonTry } from '#lifecycle/customer-step.ts'
import { openTry, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { verifyBoth } from '#operations/payments/authorize.ts'
import { callProvider } from '#operations/payments/call-provider.ts'
import { toInquiry } from '#operations/payments/payment-context.ts'
import { recordOutcome } from '#operations/payments/record-outcome.ts'

/** `ended`: it can no longer be paid there. `paid`: it is recorded as paid. `unknown`: it may still be paid. */
export type EndedAction = 'ended' | 'paid' | 'unknown'

export interface OpenAction {
  readonly merchant: Merchant
  readonly payment: Payment
}

/** A payment without an open page at a provider account is `ended` at once. */
export async function endAction({ merchant, payment }: OpenAction, engine: Engine): Promise<EndedAction> {
  const waiting = openTry(payment)
  const accountId = waiting?.prepared.account
  if (waiting?.prepared.step === undefined || accountId === undefined) return 'ended'
  const account = await engine.providers.open(payment.merchantId, accountId)
  if (!account) return 'unknown'
  const { connector } = account
  const inquiry = toInquiry(payment, waiting)
  const question = { operation: waiting.type, reference: waiting.xId, amount: inquiry.amount }
  const context = { question, timeoutMs: connector.facts.timeoutMs, engine }
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

/** Ends the open try so that another one may follow; undefined: it turned out to be paid, or cannot be ended. */
export async function leaveTry(
  { merchant, payment }: OpenAction,
  engine: Engine,
): Promise<Payment | undefined> {
  const waiting = openTry(payment)
  if (waiting?.prepared.step === undefined || waiting.prepared.account === undefined) return payment
  if ((await endAction({ merchant, payment }, engine)) !== 'ended') return undefined
  const { merchantId, payId } = payment
  return engine.queue.update({ merchantId, payId }, stored => {
    const now = merchantNow(engine.clock, merchant)
    const next = abandonTry(stored, waiting.xId, now)
    return next ? { next, result: next } : { result: undefined }
  })
}
