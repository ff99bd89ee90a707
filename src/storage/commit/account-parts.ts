/** What a batch asks of the vault's accounts before it writes. */

/** A payment by pseudo number does not bring its account but relies on the vault, which may have destroyed it since. */
export function accountRefusals(present: readonly string[]): string[] {
  if (!present.includes('payment')) return []
  const brought = present.includes('account') ? 'AND i.c NOT IN (SELECT c FROM account_in)' : ''
  return [
    `SELECT i.c, 'card_gone' AS why FROM payment_in i WHERE i.account_id IS NOT NULL ${brought} AND NOT EXISTS (
      SELECT 1 FROM vault_account t WHERE t.merchant_id = i.merchant_id AND t.account_id = i.account_id
        AND t.sealed IS NOT NULL AND t.doomed_at IS NULL)`,
  ]
}
