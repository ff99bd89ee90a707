/**
 * Reads and writes for changes of keys: the root secret, data keys, and sealed numbers in batches. Uses a connection of
 * its own that holds an advisory lock, so that two changes never run at the same time. Seals and opens nothing.
 */
import pg from 'pg'
import type { MerchantId } from '#domain/ids.ts'
import { cellLock } from '#storage/cells/address.ts'
import { rootSecretName, type WrappedKey } from '#storage/vault/vault-store.ts'

export interface MerchantKey extends WrappedKey {
  readonly merchantId: MerchantId
}

export interface RotationStore {
  /** The id of the master key, a colon, and the wrapped root secrets. */
  readRoot(): Promise<string>
  /** False if the stored value is no longer the expected one. */
  replaceRoot(expected: string, value: string): Promise<boolean>
  /**
   * The same, and in one transaction converts everything that depends on the root secret: hashes of API keys and sealed
   * webhook secrets. None can be added at the same time.
   */
  replaceRootWith(expected: string, value: string, renewal: RootRenewal): Promise<boolean>
  /** Data keys that are wrapped with a master key other than this one. */
  findOthers(masterKeyId: string, limit: number): Promise<readonly MerchantKey[]>
  /** Replaces each row `from` by `to`, unless it has changed since it was read. */
  rewrap(changes: readonly { readonly from: MerchantKey; readonly to: MerchantKey }[]): Promise<void>
  /** The next merchants after `after`, with the version of their newest data key. */
  findNewest(
    after: string,
    limit: number,
  ): Promise<readonly { readonly merchantId: MerchantId; readonly keyVersion: number }[]>
  insertKey(key: MerchantKey): Promise<void>
  findKeys(merchantIds: readonly MerchantId[]): Promise<readonly MerchantKey[]>
  /** The next rows after `after` that are sealed with an older data key than their merchant's newest. */
  findOlder(holding: Holding, after: Position | undefined, limit: number): Promise<readonly KeptNumber[]>
  /** Replaces each row `from` by `to`, unless it has changed since it was read. Returns how many were replaced. */
  reseal(
    holding: Holding,
    changes: readonly { readonly from: KeptNumber; readonly to: KeptNumber }[],
  ): Promise<number>
  close(): Promise<void>
}

export type KeyHold = Pick<RotationStore, 'readRoot' | 'close'>

export interface RootRenewal {
  /** `madeWith`: the number of the pepper that was the newest when the key was made. */
  readonly rehash: (keyHash: string, madeWith: number) => string
  readonly reseal: (
    owner: { readonly merchantId: MerchantId; readonly endpointId?: string },
    sealed: Buffer,
  ) => Buffer
}

/** Where sealed data is stored: numbers first, then the records of sealed-records.ts. */
export type Holding = 'cards' | 'accounts' | 'secrets' | 'notices' | 'evidence' | 'codes' | BankHolding

/** Files for the bank, entries of the bank's own files, and recipients of surplus payments. */
type BankHolding = 'bankFiles' | 'bankEntries' | 'bankSurplus'

/** The owner of the data key for data that belongs to no merchant. */
export const installationOwner = '_installation'

const holdings = {
  cards: { table: 'vault_card', id: 'card_id' },
  accounts: { table: 'vault_account', id: 'account_id' },
  secrets: { table: 'provider_secret', id: 'secret_id' },
  notices: { table: 'provider_notice', id: 'notice_id' },
  evidence: { table: 'dispute_file', id: 'file_id' },
  bankFiles: { table: 'bank_file_part', id: 'part_id' },
  bankEntries: { table: 'bank_entry', id: 'entry_id' },
  bankSurplus: { table: 'bank_surplus', id: 'x_id' },
  // A subquery gives it the columns of the other tables: the owner of the installation's data stands for the merchant.
  codes: {
    table: `(SELECT '${installationOwner}' AS merchant_id, operator_id, totp_key AS key_version, totp_sealed AS sealed
      FROM operator)`,
    id: 'operator_id',
    target: 'operator',
    version: 'totp_key',
    sealed: 'totp_sealed',
  },
} as const satisfies Record<Holding, HeldIn>

interface HeldIn {
  readonly table: string
  readonly id: string
  /** The table and columns to write to, if the holding is read from a subquery. */
  readonly target?: string
  readonly version?: string
  readonly sealed?: string
}

export const heldIn = (holding: Holding): HeldIn => holdings[holding]

