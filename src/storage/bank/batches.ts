/**
 * Stores a batch in one transaction: the queued operations become items, and the bytes of the files are stored with
 * their hash. Files are given out only after the commit.
 */
import type { PoolClient, QueryResult } from 'pg'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { AccountInstrument } from '#lifecycle/payment.ts'
import {
  addItems,
  batchColumns,
  fileColumns,
  itemColumns,
  itemRow,
  mandateColumns,
  mandateRow,
  type NewItem,
  partColumns,
  type UsedMandateRow,
} from '#storage/bank/batch-rows.ts'
import { insertSurplus, type Surplus, surplusValues } from '#storage/bank/transfers.ts'
import type { Database } from '#storage/database.ts'
import { lookUp } from '#storage/planner.ts'
import { insertOne, toParameters, toRecordset } from '#storage/recordset.ts'

export interface BankAccountKey {
  readonly merchantId: MerchantId
  readonly accountId: string
}

/** The data of a payment in a file, with its sealed account number. */
export interface WrittenPayment {
  readonly payId: PayId
  readonly xId: XId
  readonly amount: number
  readonly transId: string
  readonly refNr: string | null
  readonly account: AccountInstrument | null
  /** The id of the account in the vault; null if the payment has none. */
  readonly heldId: string | null
  /** The mandate's date, DD.MM.YYYY. */
  readonly dateOfSignature: string | null
  readonly keyVersion: number | null
  readonly sealed: Buffer | null
}

/** An operation that waits for the next file, with the data for the file. */
export interface QueuedPayment extends WrittenPayment {
  /** AUTHORIZATION: a payment that ended after a partial transfer, which is to be paid back. */
  readonly type: 'AUTHORIZATION' | 'CAPTURE' | 'REFUND' | 'CREDIT'
  /** Whether it belongs to this account. */
  readonly mine: boolean
  /** Whether the operation is still pending, and the vault still has its account number. */
  readonly writable: boolean
  /** The mandate of the capture request, else that of the payment. */
  readonly mandateId: string | null
  /** The stored state of that mandate when the page was read. */
  readonly usedCreditorId: string | null
  readonly usedCreditorName: string | null
  readonly usedHeldId: string | null
  readonly lastUsedOn: string | null
  readonly mandateEnded: boolean
  /** A refund of a debit that was returned in the meantime. */
  readonly debitReturned: boolean
  readonly recurring: boolean
  /** The plan's last charge: no further due day before the plan's end. */
  readonly last: boolean
  /** YYYY-MM-DD: the collection date announced to the customer. */
  readonly announcedFor: string | null
}

export interface ReceivedEntry {
  readonly entryId: string
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface NewFile {
  readonly type: string
  readonly messageId: string
  readonly payments: number
  readonly sum: bigint
  readonly sha256: string
}

export interface BatchTransaction {
  begin(batch: { batchId: string; madeOn: string; madeAt: Date }): Promise<void>
  queued(after: Position | undefined, limit: number): Promise<readonly QueuedPayment[]>
  surplus(limit: number): Promise<readonly WrittenPayment[]>
  /** The receipts of a payment that has ended. */
  receipts(payId: PayId): Promise<readonly ReceivedEntry[]>
  /** Takes the ended payment out of the queue and queues its receipts for paying back. */
  giveBack(ended: Position, surplus: readonly Surplus[]): Promise<void>
  /** Takes the items out of the queue and puts them into the batch. */
  add(items: readonly NewItem[], mandates: readonly UsedMandateRow[]): Promise<void>
  addFilePart(part: FilePart): Promise<void>
  /** Moves a part to its final position and returns its bytes. */
  placeFilePart(partId: string, position: number): Promise<Pick<FilePart, 'keyVersion' | 'sealed'>>
  addFile(file: NewFile): Promise<void>
}

export interface Position {
  readonly payId: string
  readonly xId: string
}

export interface FilePart {
  readonly partId: string
  readonly type: string
  readonly position: number
  readonly keyVersion: number
  readonly sealed: Buffer
}

/** The time of timers in the queue: so far ahead that no worker ever finds them due. */
export const queueTime = new Date('9000-01-01T00:00:00Z')

/**
 * Runs a transaction under an advisory lock, so that an account has one batch at a time. Long pauses between statements
 * are allowed, because a hundred thousand payments may be encoded in between.
 */
export async function withBatchTransaction<T>(
  { writers }: Database,
  account: BankAccountKey,
  work: (transaction: BatchTransaction) => Promise<T>,
): Promise<T> {
  const client = await writers.connect()
  const connection: Connection = { client, open: true, last: Promise.resolve() }
  let broken: Error | undefined
  try {
    await beginAlone(client, account)
    const result = await work(batchTransaction(connection, account))
    connection.open = false
    await client.query('COMMIT')
    return result
  } catch (error) {
    connection.open = false
    await connection.last
    await client.query('ROLLBACK').catch(failed => {
      broken = failed
    })
    throw error
  } finally {
    client.release(broken)
  }
}

async function beginAlone(client: PoolClient, { accountId }: BankAccountKey): Promise<void> {
  await client.query('BEGIN')
  await client.query(
    `SELECT set_config('idle_in_transaction_session_timeout', '120000', true),
       set_config('lock_timeout', '60000', true), set_config('statement_timeout', '120000', true)`,
  )
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 18))', [accountId])
}

