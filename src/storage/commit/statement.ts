/**
 * The SQL of a batch. Each part of a change (a payment, its operations, a key, …) is one JSON array parameter; the
 * statement has one of a few fixed shapes, each with room for parts that often occur together. Guards are checked
 * first, writes follow for the changes that pass, and unique indexes and CHECKs are the final guard. The SQL is limited
 * to what Citus accepts as well: no now() inside CASE, no `CASE x WHEN`, and no INSERT whose source reads a table.
 */
import { strict as assert } from 'node:assert'
import { accountRefusals, keepIn } from '#storage/commit/account-parts.ts'
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
import {
  customerLocks,
  customerParts,
  customerRefusals,
  customerUpdateGuard,
} from '#storage/commit/customer-parts.ts'
import { disputeParts } from '#storage/commit/dispute-parts.ts'
import { endpointsName, endpointsRow, eventParts } from '#storage/commit/event-parts.ts'
import { intentGuards, intentParts } from '#storage/commit/intent-parts.ts'
import { markParts } from '#storage/commit/marks.ts'
import { planGuards, planParts, planRefusals } from '#storage/commit/plan-parts.ts'
import { referenceColumns, writeReferences } from '#storage/commit/provider-references.ts'
import { checkedLast, lookUp } from '#storage/planner.ts'
import { type Columns, recordset } from '#storage/recordset.ts'

