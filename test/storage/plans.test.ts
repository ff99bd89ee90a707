/**
 * The query plan of every statement in ordinary traffic: none may read a table that grows with traffic in any
 * other way than by an index, with conditions on its first columns. src/storage/planner.ts says how plans are steered.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { addItems } from '#storage/bank/batch-rows.ts'
import { dropReplacedLines, settleEntries } from '#storage/bank/entries.ts'
import { renameLines } from '#storage/bank/former-keys.ts'
import { commitStatement } from '#storage/commit/statement.ts'
import { openDatabase } from '#storage/database.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import { readerSettings } from '#storage/planner.ts'
import { insertStatement, namePayout, unmatchedStatement } from '#storage/providers/insert-lines.ts'
import { matchPage, pagesOfAccount } from '#storage/providers/match-lines.ts'
import { listLines } from '#storage/providers/settlements.ts'
import { createEmptyDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openIntents } from '#test/support/intents.ts'
import { planPayment } from '#test/support/plans.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

interface Statement {
  readonly text: string
  /** The settings of the connection that runs it. */
  readonly options: string
}

/** Tables with a row per payment, customer, event or delivery. */
const growing = new Set([
  ...[
    'payment',
    'operation',
    'idempotency_key',
    'payment_mark',
    'provider_reference',
    'timer',
    'payment_intent',
  ],
  ...['customer', 'stored_method', 'payment_plan', 'vault_card', 'vault_account', 'dcc_quote', 'dispute'],
  ...['event', 'event_attempt', 'event_delivery', 'event_delivery_attempt'],
])

const statements = new Map<string, Statement>()
let gateway: TestGateway

/** Records every statement on its way to the real database. */
function recordStatements(): () => void {
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function record(this: pg.Client, ...words: unknown[]) {
    const [first] = words as [string | { name?: string; text?: string } | undefined]
    const text = typeof first === 'string' ? first : first?.text
    const { options } = (this as unknown as { connectionParameters: { options?: string } })
      .connectionParameters
    if (text !== undefined && /^\s*(SELECT|WITH|UPDATE|DELETE)\b/.test(text)) {
      const name = typeof first === 'object' ? first.name : undefined
      statements.set(name ?? text, { text, options: options ?? '' })
    }
    return Reflect.apply(query, this, words)
  } as typeof query
  return () => {
    pg.Client.prototype.query = query
  }
}

beforeAll(async () => {
  const stop = recordStatements()
  try {
    gateway = await startTestGateway()
    await driveTraffic()
    await takeOver()
  } finally {
    stop()
  }
})

afterAll(() => gateway.stop())

/** A second gateway captures and reads, because the first one caches what it has just written. */
async function driveTraffic(): Promise<void> {
  const other = await startTestGateway({ beside: gateway })
  const call = async (from: TestGateway, ...request: Parameters<TestGateway['call']>) => {
    const answer = await from.call(...request)
    expect(answer.status, `${request[1]} ${answer.text}`).toBeLessThan(300)
    return answer.body
  }
  const amount = { value: 100, currency: 'EUR' }
  const customerInfo = { merchantCustomerId: 'c-1', email: 'ada@example.com' }
  const manual = cardPayment({ captureMethod: { type: 'MANUAL' }, customerInfo })
  const { payId } = await call(gateway, 'POST', '/payments', manual, { 'idempotency-key': 'plans' })
  for (const step of ['captures', 'refunds'])
    await call(other, 'POST', `/payments/${payId}/${step}`, { transId: step, amount })
  await call(gateway, 'GET', `/payments/getByPayId/${payId}`)
  await call(other, 'GET', `/payments/getByTransId/${manual.transId}`)
  for (const list of ['/payments?limit=5', '/events?page=1', '/customers?page=1', '/payment-plans?page=1'])
    await call(other, 'GET', list)
  const { paymentPlanId } = await call(gateway, 'POST', '/payments', cardPayment(planPayment()))
  await call(other, 'GET', `/payment-plans/${paymentPlanId}`)
  await call(other, 'GET', `/payment-plans/${paymentPlanId}/payments?page=1`)
  const cards = [{ number: '4000000000003246', expiryDate: '202912' }]
  await call(gateway, 'POST', '/services/accountUpdater', { transId: 'update', cards })
  await call(gateway, 'POST', '/payments/links', { transId: 'link', amount })
  await openIntents(gateway, gateway).intent()
  await gateway.gateway.timerWorker.runDue()
  await other.stop()
}

