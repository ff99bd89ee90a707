/** Translates Stripe's disputes, and the evidence that is sent for them. */
import type {
  DisputeFacts,
  DisputeReason,
  DisputeStage,
  DisputeStatus,
  Evidence,
} from '#connectors/contract.ts'
import { isDebit } from '#connectors/stripe/methods.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { debitReturnReasons } from '#connectors/stripe/translate/declines.ts'
import { dateAt, type Form, numberAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import { entryOf } from '#domain/json.ts'

/** All dispute statuses of Stripe. `warning_…` is an inquiry before a chargeback; an appeal follows a lost dispute. */
export const disputeStatuses: Readonly<Record<string, readonly [DisputeStage, DisputeStatus]>> = {
  warning_needs_response: ['INQUIRY', 'OPEN'],
  warning_under_review: ['INQUIRY', 'UNDER_REVIEW'],
  warning_closed: ['INQUIRY', 'WON'],
  prevented: ['INQUIRY', 'WON'],
  needs_response: ['CHARGEBACK', 'OPEN'],
  under_review: ['CHARGEBACK', 'UNDER_REVIEW'],
  won: ['CHARGEBACK', 'WON'],
  lost: ['CHARGEBACK', 'LOST'],
  appeal_needs_response: ['PRE_ARBITRATION', 'OPEN'],
  appeal_under_review: ['PRE_ARBITRATION', 'UNDER_REVIEW'],
}

const reasonGroups: Readonly<Record<string, DisputeReason>> = {
  fraudulent: 'FRAUD',
  unrecognized: 'FRAUD',
  product_not_received: 'CONSUMER',
  product_unacceptable: 'CONSUMER',
  subscription_canceled: 'CONSUMER',
  credit_not_processed: 'CONSUMER',
  customer_initiated: 'CONSUMER',
  duplicate: 'PROCESSING',
  incorrect_account_details: 'PROCESSING',
  bank_cannot_process: 'PROCESSING',
  check_returned: 'PROCESSING',
  debit_not_authorized: 'AUTHORIZATION',
  insufficient_funds: 'AUTHORIZATION',
  general: 'OTHER',
  noncompliant: 'OTHER',
}

/**
 * Undefined: the status or amount is unknown to us; we guess nothing about money that may be lost. `before` is the
 * previous status, if an event reports it.
 */
export function readDispute(dispute: Wire, before?: string): DisputeFacts | undefined {
  const id = textAt(dispute, 'id')
  const amount = fromStripeAmount(numberAt(dispute, 'amount'), textAt(dispute, 'currency'))
  const place = entryOf(disputeStatuses, textAt(dispute, 'status') ?? '')
  if (id === undefined || amount === undefined || place === undefined) return undefined
  const [named, status] = place
  // An appeal ends with the same statuses as the dispute before it and must not be mistaken for the earlier decision.
  const stage = wasAppealed(dispute, before) ? 'PRE_ARBITRATION' : named
  const reason = textAt(dispute, 'reason') ?? 'general'
  const due = dateAt(dispute, 'evidence_details', 'due_by')
  return {
    providerDisputeId: id,
    stage,
    status,
    amount,
    reasonCode:
      textAt(dispute, 'network_reason_code') ??
      textAt(dispute, 'payment_method_details', 'card', 'network_reason_code') ??
      reason,
    reasonGroup: entryOf(reasonGroups, reason) ?? 'OTHER',
    ...(due === undefined ? {} : { evidenceDueBy: due }),
  }
}

const wasAppealed = (dispute: Wire, before = ''): boolean =>
  before.startsWith('appeal_') || wireAt(dispute, 'evidence', 'appeal', 'card') !== undefined

/**
 * Whether a dispute at Stripe is really a debit returned by the bank: by the method, if Stripe names it, or else by
 * reasons that only debits have. The id of the charge says nothing, because pay-later and wallet payments, which can be
 * disputed, have py_ ids like debits.
 */
export function isDebitReturn(dispute: Wire): boolean {
  const type =
    textAt(dispute, 'charge', 'payment_method_details', 'type') ??
    textAt(dispute, 'payment_method_details', 'type')
  return type === undefined
    ? Object.hasOwn(debitReturnReasons, textAt(dispute, 'reason') ?? '')
    : isDebit(type)
}

/** Stripe has one field per kind of document. Files are assigned to the fields in this order. */
export const filePlaces = [
  'uncategorized_file',
  'customer_communication',
  'receipt',
  'shipping_documentation',
  'service_documentation',
  'refund_policy',
  'cancellation_policy',
  'customer_signature',
  'duplicate_charge_documentation',
] as const

/** Stripe's limit for the text. */
const evidenceTextMax = 20_000

export const toEvidence = ({ text }: Pick<Evidence, 'text'>, fileIds: readonly string[]): Form => ({
  evidence: {
    uncategorized_text: text?.slice(0, evidenceTextMax),
    ...Object.fromEntries(fileIds.map((id, index) => [filePlaces[index] ?? filePlaces[0], id])),
  },
  submit: true,
})
