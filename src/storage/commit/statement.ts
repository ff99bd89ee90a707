/**
 * The SQL of a batch. Each part of a change (a payment, its operations, a key, …) is a set of rows, with an array
 * parameter for each column. The statement has one of a few fixed shapes, each with room for parts that often occur
 * together. Guards are checked first, writes follow for the changes that pass, and unique indexes and CHECKs are the
 * last guard. The SQL is limited to what Citus accepts as well: no now() inside CASE, no `CASE x WHEN`, and no INSERT
 * whose source reads a table.
 */

import { strict as assert } from 'node:assert'
import { keysOf } from '#domain/json.ts'
import { keepIn } from '#storage/commit/account-parts.ts'
import {
  type BatchColumns,
  encodeColumns,
  parameterCount,
  selectColumns,
} from '#storage/commit/binary-columns.ts'
import {
  type BatchRow,
  cardColumns,
  intentKey,
  keyAnswer,
  keyKey,
  operationBirth,
  operationKey,
  operationState,
  paymentBirth,
  paymentChoice,
  paymentKey,
  paymentState,
  paymentTerms,
  quoteKey,
  thisProcess,
  timerKey,
} from '#storage/commit/columns.ts'
import { customerParts } from '#storage/commit/customer-parts.ts'
import { disputeParts } from '#storage/commit/dispute-parts.ts'
import { endpointsName, endpointsRow, eventParts } from '#storage/commit/event-parts.ts'
import { guards, inputName, match } from '#storage/commit/guards.ts'
import { intentParts } from '#storage/commit/intent-parts.ts'
import { markParts } from '#storage/commit/marks.ts'
import { planParts } from '#storage/commit/plan-parts.ts'
import { referenceColumns, writeReferences } from '#storage/commit/provider-references.ts'
import { checkedLast } from '#storage/planner.ts'
import type { Columns } from '#storage/recordset.ts'

/** The columns of each part, and the SQL that writes them. The order here is the order of the parameters. */
const parts = {
  key: {
    columns: [
      ...keyKey,
      ['fingerprint', 'text'],
      ['pay_id', 'uuid'],
      ['x_id', 'uuid'],
      ...keyAnswer,
      ['created_at', 'timestamptz'],
    ] as const,
    write: insertInto('idempotency_key', 'key'),
  },
  payment: {
    columns: [...paymentKey, ...paymentState, ...paymentTerms, ...paymentChoice, ...paymentBirth] as const,
    write: insertInto('payment', 'payment'),
  },
  settled: {
    columns: [...paymentKey, ...paymentState, ['expected_version', 'integer']] as const,
    write: undefined,
  },
  revised: {
    columns: [...paymentKey, ...paymentState, ...paymentTerms, ['expected_version', 'integer']] as const,
    write: undefined,
  },
  chosen: {
    columns: [
      ...paymentKey,
      ...paymentState,
      ...paymentTerms,
      ...paymentChoice,
      ['expected_version', 'integer'],
    ] as const,
    write: undefined,
  },
  // Only a guard.
  paymentHold: { columns: [...paymentKey, ['expected_version', 'integer']] as const, write: undefined },
  card: {
    columns: cardColumns,
    // A number that is marked for deletion is kept if the card pays again.
    write: keepIn('vault_card', 'card_in', 'card_id', {
      set: ', delete_after_use_at = NULL, expiry_date = excluded.expiry_date',
      or: ' OR vault_card.delete_after_use_at IS NOT NULL',
    }),
  },
  account: {
    columns: [
      ['merchant_id', 'text'],
      ['account_id', 'uuid'],
      ['pseudo_number', 'text'],
      ['key_version', 'integer'],
      ['sealed', 'bytea'],
    ] as const,
    write: keepIn('vault_account', 'account_in', 'account_id', {
      set: ', delete_after_use_at = NULL',
      or: ' OR vault_account.delete_after_use_at IS NOT NULL',
    }),
  },
  quoted: {
    columns: [
      ...quoteKey,
      ['bin', 'text'],
      ['merchant_value', 'bigint'],
      ['merchant_currency', 'text'],
      ['cardholder_value', 'bigint'],
      ['cardholder_currency', 'text'],
      ['exchange_rate', 'text'],
      ['markup_percentage', 'text'],
      ['rate_source', 'text'],
      ['trans_id', 'text'],
      ['quoted_at', 'timestamptz'],
      ['expires_at', 'timestamptz'],
    ] as const,
    write: insertInto('dcc_quote', 'quoted'),
  },
  quote: {
    columns: [...quoteKey, ['pay_id', 'uuid']] as const,
    write: updateOf({ table: 'dcc_quote', part: 'quote', key: quoteKey, state: [['pay_id', 'uuid']] }),
  },
  operation: {
    columns: [...operationKey, ...operationState, ...operationBirth] as const,
    write: insertInto('operation', 'operation'),
  },
  ...markParts,
  answered: {
    columns: [...operationKey, ...operationState] as const,
    // An operation that is sent only after its customer's step gets its time and process now, so that recovery finds
    // it.
    write: updateOf({
      table: 'operation',
      part: 'answered',
      key: operationKey,
      state: operationState,
      also: [
        "sent_at = CASE WHEN i.state = 'SENT' THEN i.moment ELSE t.sent_at END",
        "process = CASE WHEN i.state = 'SENT' THEN i.sender ELSE t.process END",
      ],
    }),
    computed: `now() AS moment, ${thisProcess} AS sender`,
  },
  keyAnswer: {
    columns: [...keyKey, ...keyAnswer] as const,
    // The first answer stays, even if the operation gets another result after its customer's step.
    write: updateOf({
      table: 'idempotency_key',
      part: 'keyAnswer',
      key: keyKey,
      state: keyAnswer,
      only: checkedLast('t.answer_status IS NULL'),
    }),
  },
  ...eventParts,
  providerReference: { columns: referenceColumns, write: writeReferences },
  timer: {
    columns: [
      ...timerKey,
      ['run_at', 'timestamptz'],
      ['attempt', 'integer'],
      ['clock_offset_ms', 'bigint'],
    ] as const,
    write: writeTimers,
  },
  ...customerParts,
  timerDrop: {
    columns: timerKey,
    write: () =>
      `DELETE FROM timer t USING timer_drop_in i WHERE ${match(timerKey)} AND i.c NOT IN (SELECT c FROM refused)`,
  },
  intent: {
    columns: [
      ...intentKey,
      ['request', 'json'],
      ['expires_at', 'timestamptz'],
      ['created_at', 'timestamptz'],
    ] as const,
    write: insertInto('payment_intent', 'intent'),
  },
  ...intentParts,
  ...planParts,
  ...disputeParts,
} satisfies Record<string, PartOfBatch>

