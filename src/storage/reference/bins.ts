/**
 * Looks up card ranges and replaces them all. They are the same for every merchant of the environment and contain no
 * personal data: apart from the rates this is the only table that is not per merchant.
 */

import type { PoolClient } from 'pg'
import type { BinFacts, BinRange, BinSpan } from '#domain/cards/bin-ranges.ts'
import { textAt } from '#domain/json.ts'
import { constraintOf, type Database } from '#storage/database.ts'
import { type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

export interface BinReader {
  /** The narrowest range that contains the whole span. */
  find(span: BinSpan): Promise<BinRange | undefined>
}

interface FoundRow {
  readonly first: number
  readonly last: number
  readonly brand: string
  readonly co_brands: string[]
  readonly product: string | null
  readonly source: BinFacts['source'] | null
  readonly issuer: string | null
  readonly country: string | null
  readonly currency: string | null
  readonly dcc_eligible: boolean
}

export function createBinReader({ readers }: Database): BinReader {
  return {
    async find({ first, last }) {
      const { rows } = await readers.query<FoundRow>({
        name: 'bin_range',
        text: `SELECT lower(span) AS first, upper(span) - 1 AS last, brand, co_brands, product, source, issuer, country,
                 currency, dcc_eligible
               FROM bin_range WHERE span @> int8range($1, $2, '[]') ORDER BY upper(span) - lower(span) LIMIT 1`,
        values: [first, last],
      })
      return rows[0] && toRange(rows[0])
    },
  }
}

const toRange = (row: FoundRow): BinRange => ({
  span: { first: row.first, last: row.last },
  brand: row.brand,
  coBrands: row.co_brands,
  product: row.product ?? undefined,
  source: row.source ?? undefined,
  issuer: row.issuer ?? undefined,
  country: row.country ?? undefined,
  currency: row.currency ?? undefined,
  dccEligible: row.dcc_eligible,
})

/** The file contains a range twice, so it is unclear which one applies. */
export class RepeatedRange extends Error {}

/** 5,000 ranges are about a megabyte of JSON: few round trips, and little memory on both sides. */
const rangesAtOnce = 5_000

/** An arbitrary lock number, so that one import runs at a time. */
const importLock = 7_005_001

/**
 * Replaces all ranges in one transaction: an incomplete or invalid file changes nothing, and look-ups see the old
 * ranges until the swap. They wait only for the swap, because the new ranges are loaded and indexed in a second table.
 */
export async function replaceBins(
  { writers }: Database,
  ranges: AsyncIterable<BinRange>,
  onProgress: (count: number) => void,
): Promise<number> {
  const client = await writers.connect()
  try {
    await client.query('BEGIN')
    // Building an index on a long list, and reading the file, may take longer than the timeouts for payments.
    await client.query('SET LOCAL statement_timeout = 0')
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [importLock])
    await client.query('CREATE TABLE bin_range_next (LIKE bin_range INCLUDING CONSTRAINTS)')
    const count = await insertAll(client, ranges, onProgress)
    for (const statement of swap) await client.query(statement)
    client.release()
    return count
  } catch (error) {
    // Closing the connection is the surest way to roll back.
    client.release(true)
    throw isRepeated(error) ? new RepeatedRange(`the same range stands twice: ${error.detail}`) : error
  }
}

const swap = [
  'ALTER TABLE bin_range_next ADD CONSTRAINT bin_range_next_pkey PRIMARY KEY (span)',
  'CREATE INDEX bin_range_next_by_span ON bin_range_next USING gist (span)',
  'ANALYZE bin_range_next',
  'DROP TABLE bin_range',
  'ALTER TABLE bin_range_next RENAME TO bin_range',
  'ALTER INDEX bin_range_next_pkey RENAME TO bin_range_pkey',
  'ALTER INDEX bin_range_next_by_span RENAME TO bin_range_by_span',
  'COMMIT',
]

async function insertAll(
  client: PoolClient,
  ranges: AsyncIterable<BinRange>,
  onProgress: (count: number) => void,
): Promise<number> {
  let count = 0
  let batch: BinRange[] = []
  const flush = async () => {
    await client.query(insertStatement, [toRecordset(rangeColumns, batch.map(fromRange))])
    count += batch.length
    batch = []
    onProgress(count)
  }
  for await (const range of ranges) {
    batch.push(range)
    if (batch.length === rangesAtOnce) await flush()
  }
  if (batch.length > 0) await flush()
  return count
}

const rangeColumns = [
  ['first', 'bigint'],
  ['last', 'bigint'],
  ['brand', 'text'],
  ['co_brands', 'text[]'],
  ['product', 'text'],
  ['source', 'text'],
  ['issuer', 'text'],
  ['country', 'text'],
  ['currency', 'text'],
  ['dcc_eligible', 'boolean'],
] as const

const insertStatement = `INSERT INTO bin_range_next
    (span, brand, co_brands, product, source, issuer, country, currency, dcc_eligible)
  SELECT int8range(first, last, '[]'), brand, co_brands, product, source, issuer, country, currency, dcc_eligible
  FROM ${recordset('$1', rangeColumns)}`

const fromRange = ({ span, ...facts }: BinRange): RowOf<typeof rangeColumns> => ({
  ...span,
  brand: facts.brand,
  co_brands: facts.coBrands,
  product: facts.product,
  source: facts.source,
  issuer: facts.issuer,
  country: facts.country,
  currency: facts.currency,
  dcc_eligible: facts.dccEligible,
})

/** The detail names the range: `Key (span)=([4000000000,4001000000)) is duplicated.` */
const isRepeated = (error: unknown): error is { detail: string } =>
  textAt(error, 'code') === '23505' && constraintOf(error) === 'bin_range_next_pkey'
