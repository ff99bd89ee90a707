/**
 * Converts records to rows and back. The only file that knows both spellings. A row that does not fit is an error; it
 * never gets a default.
 */
import { strict as assert } from 'node:assert'
import type { CustomerId, MerchantId, PayId, PlanId, XId } from '#domain/ids.ts'
import { joinDetails, type OwnDetails, type SentDetails, splitDetails } from '#lifecycle/details.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'
import type {
  AccountInstrument,
  Instrument,
  Operation,
  OperationDetails,
  Payment,
  Prepared,
} from '#lifecycle/payment.ts'
import { capturePercent, isLive } from '#lifecycle/payment.ts'
import { findStoredMethod } from '#methods/catalogue.ts'
import type {
  AccountRow,
  CardRow,
  EventRow,
  KeyAnswer,
  KeyRow,
  OperationWrite,
  QuoteUse,
  ReplayRow,
  Timer,
  TimerKey,
} from '#storage/commit/change.ts'
import type {
  BatchRow,
  paymentChoice,
  paymentKey,
  paymentState,
  paymentTerms,
} from '#storage/commit/columns.ts'
import type { PartRow } from '#storage/commit/statement.ts'
import { foundByDetails } from '#storage/payments/found-by.ts'
import type { Quote } from '#storage/payments/quotes.ts'

export interface PaymentRow {
  merchant_id: MerchantId
  pay_id: PayId
  kind: Payment['kind']
  trans_id: string
  ref_nr: string | null
  method: string
  integration_type: 'HOSTED' | 'DIRECT'
  status: Payment['status']
  currency: string
  amount: number
  authorized: number
  capturing: number
  captured: number
  reversing: number
  reversed: number
  refunding: number
  refunded: number
  disputed: number
  returned: number
  capture_method: Payment['captureMethod']['type']
  delayed_hours: number | null
  closed_for_capture: boolean
  authorization_expires_at: Date | null
  expires_at: Date | null
  awaits: Payment['awaits'] | null
  instrument: Instrument | null
  pseudo_number: string | null
  customer_id: CustomerId | null
  plan_id: PlanId | null
  account: AccountInstrument | null
  account_pseudo_number: string | null
  provider_account: string | null
  connector: string | null
  details: SentDetails & OwnDetails
  event_sequence: number
  created_at: Date
  updated_at: Date
  version: number
  operations: OperationRow[]
}

/** Operations are read as aggregated JSON, so ids have dashes and times are text. */
export interface OperationRow {
  x_id: string
  sequence: number
  type: Operation['type']
  state: Operation['state']
  amount: number
  trans_id: string
  ref_nr: string | null
  response_code: string
  prepared: Prepared
  provider: ProviderFacts | null
  details: OperationDetails
  key: Operation['key'] | null
  created_at: string
  updated_at: string
}

export function toPayment(row: PaymentRow): Payment {
  const method = findStoredMethod(row.method)
  assert(method, `a stored payment has the unknown method ${row.method}`)
  return {
    merchantId: row.merchant_id,
    payId: row.pay_id,
    kind: row.kind,
    transId: row.trans_id,
    refNr: row.ref_nr ?? undefined,
    method,
    integrationType: row.integration_type,
    status: row.status,
    amount: { value: row.amount, currency: row.currency },
    sums: {
      authorized: row.authorized,
      capturing: row.capturing,
      captured: row.captured,
      reversing: row.reversing,
      reversed: row.reversed,
      refunding: row.refunding,
      refunded: row.refunded,
      disputed: row.disputed,
      returned: row.returned,
    },
    captureMethod: { type: row.capture_method, delayedHours: row.delayed_hours ?? undefined },
    closedForCapture: row.closed_for_capture,
    authorizationExpiresAt: row.authorization_expires_at ?? undefined,
    expiresAt: row.expires_at ?? undefined,
    awaits: row.awaits ?? undefined,
    provider:
      row.provider_account !== null && row.connector !== null
        ? { account: row.provider_account, connector: row.connector }
        : undefined,
    instrument: row.instrument
      ? { ...row.instrument, pseudoCardNumber: row.pseudo_number ?? undefined }
      : undefined,
    customerId: row.customer_id ?? undefined,
    planId: row.plan_id ?? undefined,
    account: row.account
      ? { ...row.account, pseudoAccountNumber: row.account_pseudo_number ?? undefined }
      : undefined,
    ...splitDetails(row.details),
    eventSequence: row.event_sequence,
    operations: row.operations.map(toOperation),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  }
}