/** The statements that a process runs when another one has died. */
async function takeOver(): Promise<void> {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const work = createWorkFinder(database)
  await work.releaseTimersOf([0])
  await work.findOrphanAccountsOf([0])
  await work.findOrphansOf([0], { merchantId: gateway.merchantId as MerchantId, account: null }, 1)
  await work.close()
  await database.close()
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Node[]
}

interface Index {
  readonly name: string
  readonly columns: readonly string[]
  /** A partial index of waiting rows only, such as due events, which may be read as a whole. */
  readonly isPartial: boolean
}

async function readIndexes(client: pg.Client): Promise<ReadonlyMap<string, Index>> {
  const { rows } = await client.query<Index>(
    `SELECT indexrelid::regclass::text AS name, indpred IS NOT NULL AS "isPartial",
       ARRAY(SELECT pg_get_indexdef(indexrelid, n, true) FROM generate_series(1, indnkeyatts) n) AS columns
     FROM pg_index`,
  )
  return new Map(rows.map(index => [index.name, index]))
}

/** Whether the conditions are on the leading columns of the index; otherwise the scan reads the entries in between. */
function hasGap({ columns }: Index, condition: string): boolean {
  const words = new Set(condition.match(/\w+/g))
  const isBound = columns.map(
    column => words.has(column) || (/\W/.test(column) && condition.includes(column)),
  )
  return isBound.lastIndexOf(true) > isBound.filter(Boolean).length - 1
}

/** Reads of growing tables that no condition on an index bounds, as `Seq Scan on payment`. */
function findUnbounded(node: Node, indexes: ReadonlyMap<string, Index>): readonly string[] {
  const { 'Node Type': type, 'Relation Name': relation, Plans: below = [], 'Index Cond': condition } = node
  const index = indexes.get(node['Index Name'] ?? '')
  const isBounded =
    index !== undefined && (index.isPartial || (condition !== undefined && !hasGap(index, condition)))
  const isRead = /^(Seq Scan|Index Scan|Index Only Scan)$/.test(type) && growing.has(relation ?? '')
  return [
    ...(isRead && !isBounded ? [`${type} on ${relation}${index ? ` by ${index.name}` : ''}`] : []),
    ...below.flatMap(child => findUnbounded(child, indexes)),
  ]
}

async function explain({ text, options }: Statement): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl, options })
  await client.connect()
  try {
    const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
    return findUnbounded(rows[0]['QUERY PLAN'][0].Plan, await readIndexes(client))
  } finally {
    await client.end()
  }
}

const { name: planCommit } = commitStatement(['payment', 'planStart'])

test('every statement reads growing tables by an index', async () => {
  expect([...statements.keys()]).toEqual(
    expect.arrayContaining([planCommit, 'payments_by_pay_id', 'payment_by_trans_id', 'claim_timers']),
  )
  const unbounded: Record<string, readonly string[]> = {}
  for (const [name, statement] of statements) {
    const found = await explain(statement)
    if (found.length > 0) unbounded[name] = found
  }
  expect(unbounded).toEqual({})
})

/** The indexes with which a query plan reads payments. */
const paymentIndexesOf = (node: Node): readonly string[] => [
  ...(node['Relation Name'] === 'payment' && node['Node Type'] !== 'ModifyTable'
    ? [node['Index Name'] ?? node['Node Type']]
    : []),
  ...(node.Plans ?? []).flatMap(paymentIndexesOf),
]

/**
 * A query plan lives as long as its connection. With some 130 payments in a table without statistics, the index of
 * transIds has one level more than the primary key, and the planner took the latter: every new payment read all others
 * of its merchant.
 */
