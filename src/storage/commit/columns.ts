/** The columns of the tables that a commit writes, grouped by when they change. statement.ts says how they are written. */

/** What a column of each PostgreSQL type is given as, in the JSON that carries rows to the database. */
interface ValueOf {
  text: string
  uuid: string
  boolean: boolean
  smallint: number
  integer: number
  bigint: number
  timestamptz: Date
  /** YYYY-MM-DD. */
  date: string
  json: unknown
  /** In PostgreSQL's hexadecimal spelling, `\\x00ff`. */
  bytea: string
}

/** Column name and type, in the order of the table. `c` (the change's number in its batch) is added to every part. */
export type Columns = readonly (readonly [name: string, type: keyof ValueOf])[]

/**
 * A row with exactly these columns, so that a misspelt, forgotten or superfluous column fails the type check. Undefined
 * members are left out of the JSON and become NULL.
 */
export type RowOf<C extends Columns> = {
  readonly [Column in C[number] as Column[0]]: ValueOf[Column[1]] | undefined
}

/** A row in a batch of changes. */
export type BatchRow<C extends Columns> = RowOf<C> & {
  /** The number of its change in the batch. */
  readonly c: number
}

export const paymentKey = [
  ['merchant_id', 'text'],
  ['pay_id', 'uuid'],
] as const

/** What settling changes. */
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

/** What only a confirm, an update or a customer's step changes; rare enough to be kept off the usual path. */
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
] as const

/** What a customer on a page of ours chooses; for all other payments it is known at birth. */
export const paymentChoice = [
  ['method', 'text'],
  ['capture_percent', 'smallint'],
  ['card_id', 'uuid'],
  ['instrument', 'json'],
  ['account_id', 'uuid'],
  ['account', 'json'],
  ['provider_account', 'text'],
  ['connector', 'text'],
] as const

/** Written once. */
export const paymentBirth = [
  ['kind', 'text'],
  ['integration_type', 'text'],
  ['plan_id', 'uuid'],
  ['created_at', 'timestamptz'],
] as const

export const operationKey = [...paymentKey, ['sequence', 'smallint']] as const

/** Amount and preparation change while the customer or the merchant has a step to take; an answer leaves them alone. */
export const operationState = [
  ['state', 'text'],
  ['amount', 'bigint'],
  ['prepared', 'json'],
  ['response_code', 'text'],
  ['provider', 'json'],
  ['updated_at', 'timestamptz'],
] as const

export const operationBirth = [
  ['x_id', 'uuid'],
  ['type', 'text'],
  ['trans_id', 'text'],
  ['ref_nr', 'text'],
  ['details', 'json'],
  ['key', 'json'],
  ['created_at', 'timestamptz'],
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

/** The process whose connection this is (see processes/presence.ts); nothing for commands. */
export const thisProcess = `nullif(current_setting('tollgate.process', true), '')::integer`
