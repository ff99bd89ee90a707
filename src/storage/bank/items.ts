/** Items of files for the bank, found by the references that the bank reports. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { type BankAccountKey, firstId } from '#storage/bank/batches.ts'
import { type BankLine, insertLines, toLines } from '#storage/bank/entries.ts'
import type { Database } from '#storage/database.ts'

export interface BankItem {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly xId: XId
  readonly payId: PayId
  readonly batchId: string
  readonly type: 'DEBIT' | 'TRANSFER' | 'SURPLUS'
  readonly amount: number
  readonly dueOn: string
  readonly mandateId: string | null
  readonly booked: boolean
  readonly returned: boolean
  readonly rejected: string | null
}

/** The payments that a rejection or a booking is about: a whole file, or one block (payment information) of it. */
export interface BlockName {
  readonly batchId?: string
  readonly messageId?: string
  readonly blockId?: string
}

export interface ItemMark {
  readonly bookedBy?: string
  readonly returnedBy?: string
  readonly returnReason?: string | undefined
  readonly rejected?: string
  /** The reference of each line is its item's xId. */
  readonly lines?: readonly BankLine[]
}

export interface ItemStore {
  /** Finds items by the bank's references, which need not have the form of our ids. */
  find(account: BankAccountKey, references: readonly string[]): Promise<ReadonlyMap<string, BankItem>>
  /** A page of the items of a block or a message. */
  page(
    account: BankAccountKey,
    block: BlockName,
    after: string | undefined,
    limit: number,
  ): Promise<readonly BankItem[]>
  /** The sum of the block without rejected payments. */
  total(
    account: BankAccountKey,
    block: BlockName,
  ): Promise<{ readonly payments: number; readonly sum: number }>
  /**
   * Returns how many items did not have the mark yet. Only their lines are written, in the same statement, because two
   * entries of the bank may report one item at the same moment.
   */
  mark(account: BankAccountKey, items: readonly Pick<BankItem, 'xId'>[], mark: ItemMark): Promise<number>
  endMandate(
    account: BankAccountKey,
    mandate: { readonly mandateId: string; readonly on: string; readonly reason: string },
  ): Promise<void>
}

const itemColumns = `i.merchant_id AS "merchantId", i.provider_account_id AS "accountId", i.x_id AS "xId", i.pay_id AS "payId",
  i.batch_id AS "batchId", i.type, i.amount, i.due_on::text AS "dueOn", i.mandate_id AS "mandateId",
  i.booked_by IS NOT NULL AS booked, i.returned_by IS NOT NULL AS returned, i.rejected`

/** The items of a block or a message. A block's id names its batch, a message's id its file. */
const inBlock = `i.merchant_id = $1 AND i.provider_account_id = $2
  AND i.batch_id = (SELECT f.batch_id FROM bank_file f WHERE f.merchant_id = $1
    AND f.message_id = coalesce($3, left($4, 33)) LIMIT 1)
  AND (i.type = 'DEBIT') = (left(coalesce($4, $3), 1) = 'D') AND ($4::text IS NULL OR i.block_id = $4)`

export const createItemStore = ({ readers, writers }: Database): ItemStore => ({
  async find({ merchantId, accountId }, references) {
    const byXId = Map.groupBy(
      references.filter(reference => /^[0-9a-f]{32}$/i.test(reference)),
      reference => reference.toLowerCase(),
    )
    if (byXId.size === 0) return new Map()
    const { rows } = await readers.query<BankItem>(
      `SELECT ${itemColumns} FROM bank_item i
       WHERE i.merchant_id = $1 AND i.x_id = ANY($2::uuid[]) AND i.provider_account_id = $3`,
      [merchantId, [...byXId.keys()], accountId],
    )
    return new Map(
      rows.flatMap(item => (byXId.get(item.xId) ?? []).map(reference => [reference, item] as const)),
    )
  },
  async page({ merchantId, accountId }, { messageId, blockId }, after, limit) {
    const { rows } = await readers.query<BankItem>(
      `SELECT ${itemColumns} FROM bank_item i WHERE ${inBlock} AND i.x_id > $5::uuid ORDER BY i.x_id LIMIT $6`,
      [merchantId, accountId, messageId ?? null, blockId ?? null, after ?? firstId, limit],
    )
    return rows
  },
  async total({ merchantId, accountId }, { messageId, blockId }) {
    const { rows } = await readers.query<{ payments: number; sum: number }>(
      `SELECT count(*) AS payments, coalesce(sum(i.amount), 0)::bigint AS sum FROM bank_item i
       WHERE ${inBlock} AND i.rejected IS NULL`,
      [merchantId, accountId, messageId ?? null, blockId ?? null],
    )
    return rows[0] ?? { payments: 0, sum: 0 }
  },
  async mark({ merchantId, accountId }, items, { bookedBy, returnedBy, returnReason, rejected, lines = [] }) {
    if (items.length === 0) return 0
    const { rows } = await writers.query<{ marked: number }>(markItems, [
      merchantId,
      items.map(({ xId }) => xId),
      bookedBy ?? null,
      returnedBy ?? null,
      rejected?.slice(0, 35) ?? null,
      accountId,
      toLines(lines),
      returnReason?.slice(0, 35) ?? null,
    ])
    return rows[0]?.marked ?? 0
  },
  async endMandate({ merchantId, accountId }, { mandateId, on, reason }) {
    await writers.query(
      `UPDATE bank_mandate SET ended_on = coalesce(ended_on, $4), end_reason = coalesce(end_reason, $5)
       WHERE merchant_id = $1 AND provider_account_id = $2 AND mandate_key = upper($3)`,
      [merchantId, accountId, mandateId, on, reason.slice(0, 35)],
    )
  },
})

const markItems = `WITH marked AS (UPDATE bank_item SET booked_by = coalesce(booked_by, $3),
      returned_by = coalesce(returned_by, $4), return_reason = coalesce(return_reason, $8),
      rejected = coalesce(rejected, $5)
    WHERE merchant_id = $1 AND x_id = ANY($2::uuid[]) AND ($3::text IS NULL OR booked_by IS NULL)
      AND ($4::text IS NULL OR returned_by IS NULL) AND ($5::text IS NULL OR rejected IS NULL)
    RETURNING x_id),
  written AS (${insertLines(
    { merchantId: '$1', accountId: '$6', lines: '$7' },
    'l.x_id IN (SELECT x_id FROM marked)',
  )})
  SELECT count(*)::int AS marked FROM marked`

export interface DebitReader {
  /** The collection date (YYYY-MM-DD) of a debit; undefined if it is in no file yet. */
  dueDay(merchantId: MerchantId, xId: XId): Promise<string | undefined>
}

export const createDebitReader = ({ readers }: Database): DebitReader => ({
  async dueDay(merchantId, xId) {
    const { rows } = await readers.query<{ dueOn: string }>(
      'SELECT due_on::text AS "dueOn" FROM bank_item WHERE merchant_id = $1 AND x_id = $2',
      [merchantId, xId],
    )
    return rows[0]?.dueOn
  },
})
