/** The counts of the overview, asked of a real database. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createOverviews } from '#console/overviews.ts'
import { createFigureStore } from '#storage/console/figures.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'

let stored: TestDatabase
let database: Database
beforeAll(async () => {
  stored = await createTestDatabase()
  database = openDatabase(stored.url, error => {
    throw error
  })
})
afterAll(async () => {
  await database.close()
  await stored.drop()
})

const period = { since: new Date(0), lately: new Date(0), dueBefore: new Date(0) }

test('every count waits longer than its statement timeout, so that a slow count is not taken for a silent database', async () => {
  const asked = vi.spyOn(database.readers, 'query')
  const { figures } = await createOverviews(createFigureStore(database), () => 0).read('a', period)
  expect(figures).toMatchObject({ waiting: { pending: 0, failedEvents: 0, disputesDue: 0 } })
  const patienceMs = asked.mock.calls.map(([config]) => (config as { query_timeout?: number }).query_timeout)
  expect(patienceMs).toHaveLength(5)
  const { rows } = await database.readers.query('SHOW statement_timeout')
  expect(rows).toEqual([{ statement_timeout: '10s' }])
  for (const wait of patienceMs) expect(wait).toBeGreaterThan(10_000)
})
