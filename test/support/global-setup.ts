/**
 * Before the first test: a data folder as the first start leaves it, and one PostgreSQL on a copy of it for the whole run,
 * with a migrated database from which each test file gets its copy. After the last test, also when tests failed, all of
 * it is gone.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { migrate } from '#storage/migrate.ts'
import { copyDataFolder } from '#test/support/copy-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database. Only to be copied: a connection to it would hinder the copying. */
    templateDatabaseUrl: string
    /** A data folder with a stopped, migrated database. Only to be copied. */
    preparedFolder: string
  }
}

/**
 * What a test writes need not survive a power failure. Tests about durability start a server of their own.
 */
const fastSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  // Each copy lives for seconds: cleaning it up would take the processor from the tests, and change plans by chance.
  autovacuum: 'off',
  max_connections: '100',
}

async function makeFolder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  // As root the database runs as nobody, who must be able to pass.
  await chmod(directory, 0o711)
  return directory
}

/** initdb and all migrations take seconds of a processor; a copy of what they made takes a fraction of one. */
async function prepare(directory: string): Promise<void> {
  const database = await openEmbeddedPostgres({ directory, purpose: 'serve', settings: fastSettings })
  try {
    await migrate(database.url)
  } finally {
    await database.stop()
  }
}

/** Tests log in thousands of times, and proving a password takes milliseconds of a processor unless it has few rounds. */
async function shortenLogin(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET scram_iterations = 1')
    await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(client.password ?? '')}`)
  } finally {
    await client.end()
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [prepared, directory] = [await makeFolder(), await makeFolder()]
  const remove = async () => {
    for (const folder of [prepared, directory]) await rm(folder, { recursive: true, force: true })
  }
  try {
    await prepare(prepared)
    copyDataFolder(prepared, directory)
    // The role is made anew: that of the tests may make databases.
    await rm(join(directory, 'postgres', 'tollgate.role'))
    const database = await openEmbeddedPostgres({
      directory,
      purpose: 'serve',
      settings: fastSettings,
      mayMakeDatabases: true,
    })
    await shortenLogin(database.url)
    project.provide('templateDatabaseUrl', database.url)
    project.provide('preparedFolder', prepared)
    return async () => {
      await database.stop()
      await remove()
    }
  } catch (error) {
    await remove()
    throw error
  }
}
