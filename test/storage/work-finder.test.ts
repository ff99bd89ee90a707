/** The claim of a living gateway on its database, when the connection that holds it breaks at the worst moments. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openDatabase } from '#storage/database.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'

let file: TestDatabase
let proxy: DatabaseProxy
let operator: pg.Client
beforeAll(async () => {
  file = await createTestDatabase()
  proxy = await startDatabaseProxy(file.url)
  operator = new pg.Client({ connectionString: file.url })
  await operator.connect()
})
afterAll(async () => {
  await operator.end()
  await proxy.close()
  await file.drop()
})

async function listHolders(): Promise<number[]> {
  const { rows } = await operator.query<{ pid: number }>(
    `SELECT pid FROM pg_locks JOIN pg_database ON oid = database
     WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND datname = current_database()`,
  )
  return rows.map(row => row.pid)
}

/** The backend that holds the claim, once it is none of the given ones. */
const findHolder = (...before: number[]): Promise<number> =>
  vi.waitFor(
    async () => {
      const pid = (await listHolders()).find(pid => !before.includes(pid))
      if (pid === undefined) throw new Error('nobody holds the claim')
      return pid
    },
    { timeout: 20_000, interval: 5 },
  )

const endConnection = (pid: number) => operator.query('SELECT pg_terminate_backend($1)', [pid])

test.each(['before', 'withAnswer'] as const)(
  'a claim whose next connection ends too (%s) is taken again, and no connection leaks',
  async moment => {
    // A backend gives its locks back a moment after its connection was closed.
    await vi.waitFor(async () => expect(await listHolders()).toEqual([]), 30_000)
    const reported: unknown[] = []
    const database = openDatabase(proxy.url, error => reported.push(error))
    const finder = createWorkFinder(database)
    expect(await finder.claimAlone()).toBe(true)
    const first = await findHolder()
    proxy.cutNext('pg_advisory_lock_shared', moment)
    await endConnection(first)
    const second = moment === 'withAnswer' ? await findHolder(first) : first
    if (second !== first) await endConnection(second)
    await findHolder(first, second)
    await vi.waitFor(() => expect(database.readers.totalCount - database.readers.idleCount).toBe(1), 30_000)
    expect(reported.length).toBeGreaterThanOrEqual(2)
    await finder.close()
    await vi.waitFor(() => expect(database.readers.idleCount).toBe(database.readers.totalCount), 30_000)
    await database.close()
  },
)
