/**
 * The statements of a bare client for one payment and for one capture: the rows that the gateway itself wrote for a
 * sample, in the same tables under the same constraints, statement by statement in two transactions. `:name` stands for
 * a parameter; pgbench reads it as it is, the driver loop gets `$1`.
 */
import type pg from 'pg'
import { providerResultOutstanding } from '#domain/response-codes.ts'

/** Every column as PostgreSQL writes it. */
type Row = Readonly<Record<string, string | null>>

export interface Transactions {
  /** Recorded before the provider is called. */
  readonly first: readonly string[]
  /** Recorded after the provider's answer. */
  readonly second: readonly string[]
  /** Parameters that are the same for all; the others are `order` and the numbers named in `variables`. */
  readonly constants: Readonly<Record<string, string>>
}

/** Transactions on payments that are there already. */
export interface BareCaptures extends Transactions {
  /** Payments for the orders from $1 to $2, made by the server in one go. */
  readonly prepare: readonly string[]
}

/** 16 digits each: an order is unique and rises with time like the gateway's ids; a card is random like its fingerprint. */
export const orderBase = 1_000_000_000_000_000
export const variables = {
  card: { from: 1_000_000_000_000_000, to: 9_000_000_000_000_000 },
  pseudo: { from: 100_000_000_000_000, to: 999_999_999_999_999 },
}

const idOf = (name: string, suffix: string): string =>
  `(:${name}::text || '${suffix.padStart(16, '0')}')::uuid`
const payId = idOf('order', '1')
const authorizationId = idOf('order', '2')
const captureId = idOf('order', '3')
const cardId = idOf('card', '4')
const refundId = idOf('order', '5')
const transId = `'order-' || :order::text`

/** Columns that the gateway's second commit writes, changed or not. */
const paymentState = [
  'trans_id',
  'ref_nr',
  'status',
  'live',
  'amount',
  'authorized',
  'capturing',
  'captured',
  'reversing',
  'reversed',
  'refunding',
  'refunded',
  'closed_for_capture',
  'authorization_expires_at',
  'event_sequence',
  'updated_at',
  'version',
]
const operationState = ['state', 'response_code', 'provider', 'updated_at']

/** SQL in place of a sample's value; null leaves the column to its default, as the gateway does. */
type Expressions = Readonly<Record<string, string | null>>

const paymentValues: Expressions = {
  pay_id: payId,
  trans_id: transId,
  card_id: cardId,
  created_at: 'now()',
  updated_at: 'now()',
  authorization_expires_at: `now() + interval '7 days'`,
}
const cardValues: Expressions = {
  card_id: cardId,
  pseudo_number: `'0' || :pseudo::text`,
  created_at: null,
  destroyed_at: null,
}
const operationValues = (xId: string): Expressions => ({
  pay_id: payId,
  x_id: xId,
  trans_id: transId,
  created_at: 'now()',
  updated_at: 'now()',
  sent_at: null,
})
const unanswered: Expressions = {
  state: `'SENT'`,
  response_code: `'${providerResultOutstanding}'`,
  provider: null,
}

/** Collects the sample's values as constants while statements are written. */
class Writer {
  readonly constants: Record<string, string> = {}

  value(owner: string, row: Row, column: string, expressions: Expressions): string | null {
    const expression = expressions[column]
    if (expression !== undefined) return expression
    const value = row[column]
    if (value === null || value === undefined) return null
    const name = `${owner}_${column}`
    this.constants[name] = value
    return `:${name}`
  }

  columns(owner: string, row: Row, expressions: Expressions): readonly (readonly [string, string])[] {
    return Object.keys(row).flatMap(column => {
      const value = this.value(owner, row, column, expressions)
      return value === null ? [] : [[column, value] as const]
    })
  }

  insert(table: string, owner: string, row: Row, expressions: Expressions): string {
    const columns = this.columns(owner, row, expressions)
    const names = columns.map(([name]) => name).join(', ')
    return `INSERT INTO ${table} (${names}) VALUES (${columns.map(([, value]) => value).join(', ')})`
  }

  update(table: string, set: readonly (readonly [string, string | null])[], where: string): string {
    const assignments = set.map(([name, value]) => `${name} = ${value ?? 'NULL'}`).join(', ')
    return `UPDATE ${table} SET ${assignments} WHERE merchant_id = :merchant AND pay_id = ${payId} AND ${where}`
  }

  state(owner: string, row: Row, names: readonly string[], expressions: Expressions) {
    return names.map(name => [name, this.value(owner, row, name, expressions)] as const)
  }
}

interface Sample {
  readonly payment: Row
  readonly card: Row
  readonly authorization: Row
  readonly capture: Row
  readonly refund?: Row
}

