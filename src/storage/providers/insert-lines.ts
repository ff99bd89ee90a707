/** Stores the lines of a settlement file, all or none, in statements of a bounded size. */
import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { giveNewKeys, type KeyedEntry } from '#storage/bank/former-keys.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { isNothing } from '#storage/doctor/provider-checks.ts'
import { lookUp } from '#storage/planner.ts'
import { matchLines } from '#storage/providers/match-lines.ts'
import { chunksOf, type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

export const lineColumns = [
  ['settlement_id', 'text'],
  ['date', 'date'],
  ['type', 'text'],
  ['gross', 'bigint'],
  ['fee', 'bigint'],
  ['net', 'bigint'],
  ['currency', 'text'],
  ['paid', 'bigint'],
  ['paid_currency', 'text'],
  ['provider_reference', 'text'],
  ['reference', 'text'],
  ['transaction_id', 'text'],
  ['entry_key', 'text'],
  ['is_named_once', 'boolean'],
] as const

export type LineToInsert = RowOf<typeof lineColumns>

/** 2,000: a tenth of a second, where a statement may take six and a file may have a million lines. */
const linesAtOnce = 2_000

/** 500: their former keys are joined with each other. */
const entriesAtOnce = 500

const given = recordset('$3', lineColumns)

export const insertStatement = `WITH fresh AS MATERIALIZED (SELECT r.* FROM ${given} WHERE NOT EXISTS (SELECT 1 FROM bank_entry e
    WHERE e.merchant_id = $1 AND e.provider_account_id = $2 AND e.entry_key = r.entry_key AND e.state = 'APPLIED')
    AND (r.is_named_once IS NOT TRUE OR NOT EXISTS ${lookUp(`SELECT 1 FROM settlement_line k WHERE k.merchant_id = $1
      AND k.provider_account_id = $2 AND k.provider_reference = r.provider_reference`)}))
  INSERT INTO settlement_line (merchant_id, provider_account_id, settlement_id, date, type, gross, fee,
    net, currency, paid, paid_currency, provider_reference, reference, transaction_id)
  SELECT $1, $2, r.settlement_id, r.date, r.type, r.gross, r.fee, r.net, r.currency, r.paid, r.paid_currency,
    r.provider_reference, r.reference, r.transaction_id
  FROM fresh r ON CONFLICT DO NOTHING`

/** A file that knew no payout yet counted the line to its day. */
export const namePayout = `UPDATE settlement_line SET settlement_id = $3
  WHERE merchant_id = $1 AND provider_account_id = $2 AND provider_reference = ANY ($4::text[]) AND settlement_id = date::text`

/** Each charge is looked up once, because a file may have any number of lines about one. */
export const unmatchedStatement = `WITH l AS MATERIALIZED (SELECT l.* FROM ${given}
    CROSS JOIN LATERAL ${lookUp(`SELECT k.merchant_id, k.provider_account_id, k.type, k.transaction_id, k.pay_id, k.x_id
      FROM settlement_line k WHERE k.merchant_id = $1 AND k.provider_account_id = $2
      AND k.settlement_id = r.settlement_id AND k.type = r.type AND k.provider_reference = r.provider_reference`)} l
    WHERE (l.type IN ('CAPTURE', 'REFUND') AND l.x_id IS NULL) OR (l.type = 'CHARGEBACK' AND l.pay_id IS NULL)),
  failed AS MATERIALIZED (SELECT f.transaction_id FROM (SELECT DISTINCT merchant_id, provider_account_id, transaction_id
      FROM l WHERE type = 'CAPTURE' AND transaction_id IS NOT NULL) f
    WHERE ${isNothing('f')})
  SELECT count(*)::int AS unmatched FROM l
  WHERE type <> 'CAPTURE' OR transaction_id IS NULL OR transaction_id NOT IN (SELECT transaction_id FROM failed)`

interface Account {
  readonly merchantId: string
  readonly accountId: string
}

interface GivenLines {
  readonly rows: readonly LineToInsert[]
  /** The entries of bank statements that the lines repeat. */
  readonly entries: readonly KeyedEntry[]
}

/** Another import of the account has been under way for the whole of `waitMs`. */
export class ImportUnderWay extends Error {}

/** How long to wait for another import of the account. */
export interface ImportWait {
  /** 30 s by default: a file of some 300,000 lines. */
  readonly waitMs?: number
  /** Passes in tests without real time. */
  readonly pause?: (milliseconds: number) => Promise<unknown>
}

/** 200 ms between two looks. */
const lookMs = 200

/**
 * Returns how many lines were new. Imports of one account follow each other: two that overlap would otherwise wait in
 * the middle for each other's lines, longer than a statement may take.
 */
export async function insertLines(
  writers: Database['writers'],
  account: Account,
  { waitMs = 30_000, pause = delay, ...lines }: GivenLines & ImportWait,
): Promise<number> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const added = await insertAlone(writers, account, lines)
    if (added !== undefined) return added
    if (waitedMs >= waitMs)
      throw new ImportUnderWay(`account ${account.accountId} has another import under way`)
    await pause(lookMs)
  }
}

/** Undefined: another import of the account is under way. */
function insertAlone(
  writers: Database['writers'],
  account: Account,
  { rows, entries }: GivenLines,
): Promise<number | undefined> {
  return inTransaction(writers, async client => {
    const lock = "SELECT pg_try_advisory_xact_lock(hashtextextended('settlement ' || $1, 0)) AS held"
    const { rows: locks } = await client.query<{ held: boolean }>(lock, [account.accountId])
    if (locks[0]?.held !== true) return undefined
    for (const chunk of chunksOf(entries, entriesAtOnce)) await giveNewKeys(client, account, chunk)
    let added = 0
    for (const chunk of chunksOf(rows, linesAtOnce)) {
      const values = [account.merchantId, account.accountId, toRecordset(lineColumns, chunk)]
      added += (await client.query(insertStatement, values)).rowCount ?? 0
    }
    // Last, because it locks lines of earlier imports, which a worker may be about to match.
    if (added < rows.length) await namePayouts(client, account, rows)
    return added
  })
}

/** A statement for each payout: joined in one, each line of the account would be compared with each of the file. */
async function namePayouts(
  client: Pick<PoolClient, 'query'>,
  { merchantId, accountId }: Account,
  rows: readonly LineToInsert[],
): Promise<void> {
  const paidOut = rows.filter(row => row.is_named_once && row.settlement_id !== row.date)
  for (const [settlementId, lines] of Map.groupBy(paidOut, row => row.settlement_id))
    for (const chunk of chunksOf(lines, linesAtOnce)) {
      const references = chunk.map(row => row.provider_reference)
      await client.query(namePayout, [merchantId, accountId, settlementId, references])
    }
}

/** Matches the account's lines, and returns how many of these are about an operation but match none of ours yet. */
export async function matchGiven(
  writers: Database['writers'],
  account: Account,
  rows: readonly LineToInsert[],
): Promise<number> {
  await matchLines(writers, account)
  let unmatched = 0
  for (const chunk of chunksOf(rows, linesAtOnce)) {
    const values = [account.merchantId, account.accountId, toRecordset(lineColumns, chunk)]
    const found = await writers.query<{ unmatched: number }>(unmatchedStatement, values)
    unmatched += found.rows[0]?.unmatched ?? 0
  }
  return unmatched
}
