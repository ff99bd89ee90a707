/** Looking up a stored idempotency key and the answer it got. Writing happens only with its operation's commits. */

import type { StoredAnswer } from '#storage/commit/change.ts'
import type { Database } from '#storage/database.ts'

export interface FoundKey {
  readonly fingerprint: string
  readonly answer?: StoredAnswer
}

/** The contract: an answer is kept for 30 days, of the merchant's own time. */
const keptDays = 30

/** 5,000: a batch that holds no lock for long. */
const reapedAtOnce = 5_000

export interface KeyReader {
  find(merchantId: string, key: { verb: string; path: string; key: string }): Promise<FoundKey | undefined>
  /** Forgets keys whose time is over, of one merchant or of all. Returns how many. */
  reap(merchantId?: string): Promise<number>
}

export function createKeyReader({ writers }: Database): KeyReader {
  return {
    async reap(merchantId) {
      const { rowCount } = await writers.query(
        `DELETE FROM idempotency_key t USING (
           SELECT k.merchant_id, k.verb, k.path, k.key FROM idempotency_key k JOIN merchant m USING (merchant_id)
           WHERE ($1::text IS NULL OR k.merchant_id = $1)
             AND k.created_at < now() + m.clock_offset_ms * interval '1 millisecond' - $2 * interval '1 day'
           LIMIT $3) old
         WHERE t.merchant_id = old.merchant_id AND t.verb = old.verb AND t.path = old.path AND t.key = old.key`,
        [merchantId, keptDays, reapedAtOnce],
      )
      return rowCount ?? 0
    },
    async find(merchantId, { verb, path, key }) {
      // From the writers' pool: a request that lost the race for a key must see the winner's commit.
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
