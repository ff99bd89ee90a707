/** A start with a database that does not answer: it retries, and gives up with the database's error. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#commands/open-database.ts'
import { readConfig } from '#config.ts'
import { migrate } from '#storage/migrate.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'

let database: TestDatabase
let proxy: DatabaseProxy
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startDatabaseProxy(database.url)
})
afterAll(async () => {
  await proxy.close()
  await database.drop()
})

/** 50 ms: nothing passes the frozen connection, so a longer timeout would make no difference. */
const briefMs = 50

/** 60 s: a bound for what hangs, on a busy machine too. */
const patientMs = 60_000

test('a database that answers after the first try is migrated', async () => {
  proxy.freeze()
  const lines: string[] = []
  const onProgress = (line: string) => {
    lines.push(line)
    proxy.thaw()
  }
  await migrate(proxy.url, { onProgress, connectTriesMs: [briefMs, patientMs] })
  expect(lines).toEqual(['the database does not answer; trying again …'])
})

test('the start gives up after three tries if the database never answers', async () => {
  proxy.freeze()
  const lines: string[] = []
  const connectTriesMs = [briefMs, briefMs, briefMs]
  const given = migrate(proxy.url, { onProgress: line => lines.push(line), connectTriesMs })
  await expect(given).rejects.toThrow('timeout expired')
  expect(lines).toHaveLength(2)
  proxy.thaw()
})

test('a start warns of a database that accepts fewer connections than its workers may need', async () => {
  const said: string[] = []
  const start = async (workers: string) => {
    const settings = {
      DATABASE_URL: database.url,
      TOLLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOLLGATE_WORKERS: workers,
    }
    const onProgress = (line: string) => said.push(line)
    const opened = await openDatabase(readConfig(settings), { purpose: 'serve', onProgress })
    await opened.close()
  }
  await start('1')
  expect(said.join()).not.toContain('connections')
  await start('64')
  expect(said.join()).toMatch(
    /warning: the database accepts \d+ connections, and this gateway may need 896: raise/,
  )
})
