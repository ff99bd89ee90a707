/** The rows of a batch's items, mandates and files, and the statement that moves a page of items out of the queue. */
import type { PayId, XId } from '#domain/ids.ts'
import { type RowOf, recordset } from '#storage/recordset.ts'

export interface NewItem {
  readonly xId: XId
  readonly payId: PayId
  readonly type: 'DEBIT' | 'TRANSFER' | 'SURPLUS'
  readonly blockId: string
  readonly amount: number
  readonly dueOn: string
  readonly sequenceType?: string
  readonly mandateId?: string
  readonly amendment?: unknown
  /** The real time at which the debit is approved unless it was returned. */
  readonly approveAt?: Date
  /** The customer was notified of another collection date, so a new event must be sent. */
  readonly announce?: boolean
}

export interface UsedMandateRow {
  readonly mandateKey: string
  readonly creditorId: string
  readonly creditorName: string
  readonly heldId: string
  readonly lastUsedOn: string
}

export const batchColumns = [
  ['merchant_id', 'text'],
  ['provider_account_id', 'text'],
  ['batch_id', 'uuid'],
  ['made_on', 'date'],
  ['made_at', 'timestamptz'],
] as const

export const partColumns = [
  ['merchant_id', 'text'],
  ['part_id', 'uuid'],
  ['batch_id', 'uuid'],
  ['type', 'text'],
  ['position', 'integer'],
  ['key_version', 'integer'],
  ['sealed', 'bytea'],
] as const

export const fileColumns = [
  ['merchant_id', 'text'],
  ['batch_id', 'uuid'],
  ['type', 'text'],
  ['message_id', 'text'],
  ['payments', 'integer'],
  ['sum', 'bigint'],
  ['sha256', 'text'],
] as const

export const itemColumns = [
  ['x_id', 'uuid'],
  ['pay_id', 'uuid'],
  ['type', 'text'],
  ['block_id', 'text'],
  ['amount', 'bigint'],
  ['due_on', 'date'],
  ['sequence_type', 'text'],
  ['mandate_id', 'text'],
  ['amendment', 'json'],
  ['approve_at', 'timestamptz'],
  ['announce', 'boolean'],
] as const

export const itemRow = (item: NewItem): RowOf<typeof itemColumns> => ({
  x_id: item.xId,
  pay_id: item.payId,
  type: item.type,
  block_id: item.blockId,
  amount: item.amount,
  due_on: item.dueOn,
  sequence_type: item.sequenceType,
  mandate_id: item.mandateId,
  amendment: item.amendment,
  approve_at: item.approveAt,
  announce: item.announce,
})

export const mandateColumns = [
  ['mandate_key', 'text'],
  ['creditor_id', 'text'],
  ['creditor_name', 'text'],
  ['held_id', 'uuid'],
  ['last_used_on', 'date'],
] as const

export const mandateRow = (mandate: UsedMandateRow): RowOf<typeof mandateColumns> => ({
  mandate_key: mandate.mandateKey,
  creditor_id: mandate.creditorId,
  creditor_name: mandate.creditorName,
  held_id: mandate.heldId,
  last_used_on: mandate.lastUsedOn,
})

/**
 * The primary key of bank_item refuses the whole batch if an operation is already in another file.
 *
 * Timers are found by payment through the index. A join with the items would read the whole queue if its plan was made
 * while the queue was short. The cast keeps x_id out of the index conditions: before version 17, PostgreSQL would look
 * for every pair of a payment and an operation.
 */
export const addItems = `WITH items AS MATERIALIZED (SELECT * FROM ${recordset('$4', itemColumns, 'i')}),
    taken AS (DELETE FROM timer WHERE merchant_id = $1 AND pay_id = ANY (ARRAY(SELECT pay_id FROM items)) AND kind = 'BATCH'
      AND x_id::text = ANY (ARRAY(SELECT x_id::text FROM items))),
    given AS (UPDATE bank_surplus SET batch_id = $3 WHERE merchant_id = $1
      AND x_id = ANY (ARRAY(SELECT x_id FROM items WHERE type = 'SURPLUS'))),
    approvals AS (INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
      SELECT $1, pay_id, x_id, 'APPROVE', approve_at, 0 FROM items WHERE approve_at IS NOT NULL),
    announcements AS (INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
      SELECT $1, pay_id, x_id, 'ANNOUNCE', now(), 1 FROM items WHERE announce
      ON CONFLICT (merchant_id, pay_id, x_id, kind) DO UPDATE SET attempt = 1),
    used AS (INSERT INTO bank_mandate (merchant_id, provider_account_id, mandate_key, creditor_id, creditor_name, held_id,
        last_used_on)
      SELECT $1, $2, mandate_key, creditor_id, creditor_name, held_id, last_used_on
      FROM ${recordset('$5', mandateColumns, 'm')}
      ON CONFLICT (merchant_id, provider_account_id, mandate_key) DO UPDATE SET creditor_id = excluded.creditor_id,
        creditor_name = excluded.creditor_name, held_id = excluded.held_id,
        last_used_on = greatest(bank_mandate.last_used_on, excluded.last_used_on))
  INSERT INTO bank_item (merchant_id, x_id, pay_id, provider_account_id, batch_id, type, block_id, amount, due_on,
    sequence_type, mandate_id, amendment)
  SELECT $1, x_id, pay_id, $2, $3, type, block_id, amount, due_on, sequence_type, mandate_id, amendment FROM items`
