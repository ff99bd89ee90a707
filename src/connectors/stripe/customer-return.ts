/** Handles customers who return from Stripe's page, and ends pages that must no longer be paid. */
import type { AuthorizationOutcome, CustomerReturn, Inquiry } from '#connectors/contract.ts'
import type { StripeClient } from '#connectors/stripe/client.ts'
import { fetchIntent, fetchSession, lookUp } from '#connectors/stripe/look-up.ts'
import { cancelledByCustomer } from '#connectors/stripe/translate/declines.ts'
import { readIntent } from '#connectors/stripe/translate/intents.ts'
import { both, declined, readAnswer, unknown } from '#connectors/stripe/translate/outcomes.ts'
import { leftKey, readSession } from '#connectors/stripe/translate/sessions.ts'
import { idAt, textAt } from '#connectors/stripe/translate/wire.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

interface ReturnTools {
  readonly client: StripeClient
  readonly nowMs: () => number
  readonly signal: AbortSignal
}

/** A customer who used the page's cancel link has cancelled. The page is ended, so that it cannot be paid later. */
export async function complete(returned: CustomerReturn, tools: ReturnTools): Promise<AuthorizationOutcome> {
  if (returned.query[leftKey] === undefined) return lookUp(returned, tools)
  const ended = await cancelAction(returned, tools)
  return ended.kind === 'approved' || ended.kind === 'pending' ? lookUp(returned, tools) : both(ended)
}

/**
 * `declined`: the page or intent can no longer be paid. `approved` or `pending`: it is already paid, or is being paid.
 */
export async function cancelAction(inquiry: Inquiry, tools: ReturnTools): Promise<Outcome> {
  const id = inquiry.provider?.transactionId ?? ''
  const ended = id.startsWith('cs_')
    ? await endSession(id, inquiry, tools)
    : id.startsWith('pi_')
      ? await endIntent(id, inquiry, tools)
      : unknown
  // A request that never arrived ended nothing, so the page may still be paid.
  return ended.kind === 'unreached' ? unknown : ended
}

async function endSession(id: string, inquiry: Inquiry, tools: ReturnTools): Promise<Outcome> {
  const path = `/v1/checkout/sessions/${encodeURIComponent(id)}/expire`
  const key = `${inquiry.reference}-expire`
  const reading = readAnswer(await tools.client.post(path, { form: {}, key }, tools.signal))
  if (reading.kind === 'none') return reading.outcome
  if (reading.kind === 'object' && textAt(reading.object, 'status') === 'expired') {
    return declined(inquiry, cancelledByCustomer, 'The page was ended.', id)
  }
  // Stripe expires open sessions only, so this one was completed or has expired by itself.
  const session = await fetchSession(id, tools)
  if (session === undefined) return unknown
  const { authorization } = readSession(session, inquiry)
  if (authorization.kind !== 'action') return authorization
  // The page showed a voucher or transfer, which can still be paid through the intent.
  const intentId = idAt(session, 'payment_intent')
  return intentId === undefined ? unknown : endIntent(intentId, inquiry, tools)
}

async function endIntent(id: string, inquiry: Inquiry, tools: ReturnTools): Promise<Outcome> {
  const path = `/v1/payment_intents/${encodeURIComponent(id)}/cancel`
  const call = { form: { cancellation_reason: 'abandoned' }, key: `${inquiry.reference}-cancel` }
  const reading = readAnswer(await tools.client.post(path, call, tools.signal))
  if (reading.kind === 'none') return reading.outcome
  const intent = reading.kind === 'object' ? reading.object : await fetchIntent(id, tools)
  if (intent === undefined) return unknown
  const { authorization } = readIntent(intent, inquiry)
  return authorization.kind === 'action' ? unknown : authorization
}
