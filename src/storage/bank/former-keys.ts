/**
 * Renames entries that an earlier release stored under another key. When such an entry is imported again it gets its
 * current key, which is the same in every file and for every account with the IBAN. Records of its effects keep the
 * former key, except for settlement lines that only repeat the statement.
 */
import type { PoolClient } from 'pg'
import { lookUp } from '#storage/planner.ts'
import { type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

export interface KeyedEntry {
  readonly key: string
  /** The key by which an earlier release may have stored it. */
  readonly formerKey?: string
  readonly bookedOn?: string
  /** Positive: money to the merchant; negative: money from the merchant. */
  readonly amount: number
  readonly currency: string
}

/** The name of an entry's own settlement line, until lines of our payments replace it. */
export const entryLine = (key: string): string => `${entryLinePrefix}${key}`
export const entryLinePrefix = 'E|'

export async function giveNewKeys(
  client: Pick<PoolClient, 'query'>,
  { merchantId, accountId }: { readonly merchantId: string; readonly accountId: string },
  entries: readonly KeyedEntry[],
): Promise<void> {
  const former = entries.filter(({ formerKey }) => formerKey !== undefined)
  if (former.length === 0) return
  const values = [merchantId, accountId, toRecordset(keyColumns, former.map(keyRow))]
  await client.query(renameEntries, values)
  await client.query(renameLines, values)
}

const keyColumns = [
  ['entry_key', 'text'],
  ['former_key', 'text'],
  ['booked_on', 'date'],
  ['amount', 'bigint'],
  ['currency', 'text'],
] as const

const keyRow = ({ key, formerKey, bookedOn, amount, currency }: KeyedEntry): RowOf<typeof keyColumns> => ({
  entry_key: key,
  former_key: formerKey,
  booked_on: bookedOn,
  amount,
  currency,
})

const given = recordset('$3', keyColumns)

/**
 * Two entries that shared a former key are told apart by their amounts. An entry in several statements had a different
 * key in each: the applied row is kept, and its state sorts first.
 */
const renameEntries = `WITH found AS MATERIALIZED (SELECT DISTINCT ON (r.entry_key) r.entry_key, r.former_key, e.entry_id
    FROM ${given} CROSS JOIN LATERAL ${lookUp(`SELECT entry_id, state FROM bank_entry WHERE merchant_id = $1
      AND provider_account_id = $2 AND entry_key = r.former_key AND amount = r.amount AND currency = r.currency`)} e
    WHERE NOT EXISTS ${lookUp(`SELECT 1 FROM bank_entry WHERE merchant_id = $1 AND provider_account_id = $2
      AND entry_key = r.entry_key`)}
    ORDER BY r.entry_key, e.state)
  UPDATE bank_entry e SET entry_key = f.entry_key, former_key = f.former_key
  FROM found f WHERE e.merchant_id = $1 AND e.entry_id = ANY (ARRAY(SELECT entry_id FROM found)) AND e.entry_id = f.entry_id`

/**
 * Renames lines too. The bank's charge for a return is a line of its own, within the amount of the entry or on top of
 * it. The references as an array lead to the lines: in the join alone, each line of the account would be compared.
 */
export const renameLines = `WITH found AS MATERIALIZED (SELECT DISTINCT ON (l.settlement_id, l.type, r.entry_key) l.settlement_id, l.type,
      l.provider_reference, '${entryLinePrefix}' || r.entry_key AS name
    FROM ${given} CROSS JOIN unnest(ARRAY['CAPTURE', 'REFUND', 'CHARGEBACK', 'FEE', 'CORRECTION']) t(type)
    CROSS JOIN LATERAL ${lookUp(`SELECT settlement_id, type, provider_reference FROM settlement_line WHERE merchant_id = $1
      AND provider_account_id = $2 AND settlement_id = r.booked_on::text AND type = t.type
      AND provider_reference = '${entryLinePrefix}' || r.former_key`)} l
    CROSS JOIN LATERAL ${lookUp(`SELECT sum(net) AS total, sum(net) FILTER (WHERE type <> 'FEE') AS without_fee
      FROM settlement_line WHERE merchant_id = $1 AND provider_account_id = $2 AND settlement_id = l.settlement_id
      AND provider_reference = l.provider_reference
      AND (type = l.type OR type IN ('CHARGEBACK', 'FEE') AND l.type IN ('CHARGEBACK', 'FEE'))`)} s
    WHERE r.amount IN (s.total, s.without_fee) AND NOT EXISTS ${lookUp(`SELECT 1 FROM settlement_line WHERE merchant_id = $1
      AND provider_account_id = $2 AND settlement_id = l.settlement_id AND type = l.type
      AND provider_reference = '${entryLinePrefix}' || r.entry_key`)}
    ORDER BY l.settlement_id, l.type, r.entry_key, l.provider_reference)
  UPDATE settlement_line l SET provider_reference = f.name FROM found f
  WHERE l.merchant_id = $1 AND l.provider_account_id = $2
    AND l.provider_reference = ANY (ARRAY(SELECT provider_reference FROM found))
    AND l.settlement_id = f.settlement_id AND l.type = f.type AND l.provider_reference = f.provider_reference`