/** Runs work under the account's lock, so that two processes cannot give out a new file twice. */
export async function whileAlone<T>(
  { writers }: Database,
  account: BankAccountKey,
  work: () => Promise<T>,
): Promise<T> {
  const client = await writers.connect()
  let broken: Error | undefined
  try {
    await beginAlone(client, account)
    return await work()
  } finally {
    // The transaction wrote nothing; ending it releases the lock.
    await client.query('ROLLBACK').catch(failed => {
      broken = failed
    })
    client.release(broken)
  }
}

/**
 * The connection of the transaction. It is closed with it, because work that is still running after another part failed
 * must not write on a released connection.
 */
interface Connection {
  readonly client: PoolClient
  open: boolean
  /** Resolves when the last query has ended, successfully or not. */
  last: Promise<void>
}

const ignore = (): void => undefined

interface Asker {
  /** With a name, the statement is planned once instead of for every page. */
  write(text: string, values: unknown[], name?: string): Promise<void>
  read<Row extends object>(text: string, values: unknown[], name?: string): Promise<Row[]>
}

/**
 * Serialises queries: read-ahead, items and parts of files query at the same time, but a connection runs one at a time.
 */
function createAsker(connection: Connection): Asker {
  const query = <Row extends object>(
    text: string,
    values: unknown[],
    name?: string,
  ): Promise<QueryResult<Row>> => {
    const asked = connection.last.then(() => {
      if (!connection.open) throw new Error('the transaction of the batch has ended')
      return connection.client.query<Row>({ name, text, values })
    })
    // Drop the result, so that the rows are not kept in memory.
    connection.last = asked.then(ignore, ignore)
    return asked
  }
  return {
    async write(text, values, name) {
      await query(text, values, name)
    },
    read: async <Row extends object>(text: string, values: unknown[], name?: string) =>
      (await query<Row>(text, values, name)).rows,
  }
}

function batchTransaction(
  connection: Connection,
  { merchantId, accountId }: BankAccountKey,
): BatchTransaction {
  const batch = { merchantId, batchId: '' }
  const asker = createAsker(connection)
  const { read, write } = asker
  return {
    async begin({ batchId, madeOn, madeAt }) {
      batch.batchId = batchId
      await write(
        insertOne('bank_batch', batchColumns),
        toParameters(batchColumns, {
          merchant_id: merchantId,
          provider_account_id: accountId,
          batch_id: batchId,
          made_on: madeOn,
          made_at: madeAt,
        }),
      )
    },
    queued: (after, limit) =>
      read<QueuedPayment>(
        queuedPage,
        [merchantId, accountId, after?.payId ?? firstId, after?.xId ?? firstId, limit],
        'bank_queued',
      ),
    surplus: limit => read<WrittenPayment>(surplusPage, [merchantId, accountId, limit]),
    receipts: payId =>
      read<ReceivedEntry>(
        `SELECT entry_id AS "entryId", key_version AS "keyVersion", sealed FROM bank_entry
         WHERE merchant_id = $1 AND pay_id = $2 AND provider_account_id = $3 AND result = 'RECEIVED' ORDER BY entry_id`,
        [merchantId, payId, accountId],
      ),
    async giveBack({ payId, xId }, surplus) {
      for (const row of surplus) await write(insertSurplus, surplusValues(row))
      await write(
        `DELETE FROM timer WHERE merchant_id = $1 AND pay_id = $2 AND x_id = $3 AND kind = 'BATCH'`,
        [merchantId, payId, xId],
      )
    },
    add(items, mandates) {
      const rows = toRecordset(itemColumns, items.map(itemRow))
      const used = toRecordset(mandateColumns, mandates.map(mandateRow))
      return write(addItems, [merchantId, accountId, batch.batchId, rows, used], 'bank_add_items')
    },
    ...filesOf(batch, asker),
  }
}