/** The columns of each part's JSON array, and how they are written. The order here is the order of parameters. */
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
  card: {
    columns: cardColumns,
    // A number that is marked for deletion is kept if its card pays again.
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
  // Written by its guard.
  quote: { columns: [...quoteKey, ['pay_id', 'uuid']] as const, write: undefined },
  operation: {
    columns: [...operationKey, ...operationState, ...operationBirth] as const,
    write: insertInto('operation', 'operation'),
  },
  ...markParts,
  answered: {
    columns: [...operationKey, ...operationState] as const,
    // An operation that is sent only now, after its customer's step, must be found from now on if its answer is lost.
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
    // The first answer stays, whatever happens to the operation after its customer's step.
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
    columns: [...timerKey, ['run_at', 'timestamptz'], ['attempt', 'integer']] as const,
    write: insertInto(
      'timer',
      'timer',
      `ON CONFLICT (merchant_id, pay_id, x_id, kind)
       DO UPDATE SET run_at = excluded.run_at, attempt = excluded.attempt, leased_until = NULL`,
    ),
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
  readonly columns: Columns
  readonly write: ((columns: Columns) => string) | undefined
  /** A second write that follows from the same rows. */
  readonly also?: () => string
  /** Computed columns that every row has as well. */
  readonly computed?: string
  /** What the writes read from other tables, each as `name AS (…)`: an INSERT reads from these only. */
  readonly ready?: readonly string[]
}

export type Part = keyof typeof parts

/** A row of this part, with exactly the part's columns. */
export type PartRow<P extends Part> = BatchRow<(typeof parts)[P]['columns']>

// Object.keys forgets the type of the keys.
export const partNames = Object.keys(parts) as Part[]

function insertInto(table: string, part: string, conflict = ''): (columns: Columns) => string {
  return columns => {
    const names = columns.map(([name]) => name).join(', ')
    return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${inputName(part)}
      WHERE c NOT IN (SELECT c FROM refused) ${conflict}`
  }
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

const match = (key: Columns): string => key.map(([name]) => `t.${name} = i.${name}`).join(' AND ')

const inputName = (part: string): string =>
  `${part.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}_in`

export interface CommitStatement {
  readonly name: string
  readonly text: string
  /** The parts in the order of their parameters. */
  readonly shape: readonly Part[]
}

const usual = [
  'key',
  'payment',
  'settled',
  'card',
  'operation',
  'answered',
  'keyAnswer',
  'timer',
  'mark',
  'unmark',
] as const

/**
 * The fixed shapes of a batch, from the smallest to the one that holds every part. PostgreSQL keeps each prepared
 * statement with its plan in each writer connection for as long as the connection lives, so there must be few of them:
 * with one per combination of parts, mixed traffic filled 1.2 GB per connection in five minutes (measured). A part that
 * a batch does not need gets an empty array, which costs next to nothing.
 */
const shapes: readonly (readonly Part[])[] = [
  ['settled', 'operation', 'answered'],
  ['key', 'payment', 'card', 'operation', 'timer'],
  ['key', 'settled', 'operation', 'answered', 'keyAnswer', 'timer'],
  ['key', 'settled', 'operation', 'answered', 'keyAnswer', 'timer', 'event', 'providerReference'],
  usual,
  [...usual, 'event', 'timerDrop', 'intent', 'intentClaim', 'providerReference'],
  [
    ...usual,
    ...(['event', 'customer', 'customerUse', 'method', 'methodUse'] as const),
    ...(['plan', 'planStart', 'planCharge', 'planResult', 'planProgress'] as const),
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

/** The smallest prepared statement with room for these parts. Its rows are the refused changes: `c` and `why`. */
export function commitStatement(needed: readonly Part[]): CommitStatement {
  const found = statements.find(({ held }) => needed.every(part => held.has(part)))
  assert(found, `no shape holds ${needed.join(', ')}`)
  const { name, shape } = found
  const text = texts.get(name) ?? writeStatement(shape)
  texts.set(name, text)
  return { name, text, shape }
}

/**
 * The refused changes, and with them the state of the webhook endpoints: a process learns within its own commit
 * that another process has added or removed an endpoint.
 */
const answer = `SELECT c, why FROM refused
  UNION ALL SELECT ${endpointsRow}, value FROM installation WHERE name = '${endpointsName}'`

function writeStatement(present: readonly Part[]): string {
  const inputs = present.map((part, index) => {
    const { columns, computed }: PartOfBatch = parts[part]
    const rows = recordset(`$${index + 1}`, [['c', 'integer'], ...columns])
    return `${inputName(part)} AS MATERIALIZED (SELECT *${computed ? `, ${computed}` : ''} FROM ${rows})`
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

/**
 * The changes that are refused, and why. A key or transId that is taken refuses its change; so does a payment whose
 * version has moved on, or an intent that another payment has claimed. The update of the payment, and of the intent, is
 * itself part of the guard: in a race the row is locked and checked again, so the rest of the change depends on whether
 * that update happened.
 */
function guards(present: readonly Part[]): string[] {
  const taken: string[] = []
  if (present.includes('key')) {
    taken.push(`SELECT i.c, 'key_taken' AS why FROM key_in i WHERE EXISTS (
      SELECT 1 FROM idempotency_key t WHERE ${match(keyKey)})`)
  }
  if (present.includes('payment')) {
    taken.push(
      `SELECT i.c, 'trans_id_taken' AS why FROM payment_in i WHERE i.live AND EXISTS ${lookUp(
        'SELECT 1 FROM payment t WHERE t.merchant_id = i.merchant_id AND t.trans_id = i.trans_id AND t.live',
      )}`,
    )
  }
  // A payment without card data relies on the vault; another process may have deleted the card since.
  const brought = present.includes('card') ? 'AND i.c NOT IN (SELECT c FROM card_in)' : ''
  for (const part of (['payment', 'chosen'] as const).filter(one => present.includes(one))) {
    taken.push(`SELECT i.c, 'card_gone' AS why FROM ${part}_in i WHERE i.card_id IS NOT NULL ${brought} AND NOT EXISTS (
      SELECT 1 FROM vault_card t WHERE t.merchant_id = i.merchant_id AND t.card_id = i.card_id
        AND t.sealed IS NOT NULL AND t.delete_after_use_at IS NULL)`)
  }
  taken.push(...accountRefusals(present), ...customerRefusals(present), ...planRefusals(present))
  const none = 'SELECT NULL::integer AS c, NULL::text AS why WHERE false'
  const early = `taken AS MATERIALIZED (${taken.join(' UNION ALL ') || none})`
  const updates = (['settled', 'revised', 'chosen'] as const)
    .filter(part => present.includes(part))
    .map(updatePayment)
  updates.push(...intentGuards(present))
  if (present.includes('quote')) updates.push(takeQuote())
  if (present.includes('customerUpdate')) updates.push(customerUpdateGuard)
  updates.push(...planGuards(present))
  return [...customerLocks(present), early, ...updates.map(({ cte }) => cte), refusedBy(updates)]
}

interface GuardingUpdate {
  readonly cte: string
  readonly input: string
  readonly updated: string
  /** The conflict to report if the update did not happen. */
  readonly why: string
}

/**
 * A quote is used by one payment. As with a payment's version, the row is locked and checked again.
 * A change that takes a quote updates no payment, so the two kinds of guard never meet in one.
 */
function takeQuote(): GuardingUpdate {
  const input = inputName('quote')
  const updated = 'quote_updated'
  const cte = `${updated} AS (UPDATE dcc_quote t SET pay_id = i.pay_id FROM ${input} i
      WHERE ${match(quoteKey)} AND t.pay_id IS NULL AND i.c NOT IN (SELECT c FROM taken) RETURNING i.c)`
  return { cte, input, updated, why: 'quote_taken' }
}

const updatedColumns = {
  settled: paymentState,
  revised: [...paymentState, ...paymentTerms],
  chosen: [...paymentState, ...paymentTerms, ...paymentChoice],
}

function updatePayment(part: keyof typeof updatedColumns): GuardingUpdate {
  const input = inputName(part)
  const updated = `${part}_updated`
  const columns = updatedColumns[part]
  const set = columns.map(([name]) => `${name} = i.${name}`).join(', ')
  const cte = `${updated} AS (UPDATE payment t SET ${set} FROM ${input} i
      WHERE ${match(paymentKey)} AND t.version = i.expected_version AND i.c NOT IN (SELECT c FROM taken)
      RETURNING i.c)`
  return { cte, input, updated, why: 'version_changed' }
}

const refusedBy = (updates: readonly GuardingUpdate[]): string =>
  `refused AS MATERIALIZED (${[
    'SELECT c, why FROM taken',
    ...updates.map(
      ({ input, updated, why }) => `SELECT i.c, '${why}' FROM ${input} i
      WHERE i.c NOT IN (SELECT c FROM ${updated}) AND i.c NOT IN (SELECT c FROM taken)`,
    ),
  ].join(' UNION ALL ')})`