function toOperation(row: OperationRow): Operation {
  return {
    // The cast holds, because the column x_id contains nothing else.
    xId: row.x_id.replaceAll('-', '') as XId,
    sequence: row.sequence,
    type: row.type,
    state: row.state,
    amount: row.amount,
    transId: row.trans_id,
    refNr: row.ref_nr ?? undefined,
    responseCode: row.response_code,
    prepared: row.prepared,
    provider: row.provider ?? undefined,
    details: row.details,
    key: row.key ?? undefined,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

type StateRow = BatchRow<readonly [...typeof paymentKey, ...typeof paymentState]>
type TermsRow = BatchRow<readonly [...typeof paymentKey, ...typeof paymentState, ...typeof paymentTerms]>
type ChoiceRow = TermsRow & BatchRow<typeof paymentChoice>

/** `c` is the number of the change in its batch. */
export const fromPaymentState = (payment: Payment, c: number): StateRow => ({
  c,
  merchant_id: payment.merchantId,
  pay_id: payment.payId,
  status: payment.status,
  live: isLive(payment),
  authorized: payment.sums.authorized,
  capturing: payment.sums.capturing,
  captured: payment.sums.captured,
  reversing: payment.sums.reversing,
  reversed: payment.sums.reversed,
  refunding: payment.sums.refunding,
  refunded: payment.sums.refunded,
  disputed: payment.sums.disputed,
  returned: payment.sums.returned,
  closed_for_capture: payment.closedForCapture,
  authorization_expires_at: payment.authorizationExpiresAt,
  event_sequence: payment.eventSequence,
  customer_id: payment.customerId,
  updated_at: payment.updatedAt,
  version: payment.version,
})

export const fromPaymentTerms = (payment: Payment, c: number): TermsRow => ({
  ...fromPaymentState(payment, c),
  trans_id: payment.transId,
  ref_nr: payment.refNr,
  currency: payment.amount.currency,
  amount: payment.amount.value,
  capture_method: payment.captureMethod.type,
  delayed_hours: payment.captureMethod.delayedHours,
  expires_at: payment.expiresAt,
  awaits: payment.awaits,
  details: joinDetails(payment.details, payment.own),
  order_reference: payment.details.order?.merchantReference,
  invoice_id: payment.details.order?.invoiceId,
  ...foundByDetails(payment),
})

export const fromPaymentChoice = (payment: Payment, c: number): ChoiceRow => ({
  ...fromPaymentTerms(payment, c),
  method: payment.method.type,
  capture_percent: capturePercent(payment),
  card_id: payment.instrument?.cardId,
  instrument: payment.instrument,
  account_id: payment.account?.accountId,
  account: payment.account,
  last_digits: payment.instrument?.last4Digits ?? payment.account?.last4Digits,
  provider_account: payment.provider?.account,
  connector: payment.provider?.connector,
})

export const fromPayment = (payment: Payment, c: number): PartRow<'payment'> => ({
  ...fromPaymentChoice(payment, c),
  kind: payment.kind,
  integration_type: payment.integrationType,
  plan_id: payment.planId,
  created_at: payment.createdAt,
})

export const fromOperationState = (
  { payment, operation }: OperationWrite,
  c: number,
): PartRow<'answered'> => ({
  c,
  merchant_id: payment.merchantId,
  pay_id: payment.payId,
  sequence: operation.sequence,
  state: operation.state,
  amount: operation.amount,
  trans_id: operation.transId,
  ref_nr: operation.refNr,
  prepared: operation.prepared,
  response_code: operation.responseCode,
  provider: operation.provider,
  updated_at: operation.updatedAt,
})

export const fromOperation = (write: OperationWrite, c: number): PartRow<'operation'> => ({
  ...fromOperationState(write, c),
  x_id: write.operation.xId,
  type: write.operation.type,
  details: write.operation.details,
  key: write.operation.key,
  created_at: write.operation.createdAt,
})

export const fromCard = (card: CardRow, c: number): PartRow<'card'> => ({
  c,
  merchant_id: card.merchantId,
  card_id: card.cardId,
  pseudo_number: card.pseudoNumber,
  key_version: card.keyVersion,
  sealed: `\\x${card.sealed.toString('hex')}`,
  expiry_date: card.expiryDate,
})

export const fromAccount = (account: AccountRow, c: number): PartRow<'account'> => ({
  c,
  merchant_id: account.merchantId,
  account_id: account.accountId,
  pseudo_number: account.pseudoNumber,
  key_version: account.keyVersion,
  sealed: `\\x${account.sealed.toString('hex')}`,
})

export const fromQuote = (quote: Quote, c: number): PartRow<'quoted'> => ({
  c,
  merchant_id: quote.merchantId,
  quote_id: quote.quoteId,
  bin: quote.bin,
  merchant_value: quote.merchantAmount.value,
  merchant_currency: quote.merchantAmount.currency,
  cardholder_value: quote.cardholderAmount.value,
  cardholder_currency: quote.cardholderAmount.currency,
  exchange_rate: quote.exchangeRate,
  markup_percentage: quote.markupPercentage,
  rate_source: quote.rateSource,
  trans_id: quote.transId,
  quoted_at: quote.quotedAt,
  expires_at: quote.expiresAt,
})

export const fromQuoteUse = (use: QuoteUse, c: number): PartRow<'quote'> => ({
  c,
  merchant_id: use.merchantId,
  quote_id: use.quoteId,
  pay_id: use.payId,
})

export const fromKeyAnswer = (key: KeyAnswer, c: number): PartRow<'keyAnswer'> => ({
  c,
  merchant_id: key.merchantId,
  verb: key.verb,
  path: key.path,
  key: key.key,
  answer_status: key.answer.status,
  answer_body: key.answer.json,
})

export const fromKey = (key: KeyRow, c: number): PartRow<'key'> => ({
  c,
  merchant_id: key.merchantId,
  verb: key.verb,
  path: key.path,
  key: key.key,
  fingerprint: key.fingerprint,
  pay_id: key.payId,
  x_id: key.xId,
  answer_status: key.answer?.status,
  answer_body: key.answer?.json,
  created_at: key.createdAt,
})

export const fromEvent = (event: EventRow, c: number): PartRow<'event'> => ({
  c,
  merchant_id: event.merchantId,
  pay_id: event.payId,
  sequence: event.sequence,
  event_id: event.eventId,
  x_id: event.xId,
  type: event.type,
  owed: event.owed,
  body: event.body,
  url: event.url,
  created_at: event.createdAt,
})

export const fromReplay = (replay: ReplayRow, c: number): PartRow<'replay'> => ({
  c,
  merchant_id: replay.merchantId,
  pay_id: replay.payId,
  sequence: replay.sequence,
  endpoint_id: replay.endpointId,
  due_at: replay.dueAt,
})

export const fromTimerKey = (timer: TimerKey, c: number): PartRow<'timerDrop'> => ({
  c,
  merchant_id: timer.merchantId,
  pay_id: timer.payId,
  x_id: timer.xId,
  kind: timer.kind,
})

export const fromTimer = (timer: Timer, c: number): PartRow<'timer'> => ({
  ...fromTimerKey(timer, c),
  run_at: timer.runAt,
  attempt: timer.attempt,
  clock_offset_ms: timer.clockOffsetMs,
})
