/**
 * Forms of the console that were sent, and what they were answered with, so that a form that is sent twice acts once in
 * all processes together. They lie among the idempotency keys, under the name of the installation instead of a merchant's.
 */
import type { Database } from '#storage/database.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'

export interface FormStore {
  /** False: the same form was sent before. */
  claim(key: string): Promise<boolean>
  /** Undefined: it was never sent, failed, or was forgotten. Without a body: it is being worked on. */
  find(key: string): Promise<SentForm | undefined>
  answer(key: string, answer: { readonly status: number; readonly body: string }): Promise<void>
  /** It failed, so that it may be sent again. */
  release(key: string): Promise<void>
}

export interface SentForm {
  readonly status: number
  readonly body?: string
}

/** One hour: longer than anybody waits before they press a button again, and a session idles for less. */
const keptFor = "interval '1 hour'"

/** A key without an answer is what the doctor calls a fault; this stands for "accepted, not answered yet". */
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
