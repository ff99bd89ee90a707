/** How the embedded PostgreSQL is set up: folders, accounts, environment, log, version and roles, with real servers. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { chooseAccount } from '#storage/embedded/account.ts'
import { findBinaries } from '#storage/embedded/binaries.ts'
import { describeFullDisk } from '#storage/embedded/cluster.ts'
import { accepts } from '#storage/embedded/connection.ts'
import { EmbeddedPostgresError, openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { waitUntil } from '#storage/embedded/processes.ts'
import { copyDataFolder } from '#test/support/database/copy-folder.ts'
import {
  afterwards,
  cleanUpAll,
  clusterOf,
  makeFolder,
  makePreparedFolder,
  open,
  query,
} from '#test/support/database/embedded.ts'

const isRoot = process.getuid?.() === 0

afterEach(cleanUpAll)

test('a disk without room for a new database is named, whatever initdb says', () => {
  const folder = makeFolder()
  expect(describeFullDisk(folder, 1)).toBeUndefined()
  expect(describeFullDisk(folder, Number.MAX_SAFE_INTEGER)).toMatch(
    /^The disk of \/.* is full: it has \d+ MB free, and the database needs \d+ MB\. Make room, or choose/,
  )
})

test('works below a folder with mode 0700 or names that folder, and works after a change of accounts', async () => {
  const parent = makeFolder()
  const directory = join(parent, 'data')
  mkdirSync(directory, { mode: 0o711 })
  copyDataFolder(inject('preparedFolder'), directory)
  const bin = join(findBinaries().folder, 'bin')
  for (const [index, mode] of [0o711, 0o700, 0o711, 0o700].entries()) {
    chmodSync(parent, mode)
    let account: ReturnType<typeof chooseAccount>
    try {
      account = chooseAccount([bin, directory])
    } catch (error) {
      // A root that may not make user namespaces, as in many containers.
      expect(error).toBeInstanceOf(EmbeddedPostgresError)
      await expect(open(directory)).rejects.toThrow(mode === 0o700 ? parent : 'chmod o+x')
      continue
    }
    const database = await open(directory)
    await query(database.url, `CREATE TABLE kept_${index} ()`)
    const [found] = await query(
      database.url,
      `SELECT count(*)::int AS kept FROM pg_tables WHERE tablename LIKE 'kept%'`,
    )
    expect(found?.kept).toBeGreaterThan(index === 0 ? 0 : 1)
    expect(statSync(clusterOf(directory)).uid).toBe(account.owner?.uid ?? process.getuid?.())
    await database.stop()
  }
})

test('names the inaccessible folder and what to do', async () => {
  const parent = makeFolder()
  const directory = join(parent, 'data')
  mkdirSync(directory)
  // Root may enter every folder, but PostgreSQL's account may not enter another user's private folder.
  if (isRoot) chownSync(parent, 12_345, 12_345)
  chmodSync(parent, isRoot ? 0o700 : 0o000)
  afterwards(() => chmodSync(parent, 0o700))
  const refused = openEmbeddedPostgres({ directory, purpose: 'serve' })
  await expect(refused).rejects.toThrow(EmbeddedPostgresError)
  await expect(refused).rejects.toThrow(parent)
  await expect(refused).rejects.toThrow('TOLLGATE_DATA')
  expect(existsSync(join(directory, 'owner.json'))).toBe(false)
})

test.each([
  ['a path too long for a socket', 'long-'.repeat(30)],
  ['a path with unusual characters', `it's, a "földer" 100%20 of #1?&`],
])('%s works', async (_, name) => {
  const directory = join(makeFolder(), name)
  const database = await open(directory)
  expect(await query(database.url, 'SELECT current_database() AS name')).toEqual([{ name: 'tollgate' }])
  const socketFolder = new URL(database.url).searchParams.get('host') ?? ''
  expect(statSync(socketFolder).mode & 0o777).toBe(0o700)
  if (socketFolder !== clusterOf(directory)) {
    expect(dirname(socketFolder)).toBe(tmpdir())
    await database.stop()
    rmSync(socketFolder, { recursive: true })
  }
})

test('settings in the environment that are meant for other databases change nothing', async () => {
  for (const name of ['PGPORT', 'PGSSLMODE', 'PGHOST', 'PGDATA', 'PGDATABASE']) vi.stubEnv(name, 'require')
  afterwards(() => vi.unstubAllEnvs())
  const database = await open(makePreparedFolder())
  expect(await query(database.url, 'SELECT current_database() AS name')).toEqual([{ name: 'tollgate' }])
})

test('the log reports failures and crashes but contains neither statements nor parameters', async () => {
  const directory = makePreparedFolder()
  const secret = 'recognisable4111111111111111'
  const { url, stop } = await open(directory)
  await query(url, `CREATE TABLE unique_text AS SELECT '${secret}' AS value`)
  await query(url, 'CREATE UNIQUE INDEX ON unique_text (value)')
  for (const [text, values] of [
    ['SELECT $1::text::integer', [secret]],
    [`SELECT '${secret}'::integer`, []],
    [`SELEC '${secret}'`, []],
    ['INSERT INTO unique_text VALUES ($1)', [secret]],
    [`DO $$ BEGIN RAISE WARNING '${secret}'; RAISE EXCEPTION '${secret}'; END $$`, []],
  ] as const) {
    await expect(query(url, text, [...values])).rejects.toThrow()
  }
  // The report of a killed backend quotes its statement.
  const crashed = query(url, `SELECT pg_sleep(600), '${secret}'`)
  const findBackend = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`
  let backend: unknown
  await waitUntil(async () => {
    backend = (await query(url, findBackend))[0]?.pid
    return backend !== undefined
  }, 30_000)
  process.kill(Number(backend), 'SIGKILL')
  await expect(crashed).rejects.toThrow()
  // PostgreSQL 18 misses a fast shutdown request at the moment in which it restarts after a crash.
  expect(await waitUntil(() => accepts(url), 30_000)).toBe(true)
  await stop()
  const log = readFileSync(join(directory, 'postgres.log'), 'utf8')
  expect(log).toContain('was terminated by signal 9')
  expect(log).not.toContain(secret)
  expect(log).not.toMatch(/SELEC|INSERT|recognisable/)
  expect(statSync(join(directory, 'postgres.log')).mode & 0o777).toBe(0o600)
})

test('a log that has grown too large is set aside at the start', async () => {
  const directory = makePreparedFolder()
  writeFileSync(join(directory, 'postgres.log'), Buffer.alloc(10 * 1024 * 1024 + 1, 'x'))
  await open(directory)
  expect(statSync(join(directory, 'postgres.log.1')).size).toBe(10 * 1024 * 1024 + 1)
  expect(statSync(join(directory, 'postgres.log')).size).toBeLessThan(10_000)
})

test('an empty password file, which a full disk leaves behind, is replaced', async () => {
  const directory = makePreparedFolder()
  const file = join(directory, 'postgres.password')
  writeFileSync(file, '')
  const { url } = await open(directory)
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  expect(readFileSync(file, 'utf8')).toHaveLength(32)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a cluster of another PostgreSQL version is refused and not changed', async () => {
  const directory = makePreparedFolder()
  writeFileSync(join(clusterOf(directory), 'PG_VERSION'), '17\n')
  await expect(open(directory)).rejects.toThrow('made by PostgreSQL 17')
})

test('the role of the gateway owns its database and has no other rights', async () => {
  const directory = makePreparedFolder()
  const { url } = await open(directory)
  expect(
    await query(
      url,
      'SELECT current_user::text AS name, rolsuper, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = current_user',
    ),
  ).toEqual([{ name: 'tollgate_gateway', rolsuper: false, rolcreaterole: false, rolbypassrls: false }])
  await query(url, 'CREATE TABLE mine (id int)')
  for (const statement of [
    "COPY mine FROM PROGRAM 'id'",
    "COPY mine TO PROGRAM 'cat > /tmp/stolen'",
    "COPY mine FROM '/etc/passwd'",
    "SELECT pg_read_file('/etc/passwd')",
    'ALTER ROLE tollgate_gateway SUPERUSER',
    'CREATE ROLE another',
    'CREATE EXTENSION file_fdw',
    "ALTER SYSTEM SET fsync = 'off'",
    "SELECT lo_import('/etc/passwd')",
  ]) {
    await expect(query(url, statement)).rejects.toThrow(/permission denied|must be superuser|not available/)
  }
  const rules = readFileSync(join(directory, 'postgres', 'pg_hba.conf'), 'utf8')
  expect(rules).toMatch(/scram-sha-256/)
  expect(rules).not.toMatch(/trust/)
  const asSuperuser = new URL(url)
  asSuperuser.searchParams.set('user', 'tollgate')
  await expect(query(asSuperuser.href, 'SELECT 1')).rejects.toThrow(
    /pg_hba.conf rejects|not permitted to log in/,
  )
  asSuperuser.searchParams.set('user', 'tollgate_gateway')
  asSuperuser.searchParams.set('password', 'wrong')
  await expect(query(asSuperuser.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/)
})

test('a cluster of an older version, whose superuser owned everything without a password, is upgraded to that', async () => {
  const directory = makePreparedFolder()
  const cluster = join(directory, 'postgres')
  const binaries = findBinaries()
  const account = chooseAccount([join(binaries.folder, 'bin'), directory])
  const statements = [
    'DROP SCHEMA public CASCADE',
    'CREATE SCHEMA public',
    'CREATE TABLE old (id int GENERATED ALWAYS AS IDENTITY)',
    'INSERT INTO old DEFAULT VALUES',
    'CREATE FUNCTION one() RETURNS int LANGUAGE sql RETURN 1',
    'ALTER ROLE tollgate LOGIN',
    'ALTER DATABASE tollgate OWNER TO tollgate',
    'DROP ROLE tollgate_gateway',
  ]
  const [command = '', ...words] = [
    ...account.prefix,
    binaries.postgres,
    '--single',
    '-j',
    '-D',
    cluster,
    'tollgate',
  ]
  spawnSync(command, words, {
    ...account.spawnAs,
    cwd: '/',
    input: statements.map(one => `${one};\n\n`).join(''),
  })
  writeFileSync(join(cluster, 'pg_hba.conf'), 'local all all trust\n')
  rmSync(join(cluster, 'tollgate.role'))
  rmSync(join(directory, 'postgres.password'))
  const { url } = await open(directory)
  expect(await query(url, 'SELECT id, one() FROM old')).toEqual([{ id: 1, one: 1 }])
  await query(url, 'ALTER TABLE old ADD COLUMN more text')
  await query(url, 'DROP FUNCTION one()')
  expect(await query(url, 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
    { rolsuper: false },
  ])
  expect(readFileSync(join(cluster, 'pg_hba.conf'), 'utf8')).not.toMatch(/trust/)
})
