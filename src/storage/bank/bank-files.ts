/** Files made for the bank: their list, their sealed bytes, and whether they have been given out. */
import type { MerchantId } from '#domain/ids.ts'
import type { BankAccountKey } from '#storage/bank/batches.ts'
import type { Database } from '#storage/database.ts'

export interface BankFileRecord {
  readonly merchantId: MerchantId
  readonly batchId: string
  readonly type: string
  readonly messageId: string
  readonly payments: number
  readonly sum: number
  readonly sha256: string
  /** YYYY-MM-DD: the day of the batch. */
  readonly madeOn: string
  readonly madeAt: Date
}

export interface SealedPart {
  readonly partId: string
  readonly position: number
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface BankFileStore {
  /** The oldest first; only those that were never given out, or only those of one batch. */
  list(
    account: BankAccountKey,
    filter?: { readonly batchId?: string; readonly notGiven?: boolean },
  ): Promise<readonly BankFileRecord[]>
  part(file: BankFileRecord, position: number): Promise<SealedPart | undefined>
  markGiven(file: BankFileRecord): Promise<void>
  /** Finds the account and batch of the file with this message id. */
  findMessage(messageId: string): Promise<(BankAccountKey & { readonly batchId: string }) | undefined>
}

export const createBankFileStore = ({ readers, writers }: Database): BankFileStore => ({
  async list({ merchantId, accountId }, { batchId, notGiven = false } = {}) {
    const { rows } = await readers.query<BankFileRecord>(
      `SELECT f.merchant_id AS "merchantId", f.batch_id AS "batchId", f.type, f.message_id AS "messageId", f.payments,
         f.sum, f.sha256, b.made_on::text AS "madeOn", b.made_at AS "madeAt"
       FROM bank_batch b JOIN bank_file f ON f.merchant_id = b.merchant_id AND f.batch_id = b.batch_id
       WHERE b.merchant_id = $1 AND b.provider_account_id = $2 AND ($3::uuid IS NULL OR b.batch_id = $3::uuid)
         AND (NOT $4 OR f.given_at IS NULL)
       ORDER BY b.made_at, b.batch_id, f.type DESC`,
      [merchantId, accountId, batchId ?? null, notGiven],
    )
    return rows
  },
  async part({ merchantId, batchId, type }, position) {
    const { rows } = await readers.query<SealedPart>(
      `SELECT part_id AS "partId", position, key_version AS "keyVersion", sealed FROM bank_file_part
       WHERE merchant_id = $1 AND batch_id = $2 AND type = $3 AND position = $4`,
      [merchantId, batchId, type, position],
    )
    return rows[0]
  },
  async markGiven({ merchantId, batchId, type }) {
    await writers.query(
      `UPDATE bank_file SET given_at = now()
       WHERE merchant_id = $1 AND batch_id = $2 AND type = $3 AND given_at IS NULL`,
      [merchantId, batchId, type],
    )
  },
  async findMessage(messageId) {
    const { rows } = await readers.query<BankAccountKey & { batchId: string }>(
      `SELECT f.merchant_id AS "merchantId", b.provider_account_id AS "accountId", f.batch_id AS "batchId"
       FROM bank_file f JOIN bank_batch b ON b.merchant_id = f.merchant_id AND b.batch_id = f.batch_id
       WHERE f.message_id = $1`,
      [messageId],
    )
    return rows[0]
  },
})
