/** `doctor` on disputes and notices, intact and after deliberate damage. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nameDamage } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { startTestGateway } from '#test/support/gateway.ts'
import { openShop } from '#test/support/shop.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  try {
    const shop = await openShop(gateway)
    await shop.sell('CARD', { card: { number: '4000000000002685' } })
    await shop.advance('P2D')
  } finally {
    await gateway.stop()
  }
})
afterAll(() => database.drop())

/** A notice of that age that was not applied yet. */
const notice = (age: string, state = 'PENDING') => `
  WITH n AS (INSERT INTO provider_notice (merchant_id, notice_id, provider_account_id, key_version, sealed)
    SELECT merchant_id, gen_random_uuid(), 'acc_000000000000000000000000', key_version, '\\x00' FROM vault_key
    RETURNING merchant_id, notice_id)
  INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind, state, due_at, received_at)
  SELECT merchant_id, 'acc_000000000000000000000000', 'k', notice_id, 0, 'x', '${state}', now(), now() - interval '${age}'
  FROM n`

/** A notice of approval, hours old and unmatched, for the only payment's try in that state. */
const extraApproval = (state: string) => `${notice('2 hours', 'UNMATCHED')};
  UPDATE operation SET state = '${state}' WHERE type = 'AUTHORIZATION';
  UPDATE notice_item SET kind = 'AUTHORIZATION approved', reference = (SELECT replace(x_id::text, '-', '') FROM operation
    WHERE type = 'AUTHORIZATION')`

test.each<[string, string[]]>([
  ['SELECT 1', []],
  ['UPDATE payment SET disputed = disputed - 1', ['disputed-is-the-sum-of-disputes']],
  ["UPDATE dispute SET status = 'WON'", ['disputed-is-the-sum-of-disputes']],
  ["UPDATE dispute SET status = 'LOST'", []],
  ['DELETE FROM dispute', ['disputed-is-the-sum-of-disputes']],
  ['UPDATE dispute SET x_id = gen_random_uuid()', ['dispute-has-capture']],
  [notice('2 hours'), ['notices-are-applied']],
  [notice('1 minute'), []],
  [notice('2 hours', 'UNMATCHED'), []],
  [extraApproval('OK'), []],
  [`${extraApproval('OK')}, detail = 'a second payment'`, ['paid-twice']],
  [extraApproval('FAILED'), ['authorized-sum', 'paid-twice']],
])('after %s the doctor finds %j', async (damage, expected) => {
  expect(await nameDamage(database.url, damage)).toEqual(expected)
})