test.each([
  [['payment', 'card', 'operation']],
  [['payment', 'settled', 'card', 'operation', 'answered']],
  [['key', 'payment', 'card', 'operation']],
  [['payment', 'operation', 'mark', 'timer']],
] as const)(
  'a batch of %s looks up a taken transId by its own index, regardless of the number of payments when it is planned',
  async parts => {
    const { text } = commitStatement(parts)
    const { options } = statements.get(planCommit) ?? { options: '' }
    const client = new pg.Client({ connectionString: gateway.databaseUrl, options })
    await client.connect()
    try {
      await client.query('BEGIN')
      for (let count = 0; count < 240; count += 4) {
        await client.query(
          `INSERT INTO payment SELECT copy.* FROM payment p, generate_series(1, 4) n,
           jsonb_populate_record(p, jsonb_build_object(
             'pay_id', gen_random_uuid(), 'trans_id', concat('order-with-a-long-number-', $1::text, '-', n))) AS copy
         WHERE p.pay_id = (SELECT pay_id FROM payment ORDER BY created_at LIMIT 1)`,
          [count],
        )
        const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
        const found = paymentIndexesOf(rows[0]['QUERY PLAN'][0].Plan)
        expect(found, `${count} payments`).toContain('payment_live_by_trans_id')
        // A settlement finds its payment by the primary key.
        expect(found.filter(name => name !== 'payment_live_by_trans_id')).toEqual(
          parts.some(part => part === 'settled') ? ['payment_pkey'] : [],
        )
      }
      await client.query('ROLLBACK')
    } finally {
      await client.end()
    }
  },
)

/** The conditions with which a query plan reads one table. */
const conditionsOn = (table: string, node: Node): readonly string[] => [
  ...(node['Relation Name'] === table && node['Index Name'] !== undefined ? [node['Index Cond'] ?? ''] : []),
  ...(node.Plans ?? []).flatMap(child => conditionsOn(table, child)),
]

test('the account updater finds the stored methods and plans of a card by the card, not by the merchant alone', async () => {
  const updates = [...statements.values()].filter(({ text }) =>
    /^UPDATE (stored_method|payment_plan) /.test(text),
  )
  expect(updates).toHaveLength(2)
  for (const { text, options } of updates) {
    const client = new pg.Client({ connectionString: gateway.databaseUrl, options })
    await client.connect()
    try {
      const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
      const { Plan: plan } = rows[0]['QUERY PLAN'][0]
      for (const table of ['stored_method', 'payment_plan'])
        for (const condition of conditionsOn(table, plan)) expect(condition).toMatch(/card_id|held_id/)
    } finally {
      await client.end()
    }
  }
})

/** Rows of one merchant: as many as a day of debits, its statement or a settlement file adds before the tables have statistics. */
const bankRows = {
  timer: `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
    SELECT $1, gen_random_uuid(), gen_random_uuid(), 'BATCH', '9000-01-01', 0 FROM generate_series(1, $2)`,
  bank_entry: `INSERT INTO bank_entry (merchant_id, entry_id, provider_account_id, entry_key, state, booked_on, amount, currency,
      key_version, sealed)
    SELECT $1, gen_random_uuid(), 'account', gen_random_uuid(), 'NEW', '2026-01-01', 1, 'EUR', 1, '' FROM generate_series(1, $2)`,
  settlement_line: `INSERT INTO settlement_line (merchant_id, provider_account_id, settlement_id, provider_reference, type, date,
      gross, fee, net, currency)
    SELECT $1, 'account', '2026-01-01', gen_random_uuid(), 'CAPTURE', '2026-01-01', 1, 0, 1, 'EUR' FROM generate_series(1, $2)`,
}

