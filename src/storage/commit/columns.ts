/**
 * The columns of the tables that a commit writes, grouped by when they change. statement.ts says how they are written.
 */
import type { Columns, RowOf } from '#storage/recordset.ts'

/** A row in a batch of changes. */
export type BatchRow<C extends Columns> = RowOf<C> & {
  /** The number of its change in the batch. */
  readonly c: number
}

export const paymentKey = [
  ['merchant_id', 'text'],
  ['pay_id', 'uuid'],
] as const

/** Changed by every settlement of an operation. */
export const paymentState = [
  ['status', 'text'],
  ['live', 'boolean'],
  ['authorized', 'bigint'],
  ['capturing', 'bigint'],
  ['captured', 'bigint'],
  ['reversing', 'bigint'],
  ['reversed', 'bigint'],
  ['refunding', 'bigint'],
  ['refunded', 'bigint'],
  ['disputed', 'bigint'],
  ['returned', 'bigint'],
  ['closed_for_capture', 'boolean'],
  ['authorization_expires_at', 'timestamptz'],
  ['event_sequence', 'integer'],
  ['customer_id', 'uuid'],
  ['updated_at', 'timestamptz'],
  ['version', 'integer'],
] as const

/** Changed only by a confirm, an update or a customer's step, so they are kept out of the most frequent statements. */
export const paymentTerms = [
  ['trans_id', 'text'],
  ['ref_nr', 'text'],
  ['currency', 'text'],
  ['amount', 'bigint'],
  ['capture_method', 'text'],
  ['delayed_hours', 'smallint'],
  ['expires_at', 'timestamptz'],
  ['awaits', 'text'],
  ['details', 'json'],
  ['order_reference', 'text'],
  ['invoice_id', 'text'],
  ['searchable', 'boolean'],
  ['email', 'text'],
  ['merchant_customer', 'text'],
  ['charged_customer', 'text'],
  ['link_id', 'text'],
] as const

/** Chosen by a customer on one of our pages; for other payments known at creation. */
export const paymentChoice = [
  ['method', 'text'],
  ['capture_percent', 'smallint'],
  ['card_id', 'uuid'],
  ['instrument', 'json'],
  ['account_id', 'uuid'],
  ['account', 'json'],
  ['last_digits', 'text'],
  ['provider_account', 'text'],
  ['connector', 'text'],
] as const

/** Written only at creation. */
export const paymentBirth = [
  ['kind', 'text'],
  ['integration_type', 'text'],
  ['plan_id', 'uuid'],
  ['created_at', 'timestamptz'],
] as const

export const operationKey = [...paymentKey, ['sequence', 'smallint']] as const

/**
 * `amount`, `prepared`, `trans_id` and `ref_nr` change only while the customer or the merchant has a step to take; a
 * provider's answer does not change them.
 */
export const operationState = [
  ['state', 'text'],
  ['amount', 'bigint'],
  ['trans_id', 'text'],
  ['ref_nr', 'text'],
  ['prepared', 'json'],
  ['response_code', 'text'],
  ['provider', 'json'],
  ['updated_at', 'timestamptz'],
] as const

export const operationBirth = [
  ['x_id', 'uuid'],
  ['type', 'text'],
  ['details', 'json'],
  ['key', 'json'],
  ['created_at', 'timestamptz'],
] as const

export const cardColumns = [
  ['merchant_id', 'text'],
  ['card_id', 'uuid'],
  ['pseudo_number', 'text'],
  ['key_version', 'integer'],
  ['sealed', 'bytea'],
  ['expiry_date', 'text'],
] as const

export const keyKey = [
  ['merchant_id', 'text'],
  ['verb', 'text'],
  ['path', 'text'],
  ['key', 'text'],
] as const

export const keyAnswer = [
  ['answer_status', 'smallint'],
  ['answer_body', 'text'],
] as const

export const intentKey = [
  ['merchant_id', 'text'],
  ['intent_id', 'text'],
] as const

export const quoteKey = [
  ['merchant_id', 'text'],
  ['quote_id', 'uuid'],
] as const

export const timerKey = [...paymentKey, ['x_id', 'uuid'], ['kind', 'text']] as const

/** The process that owns this connection (see processes/presence.ts); null for commands. */
export const thisProcess = `nullif(current_setting('tollgate.process', true), '')::integer`
