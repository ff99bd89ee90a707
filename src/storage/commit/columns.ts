/** The columns of the tables that a commit writes, grouped by when they change. statement.ts says how they are written. */

/** Column name and type, in the order of the table. `c` (the change's number in its batch) is added to every part. */
export type Columns = readonly (readonly [name: string, type: string])[]

export const paymentKey: Columns = [
  ['merchant_id', 'text'],
  ['pay_id', 'uuid'],
]

/** What settling changes. */
export const paymentState: Columns = [
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
]

/** What only a confirm, an update or a customer's step changes; rare enough to be kept off the usual path. */
export const paymentTerms: Columns = [
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
]

/** What a customer on a page of ours chooses; for all other payments it is known at birth. */
export const paymentChoice: Columns = [
  ['method', 'text'],
  ['capture_percent', 'smallint'],
  ['card_id', 'uuid'],
  ['instrument', 'json'],
  ['account_id', 'uuid'],
  ['account', 'json'],
  ['provider_account', 'text'],
  ['connector', 'text'],
]

/** Written once. */
export const paymentBirth: Columns = [
  ['kind', 'text'],
  ['integration_type', 'text'],
  ['plan_id', 'uuid'],
  ['created_at', 'timestamptz'],
]

export const operationKey: Columns = [...paymentKey, ['sequence', 'smallint']]

/** Amount and preparation change while the customer or the merchant has a step to take; an answer leaves them alone. */
export const operationState: Columns = [
  ['state', 'text'],
  ['amount', 'bigint'],
  ['prepared', 'json'],
  ['response_code', 'text'],
  ['provider', 'json'],
  ['updated_at', 'timestamptz'],
]

export const operationBirth: Columns = [
  ['x_id', 'uuid'],
  ['type', 'text'],
  ['trans_id', 'text'],
  ['ref_nr', 'text'],
  ['details', 'json'],
  ['key', 'json'],
  ['created_at', 'timestamptz'],
]

export const keyKey: Columns = [
  ['merchant_id', 'text'],
  ['verb', 'text'],
  ['path', 'text'],
  ['key', 'text'],
]

export const keyAnswer: Columns = [
  ['answer_status', 'smallint'],
  ['answer_body', 'text'],
]

export const intentKey: Columns = [
  ['merchant_id', 'text'],
  ['intent_id', 'text'],
]

export const quoteKey: Columns = [
  ['merchant_id', 'text'],
  ['quote_id', 'uuid'],
]

export const timerKey: Columns = [...paymentKey, ['x_id', 'uuid'], ['kind', 'text']]

/** The process whose connection this is (see processes/presence.ts); nothing for commands. */
export const thisProcess = `nullif(current_setting('tollgate.process', true), '')::integer`
