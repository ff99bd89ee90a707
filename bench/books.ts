/**
 * The books of a bench: the database must contain exactly what was acknowledged, to the cent. A bench that loses
 * payments has measured nothing.
 */
import { strict as assert } from 'node:assert'
import type pg from 'pg'

export interface Entry {
  count: number
  amount: number
}

export interface Books {
  /** Captured with the authorisation. */
  readonly automatic: Entry
  /** Only authorised, by us or later captured. */
  readonly manual: Entry
  /** Of manual ones, each in full. */
  readonly captures: Entry
  /** Of captured ones, each in full. */
  readonly refunds: Entry
  /** Payments on which many captures of 1 raced, and those captures that were taken. */
  readonly raced: Entry
  readonly raceCaptures: Entry
  /** The number of payments with a new card. */
  cards: number
}

export const openBooks = (): Books => ({
  automatic: { count: 0, amount: 0 },
  manual: { count: 0, amount: 0 },
  captures: { count: 0, amount: 0 },
  refunds: { count: 0, amount: 0 },
  raced: { count: 0, amount: 0 },
  raceCaptures: { count: 0, amount: 0 },
  cards: 0,
})

export function enter(
  entry: Entry,
  { acknowledged, amount }: { acknowledged: number; amount: number },
): void {
  entry.count += acknowledged
  entry.amount += amount
}

export async function auditBooks(client: pg.Client, merchantId: string, books: Books): Promise<string> {
  const { automatic, manual, captures, refunds, raced, raceCaptures, cards } = books
  const open = { count: manual.count - captures.count, amount: manual.amount - captures.amount }
  const closed = plus(automatic, captures)
  const all = plus(plus(closed, open), raced)
  const sum = (table: string, condition: string, amount = 'amount') =>
    readEntry(
      client,
      `SELECT count(*), sum(${amount}) FROM ${table} WHERE merchant_id = $1 AND ${condition}`,
      merchantId,
    )

  assert.deepEqual(await sum('payment', 'true'), all, 'payments')
  const captured = { count: closed.count + raced.count, amount: closed.amount + raceCaptures.amount }
  assert.deepEqual(await sum('payment', `status = 'OK'`, 'captured'), captured, 'captured payments')
  assert.deepEqual(await sum('payment', 'refunded > 0', 'refunded'), refunds, 'refunded payments')
  assert.deepEqual(await sum('payment', `status = 'AUTHORIZED'`, 'authorized'), open, 'authorised payments')
  assert.deepEqual(
    await sum('payment', 'true', 'capturing + refunding'),
    { count: all.count, amount: 0 },
    'open captures and refunds',
  )
  assert.deepEqual(await sum('operation', `type = 'AUTHORIZATION' AND state IN ('OK', 'AUTHORIZED')`), all)
  const taken = plus(closed, raceCaptures)
  assert.deepEqual(await sum('operation', `type = 'CAPTURE' AND state = 'OK'`), taken, 'captures')
  assert.deepEqual(await sum('operation', `type = 'REFUND' AND state = 'OK'`), refunds, 'refunds')
  const operations = all.count + taken.count + refunds.count
  assert.equal((await sum('operation', 'true')).count, operations, 'operations')
  assert.equal((await sum('vault_card', 'true', '0')).count, cards, 'cards')
  return `${all.count.toLocaleString('en-GB')} payments, ${closed.count.toLocaleString('en-GB')} captured`
}

const plus = (one: Entry, other: Entry): Entry => ({
  count: one.count + other.count,
  amount: one.amount + other.amount,
})

async function readEntry(client: pg.Client, text: string, merchantId: string): Promise<Entry> {
  const { rows } = await client.query<{ count: string; sum: string | null }>(text, [merchantId])
  return { count: Number(rows[0]?.count), amount: Number(rows[0]?.sum ?? 0) }
}
