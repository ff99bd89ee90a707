/**
 * Entries of the bank's files. A file is stored in one transaction before its entries are applied. An entry that was in
 * an earlier file is the same row. src/operations/bank/ applies the entries.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import { type BankAccountKey, firstId } from '#storage/bank/batches.ts'
import { entryLinePrefix, giveNewKeys, type KeyedEntry } from '#storage/bank/former-keys.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { lookUp } from '#storage/planner.ts'
import { insertOne, type RowOf, recordset, toParameters, toRecordset } from '#storage/recordset.ts'

export interface NewEntry extends BankAccountKey, KeyedEntry {
  readonly entryId: string
  /** The bank booked one sum for a whole block of ours. */
  readonly isSum: boolean
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface StoredEntry {
  readonly merchantId: MerchantId
  readonly accountId: string
  readonly entryId: string
  readonly key: string
  /** The payment that an interrupted import matched. */
  readonly payId: PayId | null
  readonly keyVersion: number
  readonly sealed: Buffer
}

/** The prefix of a rejection's key; keys of transactions begin with their direction. */
export const rejectionPrefix = 'RJCT'

/**
 * The entries of one account that an import lists. Other accounts with the same IBAN have copies of the same entries.
 */
export interface EntryList {
  readonly account: BankAccountKey
  /** Accounts with the same IBAN whose lists come before this one. */
  readonly before: readonly BankAccountKey[]
  readonly after: readonly BankAccountKey[]
  readonly importId: string
}

export type EntryResult = 'BOOKED' | 'REJECTED' | 'RETURNED' | 'RECEIVED' | 'OTHER'

export interface SettledEntry {
  readonly entryId: string
  /** Undefined: it matches nothing. */
  readonly result?: EntryResult
  readonly xId?: string
  readonly fee?: number
}

