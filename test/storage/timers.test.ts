/** Claims of timers and events: they take milliseconds even with wrong planner statistics, and can be given back. */
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createDeliveryStore } from '#storage/events/deliveries.ts'
import { claimTimersStatement, createWorkFinder } from '#storage/payments/unanswered.ts'
import { createTestClock } from '#test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { startTestGateway } from '#test/support/gateway.ts'

let testDatabase: TestDatabase
let database: Database
let client: pg.PoolClient
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = openDatabase(testDatabase.url, error => {
    throw error
  })
  client = await database.writers.connect()
})
afterAll(async () => {
  client.release()
  await database.close()
  await testDatabase.drop()
})

const addTimers = (count: number, runAt: string) =>
  client.query(
    `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
     SELECT 'mer_many', uuidv7(), uuidv7(), 'ANNOUNCE', ${runAt}, 0 FROM generate_series(1, $1::int) n`,
    [count],
  )

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The number of rows that the steps of the query plan have read. */
const rowsSeen = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
  (node.Plans ?? []).reduce((total, child) => total + rowsSeen(child), 0)

test('a claim reads a bounded number of rows, also with statistics from a nearly empty table', async () => {
  // Many timers have come and gone: many pages with nearly nothing in them.
  await addTimers(2_000, 'now()')
  await addTimers(3, "now() + interval '1 hour'")
  await client.query('DELETE FROM timer WHERE run_at <= now()')
  await client.query('VACUUM ANALYZE timer')
  await addTimers(2_000, "now() - n * interval '1 second'")
  await client.query('BEGIN')
  await client.query(`PREPARE claim (timestamptz, integer, integer, text) AS ${claimTimersStatement}`)
  const { rows } = await client.query(
    `EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) EXECUTE claim (now(), 200, 60000, 'mer_many')`,
  )
  await client.query('ROLLBACK')
  // 200 are claimed, each passing a handful of steps; looking at earlier timers by their time reads 20,000 rows.
  expect(rowsSeen(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(200 * 15)
})

test('a claim takes at most its limit of timers, the earliest first, and none twice', async () => {
  const finder = createWorkFinder(database)
  const claim = () =>
    finder.claimTimers({
      now: new Date(),
      limit: 200,
      leaseMs: 60_000,
      merchantId: 'mer_many' as MerchantId,
    })
  const [first, second] = [await claim(), await claim()]
  expect([first.length, second.length]).toEqual([200, 200])
  const latestOf = (claimed: typeof first) => Math.max(...claimed.map(({ runAt }) => runAt.getTime()))
  expect(latestOf(first)).toBeLessThan(Math.min(...second.map(({ runAt }) => runAt.getTime())))
})

test('timers leased by a dead process can be claimed at once; those of live processes stay leased', async () => {
  const merchantId = 'mer_leases' as MerchantId
  await client.query(
    `INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt, leased_until, leased_by)
     SELECT $1, uuidv7(), uuidv7(), 'ANNOUNCE', now() - interval '1 second', by, now() + interval '1 hour', by
     FROM unnest(ARRAY[7, 8]) by`,
    [merchantId],
  )
  const finder = createWorkFinder(database)
  const claim = async () =>
    (await finder.claimTimers({ now: new Date(), limit: 10, leaseMs: 60_000, merchantId })).map(
      ({ attempt }) => attempt,
    )
  expect(await claim()).toEqual([])
  await finder.releaseTimersOf([7])
  expect(await claim()).toEqual([7])
})

const aDayMs = 86_400_000

test('a timer that was claimed and is not run can be claimed again, unless somebody has locked it', async () => {
  await client.query('TRUNCATE timer')
  await addTimers(1, 'now()')
  const finder = createWorkFinder(database)
  const claim = () =>
    finder.claimTimers({ now: new Date(Date.now() + aDayMs), limit: 10, leaseMs: 2 * aDayMs })
  const [claimed] = await claim()
  if (!claimed) throw new Error('nothing was claimed')
  expect(await claim()).toEqual([])
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM timer FOR UPDATE')
  await finder.releaseTimer(claimed)
  await client.query('ROLLBACK')
  expect(await claim()).toEqual([])
  await finder.releaseTimer(claimed)
  expect(await claim()).toEqual([claimed])
})

test('an event that was claimed and is not sent can be claimed again, unless somebody has locked it', async () => {
  const gateway = await startTestGateway({ databaseUrl: testDatabase.url, clock: createTestClock() })
  const { merchantId } = gateway
  await gateway.gateway.merchants.endpoints.add({
    merchantId,
    url: 'https://shop.example/',
    types: undefined,
    kind: 'ENHANCED',
  })
  const { body } = await gateway.call('POST', '/payments/sessions', {
    transId: 'waits',
    amount: { value: 100, currency: 'EUR' },
    urls: {
      return: 'https://shop.example/',
      cancel: 'https://shop.example/',
      webhook: 'https://shop.example/',
    },
  })
  await gateway.call('POST', `/payments/${body.payId}/cancellations`, {})
  await gateway.stop()
  const store = createDeliveryStore(database)
  const now = new Date(Date.now() + 3_650 * aDayMs)
  const claim = () =>
    store.claim({
      ...{ now, leaseMs: aDayMs, limit: 10, lanes: [], laneFree: 8, endpoints: true },
      merchantId: merchantId as MerchantId,
    })
  const claimed = await claim()
  expect(claimed.map(({ endpointId }) => endpointId === undefined)).toEqual([true, false])
  const releaseAll = () => Promise.all(claimed.map(store.releaseUnlocked))
  await client.query('BEGIN')
  for (const table of ['event', 'event_delivery']) await client.query(`SELECT 1 FROM ${table} FOR UPDATE`)
  await releaseAll()
  await client.query('ROLLBACK')
  expect(await claim()).toEqual([])
  await releaseAll()
  expect(await claim()).toHaveLength(2)
})
