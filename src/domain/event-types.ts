/**
 * All types of events that are sent to merchants. The docs, the OpenAPI document and `tollgate trigger` read this list.
 */

export const eventTypes = {
  'payment.authorized': 'The payment is approved and nothing is captured yet.',
  'payment.captured': 'The payment was captured together with its authorisation.',
  'payment.failed': 'The payment has ended without success: declined, cancelled or timed out.',
  'payment.reversed': 'All that was authorised was given back.',
  'payment.lapsed': 'The rest of an authorisation ran out; the operation carries the amount that lapsed.',
  'payment.paid_late': 'The provider approved a payment that had ended before.',
  'capture.succeeded': 'A capture that followed the authorisation took the money.',
  'capture.failed': 'A capture took nothing.',
  'refund.succeeded': 'Money went back to the customer.',
  'refund.failed': 'A refund did not go through.',
  'reversal.succeeded': 'A part of the authorisation was given back.',
  'reversal.failed': 'A reversal gave nothing back.',
  'debit.announced': 'A direct debit is going to be collected on its due date.',
  'debit.returned': "The customer's bank took a debit back; the response code tells why.",
  'dispute.opened': 'The cardholder disputes a capture.',
  'dispute.won': 'A dispute ended in favour of the merchant.',
  'dispute.lost': 'A dispute ended in favour of the cardholder.',
  'intent.attempt_failed': 'A try to pay an intent failed, and the intent is still open.',
  'plan.charged': 'A payment within a plan went through.',
  'plan.charge_failed': 'A payment within a plan failed.',
  'plan.suspended':
    'A plan is no longer charged, because its last charge failed for good or no provider account takes it.',
  'plan.completed': 'A plan has come to its agreed end.',
  'plan.cancelled': 'A plan was cancelled.',
} as const

export type EventType = keyof typeof eventTypes

// Object.keys loses the type of the keys, and that there is at least one.
export const eventTypeNames = Object.keys(eventTypes) as readonly EventType[] as readonly [
  EventType,
  ...EventType[],
]

export const isEventType = (text: string): text is EventType => Object.hasOwn(eventTypes, text)
