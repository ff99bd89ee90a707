/** The exchange of rate limit counts: every name of a limit fits into the table. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRateLimit } from '#http/authentication/rate-limit.ts'
import { createCountExchange } from '#http/authentication/shared-counts.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createLimitUseStore } from '#storage/processes/limit-uses.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { toyMerchant } from '#test/support/toy-http.ts'

let file: TestDatabase
let database: Database
beforeAll(async () => {
  file = await createTestDatabase()
  database = openDatabase(file.url, error => {
    throw error
  })
})
afterAll(async () => {
  await database.close()
  await file.drop()
})

test('requests of a merchant and of the device of its customer reach the other processes', async () => {
  const [one, other] = [createCountExchange(), createCountExchange()]
  const limitOf = (exchange: typeof one) =>
    createRateLimit({ nowMs: () => 0, shared: exchange.scope('requests') })
  const merchant = toyMerchant('mer_4f2a9c1d7b3e8a60', { requestsPerSecond: 100 })
  const intentId = 'pi_019a3f6b2c4d7e8f9012a3b4c5d6e7f8'
  const [here, there] = [limitOf(one), limitOf(other)]
  for (const limit of [here, there])
    expect([limit.take(merchant), limit.take(merchant, intentId)]).toHaveLength(2)
  const store = createLimitUseStore(database)
  await store.publish(1, one.take(2))
  other.give(await store.read(2))
  expect(there.take(merchant).state).toBe('"merchant";r=97;t=1')
  expect(there.take(merchant, intentId).state).toBe('"payment-intent";r=7;t=1')
})