export interface EntryStore {
  /**
   * Calls `take` with a function that stores entries and returns how many of them were known. If `take` throws, nothing
   * is stored.
   */
  takeFile(
    file: { readonly sha256: () => string; readonly accounts: () => readonly BankAccountKey[] },
    take: (keep: (entries: readonly NewEntry[]) => Promise<number>) => Promise<void>,
  ): Promise<void>
  /** Entries that are not applied yet, the oldest first. */
  next(
    account: BankAccountKey,
    kind: 'rejections' | 'transactions',
    page: { readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly StoredEntry[]>
  /** Queues unmatched sums to be applied once more. They are not listed a second time. */
  lookAgain(account: BankAccountKey): Promise<void>
  /** Stores the matched payment before the entry is applied, because the payment then no longer waits for money. */
  matched(entry: Pick<StoredEntry, 'merchantId' | 'entryId'>, payId: PayId): Promise<void>
  /** Stores the results of entries in one statement. Unmatched entries join the list of this import. */
  settle(account: BankAccountKey, settled: readonly SettledEntry[], importId: string): Promise<void>
  /** The unmatched entries of an import, a page at a time. */
  listed(
    list: EntryList,
    page: { readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly StoredEntry[]>
  countListed(list: EntryList): Promise<number>
  /** The keys of those entries that were applied to a payment of the account. */
  taken(account: BankAccountKey, keys: readonly string[]): Promise<readonly string[]>
  /** The keys of those entries that the account has applied, or that are in its list of the given import. */
  settled(
    account: BankAccountKey,
    keys: readonly string[],
    importId: string | undefined,
  ): Promise<readonly string[]>
  /** Settlement lines of an entry, each written once. */
  addLines(account: BankAccountKey, lines: readonly BankLine[]): Promise<void>
}

/** A settlement line whose payment is known. */
export interface BankLine {
  readonly settlementId: string
  readonly date: string
  readonly type: string
  readonly payId: string
  readonly reference?: string
  readonly transactionId?: string
  readonly gross: number
  readonly fee: number
  readonly net: number
  readonly currency: string
  readonly providerReference: string
}

export const createEntryStore = ({ readers, writers }: Database): EntryStore => ({
  ...createKnownEntries(readers),
  takeFile: (file, take) =>
    inTransaction(writers, async client => {
      await client.query(
        `SELECT set_config('idle_in_transaction_session_timeout', '120000', true),
           set_config('lock_timeout', '60000', true), set_config('statement_timeout', '120000', true)`,
      )
      await take(async entries => {
        const given = toRecordset(entryColumns, entries.map(entryRow))
        for (const own of Map.groupBy(entries, ({ accountId }) => accountId).values())
          if (own[0]) await giveNewKeys(client, own[0], own)
        const { rows } = await client.query<{ kept: number }>(keepEntries, [given])
        return entries.length - (rows[0]?.kept ?? 0)
      })
      for (const { merchantId, accountId } of file.accounts())
        await client.query(
          `${insertOne('bank_import', importColumns)} ON CONFLICT DO NOTHING`,
          toParameters(importColumns, {
            merchant_id: merchantId,
            provider_account_id: accountId,
            sha256: file.sha256(),
          }),
        )
    }),
  async next({ merchantId, accountId }, kind, { after, limit }) {
    const { rows } = await readers.query<StoredEntry>(
      `SELECT ${storedColumns} FROM bank_entry e WHERE merchant_id = $1 AND provider_account_id = $2 AND state = 'NEW' AND entry_id > $3::uuid
         AND starts_with(entry_key, '${rejectionPrefix}|') = $5
       ORDER BY entry_id LIMIT $4`,
      [merchantId, accountId, after ?? firstId, limit, kind === 'rejections'],
    )
    return rows
  },
  async lookAgain({ merchantId, accountId }) {
    await writers.query(
      `UPDATE bank_entry SET state = 'NEW', listed_by = coalesce(listed_by, $3)
       WHERE merchant_id = $1 AND provider_account_id = $2 AND state = 'UNMATCHED' AND is_sum IS NOT FALSE`,
      [merchantId, accountId, firstId],
    )
  },
  async matched({ merchantId, entryId }, payId) {
    await writers.query(`UPDATE bank_entry SET pay_id = $3 WHERE merchant_id = $1 AND entry_id = $2`, [
      merchantId,
      entryId,
      payId,
    ])
  },
  async settle({ merchantId }, settled, importId) {
    if (settled.length === 0) return
    const rows = toRecordset(
      settledColumns,
      settled.map(entry => settledRow(entry, importId)),
    )
    await inTransaction(writers, async client => {
      await client.query(settleEntries, [merchantId, rows])
      await client.query(dropReplacedLines, [merchantId, rows])
    })
  },
  async listed(list, { after, limit }) {
    const { rows } = await readers.query<StoredEntry>(
      `SELECT ${storedColumns} FROM bank_entry e WHERE ${isListed} AND e.entry_id > $5::uuid ORDER BY e.entry_id LIMIT $6`,
      [...listValues(list), after ?? firstId, limit],
    )
    return rows
  },
  async countListed(list) {
    const { rows } = await readers.query<{ count: number }>(
      `SELECT count(*) AS count FROM bank_entry e WHERE ${isListed}`,
      listValues(list),
    )
    return rows[0]?.count ?? 0
  },
  async addLines({ merchantId, accountId }, lines) {
    if (lines.length > 0) await writers.query(addLines, [merchantId, accountId, toLines(lines)])
  },
})

/** Looks entries up by key, which is the same for every account with the statement's IBAN. */
function createKnownEntries(readers: Database['readers']): Pick<EntryStore, 'taken' | 'settled'> {
  const find = async (
    { merchantId, accountId }: BankAccountKey,
    keys: readonly string[],
    condition: { readonly sql: string; readonly values?: readonly unknown[] },
  ): Promise<readonly string[]> => {
    const { rows } = await readers.query<{ key: string }>(
      `SELECT entry_key AS key FROM bank_entry
       WHERE merchant_id = $1 AND provider_account_id = $2 AND entry_key = ANY($3) AND ${condition.sql}`,
      [merchantId, accountId, keys, ...(condition.values ?? [])],
    )
    return rows.map(({ key }) => key)
  }
  return {
    taken: (account, keys) => find(account, keys, { sql: `(state = 'APPLIED' OR pay_id IS NOT NULL)` }),
    settled: (account, keys, importId) =>
      find(account, keys, {
        sql: `(state = 'APPLIED' OR (state = 'UNMATCHED' AND listed_by = $4::uuid))`,
        values: [importId ?? null],
      }),
  }
}

const storedColumns = `e.merchant_id AS "merchantId", e.provider_account_id AS "accountId", e.entry_id AS "entryId",
  e.entry_key AS key, e.pay_id AS "payId", e.key_version AS "keyVersion", e.sealed`

const otherColumns = [
  ['merchant_id', 'text'],
  ['provider_account_id', 'text'],
  ['comes_first', 'boolean'],
] as const

/**
 * An entry that matches at another account with the IBAN is not listed; one that matches at none is listed once, for
 * the first account.
 */
const isListed = `e.merchant_id = $1 AND e.provider_account_id = $2 AND e.state = 'UNMATCHED' AND e.listed_by = $3::uuid
  AND NOT EXISTS ${lookUp(`SELECT 1 FROM ${recordset('$4', otherColumns, 'o')}
    CROSS JOIN LATERAL ${lookUp(`SELECT state, listed_by FROM bank_entry WHERE merchant_id = o.merchant_id
      AND provider_account_id = o.provider_account_id AND entry_key = e.entry_key`)} k
    WHERE k.state = 'APPLIED' OR (o.comes_first AND k.listed_by = $3::uuid)`)}`

function listValues({ account, before, after, importId }: EntryList): string[] {
  const toRow =
    (comesFirst: boolean) =>
    ({ merchantId, accountId }: BankAccountKey): RowOf<typeof otherColumns> => ({
      merchant_id: merchantId,
      provider_account_id: accountId,
      comes_first: comesFirst,
    })
  const others = [...before.map(toRow(true)), ...after.map(toRow(false))]
  return [account.merchantId, account.accountId, importId, toRecordset(otherColumns, others)]
}

const importColumns = [
  ['merchant_id', 'text'],
  ['provider_account_id', 'text'],
  ['sha256', 'text'],
] as const

const settledColumns = [
  ['entry_id', 'uuid'],
  ['state', 'text'],
  ['result', 'text'],
  ['x_id', 'uuid'],
  ['fee', 'bigint'],
  ['listed_by', 'uuid'],
] as const

const settledRow = (
  { entryId, result, xId, fee = 0 }: SettledEntry,
  importId: string,
): RowOf<typeof settledColumns> => ({
  entry_id: entryId,
  state: result === undefined ? 'UNMATCHED' : 'APPLIED',
  result,
  x_id: xId,
  fee,
  listed_by: result === undefined ? importId : undefined,
})

/** Finds entries by id through the index: without statistics, a join would read all entries of the merchant. */
export const settleEntries = `WITH given AS MATERIALIZED (SELECT * FROM ${recordset('$2', settledColumns)})
  UPDATE bank_entry e SET state = r.state, result = r.result, x_id = r.x_id, fee = r.fee,
    listed_by = coalesce(e.listed_by, r.listed_by)
  FROM given r WHERE e.merchant_id = $1 AND e.entry_id = ANY (ARRAY(SELECT entry_id FROM given)) AND e.entry_id = r.entry_id`

/**
 * Deletes the settlement line of an entry when the lines of its payments replace it. A separate statement, because
 * Citus deletes rows by ctid only if the statement changes nothing else.
 */
export const dropReplacedLines = `DELETE FROM settlement_line WHERE ctid = ANY (ARRAY(SELECT l.ctid
    FROM ${recordset('$2', settledColumns)}
    CROSS JOIN LATERAL ${lookUp(`SELECT provider_account_id, booked_on, entry_key FROM bank_entry
      WHERE merchant_id = $1 AND entry_id = r.entry_id`)} e
    CROSS JOIN unnest(ARRAY['CAPTURE', 'REFUND', 'CHARGEBACK', 'FEE', 'CORRECTION']) t(type)
    CROSS JOIN LATERAL ${lookUp(`SELECT ctid FROM settlement_line WHERE merchant_id = $1
      AND provider_account_id = e.provider_account_id AND settlement_id = e.booked_on::text AND type = t.type
      AND provider_reference = '${entryLinePrefix}' || e.entry_key`)} l
    WHERE r.state = 'APPLIED'))`

const entryColumns = [
  ['merchant_id', 'text'],
  ['entry_id', 'uuid'],
  ['provider_account_id', 'text'],
  ['entry_key', 'text'],
  ['booked_on', 'date'],
  ['amount', 'bigint'],
  ['currency', 'text'],
  ['is_sum', 'boolean'],
  ['key_version', 'integer'],
  ['sealed', 'bytea'],
] as const

const entryRow = (entry: NewEntry): RowOf<typeof entryColumns> => ({
  merchant_id: entry.merchantId,
  entry_id: entry.entryId,
  provider_account_id: entry.accountId,
  entry_key: entry.key,
  booked_on: entry.bookedOn,
  amount: entry.amount,
  currency: entry.currency,
  is_sum: entry.isSum,
  key_version: entry.keyVersion,
  sealed: `\\x${entry.sealed.toString('hex')}`,
})

/**
 * Stores entries. Unmatched known entries are checked again, because another file may hold more details of the same
 * entry.
 */
const keepEntries = `WITH given AS MATERIALIZED (SELECT DISTINCT ON (r.merchant_id, r.provider_account_id, r.entry_key) r.*
    FROM ${recordset('$1', entryColumns)}),
  kept AS (INSERT INTO bank_entry (merchant_id, entry_id, provider_account_id, entry_key, state, booked_on, amount, currency,
      is_sum, key_version, sealed)
    SELECT merchant_id, entry_id, provider_account_id, entry_key, 'NEW', booked_on, amount, currency, is_sum, key_version,
      sealed
    FROM given ORDER BY merchant_id, provider_account_id, entry_key
    ON CONFLICT (merchant_id, provider_account_id, entry_key) DO UPDATE
      SET entry_id = excluded.entry_id, state = 'NEW', amount = excluded.amount, booked_on = excluded.booked_on,
        is_sum = excluded.is_sum, former_key = NULL, listed_by = NULL, key_version = excluded.key_version, sealed = excluded.sealed
      WHERE bank_entry.state = 'UNMATCHED'
    RETURNING 1)
  SELECT count(*) AS kept FROM kept`

const lineColumns = [
  ['settlement_id', 'text'],
  ['provider_reference', 'text'],
  ['type', 'text'],
  ['date', 'date'],
  ['gross', 'bigint'],
  ['fee', 'bigint'],
  ['net', 'bigint'],
  ['currency', 'text'],
  ['x_id', 'uuid'],
  ['transaction_id', 'text'],
  ['pay_id', 'uuid'],
] as const

/** The parameter that `insertLines` reads. */
export const toLines = (lines: readonly BankLine[]): string => toRecordset(lineColumns, lines.map(lineRow))

const lineRow = (line: BankLine): RowOf<typeof lineColumns> => ({
  settlement_id: line.settlementId,
  provider_reference: line.providerReference,
  type: line.type,
  date: line.date,
  gross: line.gross,
  fee: line.fee,
  net: line.net,
  currency: line.currency,
  x_id: line.reference,
  transaction_id: line.transactionId,
  pay_id: line.payId,
})

/** Inserts the lines in the given parameters that meet `condition`. */
export const insertLines = (
  { merchantId, accountId, lines }: { merchantId: string; accountId: string; lines: string },
  condition = 'true',
): string => `INSERT INTO settlement_line (merchant_id, provider_account_id, settlement_id, provider_reference, type, date,
    gross, fee, net, currency, x_id, transaction_id, pay_id)
  SELECT ${merchantId}, ${accountId}, l.settlement_id, l.provider_reference, l.type, l.date, l.gross, l.fee, l.net, l.currency,
    l.x_id, l.transaction_id, l.pay_id
  FROM ${recordset(lines, lineColumns, 'l')} WHERE ${condition}
  ON CONFLICT (merchant_id, provider_account_id, settlement_id, type, provider_reference) DO NOTHING`

const addLines = insertLines({ merchantId: '$1', accountId: '$2', lines: '$3' })
