/** Looking up a stored idempotency key and the answer it got. Writing happens only with its operation's commits. */

import type { StoredAnswer } from '#storage/change.ts'
import type { Database } from '#storage/database.ts'

export interface FoundKey {
  readonly fingerprint: string
  readonly answer?: StoredAnswer
}

export interface KeyReader {
  find(merchantId: string, key: { verb: string; path: string; key: string }): Promise<FoundKey | undefined>
}

export function createKeyReader({ writers }: Database): KeyReader {
  return {
    async find(merchantId, { verb, path, key }) {
      // From the pool that writes: whoever lost the race for a key must see the winner's commit.
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
