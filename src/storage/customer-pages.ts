/**
 * Pages of a merchant's customers, the newest first. Without conditions any page is found by the counts of whole blocks
 * (see the table customer_block), so that the last page costs what the first one does. With conditions an index finds
 * the few that fit, and those are counted.
 */
import type { PoolClient } from 'pg'
import type { MerchantId } from '#domain/ids.ts'
import type { Customer } from '#lifecycle/customer.ts'
import { pageSize } from '#schemas/customer.ts'
import { type CustomerRow, customerColumns, toCustomer } from '#storage/customers.ts'
import type { Database } from '#storage/database.ts'

export interface CustomerConditions {
  /** Instants: from the first up to but without the second. */
  readonly createdFrom?: Date
  readonly createdBefore?: Date
  readonly merchantCustomerId?: string
  readonly email?: string
  readonly phoneCountry?: string
  readonly phoneNumber?: string
}

export interface CustomerPage {
  readonly total: number
  readonly customers: readonly Customer[]
}

export interface CustomerPages {
  read(merchantId: MerchantId, page: number, conditions: CustomerConditions): Promise<CustomerPage>
}

/** 500: half of one is skipped and the open one counted for a page, which costs less than reading its twenty rows. */
const blockSize = 500

/** Twice a block: sealing then always leaves a whole one open. */
const openMax = 2 * blockSize

interface PageRow extends CustomerRow {
  readonly total: number
  readonly open_count: number
}

/** The page may reach into the next older blocks, so only its beginning is bound to the block that was found. */
const blockStatement = {
  name: 'customer_page',
  text: `WITH block AS MATERIALIZED (
      SELECT first_at, count IS NULL AS open, coalesce(count, (SELECT count(*) FROM customer c
        WHERE c.merchant_id = $1 AND c.created_at >= b.first_at))::bigint AS count
      FROM customer_block b WHERE b.merchant_id = $1),
    placed AS MATERIALIZED (
      SELECT count, lag(first_at) OVER newest_first AS until, sum(count) OVER newest_first - count AS before
      FROM block WINDOW newest_first AS (ORDER BY first_at DESC)),
    totals AS (
      SELECT coalesce(sum(count), 0)::bigint AS total, coalesce(sum(count) FILTER (WHERE open), 0)::bigint AS open_count
      FROM block)
    SELECT totals.total, totals.open_count, ${customerColumns} FROM totals
    LEFT JOIN (placed p CROSS JOIN LATERAL (
        SELECT k.customer_id FROM customer k
        WHERE k.merchant_id = $1 AND k.created_at < coalesce(p.until, 'infinity')
        ORDER BY k.created_at DESC, k.customer_id DESC OFFSET $2::bigint - p.before LIMIT ${pageSize}) found
      JOIN customer c ON c.merchant_id = $1 AND c.customer_id = found.customer_id)
      ON p.before <= $2 AND p.before + p.count > $2
    ORDER BY c.created_at DESC, c.customer_id DESC`,
}

export function createCustomerPages({ readers, writers }: Database): CustomerPages {
  async function readByBlocks(merchantId: MerchantId, skipped: number): Promise<CustomerPage> {
    const { rows } = await readers.query<PageRow>({ ...blockStatement, values: [merchantId, skipped] })
    const [first] = rows
    if ((first?.open_count ?? 0) > openMax) await sealBlocks(merchantId, writers)
    return toPage(rows)
  }

  async function readByConditions(
    merchantId: MerchantId,
    skipped: number,
    conditions: CustomerConditions,
  ): Promise<CustomerPage> {
    const values: unknown[] = [merchantId]
    const where = ['c.merchant_id = $1']
    for (const [name, text] of Object.entries(comparisons)) {
      const value = conditions[name as keyof CustomerConditions]
      if (value !== undefined) where.push(text.replace('?', `$${values.push(value)}`))
    }
    const found = where.join(' AND ')
    const { rows } = await readers.query<PageRow>(
      `SELECT totals.total, ${customerColumns} FROM (SELECT count(*) AS total FROM customer c WHERE ${found}) totals
       LEFT JOIN LATERAL (SELECT * FROM customer c WHERE ${found} ORDER BY c.created_at DESC, c.customer_id DESC
         OFFSET $${values.push(skipped)} LIMIT ${pageSize}) c ON true
       ORDER BY c.created_at DESC, c.customer_id DESC`,
      values,
    )
    return toPage(rows)
  }

  return {
    read(merchantId, page, conditions) {
      const skipped = (page - 1) * pageSize
      const isFree = Object.values(conditions).every(value => value === undefined)
      return isFree ? readByBlocks(merchantId, skipped) : readByConditions(merchantId, skipped, conditions)
    },
  }
}

const comparisons: Readonly<Record<keyof CustomerConditions, string>> = {
  createdFrom: 'c.created_at >= ?',
  createdBefore: 'c.created_at < ?',
  merchantCustomerId: 'c.merchant_customer_id = ?',
  email: 'lower(c.email) = lower(?)',
  phoneCountry: "ltrim(c.phone_country, '+') = ?",
  phoneNumber: 'c.phone_number = ?',
}

/** The total comes with every row, and on an empty page with one that holds nobody. */
const toPage = (rows: readonly PageRow[]): CustomerPage => ({
  total: rows[0]?.total ?? 0,
  customers: rows.filter(row => row.customer_id !== null).map(toCustomer),
})

/** Gives counts to all of the open block but its newest part. Whoever is busy with it already will do it, or the next. */
async function sealBlocks(merchantId: MerchantId, writers: Database['writers']): Promise<void> {
  await inTransaction(writers, async client => {
    // As text: a Date would lose what lies below the millisecond.
    const { rows } = await client.query<{ first_at: string }>(
      `SELECT first_at::text FROM customer_block WHERE merchant_id = $1 AND count IS NULL FOR UPDATE SKIP LOCKED`,
      [merchantId],
    )
    // Only now: the statement's view of the customers must be younger than the lock.
    if (rows[0]) await client.query(sealText, [merchantId, rows[0].first_at, blockSize])
  })
}

/**
 * Customers of one moment are never parted: a block begins with the moment of every 500th, and that moment's others
 * belong to it as well. The last one that begins stays open.
 */
const sealText = `WITH numbered AS (
    SELECT created_at, row_number() OVER (ORDER BY created_at, customer_id) AS number FROM customer
    WHERE merchant_id = $1 AND created_at >= $2::timestamptz),
  grouped AS (
    SELECT max(CASE WHEN number % $3 = 1 AND number > 1 THEN created_at ELSE $2::timestamptz END) OVER (ORDER BY created_at) AS first_at
    FROM numbered),
  counted AS (
    SELECT first_at, count(*) AS count, row_number() OVER (ORDER BY first_at DESC) AS age FROM grouped GROUP BY first_at),
  sealed AS (
    UPDATE customer_block b SET count = c.count FROM counted c
    WHERE b.merchant_id = $1 AND b.first_at = $2 AND c.first_at = $2 AND c.age > 1 RETURNING 1)
  INSERT INTO customer_block (merchant_id, first_at, count)
  SELECT $1, first_at, CASE WHEN age > 1 THEN count END FROM counted CROSS JOIN sealed WHERE first_at <> $2`

export async function inTransaction<T>(
  pool: Database['writers'],
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((rollbackError: Error) => {
      // A connection that cannot even roll back is not given to the next one.
      broken = rollbackError
    })
    throw error
  } finally {
    client.release(broken)
  }
}
