/**
 * Submitted forms of the console and their answers, so that a form submitted twice takes effect only once across all
 * processes. They are stored among the idempotency keys, under the installation's name instead of a merchant's.
 */
import { randomBytes } from 'node:crypto'
import type { PoolClient } from 'pg'
import { type AuditEntry, appendWithin } from '#storage/audit/audit.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'

export interface FormStore {
  /**
   * Returns false if the same form was submitted before. An act and its audit entry are two commits: `cutOff` is the
   * entry that is written if the form is never answered, for example because the process stopped between them.
   */
  claim(key: string, cutOff?: AuditEntry): Promise<boolean>
  /** Undefined: never submitted, failed, or expired. Without a body: its request is under way. */
  find(key: string): Promise<SentForm | undefined>
  answer(key: string, answer: { readonly status: number; readonly body: string }): Promise<void>
  /** The form failed: it may be submitted again, and its `cutOff` entry is written, because its effect is unknown. */
  release(key: string): Promise<void>
  /**
   * Locks the object with this hash for one act, and returns the function that releases it. Undefined: another request
   * holds the lock, or a process that stopped held it less than 5 minutes ago.
   */
  hold(hash: string): Promise<(() => Promise<void>) | undefined>
  /**
   * For an act without a form: `cutOff` becomes a row of the audit trail unless the returned function is called within
   * minutes.
   */
  note(cutOff: AuditEntry): Promise<() => Promise<void>>
  /** Writes the `cutOff` entries of all forms whose requests have been abandoned. */
  recordCutOff(): Promise<void>
}

export interface SentForm {
  readonly status: number
  readonly body?: string
}

/** One hour: longer than an idle session lives, so nobody submits the same form again later. */
const keptFor = "interval '1 hour'"

/** 5 minutes: longer than any request of the API may take. */
const workedOnFor = "interval '5 minutes'"

/** The doctor reports a key without an answer as a fault, so this status marks "accepted, not answered yet". */
const accepted = 202

const ownedAt = (path: string): string =>
  `merchant_id = '${installationOwner}' AND verb = 'POST' AND path = '${path}'`
const owned = ownedAt('/console')
/** Holds the `cutOff` entry of each form in a row of its own. */
const notes = ownedAt('/console/acts')

const held = ownedAt('/console/held')

const insertInto = (path: string, body: string, fingerprint = '$1'): string =>
  `INSERT INTO idempotency_key (merchant_id, verb, path, key, fingerprint, answer_status, answer_body, created_at)
   SELECT '${installationOwner}', 'POST', '${path}', $1, ${fingerprint}, ${accepted}, ${body}, now()`

/** Moves these notes into the audit trail. */
async function recordNotes(client: PoolClient, which: string, values: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ body: string }>(
    `DELETE FROM idempotency_key WHERE ${notes} AND ${which} RETURNING answer_body AS body`,
    [...values],
  )
  const entries: readonly AuditEntry[] = rows.map(({ body }) => JSON.parse(body))
  await appendWithin(client, entries)
}

export const createFormStore = ({ writers }: Pick<Database, 'writers'>): FormStore => ({
  async claim(key, cutOff) {
    const { rowCount } = await writers.query(
      `WITH over AS (DELETE FROM idempotency_key WHERE ${owned} AND created_at < now() - ${keptFor}),
       claimed AS (${insertInto('/console', "''")} ON CONFLICT DO NOTHING RETURNING key),
       noted AS (${insertInto('/console/acts', '$2::text')} FROM claimed WHERE $2::text IS NOT NULL ON CONFLICT DO NOTHING)
       SELECT FROM claimed`,
      [key, cutOff && JSON.stringify(cutOff)],
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
      `WITH noted AS (DELETE FROM idempotency_key WHERE ${notes} AND key = $1)
       UPDATE idempotency_key SET answer_status = $2, answer_body = $3 WHERE ${owned} AND key = $1`,
      [key, status, body],
    )
  },
  release: key =>
    inTransaction(writers, async client => {
      await recordNotes(client, 'key = $1', [key])
      await client.query(`DELETE FROM idempotency_key WHERE ${owned} AND key = $1`, [key])
    }),
  async hold(hash) {
    const holder = randomBytes(32).toString('hex')
    const { rowCount } = await writers.query(
      `${insertInto('/console/held', "''", '$2')} ON CONFLICT (merchant_id, verb, path, key)
       DO UPDATE SET fingerprint = $2, created_at = now() WHERE idempotency_key.created_at < now() - ${workedOnFor}`,
      [hash, holder],
    )
    if (rowCount !== 1) return undefined
    return async () => {
      await writers.query(`DELETE FROM idempotency_key WHERE ${held} AND key = $1 AND fingerprint = $2`, [
        hash,
        holder,
      ])
    }
  },
  async note(cutOff) {
    const key = randomBytes(32).toString('hex')
    await writers.query(insertInto('/console/acts', '$2::text'), [key, JSON.stringify(cutOff)])
    return async () => {
      await writers.query(`DELETE FROM idempotency_key WHERE ${notes} AND key = $1`, [key])
    }
  },
  recordCutOff: () =>
    inTransaction(writers, client => recordNotes(client, `created_at < now() - ${workedOnFor}`, [])),
})
