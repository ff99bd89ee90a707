/**
 * Reads sealed cards, accounts and records page by page, for the doctor to decrypt: all rows of a small table, a sample
 * of a big one, or all that were stored or used since a time. Runs in the caller's transaction, because a cursor needs
 * one.
 */
import type pg from 'pg'
import type { SealedRow } from '#storage/doctor/sealed-rows.ts'
import { type Holding, heldIn } from '#storage/vault/key-rotation.ts'

/** The tables that may have millions of rows; secrets and codes are few and read at once (sealed-rows.ts). */
export type BigHolding = Exclude<Holding, 'secrets' | 'codes'>

export interface HoldingChoice {
  readonly since?: Date
  /** Fewer in tests. */
  readonly sample?: number
}

interface Size {
  /** The number of rows that are read unless a time is given. */
  readonly sample: number
  /** The number of rows in memory at a time. */
  readonly page: number
}

/**
 * 2,000: decrypted in some hundredths of a second, they reveal almost any fault that affects more than one number in a
 * thousand.
 */
const numbers: Size = { sample: 2_000, page: 1_000 }
/** A record may have megabytes. */
const records: Size = { sample: 200, page: 10 }

/** The condition that the row `v` was stored since a time, or belongs to a payment that has changed since. */
type IsRecent = (since: string) => string

const usedBy =
  (column: string): IsRecent =>
  since =>
    `(v.merchant_id, v.${column}) IN (SELECT p.merchant_id, p.${column} FROM payment p WHERE p.updated_at >= ${since})`

const storedAt =
  (column: string): IsRecent =>
  since =>
    `v.${column} >= ${since}`

const either =
  (...conditions: readonly IsRecent[]): IsRecent =>
  since =>
    `(${conditions.map(condition => condition(since)).join(' OR ')})`

const holdings: Readonly<Record<BigHolding, Size & { readonly isRecent: IsRecent }>> = {
  cards: { ...numbers, isRecent: either(storedAt('created_at'), usedBy('card_id')) },
  accounts: { ...numbers, isRecent: either(storedAt('created_at'), usedBy('account_id')) },
  notices: { ...records, isRecent: storedAt('received_at') },
  evidence: { ...records, isRecent: storedAt('created_at') },
  bankFiles: {
    ...records,
    isRecent:
      since => `EXISTS (SELECT 1 FROM bank_batch b WHERE b.merchant_id = v.merchant_id AND b.batch_id = v.batch_id
      AND b.made_at >= ${since})`,
  },
  bankEntries: { ...records, isRecent: either(storedAt('booked_on'), usedBy('pay_id')) },
  bankSurplus: { ...records, isRecent: usedBy('pay_id') },
}

export async function* readHolding(
  client: pg.ClientBase,
  holding: BigHolding,
  { since, sample }: HoldingChoice = {},
): AsyncGenerator<readonly SealedRow[]> {
  const { table, id } = heldIn(holding)
  const { page, isRecent, ...size } = holdings[holding]
  const condition = since
    ? isRecent(`'${since.toISOString()}'::timestamptz`)
    : await chanceOf(client, table, sample ?? size.sample)
  // Ids as 32 hex digits, because sealed values are bound to their place in that form.
  await client.query(`DECLARE examined NO SCROLL CURSOR FOR SELECT v.merchant_id AS "merchantId",
      replace(v.${id}::text, '-', '') AS id, v.key_version AS "keyVersion", v.sealed
    FROM ${table} v WHERE v.sealed IS NOT NULL AND ${condition}`)
  for (;;) {
    const { rows } = await client.query<SealedRow>(`FETCH ${page} FROM examined`)
    if (rows.length === 0) break
    yield rows
  }
  await client.query('CLOSE examined')
}

/** Whether there is a card or account number to decrypt. */
export async function holdsNumbers(client: pg.ClientBase): Promise<boolean> {
  const tables = [heldIn('cards').table, heldIn('accounts').table]
  const { rows } = await client.query<{ holds: boolean }>(
    `SELECT ${tables.map(table => `EXISTS (SELECT 1 FROM ${table} WHERE sealed IS NOT NULL)`).join(' OR ')} AS holds`,
  )
  return rows[0]?.holds === true
}

/** A condition that holds for about `sample` random rows of the table, which is read in its physical order. */
async function chanceOf(client: pg.ClientBase, table: string, sample: number): Promise<string> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*)::text AS count FROM ${table} WHERE sealed IS NOT NULL`,
  )
  const count = Number(rows[0]?.count ?? 0)
  return count <= sample ? 'true' : `random() < ${sample}::float8 / ${count}`
}
