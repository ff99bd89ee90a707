/** Published exchange rates against the euro: reads some of them and replaces them all. They belong to no merchant. */
import type { DailyRates } from '#domain/money/ecb-rates.ts'
import type { Database } from '#storage/database.ts'
import { recordset, toRecordset } from '#storage/recordset.ts'

const rateColumns = [
  ['currency', 'text'],
  ['per_euro', 'text'],
] as const

/** Units of each currency for one euro, as decimal texts. */
export interface FoundRates {
  readonly rates: ReadonlyMap<string, string>
  readonly source: string
}

export interface RateReader {
  /** The rates of the known currencies; undefined if no rates were ever imported. */
  find(currencies: readonly string[]): Promise<FoundRates | undefined>
}

/** The base currency, stored with rate 1 like the others, so that callers need no special case. */
const base = 'EUR'

export function createRateReader({ readers }: Database): RateReader {
  return {
    async find(currencies) {
      const { rows } = await readers.query<{ currency: string; per_euro: string; source: string }>({
        name: 'exchange_rate',
        text: 'SELECT currency, per_euro, source FROM exchange_rate WHERE currency = ANY($1)',
        values: [[base, ...currencies]],
      })
      const [first] = rows
      return first && { rates: new Map(rows.map(row => [row.currency, row.per_euro])), source: first.source }
    },
  }
}

/** Replaces all rates atomically. Existing quotes keep their rate. */
export async function replaceRates(
  { writers }: Database,
  { date, rates }: DailyRates,
  source: string,
): Promise<void> {
  const all = [...new Map([...rates, [base, '1']])].map(([currency, per_euro]) => ({ currency, per_euro }))
  await writers.query(
    `WITH given AS (SELECT * FROM ${recordset('$1', rateColumns)}),
       gone AS (DELETE FROM exchange_rate WHERE currency NOT IN (SELECT currency FROM given))
     INSERT INTO exchange_rate (currency, per_euro, source, published)
     SELECT currency, per_euro, $2, $3::date FROM given
     ON CONFLICT (currency) DO UPDATE
     SET per_euro = excluded.per_euro, source = excluded.source, published = excluded.published`,
    [toRecordset(rateColumns, all), source, date],
  )
}