interface PartOfBatch {
  readonly columns: BatchColumns
  readonly write: ((columns: Columns) => string) | undefined
  /** A second write that follows from the same rows. */
  readonly also?: () => string
  /** Computed columns that are added to every row. */
  readonly computed?: string
  /**
   * Queries on other tables that the writes need, each as `name AS (…)`, because an INSERT must not read a table
   * itself.
   */
  readonly ready?: readonly string[]
}

export type Part = keyof typeof parts

/** A row of this part, with exactly the part's columns. */
export type PartRow<P extends Part> = BatchRow<(typeof parts)[P]['columns']>

export const partNames = keysOf(parts)

/** `c` is the number of the change in its batch. */
const columnsOf = (part: Part): BatchColumns => [['c', 'integer'], ...parts[part].columns]

const allColumns = new Map(partNames.map(part => [part, columnsOf(part)]))

/** Writes the parameters of one part. */
export const encodePart = <P extends Part>(part: P, rows: readonly PartRow<P>[]): void =>
  encodeColumns(allColumns.get(part) ?? [], rows)

function insertInto(table: string, part: string): (columns: Columns) => string {
  return columns => {
    const names = columns.map(([name]) => name).join(', ')
    return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${inputName(part)}
      WHERE c NOT IN (SELECT c FROM refused)`
  }
}

/**
 * A timer is computed with the test clock as its process knew it. The clock may have been moved since, by any process,
 * and has moved only the timers that were stored by then.
 */
function writeTimers(): string {
  return `INSERT INTO timer (merchant_id, pay_id, x_id, kind, attempt, run_at)
    SELECT i.merchant_id, i.pay_id, i.x_id, i.kind, i.attempt, i.run_at + interval '1 millisecond' * coalesce(
      i.clock_offset_ms - (SELECT m.clock_offset_ms FROM merchant m WHERE m.merchant_id = i.merchant_id), 0)
    FROM ${inputName('timer')} i WHERE i.c NOT IN (SELECT c FROM refused)
    ON CONFLICT (merchant_id, pay_id, x_id, kind)
    DO UPDATE SET run_at = excluded.run_at, attempt = excluded.attempt, leased_until = NULL`
}

interface Update {
  readonly table: string
  readonly part: string
  readonly key: Columns
  readonly state: Columns
  readonly also?: readonly string[]
  /** Only rows for which this holds are written. */
  readonly only?: string
}

function updateOf({ table, part, key, state, also = [], only }: Update): (columns: Columns) => string {
  return () => {
    const set = [...state.map(([name]) => `${name} = i.${name}`), ...also].join(', ')
    return `UPDATE ${table} t SET ${set} FROM ${inputName(part)} i
      WHERE ${match(key)}${only === undefined ? '' : ` AND ${only}`} AND i.c NOT IN (SELECT c FROM refused)`
  }
}

export interface CommitStatement {
  readonly name: string
  readonly text: string
  /** The parts in the order of their parameters. */
  readonly shape: readonly Part[]
}

/** What a new payment may bring. */
const birth = ['key', 'payment', 'card', 'operation', 'timer'] as const

/**
 * The fixed shapes of a batch, from the smallest to the one that holds every part. Every writer connection keeps each
 * prepared statement with its plan for as long as it lives, so there must be few of them: with one per combination of
 * parts, mixed traffic filled 1.2 GB per connection in five minutes (measured). A part that a batch does not need gets
 * empty arrays and still costs PostgreSQL about 0.06 ms to start (measured: an empty batch takes 0.3 ms with three parts,
 * 1.0 ms with twelve, 2.4 ms with all). So each common step of a payment has a small shape of its own.
 */
const shapes: readonly (readonly Part[])[] = [
  // The second commit of a payment whose provider answers at once.
  ['settled', 'operation', 'answered'],
  // Its first commit.
  ['payment', 'card', 'operation'],
  // Both in one batch, as two batches in five are at half of the full rate (measured).
  ['payment', 'settled', 'card', 'operation', 'answered'],
  // The same for a merchant with webhooks: second commits, alone or beside first ones.
  ['payment', 'settled', 'card', 'operation', 'answered', 'event'],
  // The first commit of a payment with an idempotency key, or of one at a provider that is called over the network.
  ['key', 'payment', 'card', 'operation', 'providerReference'],
  // Captures, reversals and refunds.
  ['settled', 'operation', 'mark', 'unmark', 'answered'],
  // The same, and answers of authorizations, with a key or a timer.
  ['key', 'settled', 'operation', 'mark', 'unmark', 'answered', 'keyAnswer', 'timer'],
  // First commits of all other payments: debits, sessions, intents.
  [...birth, 'account', 'mark', 'providerReference', 'intentClaim'],
  // First commits, answers and follow-ups in one batch.
  [...birth, 'settled', 'answered', 'keyAnswer', 'mark', 'unmark'],
  // What providers report, and each step that a customer takes on a page.
  [
    ...(['key', 'settled', 'revised', 'operation', 'answered', 'keyAnswer', 'mark', 'unmark'] as const),
    ...(['event', 'providerReference', 'timer', 'timerDrop'] as const),
  ],
  [
    ...birth,
    ...(['account', 'settled', 'revised', 'chosen', 'paymentHold', 'answered', 'keyAnswer'] as const),
    ...(['mark', 'unmark', 'event', 'providerReference', 'timerDrop', 'intent', 'intentClaim'] as const),
  ],
  [
    ...birth,
    ...(['settled', 'answered', 'keyAnswer', 'mark', 'unmark', 'event'] as const),
    ...(['customer', 'customerUse', 'method', 'methodUse'] as const),
    ...(['plan', 'planStart', 'planCharge', 'planHold', 'planResult', 'planProgress'] as const),
  ],
  partNames,
]

const statements = shapes.map((held, index) => ({
  name: `commit_${index}`,
  held: new Set(held),
  shape: partNames.filter(part => held.includes(part)),
}))

/** Built on first use: most processes never need the rare shapes. */
const texts = new Map<string, string>()

/** The smallest prepared statement with room for these parts. Its result is the refused changes: `c` and `why`. */
export function commitStatement(needed: readonly Part[]): CommitStatement {
  const found = statements.find(({ held }) => needed.every(part => held.has(part)))
  assert(found, `no shape holds ${needed.join(', ')}`)
  const { name, shape } = found
  const text = texts.get(name) ?? writeStatement(shape)
  texts.set(name, text)
  return { name, text, shape }
}

/**
 * Returns the refused changes and the version mark of the webhook endpoints, so that every commit shows whether another
 * process has added or removed an endpoint.
 */
const answer = `SELECT c, why FROM refused
  UNION ALL SELECT ${endpointsRow}, value FROM installation WHERE name = '${endpointsName}'`

function writeStatement(present: readonly Part[]): string {
  let parameter = 1
  const inputs = present.map(part => {
    const { computed }: PartOfBatch = parts[part]
    const columns = columnsOf(part)
    const rows = selectColumns(parameter, columns, computed)
    parameter += parameterCount(columns)
    return `${inputName(part)} AS MATERIALIZED (${rows})`
  })
  const writes = present.flatMap(part => {
    const { columns, write, also, ready = [] }: PartOfBatch = parts[part]
    return [
      ...ready,
      ...(write ? [`${inputName(part)}_write AS (${write(columns)})`] : []),
      ...(also ? [`${inputName(part)}_also AS (${also()})`] : []),
    ]
  })
  return `WITH ${[...inputs, ...guards(present), ...writes].join(',\n')}\n${answer}`
}
