/**
 * The simulator's faults that developers have requested, shared by all processes: one row per merchant with its ordered
 * rules.
 */
import { type Database, inTransaction } from '#storage/database.ts'

const readRules = 'SELECT rules FROM ordered_fault WHERE merchant_id = $1'

export interface OrderedFaultStore<Rule> {
  /** The merchants that have rules. */
  listMerchants(): Promise<readonly string[]>
  read(merchantId: string): Promise<readonly Rule[]>
  /** Replaces the rules by the result of `change`, under a lock. */
  change<T>(
    merchantId: string,
    change: (rules: readonly Rule[]) => { readonly rules: readonly Rule[]; readonly result: T },
  ): Promise<T>
}

export const createFaultStore = <Rule>({ readers, writers }: Database): OrderedFaultStore<Rule> => ({
  async listMerchants() {
    const { rows } = await readers.query<{ merchant_id: string }>('SELECT merchant_id FROM ordered_fault')
    return rows.map(row => row.merchant_id)
  },

  async read(merchantId) {
    const { rows } = await readers.query<{ rules: Rule[] }>(readRules, [merchantId])
    return rows[0]?.rules ?? []
  },

  async change(merchantId, change) {
    return inTransaction(writers, async client => {
      // Locks the merchant's row instead of its rules, because there may be no rules yet.
      await client.query('SELECT 1 FROM merchant WHERE merchant_id = $1 FOR NO KEY UPDATE', [merchantId])
      const { rows } = await client.query<{ rules: Rule[] }>(readRules, [merchantId])
      const { rules, result } = change(rows[0]?.rules ?? [])
      if (rules.length === 0)
        await client.query('DELETE FROM ordered_fault WHERE merchant_id = $1', [merchantId])
      else
        await client.query(
          `INSERT INTO ordered_fault (merchant_id, rules) VALUES ($1, $2)
           ON CONFLICT (merchant_id) DO UPDATE SET rules = excluded.rules`,
          [merchantId, JSON.stringify(rules)],
        )
      return result
    })
  },
})