export interface Position {
  readonly merchantId: MerchantId
  /** The id of the card or account. */
  readonly heldId: string
}

export interface KeptNumber extends Position {
  readonly keyVersion: number
  readonly sealed: Buffer
}

/** An arbitrary lock number that is not used elsewhere: the letters "keys". */
const rotationLock = 0x6b657973

/** 10 s: otherwise a host that drops packets would block us for minutes. */
const connectTimeoutMs = 10_000

/** Undefined: another process is changing keys at this moment, or holds them. */
export async function openRotationStore(databaseUrl: string): Promise<RotationStore | undefined> {
  const client = await lockKeys(databaseUrl, 'pg_try_advisory_lock')
  return client && createRotationStore(client)
}

/** Until it is closed nobody changes keys; others may hold them too. Undefined: they are being changed at this moment. */
export async function holdKeys(databaseUrl: string): Promise<KeyHold | undefined> {
  const client = await lockKeys(databaseUrl, 'pg_try_advisory_lock_shared')
  return client && createRotationStore(client)
}

/** The connection that holds the lock. */
async function lockKeys(
  databaseUrl: string,
  lock: 'pg_try_advisory_lock' | 'pg_try_advisory_lock_shared',
): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'tollgate keys',
  })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ held: boolean }>(`SELECT ${lock}(${cellLock('$1')}) AS held`, [
    rotationLock,
  ])
  if (rows[0]?.held) return client
  await client.end()
  return undefined
}

/** Joins the data keys of several cells, for a change of the master key. The root secret is that of cell 0. */
export function joinStores(stores: readonly RotationStore[]): RotationStore {
  const [first] = stores
  if (!first) throw new Error('there is no cell 0')
  if (stores.length === 1) return first
  const origins = new WeakMap<MerchantKey, RotationStore>()
  return {
    ...first,
    async findOthers(masterKeyId, limit) {
      for (const store of stores) {
        const found = await store.findOthers(masterKeyId, limit)
        for (const key of found) origins.set(key, store)
        if (found.length > 0) return found
      }
      return []
    },
    async rewrap(changes) {
      for (const [store, own] of Map.groupBy(changes, ({ from }) => origins.get(from) ?? first))
        await store.rewrap(own)
    },
  }
}

function createRotationStore(client: pg.Client): RotationStore {
  return {
    async readRoot() {
      const { rows } = await client.query<{ value: string }>(
        'SELECT value FROM installation WHERE name = $1',
        [rootSecretName],
      )
      if (!rows[0]) throw new Error('the table installation holds no root secret; restore it from a backup')
      return rows[0].value
    },
    async replaceRoot(expected, value) {
      const { rowCount } = await client.query(
        'UPDATE installation SET value = $3 WHERE name = $1 AND value = $2',
        [rootSecretName, expected, value],
      )
      return rowCount === 1
    },
    replaceRootWith: (expected, value, renewal) => replaceRootWith(client, { expected, value, renewal }),
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
    ...createRenewal(client),
    close: () => client.end(),
  }
}

