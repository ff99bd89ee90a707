/** Payments that wait for their customer's transfer, and surplus that is to be paid back. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { BankAccountKey } from '#storage/bank/batches.ts'
import type { Database } from '#storage/database.ts'
import { insertOne, toParameters } from '#storage/recordset.ts'

export interface WaitingTransfer {
  readonly payId: PayId
  readonly transId: string
  /** The waiting authorisation; the reference shown to the customer is derived from it. */
  readonly xId: XId
}

export interface Surplus {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly xId: string
  readonly payId: PayId
  readonly amount: number
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface TransferStore {
  /** The account's payments that wait for a transfer. `methods`: the methods whose customers send money. */
  waiting(account: BankAccountKey, methods: readonly string[]): Promise<readonly WaitingTransfer[]>
  /** Payments that stopped waiting since that time, because the money arrived or the payment ended. */
  ended(account: BankAccountKey, methods: readonly string[], since: Date): Promise<readonly WaitingTransfer[]>
  /** Stores a surplus once: its id is derived from the bank's entry. */
  addSurplus(surplus: Surplus): Promise<void>
  /** Whether the surplus was ever stored, paid back or not. */
  hasSurplus(surplus: Pick<Surplus, 'merchantId' | 'xId'>): Promise<boolean>
}

export const createTransferStore = ({ readers, writers }: Database): TransferStore => ({
  async waiting({ merchantId, accountId }, methods) {
    const { rows } = await readers.query<WaitingTransfer>(
      `SELECT p.pay_id AS "payId", p.trans_id AS "transId", o.x_id AS "xId"
       FROM payment p JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
       WHERE p.merchant_id = $1 AND p.provider_account = $2 AND p.status IN ('AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED',
           'CAPTURE_REQUEST')
         AND p.captured = 0 AND p.method = ANY($3) AND o.type = 'AUTHORIZATION' AND o.state <> 'FAILED'`,
      [merchantId, accountId, methods],
    )
    return rows
  },
  async ended({ merchantId, accountId }, methods, since) {
    const { rows } = await readers.query<WaitingTransfer>(
      `SELECT p.pay_id AS "payId", p.trans_id AS "transId", o.x_id AS "xId"
       FROM payment p JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
       WHERE p.merchant_id = $1 AND p.provider_account = $2 AND p.updated_at >= $3 AND p.method = ANY($4) AND o.type = 'AUTHORIZATION'
         AND ((p.status = 'FAILED' AND o.state = 'FAILED') OR o.provider->'fields'->'receipts' IS NOT NULL)`,
      [merchantId, accountId, since, methods],
    )
    return rows
  },
  async addSurplus(surplus) {
    await writers.query(insertSurplus, surplusValues(surplus))
  },
  async hasSurplus({ merchantId, xId }) {
    const text = 'SELECT 1 FROM bank_surplus WHERE merchant_id = $1 AND x_id = $2'
    return (await writers.query(text, [merchantId, xId])).rowCount === 1
  },
})

const surplusColumns = [
  ['merchant_id', 'text'],
  ['x_id', 'uuid'],
  ['pay_id', 'uuid'],
  ['provider_account_id', 'text'],
  ['amount', 'bigint'],
  ['key_version', 'integer'],
  ['sealed', 'bytea'],
] as const

export const insertSurplus = `${insertOne('bank_surplus', surplusColumns)} ON CONFLICT (merchant_id, x_id) DO NOTHING`

export const surplusValues = (surplus: Surplus): unknown[] =>
  toParameters(surplusColumns, {
    merchant_id: surplus.merchantId,
    x_id: surplus.xId,
    pay_id: surplus.payId,
    provider_account_id: surplus.accountId,
    amount: surplus.amount,
    key_version: surplus.keyVersion,
    sealed: surplus.sealed,
  })
