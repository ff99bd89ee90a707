/** `doctor` on customers and stored methods, intact and after deliberate damage. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { nameDamage } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  const pay = (merchantCustomerId: string, change: object = {}) => {
    const customerInfo = { merchantCustomerId, email: 'ada@example.com' }
    return gateway.call(
      'POST',
      '/payments',
      cardPayment({ transId: merchantCustomerId, customerInfo, ...change }),
    )
  }
  try {
    for (const name of ['kept', 'other card', 'deleted']) {
      const card = name === 'kept' ? {} : { card: { number: '5555555555554444' } }
      expect((await pay(name, card)).body.customerInfo).toBeDefined()
    }
    await pay('declined', { simulationMode: '0305' })
    await pay('waits', { card: { number: '4012888888881881', eventToken: 'ORDER' } })
    const { body } = await gateway.call('GET', '/customers?page=1&merchantCustomerId=deleted')
    await gateway.call('DELETE', `/customers/${body.data[0].id}`)
    await gateway.call('POST', '/test/clock', { advance: 'PT1H' })
    await pay('late')
    const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
    const { status } = await gateway.call('POST', '/payments', {
      transId: 'debit',
      amount: { value: 1000, currency: 'EUR' },
      customerInfo: { merchantCustomerId: 'kept', email: 'ada@example.com' },
      paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: { account } },
    })
    expect(status).toBe(200)
  } finally {
    await gateway.stop()
  }
})
afterAll(() => database.drop())

const customer = (name: string) => `(SELECT customer_id FROM customer WHERE merchant_customer_id = '${name}')`
const method = (name: string) => `customer_id = ${customer(name)}`

const findings = async (url: string) =>
  (await examine(url)).filter(({ found }) => found > 0).map(({ name }) => name)

test('finds nothing on sound customers', async () => {
  expect(await findings(database.url)).toEqual([])
})

/** The late customer is created an hour after the others. */
const part = `INSERT INTO customer_block (merchant_id, first_at, older)
  SELECT merchant_id, created_at - interval '1 minute', 2 FROM customer WHERE merchant_customer_id = 'late';
  UPDATE customer_order SET open_at = (SELECT max(first_at) FROM customer_block)`

const loosen = 'ALTER TABLE customer_order DROP CONSTRAINT customer_order_merchant_id_open_at_fkey'

test.each<[string, string[], ...string[]]>([
  [part, []],
  ['UPDATE customer_block SET older = 3 WHERE older > 0', ['customer-places'], part],
  [
    `DELETE FROM customer WHERE merchant_customer_id = 'kept'`,
    ['customer-places'],
    part,
    `DELETE FROM stored_method`,
  ],
  ['DELETE FROM customer_order', ['customer-marks']],
  [
    'UPDATE customer_order SET open_at = (SELECT min(first_at) FROM customer_block)',
    ['customer-marks'],
    part,
  ],
  ['DELETE FROM customer_block', ['customer-marks'], loosen],
  [`UPDATE customer_block SET first_at = now() + interval '1 day'`, ['customer-marks'], loosen],
  [`UPDATE payment SET customer_id = NULL WHERE customer_id = ${customer('kept')}`, ['customer-has-payment']],
  [
    `UPDATE payment SET customer_id = gen_random_uuid() WHERE trans_id = 'declined'`,
    ['customer-of-approved'],
  ],
  [`UPDATE payment SET customer_id = gen_random_uuid() WHERE trans_id = 'waits'`, ['customer-of-approved']],
  [
    `UPDATE vault_card SET sealed = NULL, destroyed_at = now()
     WHERE card_id = (SELECT card_id FROM stored_method WHERE ${method('other card')})`,
    ['stored-card'],
  ],
  [
    `UPDATE vault_card SET delete_after_use_at = now()
     WHERE card_id = (SELECT card_id FROM stored_method WHERE ${method('other card')})`,
    ['stored-card'],
  ],
  [
    `UPDATE stored_method SET card_id = gen_random_uuid() WHERE ${method('kept')} AND account_id IS NULL`,
    ['stored-card'],
  ],
  ['UPDATE vault_account SET sealed = NULL, destroyed_at = now()', ['stored-account']],
  ['UPDATE vault_account SET delete_after_use_at = now()', ['stored-account']],
  [
    'UPDATE stored_method SET account_id = gen_random_uuid() WHERE account_id IS NOT NULL',
    ['stored-account'],
  ],
  ['UPDATE vault_account SET key_version = 2', ['account-has-data-key']],
])('after %s the doctor finds %j', async (damage, expected, ...before) => {
  expect(await nameDamage(database.url, ...before, damage)).toEqual(expected)
})
