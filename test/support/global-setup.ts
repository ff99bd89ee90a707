/**
 * Before the first test: one PostgreSQL in a fresh folder for the whole run, with a migrated database from
 * which each test file gets its copy. After the last, also when tests failed, both are gone.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { migrate } from '#storage/migrate.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database. Only to be copied: a connection to it would hinder the copying. */
    templateDatabaseUrl: string
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

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  // As root the database runs as nobody, who must be able to pass.
  await chmod(directory, 0o711)
  const database = await openEmbeddedPostgres({
    directory,
    purpose: 'serve',
    settings: fastSettings,
    mayMakeDatabases: true,
  })
  const tearDown = async () => {
    await database.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await migrate(database.url)
  } catch (error) {
    await tearDown()
    throw error
  }
  project.provide('templateDatabaseUrl', database.url)
  return tearDown
}
