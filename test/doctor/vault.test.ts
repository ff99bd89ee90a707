/** `doctor` on keys, secrets and the audit trail: no faults if intact, and each kind of damage by its name. */
import { userInfo } from 'node:os'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { examineVault } from '#operations/merchants/examine-keys.ts'
import { openDatabase } from '#storage/database.ts'
import { type CheckResult, examineAudit } from '#storage/doctor/doctor.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { examineDamaged } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, masterKeyOf, startTestGateway } from '#test/support/gateway.ts'
import { openShop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { toMasterKey, toRing } from '#vault/master-key.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  await gateway.call('POST', '/payments', cardPayment())
  await gateway.call(
    'POST',
    '/payments',
    cardPayment({ transId: 'other', card: { number: '5555555555554444' } }),
  )
  const shop = await openShop(gateway)
  await shop.create('DIRECTDEBIT')
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
  const notice = await vault.seal('provider notice', merchantId as MerchantId, id, Buffer.from('notice'))
  await queryRows(
    database.url,
    `INSERT INTO provider_notice (merchant_id, notice_id, provider_account_id, key_version, sealed)
     VALUES ($1, $2, 'acc_111111111111111111111111', $3, $4)`,
    [merchantId, id, notice.keyVersion, notice.sealed],
  )
  await opened.close()
}
afterAll(() => database.drop())

/** Flips one bit of the sealed bytes. */
const flip = (table: string, column = 'sealed'): string =>
  `UPDATE ${table} SET ${column} = set_byte(${column}, 20, get_byte(${column}, 20) # 1)`

test.each<[string, string[]]>([
  ['SELECT 1', []],
  ['UPDATE vault_card SET key_version = 2', ['card-has-data-key', 'card-opens']],
  [flip('vault_card'), ['card-opens']],
  [
    `UPDATE vault_card v SET sealed = o.sealed FROM vault_card o WHERE o.card_id <> v.card_id`,
    ['card-opens'],
  ],
  [flip('vault_account'), ['account-opens']],
  [`UPDATE vault_card SET sealed = 'x'`, ['card-opens']],
  [flip('provider_notice'), ['notice-opens']],
  ['UPDATE vault_card SET key_version = 2, sealed = NULL, destroyed_at = now()', []],
  [
    `UPDATE vault_key SET master_key_id = 'other'`,
    [
      ...['one-master-key', 'data-key-opens', 'provider-secret-opens', 'operator-code-opens'],
      ...['card-opens', 'account-opens', 'notice-opens'],
    ],
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
  [flip('webhook_secret'), ['webhook-secret-opens']],
  [`UPDATE webhook_endpoint_secret SET sealed = s.sealed FROM webhook_secret s`, ['webhook-secret-opens']],
  [flip('provider_secret'), ['provider-secret-opens']],
  [flip('operator', 'totp_sealed'), ['operator-code-opens']],
  [`UPDATE audit SET actor = 'somebody else' WHERE number = 1`, ['audit-chain']],
  ['DELETE FROM audit WHERE number = 1', ['audit-chain']],
  ['DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)', ['audit-chain']],
  ['DELETE FROM audit_head', ['audit-chain']],
])('after %s the doctor finds %j', async (damage, expected) => {
  const examineMore = async (client: pg.ClientBase) => [
    ...(await examineVault(client, ring())),
    await examineAudit(client),
  ]
  const found = await examineDamaged(database.url, [damage], examineMore)
  expect(found.map(({ name }) => name)).toEqual(expected)
})

/** The number of faults among the cards that are read, of two. */
async function openCards(choice: { sample?: number; since?: Date }, ...damage: string[]): Promise<number> {
  let found = -1
  const examineMore = async (client: pg.ClientBase) => {
    const results = await examineVault(client, ring(), choice)
    found = results.find(({ name }) => name === 'card-opens')?.found ?? -1
    return []
  }
  await examineDamaged(database.url, [flip('vault_card'), ...damage], examineMore)
  return found
}

test('of many rows only a sample is decrypted; with a start time those stored or used since', async () => {
  expect(await openCards({})).toBe(2)
  expect(await openCards({ sample: 2 })).toBe(2)
  expect(await openCards({ sample: 0 })).toBe(0)
  const [soon, long] = [new Date(Date.now() + 3_600_000), new Date(Date.now() - 3_600_000)]
  expect(await openCards({ since: long })).toBe(2)
  expect(await openCards({ since: soon })).toBe(0)
  const used = `UPDATE payment SET updated_at = now() + interval '1 day' WHERE trans_id = 'other'`
  expect(await openCards({ since: soon }, used)).toBe(1)
  const stored = `UPDATE vault_card SET created_at = now() + interval '1 day'`
  expect(await openCards({ since: soon }, stored)).toBe(2)
})

test('each damaged card is named by its id, never by its number', async () => {
  const [found] = await examineDamaged(database.url, [flip('vault_card')], client =>
    examineVault(client, ring()),
  )
  expect(found).toMatchObject({ name: 'card-opens', found: 2 })
  expect(found?.examples[0]?.detail).toMatch(/^card [0-9a-f]{32} does not open$/)
  expect(JSON.stringify(found)).not.toMatch(/4111|5555/)
})

test('the command decrypts numbers only with a row about it in the audit trail', async () => {
  const commands = commandsHere(database.url, { TOLLGATE_MASTER_KEY: masterKeyOf(database.url) })
  const rows = () =>
    queryRows<{ actor: string; after: unknown }>(
      database.url,
      "SELECT actor, object, after FROM audit WHERE act = 'cards.opened'",
    )
  expect(await rows()).toEqual([])
  expect((await commands.json('doctor')).healthy).toBe(true)
  const row = { actor: userInfo().username, object: 'vault', after: { purpose: 'doctor' } }
  expect(await rows()).toEqual([row])
  await queryRows(database.url, 'DELETE FROM audit_head')
  const { code, stdout } = await commands.run('doctor', '--json')
  const checks: readonly CheckResult[] = JSON.parse(stdout).checks
  const notMade = checks.filter(({ notMade }) => notMade?.startsWith('the audit trail cannot be written'))
  expect([code, notMade.map(({ name }) => name)]).toEqual([
    1,
    expect.arrayContaining(['card-opens', 'account-opens']),
  ])
  commands.remove()
})
