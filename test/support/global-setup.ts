/**
 * Before the first test: a data folder as the first start leaves it, and one PostgreSQL on a copy of it for the whole run,
 * with a migrated database from which each test file gets its copy. After the last test, also when tests failed, all of
 * it is gone.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { migrate } from '#storage/migrate.ts'
import { isOnCitus, prepareCitus } from '#test/support/database/citus.ts'
import { copyDataFolder } from '#test/support/database/copy-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database. Only for copying: a connection to it would prevent that. */
    templateDatabaseUrl: string
    /** A data folder with a stopped, migrated database. Only for copying. */
    preparedFolder: string
  }
}

/** The rows of a test need not survive a power failure. Tests about durability start a server of their own. */
const fastSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  // Each copy lives for seconds: autovacuum would take processor time from the tests, and change query plans at random.
  autovacuum: 'off',
  // A gateway may hold a dozen for each of its cells, a command as many beside it, and several files run at once.
  max_connections: '300',
}

async function makeFolder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  // Under root the database runs as the user nobody, who must be able to enter the folder.
  await chmod(directory, 0o711)
  return directory
}

/** initdb and all migrations take seconds of processor time; a copy of the result takes a fraction of a second. */
async function prepare(directory: string): Promise<void> {
  const database = await openEmbeddedPostgres({ directory, purpose: 'serve', settings: fastSettings })
  try {
    await migrate(database.url)
  } finally {
    await database.stop()
  }
}

/**
 * Tests log in thousands of times, and checking a password takes milliseconds of processor time on either side. The
 * socket is in a folder of this run; tests with servers of their own check that the password is required.
 */
function trustLogin(directory: string): void {
  const cluster = join(directory, 'postgres')
  const rules = join(cluster, 'pg_hba.conf')
  const asked = readFileSync(rules, 'utf8')
  const trusting = asked.replace(/^(local all \w+) scram-sha-256$/m, '$1 trust')
  if (trusting === asked) throw new Error(`no login to shorten in ${rules}`)
  writeFileSync(rules, trusting)
  // The server reloads its rules when it gets this signal; until then it requires the password, which the tests have.
  process.kill(Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP')
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
    trustLogin(directory)
    const citus = isOnCitus ? await prepareCitus() : undefined
    project.provide('templateDatabaseUrl', citus?.url ?? database.url)
    project.provide('preparedFolder', prepared)
    return async () => {
      await citus?.remove()
      await database.stop()
      await remove()
    }
  } catch (error) {
    await remove()
    throw error
  }
}
