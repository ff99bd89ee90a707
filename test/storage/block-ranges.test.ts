/** Searches by age stay fast even if new rows were never vacuumed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '#storage/database.ts'
import { createKeyReader } from '#storage/payments/keys.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

/** 20,000 rows: some twenty block ranges of each table. */
const copies = 20_000

let file: TestDatabase
let database: Database

beforeAll(async () => {
  file = await createTestDatabase()
  database = openDatabase(file.url, error => {
    throw error
  })
  const gateway = await startTestGateway({ databaseUrl: file.url })
  const { body } = await gateway.call('POST', '/payments', cardPayment(), {
    'idempotency-key': 'block-ranges',
  })
  expect(body.status).toBe('OK')
  // Its own searches would summarise the copies before a test does.
  await gateway.stop()
  for (const table of ['operation', 'idempotency_key'])
    await queryRows(file.url, `ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
  await copyRows('operation', {
    sequence: 'n + 10',
    x_id: 'gen_random_uuid()',
    sent_at: `t.sent_at - interval '1 day' + n * interval '1 second'`,
  })
  await copyRows('idempotency_key', {
    key: `'copy-' || n`,
    created_at: `t.created_at - interval '31 days' + n * interval '1 minute'`,
  })
})

afterAll(async () => {
  await database.close()
  await file.drop()
})

async function copyRows(table: string, given: Record<string, string>): Promise<void> {
  const columns = await queryRows<{ name: string }>(
    file.url,
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0`,
  )
  const names = columns.map(({ name }) => name)
  await queryRows(
    file.url,
    `INSERT INTO ${table} (${names}) SELECT ${names.map(name => given[name] ?? `t.${name}`)}
     FROM (SELECT * FROM ${table} LIMIT 1) t, generate_series(1, ${copies}) n`,
  )
}

/** The number of blocks that a search by the table's block-range index must read. */
async function countBlocksRead(condition: string): Promise<number> {
  const { rows } = await database.readers.query<{
    'QUERY PLAN': { Plan: { 'Lossy Heap Blocks'?: number } }[]
  }>(`EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM ${condition}`)
  return rows[0]?.['QUERY PLAN'][0]?.Plan['Lossy Heap Blocks'] ?? Number.NaN
}

const recentOperations = `operation WHERE sent_at >= now() - interval '1 minute'`
const oldKeys = `idempotency_key WHERE created_at < now() - interval '30 days 23 hours'`

test('the search for orphans skips operations that were sent before the mark', async () => {
  expect(await countBlocksRead(recentOperations)).toBeGreaterThan(400)
  const finder = createWorkFinder(database)
  expect(await finder.findOrphans({ sentBefore: new Date(), limit: 10 })).toEqual([])
  expect(await countBlocksRead(recentOperations)).toBeLessThanOrEqual(64)
})

test('deleting expired keys reads only these, and deletes them', async () => {
  const remaining = async () =>
    (await queryRows(file.url, `SELECT 1 FROM idempotency_key WHERE created_at < now() - interval '30 days'`))
      .length
  const old = await remaining()
  expect(old).toBeGreaterThan(1_000)
  expect(await createKeyReader(database).reap()).toBe(old)
  expect(await remaining()).toBe(0)
  expect(await countBlocksRead(oldKeys)).toBeLessThanOrEqual(64)
})

test('a table that is being vacuumed is skipped, and the search continues', async () => {
  const vacuum = await database.writers.connect()
  await vacuum.query('BEGIN')
  // The lock that VACUUM holds.
  await vacuum.query('LOCK TABLE operation IN SHARE UPDATE EXCLUSIVE MODE')
  try {
    const finder = createWorkFinder(database)
    expect(await finder.findOrphans({ sentBefore: new Date(), limit: 10 })).toEqual([])
  } finally {
    await vacuum.query('ROLLBACK')
    vacuum.release()
  }
})
