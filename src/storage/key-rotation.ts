/**
 * What a change of keys reads and writes: the root secret, and data keys by the batch. On a connection of its own, which
 * holds a lock, so that two changes never run side by side. Knows nothing of what is inside the keys.
 */
import pg from 'pg'
import type { MerchantId } from '#domain/ids.ts'
import { rootSecretName, type WrappedKey } from '#storage/vault-store.ts'

export interface MerchantKey extends WrappedKey {
  readonly merchantId: MerchantId
}

export interface RotationStore {
  /** The id of the master key and what it wraps, with a colon between. */
  readRoot(): Promise<string>
  /** False when it is not that any more. */
  replaceRoot(expected: string, value: string): Promise<boolean>
  /** Data keys that another master key than this wraps. */
  findOthers(masterKeyId: string, limit: number): Promise<readonly MerchantKey[]>
  /** Each as it was read, and as it is to be; a row that has changed meanwhile is left alone. */
  rewrap(changes: readonly { readonly from: MerchantKey; readonly to: MerchantKey }[]): Promise<void>
  close(): Promise<void>
}

/** Any number that nobody else locks: the letters "keys". */
const rotationLock = 0x6b657973

/** 10 s: a host that drops packets would otherwise keep us silent for minutes. */
const connectTimeoutMs = 10_000

/** Undefined: somebody else is changing keys right now. */
export async function openRotationStore(databaseUrl: string): Promise<RotationStore | undefined> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate keys',
  })
  // What breaks is told by the statement that was running; without a listener it would also end the process.
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
    rotationLock,
  ])
  if (rows[0]?.held) return createRotationStore(client)
  await client.end()
  return undefined
}

function createRotationStore(client: pg.Client): RotationStore {
  return {
    async readRoot() {
      const { rows } = await client.query<{ value: string }>(
        'SELECT value FROM installation WHERE name = $1',
        [rootSecretName],
      )
      if (!rows[0]) throw new Error('the installation has no root secret')
      return rows[0].value
    },
    async replaceRoot(expected, value) {
      const { rowCount } = await client.query(
        'UPDATE installation SET value = $3 WHERE name = $1 AND value = $2',
        [rootSecretName, expected, value],
      )
      return rowCount === 1
    },
    async findOthers(masterKeyId, limit) {
      const { rows } = await client.query<MerchantKey>(
        `SELECT merchant_id AS "merchantId", key_version AS "keyVersion", wrapped, master_key_id AS "masterKeyId"
         FROM vault_key WHERE master_key_id <> $1 ORDER BY merchant_id, key_version LIMIT $2`,
        [masterKeyId, limit],
      )
      return rows
    },
    async rewrap(changes) {
      await client.query(
        `UPDATE vault_key t SET wrapped = i.wrapped, master_key_id = i.to_id
         FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bytea[])
           AS i(merchant_id, key_version, from_id, to_id, wrapped)
         WHERE t.merchant_id = i.merchant_id AND t.key_version = i.key_version AND t.master_key_id = i.from_id`,
        [
          changes.map(({ from }) => from.merchantId),
          changes.map(({ from }) => from.keyVersion),
          changes.map(({ from }) => from.masterKeyId),
          changes.map(({ to }) => to.masterKeyId),
          changes.map(({ to }) => to.wrapped),
        ],
      )
    },
    close: () => client.end(),
  }
}
