/** `doctor` on keys, secrets and the audit trail: each kind of damage by its name, and nothing on sound ones. */
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { examineKeys } from '#operations/merchants/examine-keys.ts'
import { openDatabase } from '#storage/database.ts'
import { examineAudit } from '#storage/doctor/doctor.ts'
import { readSealedRowsWith } from '#storage/doctor/sealed-rows.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { examineDamaged } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, masterKeyOf, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { toMasterKey, toRing } from '#vault/master-key.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  await gateway.call('POST', '/payments', cardPayment())
  await gateway.gateway.merchants.endpoints.add({
    merchantId: gateway.merchantId,
    ...{ url: 'https://shop.example/hook', kind: 'ENHANCED' },
  })
  await sealMore(gateway.merchantId)
  await gateway.stop()
})

const ring = () => toRing(toMasterKey(masterKeyOf(database.url), 'the test key'))

/** A provider's secret and an operator's, as the console and the command line store them. */
async function sealMore(merchantId: string): Promise<void> {
  const opened = openDatabase(database.url, error => expect(error).toBeUndefined())
  const vault = createRecordVault(createKeyRing(ring(), createVaultStore(opened)))
  const id = 'a'.repeat(32)
  const secret = await vault.seal('provider secret', merchantId as MerchantId, id, Buffer.from('key'))
  await queryRows(
    database.url,
    `INSERT INTO provider_account (merchant_id, provider_account_id, connector, name, settings)
     VALUES ($1, 'acc_111111111111111111111111', 'stripe', 'one', '{}')`,
    [merchantId],
  )
  await queryRows(
    database.url,
    `INSERT INTO provider_secret (merchant_id, provider_account_id, secret_id, name, key_version, sealed)
     VALUES ($1, 'acc_111111111111111111111111', $2, 'secretKey', $3, $4)`,
    [merchantId, id, secret.keyVersion, secret.sealed],
  )
  const code = await vault.seal('operator totp', installationOwner as MerchantId, id, Buffer.from('code'))
  await queryRows(
    database.url,
    `INSERT INTO operator (operator_id, email, role, totp_key, totp_sealed) VALUES ($1, 'a@b.example', 'owner', $2, $3)`,
    [id, code.keyVersion, code.sealed],
  )
  await opened.close()
}
afterAll(() => database.drop())

test.each<[string, string[]]>([
  ['SELECT 1', []],
  ['UPDATE vault_card SET key_version = 2', ['card-has-data-key']],
  ['UPDATE vault_card SET key_version = 2, sealed = NULL, destroyed_at = now()', []],
  [
    `UPDATE vault_key SET master_key_id = 'other'`,
    ['one-master-key', 'data-key-opens', 'provider-secret-opens', 'operator-code-opens'],
  ],
  [
    `UPDATE installation SET value = 'other:AAAA' WHERE name = 'root_secret'`,
    ['one-master-key', 'root-secret-opens'],
  ],
  [
    `UPDATE installation SET value = overlay(value PLACING 'AAAA' FROM 40) WHERE name = 'root_secret'`,
    ['root-secret-opens'],
  ],
  [
    `UPDATE vault_key SET wrapped = wrapped || '\\x00'::bytea WHERE merchant_id = '${installationOwner}'`,
    ['data-key-opens', 'operator-code-opens'],
  ],
  [
    `UPDATE webhook_secret SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)`,
    ['webhook-secret-opens'],
  ],
  [`UPDATE webhook_endpoint_secret SET sealed = s.sealed FROM webhook_secret s`, ['webhook-secret-opens']],
  [
    `UPDATE provider_secret SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)`,
    ['provider-secret-opens'],
  ],
  [
    `UPDATE operator SET totp_sealed = set_byte(totp_sealed, 20, get_byte(totp_sealed, 20) # 1)`,
    ['operator-code-opens'],
  ],
  [`UPDATE audit SET actor = 'somebody else' WHERE number = 1`, ['audit-chain']],
  ['DELETE FROM audit WHERE number = 1', ['audit-chain']],
  ['DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)', ['audit-chain']],
  ['DELETE FROM audit_head', ['audit-chain']],
])('after %s the doctor finds %j', async (damage, expected) => {
  const examineMore = async (client: pg.ClientBase) => [
    ...(await examineKeys(await readSealedRowsWith(client), ring())),
    await examineAudit(client),
  ]
  const found = await examineDamaged(database.url, [damage], examineMore)
  expect(found.map(({ name }) => name)).toEqual(expected)
})
