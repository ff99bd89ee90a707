/**
 * Test databases on a Citus cluster instead of the PostgreSQL of the run: with TOLLGATE_TEST_CITUS, the addresses of the
 * coordinator and its workers separated by commas, every test file gets a database whose tables are a distributed schema.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { migrate } from '#storage/migrate.ts'

/** The tables' schema. It is cell 0 for the gateway: the schema public cannot be distributed. */
const schema = 'home'

const listed = process.env.TOLLGATE_TEST_CITUS ?? ''

/** Coordinator first; empty unless the tests run on Citus. */
const nodes: readonly string[] = listed === '' ? [] : listed.split(',')

export const isOnCitus = nodes.length > 0

/** A database is made, copied and dropped on every node, because each has its own part of the tables. */
export function nodesOf(url: string): readonly string[] {
  const { host } = new URL(url)
  return nodes.some(node => new URL(node).host === host) ? nodes : [url]
}

/** The same database with its tables out of sight, for one that has none. */
export function withoutSchema(url: string): string {
  const plain = new URL(url)
  if (nodesOf(url) === nodes) plain.search = ''
  return plain.href
}

/** The settings that docs/cells.md asks for, and the schema. */
const settings = `options=${encodeURIComponent(`-c plan_cache_mode=force_custom_plan -c search_path=${schema}`)}`

async function ask(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const at = (node: string, database: string): string => new URL(`/${database}`, node).href

const distribution = fileURLToPath(new URL('../../../deploy/citus/distribute.sql', import.meta.url))

/** A migrated and distributed database that can be copied; `remove` drops it. */
export async function prepareCitus(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const [coordinator, ...workers] = nodes
  if (coordinator === undefined) throw new Error('TOLLGATE_TEST_CITUS names no coordinator')
  const name = `template_${process.pid}_${randomBytes(4).toString('hex')}`
  for (const node of nodes) {
    await ask(at(node, 'postgres'), `CREATE DATABASE ${name}`)
    await ask(at(node, name), 'CREATE EXTENSION citus')
  }
  const place = (node: string): string => `'${new URL(node).hostname}', ${new URL(node).port || 5432}`
  const url = at(coordinator, name)
  await ask(
    url,
    `SELECT citus_set_coordinator_host(${place(coordinator)})`,
    ...workers.map(worker => `SELECT citus_add_node(${place(worker)})`),
    `CREATE SCHEMA ${schema}`,
  )
  await migrate(`${url}?${settings}`)
  execFileSync('psql', ['--quiet', '-v', `cell=${schema}`, '-f', distribution, url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const node of nodes) await closeTemplate(at(node, 'postgres'), name)
  return {
    url: `${url}?${settings}`,
    async remove() {
      for (const node of nodes) await ask(at(node, 'postgres'), `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** Citus has a process of its own in every database, and one that somebody is connected to cannot be copied. */
const closeTemplate = (url: string, name: string): Promise<void> =>
  ask(
    url,
    `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
  )
