/** The guards of a batch on the vault's accounts, and the SQL that stores cards and accounts. */
import type { Columns } from '#storage/recordset.ts'

/**
 * A payment by pseudo number has no account row of its own and relies on the vault, which may have deleted the number
 * since it was read.
 */
export function accountRefusals(present: readonly string[]): string[] {
  if (!present.includes('payment')) return []
  const brought = present.includes('account') ? 'AND i.c NOT IN (SELECT c FROM account_in)' : ''
  return [
    `SELECT i.c, 'card_gone' AS why FROM payment_in i WHERE i.account_id IS NOT NULL ${brought} AND NOT EXISTS (
      SELECT 1 FROM vault_account t WHERE t.merchant_id = i.merchant_id AND t.account_id = i.account_id
        AND t.sealed IS NOT NULL AND t.delete_after_use_at IS NULL)`,
  ]
}

/**
 * Inserts cards or accounts. If the same one arrives twice, the first row wins, unless its number was destroyed in the
 * meantime. If two have the same pseudo number, the unique index refuses the second, which then gets another. One row
 * per id, in the order of ids, so that two batches with the same ids wait for each other instead of deadlocking.
 */
export function keepIn(
  table: string,
  input: string,
  id: string,
  revived: { readonly set: string; readonly or: string },
): (columns: Columns) => string {
  return columns => {
    const names = columns.map(([name]) => name).join(', ')
    return `INSERT INTO ${table} (${names}) SELECT DISTINCT ON (merchant_id, ${id}) ${names} FROM ${input}
      WHERE c NOT IN (SELECT c FROM refused) ORDER BY merchant_id, ${id}
      ON CONFLICT (merchant_id, ${id}) DO UPDATE
      SET sealed = excluded.sealed, key_version = excluded.key_version, destroyed_at = NULL${revived.set}
      WHERE ${table}.sealed IS NULL${revived.or}`
  }
}
