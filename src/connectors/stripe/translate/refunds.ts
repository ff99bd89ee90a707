/** Translates refunds. A refund that has succeeded at Stripe may still fail days later. */
import type { FollowUpRequest } from '#connectors/contract.ts'
import { generalDecline } from '#connectors/stripe/translate/declines.ts'
import { type Asked, declined, echoOf, unknown } from '#connectors/stripe/translate/outcomes.ts'
import { type Form, referenceKey, textAt, type Wire } from '#connectors/stripe/translate/wire.ts'
import { entryOf } from '#domain/json.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

export const toRefund = (request: FollowUpRequest, intentId: string, amount: number): Form => ({
  payment_intent: intentId,
  amount,
  metadata: { [referenceKey]: request.reference },
})

/** Stripe's reasons for failed refunds. Any other one is a general decline. */
const failureReasons: Readonly<Record<string, string>> = {
  lost_or_stolen_card: '0343',
  expired_or_canceled_card: '0354',
  charge_for_pending_refund_disputed: '0334',
  insufficient_funds: '0351',
  declined: generalDecline,
  merchant_request: '0703',
  unknown: generalDecline,
}

/** Reasons after which no later refund can reach this card either. */
const deadCards: ReadonlySet<string> = new Set(['lost_or_stolen_card', 'expired_or_canceled_card'])

export const detailOfRefund = (refund: Wire): string =>
  entryOf(failureReasons, textAt(refund, 'failure_reason') ?? '') ?? generalDecline

export function readRefund(refund: Wire, asked: Asked): Outcome {
  const echo = echoOf(refund, asked, 'amount')
  const transactionId = textAt(refund, 'id')
  if (echo === undefined || transactionId === undefined) return unknown
  switch (textAt(refund, 'status')) {
    case 'succeeded':
      return { kind: 'approved', provider: { echo, transactionId, responseCode: '00' } }
    case 'pending':
    case 'requires_action':
      return { kind: 'pending', provider: { echo, transactionId } }
    case 'failed': {
      const failed = declined(echo, detailOfRefund(refund), failureText(refund), transactionId)
      return deadCards.has(textAt(refund, 'failure_reason') ?? '')
        ? { ...failed, provider: { ...failed.provider, undeliverable: true } }
        : failed
    }
    case 'canceled':
      return declined(echo, '0703', 'The refund was canceled.', transactionId)
    default:
      return unknown
  }
}

export const failureText = (refund: Wire): string =>
  `The refund failed: ${textAt(refund, 'failure_reason') ?? 'no reason given'}.`
