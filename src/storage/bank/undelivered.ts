/**
 * Surplus that did not reach its payer, because the bank returned or rejected the transfer. A row stays on this list
 * until an operator has dealt with it.
 */
import type { PayId, XId } from '#domain/ids.ts'
import { type BankAccountKey, firstId } from '#storage/bank/batches.ts'
import { insertSurplus, type Surplus, surplusValues } from '#storage/bank/transfers.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { lookUp } from '#storage/planner.ts'

export interface UndeliveredRow {
  readonly xId: XId
  readonly payId: PayId
  readonly transId: string
  readonly amount: number
  /** YYYY-MM-DD: the day on which the transfer was to leave. */
  readonly sentOn: string
  /** The bank's reason, if it gave one. */
  readonly reason: string | null
}

/** `onlyUntold`: leave out rows that an import has listed before. */
export interface Telling {
  readonly onlyUntold: boolean
}

export interface UndeliveredStore {
  count(account: BankAccountKey, which: Telling): Promise<number>
  /** A page of rows, ordered by id. */
  page(
    account: BankAccountKey,
    page: Telling & { readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly UndeliveredRow[]>
  told(account: BankAccountKey, xIds: readonly XId[]): Promise<void>
  /** Finds a row that is still on the list, with its sealed payer. */
  find(account: BankAccountKey, xId: XId): Promise<(UndeliveredRow & SealedPayer) | undefined>
  /**
   * Removes a row from the list and queues `again`, if given, for the next batch, in one transaction. Returns false,
   * and queues nothing, if the row was no longer on the list.
   */
  close(account: BankAccountKey, xId: XId, again?: Surplus): Promise<boolean>
}

type SealedPayer = Pick<Surplus, 'keyVersion' | 'sealed'>

/** The condition of the partial index bank_item_undelivered. */
const isUndelivered = `i.merchant_id = $1 AND i.provider_account_id = $2 AND i.type = 'SURPLUS'
  AND (i.returned_by IS NOT NULL OR i.rejected IS NOT NULL) AND i.closed_at IS NULL`

const columns = `i.x_id AS "xId", i.pay_id AS "payId", p.trans_id AS "transId", i.amount, i.due_on::text AS "sentOn",
  coalesce(i.rejected, i.return_reason) AS reason`

const itemAndPayment = `bank_item i
  CROSS JOIN LATERAL ${lookUp('SELECT trans_id FROM payment WHERE merchant_id = $1 AND pay_id = i.pay_id')} p`

export const createUndeliveredStore = ({ readers, writers }: Database): UndeliveredStore => ({
  async count({ merchantId, accountId }, { onlyUntold }) {
    const { rows } = await readers.query<{ count: number }>(
      `SELECT count(*) AS count FROM bank_item i WHERE ${isUndelivered} AND (i.told_at IS NULL OR NOT $3::boolean)`,
      [merchantId, accountId, onlyUntold],
    )
    return rows[0]?.count ?? 0
  },
  async page({ merchantId, accountId }, { onlyUntold, after, limit }) {
    const { rows } = await readers.query<UndeliveredRow>(
      `SELECT ${columns} FROM ${itemAndPayment}
       WHERE ${isUndelivered} AND (i.told_at IS NULL OR NOT $3::boolean) AND i.x_id > $4::uuid ORDER BY i.x_id LIMIT $5`,
      [merchantId, accountId, onlyUntold, after ?? firstId, limit],
    )
    return rows
  },
  async told({ merchantId }, xIds) {
    await writers.query(
      `UPDATE bank_item SET told_at = now() WHERE merchant_id = $1 AND x_id = ANY($2::uuid[]) AND told_at IS NULL`,
      [merchantId, xIds],
    )
  },
  async find({ merchantId, accountId }, xId) {
    const { rows } = await readers.query<UndeliveredRow & SealedPayer>(
      `SELECT ${columns}, s.key_version AS "keyVersion", s.sealed FROM ${itemAndPayment}
       CROSS JOIN LATERAL ${lookUp('SELECT key_version, sealed FROM bank_surplus WHERE merchant_id = $1 AND x_id = i.x_id')} s
       WHERE ${isUndelivered} AND i.x_id = $3`,
      [merchantId, accountId, xId],
    )
    return rows[0]
  },
  close: ({ merchantId, accountId }, xId, again) =>
    inTransaction(writers, async client => {
      const { rowCount } = await client.query(
        `UPDATE bank_item i SET closed_at = now() WHERE ${isUndelivered} AND i.x_id = $3`,
        [merchantId, accountId, xId],
      )
      if (rowCount !== 1) return false
      if (again) await client.query(insertSurplus, surplusValues(again))
      return true
    }),
})
