/** A database of its own for each test file: a copy of the migrated template, made in a few milliseconds. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { nodesOf, withoutSchema } from '#test/support/database/citus.ts'

export interface TestDatabase {
  readonly url: string
  /** Close your own connections first: those still open are terminated and report an error. */
  drop(): Promise<void>
}

/** Opening a connection for every question would take longer than its answer, so each database keeps one. */
const questioners = new Map<string, pg.Pool>()

/** For queries of the tests themselves, past the gateway. */
export function questionerOf(url: string): pg.Pool {
  const known = questioners.get(url)
  if (known) return known
  const pool = new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true })
  // Some tests cut connections or stop the server; the next query opens a new connection.
  pool.on('error', () => {})
  questioners.set(url, pool)
  return pool
}

/** A database that is copied must have no connections. */
export async function dismissQuestioner(url: string): Promise<void> {
  const pool = questioners.get(url)
  questioners.delete(url)
  await pool?.end()
}

/**
 * Waits until this many connections to this database wait for a lock; other databases on the server belong to other
 * tests.
 */
export async function expectWaiting(url: string, count = 1): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await expect.poll(async () => (await questionerOf(url).query(waiting)).rows).toHaveLength(count)
}

/** A test may pass a template of its own, to which nothing may be connected. */
export async function createTestDatabase(templateUrl = inject('templateDatabaseUrl')): Promise<TestDatabase> {
  const template = new URL(templateUrl).pathname.slice(1)
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await dismissQuestioner(templateUrl)
  // file_copy: about 130 ms, and 9 ms to drop; wal_log took a little longer.
  await administer(templateUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  return describeDatabase(templateUrl, name)
}

/** One without any table. */
export async function createEmptyDatabase(
  templateUrl = inject('templateDatabaseUrl'),
): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  await administer(templateUrl, `CREATE DATABASE ${name}`)
  return describeDatabase(withoutSchema(templateUrl), name)
}

function describeDatabase(templateUrl: string, name: string): TestDatabase {
  const url = nameDatabase(templateUrl, name)
  return {
    url,
    async drop() {
      await dismissQuestioner(url)
      await administer(templateUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

async function administer(url: string, statement: string): Promise<void> {
  for (const node of nodesOf(url)) {
    // Runs in the neighbouring database, because one that is copied or dropped must have no connections.
    await questionerOf(nameDatabase(node, 'postgres')).query(statement)
  }
}

function nameDatabase(url: string, name: string): string {
  const named = new URL(url)
  named.pathname = `/${name}`
  return named.href
}
