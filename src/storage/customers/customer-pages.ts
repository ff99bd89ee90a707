/**
 * Pages of a merchant's customers, the newest first. Without conditions a page is found from the nearest block boundary
 * (see the table customer_block), so that the last page costs as much as the first. With conditions an index finds the
 * few matches, which are counted.
 */

import type { MerchantId } from '#domain/ids.ts'
import { entriesOf } from '#domain/json.ts'
import type { Customer } from '#lifecycle/customer.ts'
import { pageSize } from '#schemas/customer.ts'
import { type CustomerRow, customerColumns, toCustomer } from '#storage/customers/customers.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { byOtherIndex } from '#storage/planner.ts'

export interface CustomerConditions {
  /** Instants: from inclusive, to exclusive. */
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

/** 250: a page skips about half a block and counts one or two, which costs less than reading twenty rows. */
const blockSize = 250

/** Twice a block: splitting then always leaves a whole block open. */
const openMax = 2 * blockSize

interface PageRow extends CustomerRow {
  readonly total: number
  readonly open_count: number
}

/**
 * Positions are counted from the oldest customer, because new ones would shift all others; the page is the positions
 * from low to high.
 */
export const blockStatement = {
  name: 'customer_page',
  text: `WITH opened AS MATERIALIZED (
      SELECT b.older, (SELECT count(*) FROM customer c WHERE ${byOtherIndex('c.merchant_id')} = $1 AND c.created_at >= o.open_at) AS count
      FROM customer_order o JOIN customer_block b ON b.merchant_id = $1 AND b.first_at = o.open_at
      WHERE o.merchant_id = $1),
    page AS MATERIALIZED (
      SELECT older + count AS total, count AS open_count, greatest(older + count - $2::bigint - ${pageSize}, 0) AS low,
        greatest(older + count - $2::bigint, 0) AS high FROM opened)
    SELECT page.total, page.open_count, ${customerColumns} FROM page LEFT JOIN LATERAL (
      SELECT k.* FROM (SELECT first_at, older FROM customer_block WHERE merchant_id = $1 AND older <= page.low
          ORDER BY older DESC, first_at DESC LIMIT 1) b
      CROSS JOIN LATERAL (SELECT * FROM customer k WHERE ${byOtherIndex('k.merchant_id')} = $1 AND k.created_at >= b.first_at
          ORDER BY k.created_at, k.customer_id OFFSET page.low - b.older LIMIT page.high - page.low) k) c ON true
    ORDER BY c.created_at DESC, c.customer_id DESC`,
}

export function createCustomerPages({ readers, lists, writers }: Database): CustomerPages {
  async function readByBlocks(merchantId: MerchantId, skipped: number): Promise<CustomerPage> {
    const values = [merchantId, skipped]
    const { rows } = await lists.run(merchantId, () => readers.query<PageRow>({ ...blockStatement, values }))
    const [first] = rows
    if ((first?.open_count ?? 0) > openMax) await splitBlock(merchantId, writers)
    return toPage(rows)
  }

  async function readByConditions(
    merchantId: MerchantId,
    skipped: number,
    conditions: CustomerConditions,
  ): Promise<CustomerPage> {
    const values: unknown[] = [merchantId]
    const where = [`${byOtherIndex('c.merchant_id')} = $1`]
    for (const [name, text] of entriesOf(comparisons)) {
      const value = conditions[name]
      if (value !== undefined) where.push(text.replace('?', `$${values.push(value)}`))
    }
    const found = where.join(' AND ')
    const text = `SELECT totals.total, ${customerColumns} FROM (SELECT count(*) AS total FROM customer c WHERE ${found}) totals
       LEFT JOIN LATERAL (SELECT * FROM customer c WHERE ${found} ORDER BY c.created_at DESC, c.customer_id DESC
         OFFSET $${values.push(skipped)} LIMIT ${pageSize}) c ON true
       ORDER BY c.created_at DESC, c.customer_id DESC`
    const { rows } = await lists.run(merchantId, () => readers.query<PageRow>(text, values))
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

/** The total comes with every row; an empty page has one row that holds no customer. */
const toPage = (rows: readonly PageRow[]): CustomerPage => ({
  total: rows[0]?.total ?? 0,
  customers: rows.filter(row => row.customer_id !== null).map(toCustomer),
})

/**
 * Splits the open block into blocks, except for its newest customers. If another process holds the lock, that process
 * or the next call splits it.
 */
async function splitBlock(merchantId: MerchantId, writers: Database['writers']): Promise<void> {
  await inTransaction(writers, async client => {
    // As text: a Date would lose the microseconds.
    const { rows } = await client.query<{ open_at: string }>(
      'SELECT open_at::text FROM customer_order WHERE merchant_id = $1 FOR UPDATE SKIP LOCKED',
      [merchantId],
    )
    // A separate statement, because its snapshot must be taken after the lock.
    if (rows[0]) await client.query(partText, [merchantId, rows[0].open_at, blockSize])
  })
}

/**
 * Customers with the same creation time are never separated: a block begins with the time of every 250th customer and
 * contains all others with that time. If all have the same time, the block cannot be split and stays open.
 */
const partText = `WITH numbered AS (
    SELECT created_at, row_number() OVER (ORDER BY created_at, customer_id) AS number,
      rank() OVER (ORDER BY created_at) - 1 AS before
    FROM customer WHERE ${byOtherIndex('merchant_id')} = $1 AND created_at >= $2::timestamptz),
  begun AS (
    SELECT DISTINCT created_at AS first_at, before FROM numbered WHERE number % $3 = 1 AND before > 0),
  marked AS (
    INSERT INTO customer_block (merchant_id, first_at, older)
    SELECT $1, begun.first_at, b.older + begun.before FROM begun CROSS JOIN customer_block b
    WHERE b.merchant_id = $1 AND b.first_at = $2::timestamptz RETURNING first_at)
  UPDATE customer_order o SET open_at = newest.first_at FROM (SELECT max(first_at) AS first_at FROM marked) newest
  WHERE o.merchant_id = $1 AND newest.first_at IS NOT NULL`