/** Writes the files of the batch, whose id is known once it has begun. */
const filesOf = (
  batch: Pick<BankAccountKey, 'merchantId'> & { readonly batchId: string },
  { read, write }: Asker,
): Pick<BatchTransaction, 'addFilePart' | 'placeFilePart' | 'addFile'> => ({
  addFilePart: ({ partId, type, position, keyVersion, sealed }) =>
    write(
      insertOne('bank_file_part', partColumns),
      toParameters(partColumns, {
        merchant_id: batch.merchantId,
        part_id: partId,
        batch_id: batch.batchId,
        type,
        position,
        key_version: keyVersion,
        sealed,
      }),
    ),
  async placeFilePart(partId, position) {
    const [part] = await read<Pick<FilePart, 'keyVersion' | 'sealed'>>(
      `UPDATE bank_file_part SET position = $3 WHERE merchant_id = $1 AND part_id = $2
       RETURNING key_version AS "keyVersion", sealed`,
      [batch.merchantId, partId, position],
    )
    if (!part) throw new Error(`the part ${partId} of a file for the bank is missing from the database`)
    return part
  },
  addFile: ({ type, messageId, payments, sum, sha256 }) =>
    write(
      insertOne('bank_file', fileColumns),
      toParameters(fileColumns, {
        merchant_id: batch.merchantId,
        batch_id: batch.batchId,
        type,
        message_id: messageId,
        payments,
        sum,
        sha256,
      }),
    ),
})

/** Sorts before every id. */
export const firstId = '0'.repeat(32)

/**
 * A page of the queue, the oldest payments first, because ids are ordered by time. The page is read by the primary key
 * before anything is joined, and each join is a look-up, so that a plan made on an empty table never reads a whole
 * table.
 */
const queuedPage = `WITH waiting AS MATERIALIZED (SELECT merchant_id, pay_id, x_id FROM timer
    WHERE merchant_id = $1 AND (pay_id, x_id) > ($3::uuid, $4::uuid) AND kind = 'BATCH' ORDER BY pay_id, x_id LIMIT $5)
  SELECT t.pay_id AS "payId", t.x_id AS "xId", p.provider_account IS NOT DISTINCT FROM $2 AS mine, o.type,
    o.state = 'PENDING' AND v.sealed IS NOT NULL AS writable, o.amount, p.trans_id AS "transId", p.ref_nr AS "refNr",
    p.account, p.account_id AS "heldId", v.key_version AS "keyVersion", v.sealed, d."mandateId", d."dateOfSignature", m.creditor_id AS "usedCreditorId", m.creditor_name AS "usedCreditorName",
    m.held_id AS "usedHeldId", m.last_used_on::text AS "lastUsedOn", m.ended_on IS NOT NULL AS "mandateEnded",
    p.plan_id IS NOT NULL OR p.details->'credentialOnFile' IS NOT NULL AS recurring,
    coalesce(pl.last, false) AS last,
    CASE WHEN o.type = 'REFUND' THEN EXISTS ${lookUp(`SELECT 1 FROM operation r WHERE r.merchant_id = $1 AND r.pay_id = t.pay_id
      AND r.type = 'RETURN' AND r.state = 'OK' AND r.details->>'refundOf' = o.details->>'refundOf'`)} ELSE false END
      AS "debitReturned",
    o.provider->'fields'->>'dueDate' AS "announcedFor"
  FROM waiting t
  CROSS JOIN LATERAL ${lookUp(`SELECT * FROM payment WHERE merchant_id = $1 AND pay_id = t.pay_id`)} p
  CROSS JOIN LATERAL ${lookUp(`SELECT * FROM operation WHERE merchant_id = $1 AND pay_id = t.pay_id AND x_id = t.x_id`)} o
  CROSS JOIN LATERAL ${lookUp(`SELECT mandate->>'mandateId' AS "mandateId", mandate->>'dateOfSignature' AS "dateOfSignature"
    FROM (SELECT CASE WHEN o.details->'directDebit'->>'mandateId' IS NULL THEN p.account
      ELSE o.details->'directDebit' END AS mandate) given`)} d
  LEFT JOIN LATERAL ${lookUp(`SELECT key_version, sealed FROM vault_account WHERE merchant_id = $1 AND account_id = p.account_id`)} v ON true
  LEFT JOIN LATERAL ${lookUp(`SELECT status = 'COMPLETED' OR (status = 'ACTIVE' AND next_payment_date IS NULL
      AND recurring->>'frequency' IS NOT NULL AND recurring->>'expiryDate' IS NOT NULL) AS last
    FROM payment_plan WHERE merchant_id = $1 AND plan_id = p.plan_id`)} pl ON true
  LEFT JOIN LATERAL ${lookUp(`SELECT * FROM bank_mandate WHERE merchant_id = $1 AND provider_account_id = $2
    AND mandate_key = upper(d."mandateId")`)} m ON true
  ORDER BY t.pay_id, t.x_id`

const surplusPage = `SELECT s.x_id AS "xId", s.pay_id AS "payId", s.amount, p.trans_id AS "transId", p.ref_nr AS "refNr",
    NULL AS account, NULL AS "heldId", NULL AS "dateOfSignature", s.key_version AS "keyVersion", s.sealed
  FROM bank_surplus s CROSS JOIN LATERAL ${lookUp(`SELECT * FROM payment WHERE merchant_id = $1 AND pay_id = s.pay_id`)} p
  WHERE s.merchant_id = $1 AND s.provider_account_id = $2 AND s.batch_id IS NULL ORDER BY s.x_id LIMIT $3`
