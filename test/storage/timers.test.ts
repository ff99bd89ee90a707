/** Claiming timers takes milliseconds even with wrong planner statistics. */
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { claimTimersStatement, createWorkFinder } from '#storage/payments/unanswered.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'

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
