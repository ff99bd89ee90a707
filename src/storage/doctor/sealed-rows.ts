/** Reads the keys and secrets that the doctor tries to decrypt; sealed-holdings.ts reads the big tables. */
import pg from 'pg'
import type { MerchantId } from '#domain/ids.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'
import { rootSecretName } from '#storage/vault/vault-store.ts'

export interface SealedRow {
  readonly merchantId: MerchantId
  /** 32 hex digits. */
  readonly id: string
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface SealedRows {
  readonly root: string | undefined
  readonly dataKeys: readonly {
    readonly merchantId: MerchantId
    readonly keyVersion: number
    readonly wrapped: Buffer
    readonly masterKeyId: string
  }[]
  readonly webhookSecrets: readonly (Omit<SealedRow, 'keyVersion'> & { readonly endpointId: string | null })[]
  readonly providerSecrets: readonly SealedRow[]
  readonly operatorCodes: readonly SealedRow[]
}

const hex = (column: string): string => `replace(${column}::text, '-', '')`

/** Opens a connection with a snapshot, so that a concurrent change of keys does not look like damage. */
export async function withSnapshot<T>(
  databaseUrl: string,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'tollgate doctor' })
  // The running statement throws the error; without a listener the error event would also crash the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await client.query('SET statement_timeout = 0')
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function readSealedRows(client: pg.ClientBase): Promise<SealedRows> {
  const read = async <T extends pg.QueryResultRow>(text: string): Promise<readonly T[]> =>
    (await client.query<T>(text)).rows
  const [root] = await read<{ value: string }>(
    `SELECT value FROM installation WHERE name = '${rootSecretName}'`,
  )
  return {
    root: root?.value,
    dataKeys: await read(
      `SELECT merchant_id AS "merchantId", key_version AS "keyVersion", wrapped, master_key_id AS "masterKeyId"
         FROM vault_key ORDER BY merchant_id, key_version`,
    ),
    webhookSecrets: await read(
      `SELECT merchant_id AS "merchantId", ${hex('secret_id')} AS id, NULL AS "endpointId", sealed FROM webhook_secret
         UNION ALL SELECT merchant_id, ${hex('secret_id')}, endpoint_id, sealed FROM webhook_endpoint_secret`,
    ),
    providerSecrets: await read(
      `SELECT merchant_id AS "merchantId", ${hex('secret_id')} AS id, key_version AS "keyVersion", sealed
         FROM provider_secret`,
    ),
    operatorCodes: await read(
      `SELECT '${installationOwner}' AS "merchantId", ${hex('operator_id')} AS id, totp_key AS "keyVersion",
           totp_sealed AS sealed FROM operator WHERE totp_sealed IS NOT NULL`,
    ),
  }
}
