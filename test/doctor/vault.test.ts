/** `doctor` on the vault's keys: each kind of damage by its name, and nothing on sound ones. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'

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
  const copy = await createTestDatabase(database.url)
  try {
    await queryRows(copy.url, damage)
    const found = (await examine(copy.url)).filter(check => check.found > 0)
    expect(found.map(({ name }) => name)).toEqual(expected)
  } finally {
    await copy.drop()
  }
})
