/** The embedded PostgreSQL with real servers and real processes, each test in a data folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
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
import { accepts } from '#storage/embedded/connection.ts'
import { EmbeddedPostgresError, openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { identifyProcess, isPostmasterOf, waitUntil } from '#storage/embedded/processes.ts'
import { copyDataFolder } from '#test/support/copy-folder.ts'
import {
  afterwards,
  cleanUpAll,
  clusterOf,
  deadPid,
  makeFolder,
  makePreparedFolder,
  open,
  query,
  readPostmasterPid,
  startOwner,
} from '#test/support/embedded.ts'

const isRoot = process.getuid?.() === 0

afterEach(cleanUpAll)

const expectGone = async (pid: number, directory: string) =>
  expect(await waitUntil(() => !isPostmasterOf(pid, clusterOf(directory)), 30_000)).toBe(true)

test('a cold start makes a durable UTF-8 database, a warm start finds its rows again', async () => {
  const directory = join(makeFolder(), 'data')
  const lines: string[] = []
  const cold = await open(directory, { onProgress: line => lines.push(line) })
  expect(cold).toMatchObject({ started: true })
  expect(lines).toHaveLength(1)
  const names = [
    'fsync',
    'full_page_writes',
    'synchronous_commit',
    'data_checksums',
    'server_encoding',
    'timezone',
  ]
  const shown = await query(
    cold.url,
    'SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name',
    [names],
  )
  expect(shown.map(row => row.value)).toEqual(['on', 'on', 'on', 'on', 'UTF8', 'UTC'])
  await query(cold.url, `CREATE TABLE kept AS SELECT 'é' AS letter`)
  const pid = readPostmasterPid(directory)
  await Promise.all([cold.stop(), cold.stop()])
  expect(isPostmasterOf(pid, clusterOf(directory))).toBe(false)
  expect(existsSync(join(directory, 'owner.json'))).toBe(false)

  const warm = await open(directory, { onProgress: line => lines.push(line) })
  expect(await query(warm.url, 'SELECT letter, current_user AS role FROM kept')).toEqual([
    { letter: 'é', role: 'tollgate_gateway' },
  ])
  expect(lines).toHaveLength(1)
})

test('a command attaches to the database of a serving process and leaves it running', async () => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'serve')
  const { url } = await owner.listen()
  const attached = await openEmbeddedPostgres({ directory, purpose: 'command' })
  expect(attached).toMatchObject({ started: false, url })
  await attached.stop()
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('a command that comes while the server is still starting waits for it', async () => {
  const directory = makeFolder()
  const owner = startOwner(directory, 'serve')
  expect(await waitUntil(() => existsSync(join(directory, 'owner.json')), 30_000)).toBe(true)
  const attached = await openEmbeddedPostgres({ directory, purpose: 'command' })
  expect(attached).toMatchObject({ started: false, url: (await owner.listen()).url })
})

test('a second serving process is refused, and the error names the first', async () => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'serve')
  const { url } = await owner.listen()
  const refused = openEmbeddedPostgres({ directory, purpose: 'serve' })
  await expect(refused).rejects.toThrow(EmbeddedPostgresError)
  await expect(refused).rejects.toThrow(`process ${owner.pid}`)
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test.each(['serve', 'command'] as const)('%s waits for a command that has the folder', async purpose => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'command')
  await owner.listen()
  const lines: string[] = []
  const onProgress = (line: string) => {
    lines.push(line)
    owner.child.stdin?.end()
  }
  const database = await open(directory, { purpose, onProgress })
  expect(database.started).toBe(true)
  expect(lines).toEqual([expect.stringContaining(`process ${owner.pid}`)])
})

test('commands that start together after a crash get the folder one after the other', async () => {
  const directory = makePreparedFolder()
  writeFileSync(join(directory, 'owner.json'), describeOwner({ pid: deadPid() }))
  const owners = Array.from({ length: 4 }, () => startOwner(directory, 'command'))
  const answers = await Promise.all(
    owners.map(async owner => {
      const answer = await owner.listen()
      await owner.finish()
      return answer.error ?? answer.started
    }),
  )
  expect(answers).toEqual([true, true, true, true])
})

test('kill -9 of the owner ends the database by itself, and the next start finds every row', async () => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'serve')
  const { url } = await owner.listen()
  await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const pid = readPostmasterPid(directory)
  process.kill(owner.pid, 'SIGKILL')
  await expectGone(pid, directory)
  const next = await open(directory)
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

test('a start right after kill -9 of the owner waits for the dying database', async () => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'serve')
  await owner.listen()
  const pid = readPostmasterPid(directory)
  process.kill(owner.pid, 'SIGKILL')
  expect((await open(directory)).started).toBe(true)
  expect(readPostmasterPid(directory)).not.toBe(pid)
})

test('a database that nobody watches any more is stopped and started anew', async () => {
  const directory = makePreparedFolder()
  const first = await open(directory)
  await first.stop()
  const orphan = spawnBarePostgres(directory)
  expect(await waitUntil(() => accepts(first.url), 30_000)).toBe(true)
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const lines: string[] = []
  const next = await open(directory, { onProgress: line => lines.push(line) })
  expect(lines).toEqual([expect.stringContaining(`process ${orphan.pid}`)])
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

/** As if both the owner and its watcher had been killed. */
function spawnBarePostgres(directory: string): ChildProcess {
  const binaries = findBinaries()
  const account = chooseAccount([join(binaries.folder, 'bin'), directory])
  const server = [
    binaries.postgres,
    '-D',
    clusterOf(directory),
    '-k',
    clusterOf(directory),
    '-c',
    'listen_addresses=',
  ]
  const [command = '', ...words] = [...account.prefix, ...server]
  const child = spawn(command, words, { ...account.spawnAs, cwd: '/', stdio: 'ignore' })
  afterwards(() => child.kill('SIGQUIT'))
  return child
}

