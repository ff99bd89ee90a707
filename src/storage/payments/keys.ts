/** Looks up a stored idempotency key and its answer. Keys are written only by the commits of their operation. */

import { summarizeNewRanges } from '#storage/block-ranges.ts'
import type { StoredAnswer } from '#storage/commit/change.ts'
import type { Database } from '#storage/database.ts'
import { type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

export interface FoundKey {
  readonly fingerprint: string
  readonly answer?: StoredAnswer
}

/** By contract an answer is kept for 30 days of the merchant's time. */
const keptDays = 30

/** 5,000: a batch this size holds no lock for long. */
const reapedAtOnce = 5_000

const keyColumns = [
  ['merchant_id', 'text'],
  ['verb', 'text'],
  ['path', 'text'],
  ['key', 'text'],
] as const

export interface KeyReader {
  find(merchantId: string, key: { verb: string; path: string; key: string }): Promise<FoundKey | undefined>
  /** Deletes expired keys of one merchant or of all. Returns how many. */
  reap(merchantId?: string): Promise<number>
}

export function createKeyReader({ writers, readers }: Database): KeyReader {
  return {
    async reap(merchantId) {
      await summarizeNewRanges(readers, 'idempotency_key_by_age')
      // Search on a reader connection, because writers cannot use a block-range index. The first bound is a plain
      // value, so that the index can be used; it is that of the test clock which is furthest ahead.
      const { rows } = await readers.query<RowOf<typeof keyColumns>>(
        `SELECT k.merchant_id, k.verb, k.path, k.key FROM idempotency_key k JOIN merchant m USING (merchant_id)
         WHERE k.created_at < (SELECT now() + max(clock_offset_ms) * interval '1 millisecond' - $2 * interval '1 day'
             FROM merchant WHERE $1::text IS NULL OR merchant_id = $1)
           AND ($1::text IS NULL OR k.merchant_id = $1)
           AND k.created_at < now() + m.clock_offset_ms * interval '1 millisecond' - $2 * interval '1 day'
         LIMIT $3`,
        [merchantId, keptDays, reapedAtOnce],
      )
      if (rows.length === 0) return 0
      const { rowCount } = await writers.query(
        `WITH m AS MATERIALIZED (SELECT merchant_id,
             now() + clock_offset_ms * interval '1 millisecond' - $2 * interval '1 day' AS kept_since FROM merchant
           WHERE merchant_id IN (SELECT i.merchant_id FROM ${recordset('$1', keyColumns, 'i')}))
         DELETE FROM idempotency_key t USING ${recordset('$1', keyColumns, 'i')}, m
         WHERE t.merchant_id = i.merchant_id AND t.verb = i.verb AND t.path = i.path AND t.key = i.key
           AND m.merchant_id = i.merchant_id AND t.created_at < m.kept_since`,
        [toRecordset(keyColumns, rows), keptDays],
      )
      return rowCount ?? 0
    },
    async find(merchantId, { verb, path, key }) {
      // Read on a writer connection, so that a request that lost the race for a key sees the winner's commit.
      const { rows } = await writers.query<{
        fingerprint: string
        answer_status: number | null
        answer_body: string | null
      }>({
        name: 'idempotency_key',
        text: `SELECT fingerprint, answer_status, answer_body FROM idempotency_key
               WHERE merchant_id = $1 AND verb = $2 AND path = $3 AND key = $4`,
        values: [merchantId, verb, path, key],
      })
      const [row] = rows
      if (!row) return undefined
      return row.answer_status === null || row.answer_body === null
        ? { fingerprint: row.fingerprint }
        : { fingerprint: row.fingerprint, answer: { status: row.answer_status, json: row.answer_body } }
    },
  }
}
