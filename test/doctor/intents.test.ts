/** `doctor` on payment intents: no faults if intact, and each kind of damage by its name. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { nameDamage } from '#test/support/database/damage.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { startTestGateway } from '#test/support/gateway.ts'
import { confirmation, openIntents } from '#test/support/intents.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: database.url })
  const intents = openIntents(gateway, gateway)
  for (const transId of ['paid', 'also paid', 'retried', 'declined', 'open']) {
    const id = await intents.intent({ transId })
    if (transId === 'retried' || transId === 'declined')
      await intents.confirm(id, confirmation('CARD', { number: '4000000000000002' }))
    if (transId !== 'declined' && transId !== 'open') await intents.confirm(id, confirmation('CARD'))
  }
  await gateway.stop()
})
afterAll(() => database.drop())

const findings = async (url: string) =>
  (await examine(url)).filter(({ found }) => found > 0).map(({ name }) => name)

test('finds nothing on sound intents', async () => {
  expect(await findings(database.url)).toEqual([])
})

const intentOf = (transId: string) => `request->>'transId' = '${transId}'`
const paymentOf = (transId: string, status: string) =>
  `(SELECT pay_id FROM payment WHERE trans_id = '${transId}' AND status = '${status}')`

test.each<[string, string[]]>([
  [`UPDATE payment_intent SET pay_id = NULL WHERE ${intentOf('paid')}`, ['intent-paid-once']],
  [
    `UPDATE payment_intent SET pay_id = ${paymentOf('retried', 'FAILED')} WHERE ${intentOf('retried')}`,
    ['intent-paid-once'],
  ],
  [
    `UPDATE payment_intent SET pay_id = ${paymentOf('paid', 'OK')} WHERE ${intentOf('also paid')}`,
    ['intent-has-payment', 'intent-paid-once'],
  ],
  [`DELETE FROM payment_intent WHERE ${intentOf('paid')}`, ['intent-paid-once']],
  [`UPDATE payment_intent SET pay_id = NULL WHERE ${intentOf('declined')}`, []],
])('after %s the doctor finds %j', async (damage, expected) => {
  expect(await nameDamage(database.url, damage)).toEqual(expected)
})