test('kill -9 of the database itself is reported, and the next start recovers', async () => {
  const directory = makePreparedFolder()
  const onUnexpectedExit = vi.fn()
  const first = await open(directory, { onUnexpectedExit })
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  process.kill(readPostmasterPid(directory), 'SIGKILL')
  expect(await waitUntil(() => onUnexpectedExit.mock.calls.length === 1, 30_000)).toBe(true)
  await first.stop()
  const next = await open(directory)
  expect(await query(next.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

const describeOwner = (record: object): string =>
  JSON.stringify({
    process: 'gone',
    purpose: 'serve',
    nonce: '5a7bb0a5-5d9c-4a0e-8d3c-9f1c5b1f3a10',
    ...record,
  })

test.each([
  ['a process that has ended', () => describeOwner({ pid: deadPid() })],
  ['a process number that another process has now', () => describeOwner({ pid: process.pid })],
  ['nothing, after a power failure', () => ''],
  ['something else', () => '[]'],
])('an owner.json that names %s does not hinder', async (_, describe) => {
  const directory = makePreparedFolder()
  writeFileSync(join(directory, 'owner.json'), describe())
  expect((await open(directory)).started).toBe(true)
  const owner = JSON.parse(readFileSync(join(directory, 'owner.json'), 'utf8'))
  expect(owner).toMatchObject({ pid: process.pid, process: identifyProcess(process.pid), purpose: 'serve' })
})

test.each(['ended', 'alive'] as const)(
  'a postmaster.pid whose number is %s as another program does not hinder',
  async state => {
    const directory = makePreparedFolder()
    await (await open(directory)).stop()
    const cluster = clusterOf(directory)
    // The same user as the database: PostgreSQL itself passes over the processes of others.
    const { spawnAs } = chooseAccount([join(findBinaries().folder, 'bin'), directory])
    const stranger = spawn('cat', { ...spawnAs, cwd: '/', stdio: ['pipe', 'ignore', 'ignore'] })
    afterwards(() => stranger.kill())
    const pid = state === 'alive' ? stranger.pid : deadPid()
    for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
      writeFileSync(
        join(cluster, name),
        `${pid}\n${cluster}\n1700000000\n5432\n${cluster}\n\n  5432001 0\nready   \n`,
      )
    }
    writeFileSync(join(cluster, '.s.PGSQL.5432'), '')
    const next = await open(directory)
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(stranger.exitCode).toBe(null)
  },
)

test('a start succeeds after an interrupted initdb', async () => {
  const directory = makeFolder()
  mkdirSync(join(directory, 'postgres.new', 'base'), { recursive: true })
  expect((await open(directory)).started).toBe(true)
  expect(existsSync(join(directory, 'postgres.new'))).toBe(false)
})

test('Ctrl-C in the terminal does not reach the database', async () => {
  const directory = makePreparedFolder()
  const owner = startOwner(directory, 'serve')
  const { url } = await owner.listen()
  // The terminal signals the whole foreground group, which the owner leads here.
  process.kill(-owner.pid, 'SIGINT')
  expect(await owner.listen()).toEqual({ interrupted: true })
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('works below a folder with mode 0700 or names it, and survives the change of accounts', async () => {
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

test('says which folder blocks the way and what to do', async () => {
  const parent = makeFolder()
  const directory = join(parent, 'data')
  mkdirSync(directory)
  // Root passes everywhere, but the account that PostgreSQL gets does not pass through a stranger's private
  // folder.
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

test('the log tells of failures and crashes but holds neither statements nor parameters', async () => {
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
  // The report of a killed backend quotes what it was running.
  const crashed = query(url, `SELECT pg_sleep(600), '${secret}'`)
  const findBackend = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`
  let backend: unknown
  await waitUntil(async () => {
    backend = (await query(url, findBackend))[0]?.pid
    return backend !== undefined
  }, 30_000)
  process.kill(Number(backend), 'SIGKILL')
  await expect(crashed).rejects.toThrow()
  // PostgreSQL 18 overhears a fast shutdown in the instant in which it starts over after a crash.
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

test('a cluster of another PostgreSQL version is refused, not touched', async () => {
  const directory = makePreparedFolder()
  writeFileSync(join(clusterOf(directory), 'PG_VERSION'), '17\n')
  await expect(open(directory)).rejects.toThrow('made by PostgreSQL 17')
})

test('the gateway works as a role that owns its database and nothing else', async () => {
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

test('a cluster of an older version, whose superuser owned all and needed no password, is brought up to that', async () => {
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
