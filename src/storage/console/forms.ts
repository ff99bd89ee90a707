/**
 * Submitted forms of the console and their answers, so that a form submitted twice takes effect only once across all
 * processes. They are stored among the idempotency keys, under the installation's name instead of a merchant's.
 */
import type { Database } from '#storage/database.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'

export interface FormStore {
  /** False: the same form was sent before. */
  claim(key: string): Promise<boolean>
  /** Undefined: it was never sent, failed, or was forgotten. Without a body: it is being worked on. */
  find(key: string): Promise<SentForm | undefined>
  answer(key: string, answer: { readonly status: number; readonly body: string }): Promise<void>
  /** The form failed, so that it may be submitted again. */
  release(key: string): Promise<void>
}

export interface SentForm {
  readonly status: number
  readonly body?: string
}

/** One hour: longer than anybody waits before pressing a button again, and longer than an idle session lives. */
const keptFor = "interval '1 hour'"

/** The doctor reports a key without an answer as a fault, so this status marks "accepted, not answered yet". */
const accepted = 202

const owned = `merchant_id = '${installationOwner}' AND verb = 'POST' AND path = '/console'`

export const createFormStore = ({ writers }: Pick<Database, 'writers'>): FormStore => ({
  async claim(key) {
    const { rowCount } = await writers.query(
      `WITH over AS (DELETE FROM idempotency_key WHERE ${owned} AND created_at < now() - ${keptFor})
       INSERT INTO idempotency_key (merchant_id, verb, path, key, fingerprint, answer_status, answer_body, created_at)
       VALUES ('${installationOwner}', 'POST', '/console', $1, $1, ${accepted}, '', now()) ON CONFLICT DO NOTHING`,
      [key],
    )
    return rowCount === 1
  },
  async find(key) {
    const { rows } = await writers.query<{ status: number; body: string }>(
      `SELECT answer_status AS status, answer_body AS body FROM idempotency_key WHERE ${owned} AND key = $1`,
      [key],
    )
    const [row] = rows
    return row && { status: row.status, ...(row.body === '' ? {} : { body: row.body }) }
  },
  async answer(key, { status, body }) {
    await writers.query(
      `UPDATE idempotency_key SET answer_status = $2, answer_body = $3 WHERE ${owned} AND key = $1`,
      [key, status, body],
    )
  },
  async release(key) {
    await writers.query(`DELETE FROM idempotency_key WHERE ${owned} AND key = $1`, [key])
  },
})
