/** `doctor` on the vault's keys: each kind of damage by its name, and nothing on sound ones. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nameDamage } from '#test/support/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  await gateway.call('POST', '/payments', cardPayment())
  await gateway.stop()
})
afterAll(() => database.drop())

test.each<[string, string[]]>([
  ['SELECT 1', []],
  ['UPDATE vault_card SET key_version = 2', ['card-has-data-key']],
  ['UPDATE vault_card SET key_version = 2, sealed = NULL, destroyed_at = now()', []],
  [`UPDATE vault_key SET master_key_id = 'other'`, ['one-master-key']],
  [`UPDATE installation SET value = 'other:AAAA' WHERE name = 'root_secret'`, ['one-master-key']],
])('%s: %j', async (damage, expected) => {
  expect(await nameDamage(database.url, damage)).toEqual(expected)
})