/** The first is prepared, so its plan may be as old as the connection; the others are planned at each execution. */
test.each([
  ['a batch for the bank', addItems, 'timer', 'pay_id', [0, 100, 5_000]],
  ['an import of a statement', settleEntries, 'bank_entry', 'entry_id', [5_000]],
  ['an import of a statement', dropReplacedLines, 'bank_entry', 'entry_id', [5_000]],
  ['an import of a statement', dropReplacedLines, 'settlement_line', 'provider_reference', [5_000]],
  [
    'an import of settlement lines',
    renameLines,
    'settlement_line',
    Array<string>(4).fill('provider_reference'),
    [0, 5_000],
  ],
  ['an import of settlement lines', namePayout, 'settlement_line', 'provider_reference', [0, 5_000]],
  ['an import of settlement lines', insertStatement, 'settlement_line', 'provider_reference', [5_000]],
  [
    'an import of settlement lines',
    unmatchedStatement,
    'settlement_line',
    ['provider_reference', 'transaction_id'],
    [5_000],
  ],
  ['an import of settlement lines', matchPage, 'settlement_line', 'provider_reference', [5_000]],
  ['an import of settlement lines', pagesOfAccount, 'settlement_line', 'ROW', [5_000]],
] as const)(
  '%s finds its rows by their own keys, not by the merchant alone: %#',
  async (_, text, table, key, sizes) => {
    const { options } = statements.get(planCommit) ?? { options: '' }
    const client = new pg.Client({ connectionString: gateway.databaseUrl, options })
    await client.connect()
    try {
      await client.query('BEGIN')
      for (const size of sizes) {
        await client.query(bankRows[table], [gateway.merchantId, size])
        const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
        const found = conditionsOn(table, rows[0]['QUERY PLAN'][0].Plan)
        expect(found, `${size} rows`).toEqual([key].flat().map(name => expect.stringContaining(name)))
      }
      await client.query('ROLLBACK')
    } finally {
      await client.end()
    }
  },
)

test.each([
  ['a payment', 'pay_id', 4, '019a3f6ba0117d3f90415263748596a7'],
  // Known to the statistics: the planner must not hope to find its lines soon while it reads all of them by date.
  ['one settlement', 'settlement_id', 3, 's1'],
])(
  'the settlement lines of %s are found by it, however many lines the merchant has',
  async (_, column, place, value) => {
    const client = new pg.Client({ connectionString: gateway.databaseUrl, options: readerSettings })
    await client.connect()
    try {
      await client.query('BEGIN')
      await client.query(bankRows.settlement_line, [gateway.merchantId, 5_000])
      await client.query(`UPDATE settlement_line l SET pay_id = gen_random_uuid(), settlement_id = 's' || n,
          date = '2026-01-01'::date + n FROM (SELECT provider_reference, (row_number() OVER () / 500)::integer AS n
            FROM settlement_line) numbered WHERE numbered.provider_reference = l.provider_reference`)
      await client.query('ANALYZE settlement_line')
      const values: unknown[] = Array.from({ length: 13 }, () => null)
      values[0] = gateway.merchantId
      values[place] = value
      values[12] = 21
      const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${listLines}`, values)
      const found = conditionsOn('settlement_line', rows[0]['QUERY PLAN'][0].Plan)
      expect(found).toEqual([expect.stringContaining(column)])
      await client.query('ROLLBACK')
    } finally {
      await client.end()
    }
  },
)

test('a gathered look-up keeps its plan', async () => {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const { rows: stored } = await database.readers.query(
    'SELECT merchant_id AS "merchantId", pay_id AS "payId" FROM payment LIMIT 1',
  )
  const payments = createPaymentReader(database)
  for (let n = 0; n < 10; n++) {
    const { merchantId, payId } = stored[0]
    expect((await payments.byPayId(merchantId, payId))?.payId).toBe(payId)
  }
  const { rows: plans } = await database.lookUps.query(
    'SELECT name, generic_plans AS kept, custom_plans AS "plannedAgain" FROM pg_prepared_statements',
  )
  expect(plans).toEqual([{ name: 'payments_by_pay_id', kept: 10, plannedAgain: 0 }])
  await database.close()
})

test('this test detects a read without an index', async () => {
  const { options } = statements.get('payments_by_pay_id') ?? { options: '' }
  const text = 'SELECT 1 FROM operation WHERE response_code = $1'
  expect(await explain({ text, options })).toEqual(['Seq Scan on operation'])
})

test('statements are not compiled to machine code on a server that compiles by default', async () => {
  const { url, drop } = await createEmptyDatabase()
  await queryRows(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`)
  const database = openDatabase(url, () => undefined)
  const { writers, readers, lookUps, deliverers } = database
  const shown = await Promise.all([writers, readers, lookUps, deliverers].map(pool => pool.query('SHOW jit')))
  expect(shown.map(({ rows }) => rows[0].jit)).toEqual(['off', 'off', 'off', 'off'])
  await database.close()
  await drop()
})
