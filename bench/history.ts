/**
 * Years of trade in minutes: copies of two payments that the gateway made itself, written by SQL with everything that
 * belongs to a payment (card, operations, event, attempt, key, customer), in the past and in the order of time. What comes
 * out passes the doctor.
 */
import type pg from 'pg'

export interface Samples {
  readonly merchantId: string
  /** A card payment that was captured at once, with a key. */
  readonly paid: string
  /** The same, and refunded in full without a key. */
  readonly refunded: string
}

/** 50,000: one statement takes seconds, and its queue of foreign keys to check stays in memory. */
const copiesAtOnce = 50_000

/** 10 ms between two payments: ten million of them lie within the last 28 hours. */
const spacingMs = 10

/** Of twenty copies one has the refund, and of ten one has a customer of its own. */
const perRefund = 20
const perCustomer = 10

/** Adds the payments with these numbers; number 1 is the oldest, and `total` lies an hour back. */
export async function addHistory(
  client: pg.Client,
  { merchantId, paid, refunded }: Samples,
  { from, to, total }: { from: number; to: number; total: number },
): Promise<void> {
  await client.query(
    `WITH block AS (INSERT INTO customer_block (merchant_id, first_at, older) VALUES ($1, to_timestamp(0), 0)
       ON CONFLICT DO NOTHING)
     INSERT INTO customer_order (merchant_id, open_at) VALUES ($1, to_timestamp(0)) ON CONFLICT DO NOTHING`,
    [merchantId],
  )
  for (let first = from; first <= to; first += copiesAtOnce) {
    await client.query('DROP TABLE IF EXISTS copy')
    await client.query(
      `CREATE TEMP TABLE copy AS SELECT n, at_ms, to_timestamp(at_ms / 1000.0) AS at, p.merchant_id, p.pay_id AS sample,
         ${idOf('payment')} AS pay_id, ${idOf('authorization')} AS x1, ${idOf('capture')} AS x2, ${idOf('refund')} AS x3,
         ${idOf('event')} AS event_id, md5('card' || n)::uuid AS card_id, p.card_id AS sample_card,
         CASE WHEN n % ${perCustomer} = 0 THEN ${idOf('customer')} END AS customer_id,
         (SELECT replace(o.x_id::text, '-', '') FROM operation o WHERE o.merchant_id = p.merchant_id
           AND o.pay_id = p.pay_id AND o.sequence = 2) AS sample_capture
       FROM generate_series($1::bigint, $2::bigint) n
       CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM now()) * 1000)::bigint - 3600000
         - ($3::bigint - n) * ${spacingMs} AS at_ms) t
       JOIN payment p ON p.merchant_id = $4 AND p.pay_id = CASE WHEN n % ${perRefund} = 0 THEN $5::uuid ELSE $6::uuid END`,
      [first, Math.min(first + copiesAtOnce - 1, to), total, merchantId, refunded, paid],
    )
    await client.query('ANALYZE copy')
    for (const table of copiedTables) await copyRows(client, table)
    for (const statement of written) await client.query(statement)
  }
}

/** As a database that has run for long: statistics are there, dead rows are gone, block ranges are summarised. */
export async function settleHistory(client: pg.Client): Promise<void> {
  for (const name of tableNames) await client.query(`VACUUM ANALYZE ${name}`)
}

const marks = {
  payment: '000',
  authorization: '001',
  capture: '002',
  refund: '003',
  event: '009',
  customer: '00a',
}

/** A UUIDv7 made of the time, a mark for the kind of object, and random bits. */
function idOf(mark: keyof typeof marks): string {
  return `(lpad(to_hex(at_ms), 12, '0') || '7${marks[mark]}8' || left(md5(n::text), 15))::uuid`
}

export interface CopiedTable {
  readonly table: string
  readonly from: string
  /** SQL for the columns in which a copy differs from its sample. */
  readonly given: Readonly<Record<string, string>>
}

const order = `'history-' || c.n`
const sample = (table: string): string =>
  `copy c JOIN ${table} t ON t.merchant_id = c.merchant_id AND t.pay_id = c.sample`

const copiedTables: readonly CopiedTable[] = [
  {
    table: 'vault_card',
    from: 'copy c JOIN vault_card t ON t.merchant_id = c.merchant_id AND t.card_id = c.sample_card',
    given: { card_id: 'c.card_id', pseudo_number: `'09' || lpad(c.n::text, 14, '0')`, created_at: 'c.at' },
  },
  {
    table: 'payment',
    from: sample('payment'),
    given: {
      ...{ pay_id: 'c.pay_id', trans_id: order, card_id: 'c.card_id', customer_id: 'c.customer_id' },
      ...{ created_at: 'c.at', updated_at: 'c.at', event_sequence: '1' },
    },
  },
  {
    table: 'operation',
    from: sample('operation'),
    given: {
      ...{ pay_id: 'c.pay_id', x_id: 'CASE t.sequence WHEN 1 THEN c.x1 WHEN 2 THEN c.x2 ELSE c.x3 END' },
      ...{ trans_id: order, created_at: 'c.at', updated_at: 'c.at', sent_at: 'c.at' },
      details: `replace(t.details::text, c.sample_capture, replace(c.x2::text, '-', ''))::json`,
      key: `regexp_replace(t.key::text, '"key":"[^"]*"', '"key":"' || ${order} || '"')::json`,
    },
  },
  {
    table: 'idempotency_key',
    from: sample('idempotency_key'),
    given: { key: order, pay_id: 'c.pay_id', x_id: 'c.x1', created_at: 'c.at' },
  },
]

const written: readonly string[] = [
  `INSERT INTO customer (merchant_id, customer_id, merchant_customer_id, email, last_used_at, created_at, updated_at, version)
   SELECT merchant_id, customer_id, 'history-' || n, 'history' || n || '@example.com', at, at, at, 1
   FROM copy WHERE customer_id IS NOT NULL`,
  `INSERT INTO event (merchant_id, pay_id, sequence, event_id, x_id, body, created_at, url, status, attempts, tries, type)
   SELECT c.merchant_id, c.pay_id, 1, c.event_id, c.x2, format('{"type":"payment.captured","payId":"%s","metadata":%s,'
     '"sequence":1,"xId":"%s"}', replace(c.pay_id::text, '-', ''), p.details, replace(c.x2::text, '-', ''))::json, c.at,
     'https://shop.example/hook', 'DELIVERED', 1, 1, 'payment.captured'
   FROM copy c JOIN payment p ON p.merchant_id = c.merchant_id AND p.pay_id = c.sample`,
  `INSERT INTO event_attempt (merchant_id, pay_id, sequence, number, at, status, duration_ms, answer)
   SELECT merchant_id, pay_id, 1, 1, at, 200, 12, 'ok' FROM copy`,
]

const tableNames = [...copiedTables.map(({ table }) => table), 'customer', 'event', 'event_attempt']

/** Copies rows of a sample with all their columns, except the given ones. */
export async function copyRows(client: pg.Client, { table, from, given }: CopiedTable): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
       AND attgenerated = ''`,
    [table],
  )
  const names = rows.map(({ name }) => name)
  const values = names.map(name => given[name] ?? `t.${name}`)
  await client.query(`INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${from}`)
}