async function replaceRootWith(
  client: pg.Client,
  { expected, value, renewal }: { expected: string; value: string; renewal: RootRenewal },
): Promise<boolean> {
  await client.query('BEGIN')
  try {
    // Readers continue; writers wait for about a second.
    await client.query(
      'LOCK TABLE api_key, webhook_secret, webhook_endpoint_secret IN SHARE ROW EXCLUSIVE MODE',
    )
    const { rowCount } = await client.query(
      'UPDATE installation SET value = $3 WHERE name = $1 AND value = $2',
      [rootSecretName, expected, value],
    )
    if (rowCount === 1) {
      await rehashKeys(client, renewal)
      await resealSecrets(client, renewal)
    }
    await client.query('COMMIT')
    return rowCount === 1
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

async function rehashKeys(client: pg.Client, { rehash }: RootRenewal): Promise<void> {
  const { rows } = await client.query<{
    merchantId: string
    keyId: string
    keyHash: string
    pepper: number
  }>('SELECT merchant_id AS "merchantId", key_id AS "keyId", key_hash AS "keyHash", pepper FROM api_key')
  await client.query(
    `UPDATE api_key t SET key_hash = i.key_hash
     FROM unnest($1::text[], $2::uuid[], $3::text[]) AS i(merchant_id, key_id, key_hash)
     WHERE t.merchant_id = i.merchant_id AND t.key_id = i.key_id`,
    [
      rows.map(({ merchantId }) => merchantId),
      rows.map(({ keyId }) => keyId),
      rows.map(({ keyHash, pepper }) => rehash(keyHash, pepper)),
    ],
  )
}

async function resealSecrets(client: pg.Client, { reseal }: RootRenewal): Promise<void> {
  for (const { table, owner } of [
    { table: 'webhook_secret', owner: 'NULL' },
    { table: 'webhook_endpoint_secret', owner: 'endpoint_id' },
  ]) {
    const { rows } = await client.query<{
      merchantId: MerchantId
      secretId: string
      endpointId: string | null
      sealed: Buffer
    }>(
      `SELECT merchant_id AS "merchantId", secret_id AS "secretId", ${owner} AS "endpointId", sealed FROM ${table}`,
    )
    await client.query(
      `UPDATE ${table} t SET sealed = i.sealed
       FROM unnest($1::text[], $2::uuid[], $3::bytea[]) AS i(merchant_id, secret_id, sealed)
       WHERE t.merchant_id = i.merchant_id AND t.secret_id = i.secret_id`,
      [
        rows.map(({ merchantId }) => merchantId),
        rows.map(({ secretId }) => secretId),
        rows.map(({ merchantId, endpointId, sealed }) =>
          reseal({ merchantId, ...(endpointId === null ? {} : { endpointId }) }, sealed),
        ),
      ],
    )
  }
}

type Renewal = Pick<RotationStore, 'findNewest' | 'insertKey' | 'findKeys' | 'findOlder' | 'reseal'>

function createRenewal(client: pg.Client): Renewal {
  return {
    async findNewest(after, limit) {
      const { rows } = await client.query<{ merchantId: MerchantId; keyVersion: number }>(
        `SELECT merchant_id AS "merchantId", max(key_version) AS "keyVersion" FROM vault_key WHERE merchant_id > $1
         GROUP BY merchant_id ORDER BY merchant_id LIMIT $2`,
        [after, limit],
      )
      return rows
    },
    async insertKey({ merchantId, keyVersion, wrapped, masterKeyId }) {
      await client.query(
        'INSERT INTO vault_key (merchant_id, key_version, wrapped, master_key_id) VALUES ($1, $2, $3, $4)',
        [merchantId, keyVersion, wrapped, masterKeyId],
      )
    },
    async findKeys(merchantIds) {
      const { rows } = await client.query<MerchantKey>(
        `SELECT merchant_id AS "merchantId", key_version AS "keyVersion", wrapped, master_key_id AS "masterKeyId"
         FROM vault_key WHERE merchant_id = ANY($1) ORDER BY key_version`,
        [merchantIds],
      )
      return rows
    },
    async findOlder(holding, after, limit) {
      const { table, id } = heldIn(holding)
      const { rows } = await client.query<KeptNumber>(
        // Ids as 32 hex digits, because sealed values are bound to their place in that form.
        `SELECT v.merchant_id AS "merchantId", replace(v.${id}::text, '-', '') AS "heldId",
           v.key_version AS "keyVersion", v.sealed FROM ${table} v
         WHERE ($1::text IS NULL OR (v.merchant_id, v.${id}) > ($1, $2::uuid)) AND v.sealed IS NOT NULL
           AND v.key_version < (SELECT max(k.key_version) FROM vault_key k WHERE k.merchant_id = v.merchant_id)
         ORDER BY v.merchant_id, v.${id} LIMIT $3`,
        [after?.merchantId, after?.heldId, limit],
      )
      return rows
    },
    async reseal(holding, changes) {
      const { table, id, target, version = 'key_version', sealed = 'sealed' } = heldIn(holding)
      const owned = target === undefined ? 't.merchant_id = i.merchant_id AND ' : ''
      const { rowCount } = await client.query(
        `UPDATE ${target ?? table} t SET ${sealed} = i.new, ${version} = i.to_version
         FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::integer[])
           AS i(merchant_id, held_id, old, new, to_version)
         WHERE ${owned}t.${id} = i.held_id AND t.${sealed} = i.old`,
        [
          changes.map(({ from }) => from.merchantId),
          changes.map(({ from }) => from.heldId),
          changes.map(({ from }) => from.sealed),
          changes.map(({ to }) => to.sealed),
          changes.map(({ to }) => to.keyVersion),
        ],
      )
      return rowCount ?? 0
    },
  }
}