export async function readPaymentTransactions(
  client: pg.Client,
  payIdOfSample: string,
): Promise<Transactions> {
  const { payment, card, authorization, capture } = await readSample(client, payIdOfSample)
  const writer = new Writer()
  writer.constants.merchant = String(payment.merchant_id)
  const born = {
    status: `'PENDING'`,
    authorized: '0',
    captured: '0',
    version: '1',
    authorization_expires_at: null,
  }
  const first = [
    writer.insert('vault_card', 'card', card, cardValues),
    writer.insert('payment', 'payment', payment, { ...paymentValues, ...born }),
    writer.insert('operation', 'authorization', authorization, {
      ...operationValues(authorizationId),
      ...unanswered,
    }),
  ]
  const settled = writer.state('payment', payment, paymentState, paymentValues)
  const answered = writer.state(
    'authorization',
    authorization,
    operationState,
    operationValues(authorizationId),
  )
  const second = [
    writer.update('payment', settled, 'version = 1'),
    writer.update('operation', answered, 'sequence = 1'),
    writer.insert('operation', 'capture', capture, operationValues(captureId)),
  ]
  return { first, second, constants: writer.constants }
}

/** From a MANUAL payment that was captured in full. */
export async function readCaptureTransactions(
  client: pg.Client,
  payIdOfSample: string,
): Promise<BareCaptures> {
  const { payment, authorization, capture } = await readSample(client, payIdOfSample)
  const writer = new Writer()
  writer.constants.merchant = String(payment.merchant_id)
  const amount = writer.value('payment', payment, 'captured', {})
  const reserved = {
    ...paymentValues,
    status: `'AUTHORIZED'`,
    capturing: amount,
    captured: '0',
    version: '3',
  }
  const first = [
    writer.update('payment', writer.state('payment', payment, paymentState, reserved), 'version = 2'),
    writer.insert('operation', 'capture', capture, { ...operationValues(captureId), ...unanswered }),
  ]
  const second = [
    writer.update('payment', writer.state('payment', payment, paymentState, paymentValues), 'version = 3'),
    writer.update(
      'operation',
      writer.state('capture', capture, operationState, operationValues(captureId)),
      'sequence = 2',
    ),
  ]
  const authorized = { ...paymentValues, card_id: null, status: `'AUTHORIZED'`, captured: '0', version: '2' }
  const prepare = [
    toSeries(writer.insert('payment', 'payment', payment, authorized)),
    toSeries(writer.insert('operation', 'authorization', authorization, operationValues(authorizationId))),
  ]
  return { first, second, constants: writer.constants, prepare }
}

/** From a MANUAL payment that was captured in full and then refunded in full. */
export async function readRefundTransactions(
  client: pg.Client,
  payIdOfSample: string,
): Promise<BareCaptures> {
  const { payment, authorization, capture, refund } = await readSample(client, payIdOfSample)
  if (!refund) throw new Error('the sample payment was not refunded')
  const writer = new Writer()
  writer.constants.merchant = String(payment.merchant_id)
  const amount = writer.value('payment', payment, 'refunded', {})
  const reserved = { ...paymentValues, refunding: amount, refunded: '0', version: '5' }
  const settled = { ...paymentValues, version: '6' }
  const first = [
    writer.update('payment', writer.state('payment', payment, paymentState, reserved), 'version = 4'),
    writer.insert('operation', 'refund', refund, { ...operationValues(refundId), ...unanswered }),
  ]
  const second = [
    writer.update('payment', writer.state('payment', payment, paymentState, settled), 'version = 5'),
    writer.update(
      'operation',
      writer.state('refund', refund, operationState, operationValues(refundId)),
      'sequence = 3',
    ),
  ]
  const captured = { ...paymentValues, card_id: null, refunded: '0', version: '4' }
  const prepare = [
    toSeries(writer.insert('payment', 'payment', payment, captured)),
    toSeries(writer.insert('operation', 'authorization', authorization, operationValues(authorizationId))),
    toSeries(writer.insert('operation', 'capture', capture, operationValues(captureId))),
  ]
  return { first, second, constants: writer.constants, prepare }
}

/** One row per order of a range instead of one. */
const toSeries = (insert: string): string =>
  `${insert
    .replace(/ VALUES \((.*)\)$/s, ' SELECT $1')
    .replaceAll(
      ':order',
      'series.number',
    )} FROM generate_series(:from_order::bigint, :to_order::bigint) AS series(number)`

async function readSample(client: pg.Client, payIdOfSample: string): Promise<Sample> {
  const read = async (sql: string): Promise<readonly Row[]> => {
    const types = { getTypeParser: () => (value: string) => value }
    return (await client.query<Row>({ text: sql, values: [payIdOfSample], types })).rows
  }
  const [payment] = await read('SELECT * FROM payment WHERE pay_id = $1')
  const [authorization, capture, refund] = await read(
    'SELECT * FROM operation WHERE pay_id = $1 ORDER BY sequence',
  )
  const [card] = await read(
    'SELECT c.* FROM vault_card c JOIN payment p USING (merchant_id, card_id) WHERE p.pay_id = $1',
  )
  if (!payment || !authorization || !capture || !card)
    throw new Error('the sample payment is not stored as expected')
  return { payment, authorization, capture, refund, card }
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly parameters: readonly string[]
}

/** `:name` becomes `$1`; a cast (`::`) stays. */
export function toStatement(name: string, sql: string): Statement {
  const parameters: string[] = []
  const text = sql.replace(/(?<!:):([a-z_]+)/g, (_, parameter: string) => `$${parameters.push(parameter)}`)
  return { name, text, parameters }
}
