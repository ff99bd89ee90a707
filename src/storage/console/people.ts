/** The operators of the console, their set-up links, passkeys and sessions. Tokens are stored as hashes only. */
import type { Pool } from 'pg'
import type { Role } from '#domain/console-roles.ts'
import type { Database } from '#storage/database.ts'

export interface Operator {
  /** 32 hex digits. */
  readonly operatorId: string
  readonly email: string
  readonly role: Role
  /** Undefined: all merchants. */
  readonly merchants?: readonly string[]
  /** `20000EUR`, one per currency; undefined: no limit. */
  readonly refundLimits?: readonly string[]
  readonly passwordHash?: string
  readonly totp?: SealedTotp
  readonly passkeys: number
  readonly createdAt: Date
}

/** What a person could do before a change, as the audit trail records it. */
export interface Rights {
  readonly role: Role
  readonly merchants: readonly string[] | null
  readonly refundLimits: readonly string[] | null
}

export interface SealedTotp {
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface SetUpLink {
  readonly operatorId: string
  readonly totp?: SealedTotp
}

export interface NewLink {
  readonly tokenHash: string
  readonly operatorId: string
  readonly expiresAt: Date
  /** The owner who reads it on a page; undefined for a link of the command line. */
  readonly madeBy?: string | undefined
}

export interface Passkey {
  readonly credentialId: string
  readonly operatorId: string
  readonly publicKey: Buffer
  readonly counter: number
}

export interface StoredSession {
  readonly sessionId: string
  readonly createdAt: Date
  readonly seenAt: Date
  readonly address: string
  readonly browser: string
}

export interface PeopleStore {
  insert(
    operator: Pick<Operator, 'operatorId' | 'email' | 'role' | 'merchants' | 'refundLimits'>,
  ): Promise<boolean>
  list(): Promise<readonly Operator[]>
  findByEmail(email: string): Promise<Operator | undefined>
  find(operatorId: string): Promise<Operator | undefined>
  /**
   * How many open links of this person have ended: one that is made for a person of some merchants is known to people who may see
   * no others, and must not open those that the person gets now. The links that they made for others end where they lose the role
   * of owner or a merchant. Undefined: there is no such person.
   */
  set(
    operatorId: string,
    change: OperatorChange,
  ): Promise<{ readonly endedLinks: number; readonly before: Rights } | undefined>
  /** Their links end, also those that they made for others. Undefined: there is no such person. */
  remove(operatorId: string): Promise<Rights | undefined>
  insertLink(link: NewLink): Promise<void>
  /** Undefined: unknown, used, or expired. */
  findLink(tokenHash: string): Promise<SetUpLink | undefined>
  keepTotp(tokenHash: string, totp: SealedTotp): Promise<void>
  /** Uses the link: from now on the operator signs in with this password. False: the link was used or has expired. */
  setUpPassword(tokenHash: string, password: NewPassword): Promise<boolean>
  /** The same with a passkey. */
  setUpPasskey(tokenHash: string, passkey: Passkey): Promise<boolean>
  /** Returns false if a code of this time step, or of a later one, was used already. */
  takeTotpStep(operatorId: string, step: number): Promise<boolean>
  insertPasskey(passkey: Passkey): Promise<void>
  findPasskey(credentialId: string): Promise<Passkey | undefined>
  setCounter(credentialId: string, counter: number): Promise<void>
  insertSession(session: NewSession): Promise<void>
  /** Returns the signed-in operator if the session is alive. Updates its last use unless the request was automatic. */
  openSession(
    sessionHash: string,
    limits: SessionLimits,
    use?: { readonly idle: boolean },
  ): Promise<OpenSession | undefined>
  listSessions(operatorId: string, limits: SessionLimits): Promise<readonly StoredSession[]>
  endSession(operatorId: string, sessionId: string): Promise<boolean>
}

export interface NewPassword {
  readonly passwordHash: string
  readonly totp: SealedTotp
  /** The time step of the code that confirmed the secret, which cannot be used again. */
  readonly totpStep: number
}

export interface OperatorChange {
  readonly role?: Role
  /** null: all. */
  readonly merchants?: readonly string[] | null
  readonly refundLimits?: readonly string[] | null
}

export interface NewSession {
  readonly sessionHash: string
  readonly sessionId: string
  readonly operatorId: string
  readonly address: string
  readonly browser: string
}

export interface SessionLimits {
  readonly idleSeconds: number
  readonly totalSeconds: number
}

export interface OpenSession {
  readonly sessionId: string
  readonly operator: Operator
}

interface OperatorRow {
  operator_id: string
  email: string
  role: Role
  merchants: string[] | null
  refund_limits: string[] | null
  password_hash: string | null
  totp_key: number | null
  totp_sealed: Buffer | null
  passkeys: number
  created_at: Date
}

const columns = `o.operator_id, o.email, o.role, o.merchants, o.refund_limits, o.password_hash, o.totp_key, o.totp_sealed,
  (SELECT count(*)::integer FROM operator_passkey k WHERE k.operator_id = o.operator_id) AS passkeys, o.created_at`

const toOperator = (row: OperatorRow): Operator => ({
  operatorId: row.operator_id,
  email: row.email,
  role: row.role,
  merchants: row.merchants ?? undefined,
  refundLimits: row.refund_limits ?? undefined,
  passwordHash: row.password_hash ?? undefined,
  totp: toTotp(row),
  passkeys: row.passkeys,
  createdAt: row.created_at,
})

const toTotp = (row: { totp_key: number | null; totp_sealed: Buffer | null }): SealedTotp | undefined =>
  row.totp_key === null || row.totp_sealed === null
    ? undefined
    : { keyVersion: row.totp_key, sealed: row.totp_sealed }

const rightsOf = (row: string): string =>
  `json_build_object('role', ${row}.role, 'merchants', ${row}.merchants, 'refundLimits', ${row}.refund_limits)`

/** A session is alive if it was used recently and not opened too long ago. In real time: no test clock moves it. */
const isAlive = `s.seen_at > now() - $2 * interval '1 second' AND s.created_at > now() - $3 * interval '1 second'`

export function createPeopleStore({ writers }: Pick<Database, 'writers'>): PeopleStore {
  return {
    ...createOperators(writers),
    ...createLinks(writers),
    ...createPasskeys(writers),
    ...createSessions(writers),
  }
}

function createOperators(pool: Pool) {
  const first = async (where: string, value: string): Promise<Operator | undefined> => {
    const { rows } = await pool.query<OperatorRow>(`SELECT ${columns} FROM operator o WHERE ${where}`, [
      value,
    ])
    return rows[0] && toOperator(rows[0])
  }
  return {
    async insert({ operatorId, email, role, merchants, refundLimits }: Parameters<PeopleStore['insert']>[0]) {
      const { rowCount } = await pool.query(
        `INSERT INTO operator (operator_id, email, role, merchants, refund_limits) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING`,
        [operatorId, email, role, merchants, refundLimits],
      )
      return rowCount === 1
    },
    async list() {
      const { rows } = await pool.query<OperatorRow>(
        `SELECT ${columns} FROM operator o ORDER BY lower(o.email)`,
      )
      return rows.map(toOperator)
    },
    findByEmail: (email: string) => first('lower(o.email) = lower($1)', email),
    find: (operatorId: string) => first('o.operator_id = $1', operatorId),
    async set(operatorId: string, { role, merchants, refundLimits }: OperatorChange) {
      const { rows } = await pool.query<{ endedLinks: number; before: Rights }>(
        `WITH before AS (SELECT operator_id, role, merchants, refund_limits FROM operator WHERE operator_id = $1 FOR UPDATE),
         changed AS (UPDATE operator o SET role = coalesce($2, o.role),
           merchants = CASE WHEN $3 THEN $4::text[] ELSE o.merchants END,
           refund_limits = CASE WHEN $5 THEN $6::text[] ELSE o.refund_limits END FROM before b
           WHERE o.operator_id = b.operator_id RETURNING o.operator_id, o.role, o.merchants),
         ended AS (DELETE FROM operator_link l USING before b, changed c WHERE l.operator_id = b.operator_id
           AND b.operator_id = c.operator_id AND NOT (b.merchants IS NULL OR coalesce(c.merchants <@ b.merchants, false))
           AND l.used_at IS NULL AND l.expires_at > now() RETURNING 1),
         withdrawn AS (DELETE FROM operator_link l USING before b, changed c WHERE l.made_by = b.operator_id
           AND l.operator_id <> b.operator_id AND l.used_at IS NULL AND b.role = 'owner' AND (c.role <> 'owner'
             OR NOT (c.merchants IS NULL OR coalesce(b.merchants <@ c.merchants, false))))
         SELECT (SELECT count(*)::integer FROM ended) AS "endedLinks", ${rightsOf('b')} AS before FROM changed, before b`,
        [operatorId, role, merchants !== undefined, merchants, refundLimits !== undefined, refundLimits],
      )
      return rows[0]
    },
    async remove(operatorId: string) {
      const { rows } = await pool.query<{ before: Rights }>(
        `DELETE FROM operator o WHERE o.operator_id = $1 RETURNING ${rightsOf('o')} AS before`,
        [operatorId],
      )
      return rows[0]?.before
    },
    async takeTotpStep(operatorId: string, step: number) {
      const { rowCount } = await pool.query(
        'UPDATE operator SET totp_step = $2 WHERE operator_id = $1 AND totp_step < $2',
        [operatorId, step],
      )
      return rowCount === 1
    },
  }
}

/**
 * An operator who sets up access again may have lost a device to a thief, so the statement that uses the link also
 * deletes earlier passkeys, sessions and the open links made for others in their name, and uses up all their other open
 * links. Of two simultaneous requests, one finds no open link.
 */
const startAnew = `WITH used AS (
    UPDATE operator_link SET used_at = now() WHERE used_at IS NULL AND operator_id IN (
      SELECT l.operator_id FROM operator_link l WHERE l.token_hash = $1 AND l.used_at IS NULL AND l.expires_at > now())
    RETURNING operator_id),
  ended AS (DELETE FROM operator_session WHERE operator_id IN (SELECT operator_id FROM used)),
  withdrawn AS (DELETE FROM operator_link l USING (SELECT DISTINCT operator_id FROM used) u
    WHERE l.made_by = u.operator_id AND l.operator_id <> u.operator_id AND l.used_at IS NULL),
  forgotten AS (DELETE FROM operator_passkey WHERE operator_id IN (SELECT operator_id FROM used))`

function createLinks(pool: Pool) {
  return {
    async insertLink({ tokenHash, operatorId, expiresAt, madeBy }: NewLink) {
      await pool.query(
        'INSERT INTO operator_link (token_hash, operator_id, expires_at, made_by) VALUES ($1, $2, $3, $4)',
        [tokenHash, operatorId, expiresAt, madeBy],
      )
    },
    async findLink(tokenHash: string) {
      const { rows } = await pool.query<{
        operator_id: string
        totp_key: number | null
        totp_sealed: Buffer | null
      }>(
        `SELECT operator_id, totp_key, totp_sealed FROM operator_link
         WHERE token_hash = $1 AND used_at IS NULL AND expires_at > now()`,
        [tokenHash],
      )
      return rows[0] && { operatorId: rows[0].operator_id, totp: toTotp(rows[0]) }
    },
    async keepTotp(tokenHash: string, { keyVersion, sealed }: SealedTotp) {
      await pool.query(
        `UPDATE operator_link SET totp_key = $2, totp_sealed = $3 WHERE token_hash = $1 AND totp_sealed IS NULL`,
        [tokenHash, keyVersion, sealed],
      )
    },
    async setUpPassword(tokenHash: string, { passwordHash, totp, totpStep }: NewPassword) {
      const { rowCount } = await pool.query(
        `${startAnew}
         UPDATE operator SET password_hash = $2, totp_key = $3, totp_sealed = $4, totp_step = greatest(totp_step, $5)
         WHERE operator_id IN (SELECT operator_id FROM used)`,
        [tokenHash, passwordHash, totp.keyVersion, totp.sealed, totpStep],
      )
      return rowCount === 1
    },
    async setUpPasskey(tokenHash: string, { credentialId, publicKey, counter }: Passkey) {
      const { rowCount } = await pool.query(
        `${startAnew}, without_password AS (UPDATE operator SET password_hash = NULL, totp_key = NULL, totp_sealed = NULL
           WHERE operator_id IN (SELECT operator_id FROM used))
         INSERT INTO operator_passkey (credential_id, operator_id, public_key, counter)
         SELECT DISTINCT $2::text, operator_id, $3::bytea, $4::bigint FROM used`,
        [tokenHash, credentialId, publicKey, counter],
      )
      return rowCount === 1
    },
  }
}

function createPasskeys(pool: Pool) {
  return {
    async insertPasskey({ credentialId, operatorId, publicKey, counter }: Passkey) {
      await pool.query(
        'INSERT INTO operator_passkey (credential_id, operator_id, public_key, counter) VALUES ($1, $2, $3, $4)',
        [credentialId, operatorId, publicKey, counter],
      )
    },
    async findPasskey(credentialId: string) {
      const { rows } = await pool.query<Passkey>(
        `SELECT credential_id AS "credentialId", operator_id AS "operatorId", public_key AS "publicKey", counter
         FROM operator_passkey WHERE credential_id = $1`,
        [credentialId],
      )
      return rows[0]
    },
    async setCounter(credentialId: string, counter: number) {
      await pool.query('UPDATE operator_passkey SET counter = $2 WHERE credential_id = $1', [
        credentialId,
        counter,
      ])
    },
  }
}

/** 5 s: pages loaded in quick succession write nothing, and a session ends at most 5 s too early. */
const seenSeconds = 5

function createSessions(pool: Pool) {
  return {
    async insertSession({ sessionHash, sessionId, operatorId, address, browser }: NewSession) {
      await pool.query(
        `INSERT INTO operator_session (session_hash, session_id, operator_id, address, browser)
         VALUES ($1, $2, $3, $4, $5)`,
        [sessionHash, sessionId, operatorId, address, browser],
      )
    },
    async openSession(
      sessionHash: string,
      { idleSeconds, totalSeconds }: SessionLimits,
      { idle } = { idle: false },
    ) {
      const { rows } = await pool.query<OperatorRow & { session_id: string; seen_long_ago: boolean }>(
        `SELECT s.session_id, s.seen_at < now() - interval '${seenSeconds} seconds' AS seen_long_ago, ${columns}
         FROM operator_session s JOIN operator o ON o.operator_id = s.operator_id
         WHERE s.session_hash = $1 AND ${isAlive}`,
        [sessionHash, idleSeconds, totalSeconds],
      )
      const [row] = rows
      if (row?.seen_long_ago && !idle)
        await pool.query('UPDATE operator_session SET seen_at = now() WHERE session_hash = $1', [sessionHash])
      return row && { sessionId: row.session_id, operator: toOperator(row) }
    },
    async listSessions(operatorId: string, { idleSeconds, totalSeconds }: SessionLimits) {
      const { rows } = await pool.query<StoredSession>(
        `SELECT s.session_id AS "sessionId", s.created_at AS "createdAt", s.seen_at AS "seenAt", s.address, s.browser
         FROM operator_session s WHERE s.operator_id = $1 AND ${isAlive} ORDER BY s.seen_at DESC`,
        [operatorId, idleSeconds, totalSeconds],
      )
      return rows
    },
    async endSession(operatorId: string, sessionId: string) {
      const { rowCount } = await pool.query(
        'DELETE FROM operator_session WHERE operator_id = $1 AND session_id = $2',
        [operatorId, sessionId],
      )
      return rowCount === 1
    },
  }
}
