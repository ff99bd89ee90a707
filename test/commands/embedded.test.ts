/** The embedded PostgreSQL with real servers and real processes, each test in a data folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { chooseAccount } from '#storage/embedded/account.ts'
import { findBinaries } from '#storage/embedded/binaries.ts'
import { accepts } from '#storage/embedded/connection.ts'
import { EmbeddedPostgresError, openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { identifyProcess, isPostmasterOf, waitUntil } from '#storage/embedded/processes.ts'
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
} from '#test/support/database/embedded.ts'

afterEach(cleanUpAll)

const expectGone = async (pid: number, directory: string) =>
  expect(await waitUntil(() => !isPostmasterOf(pid, clusterOf(directory)), 30_000)).toBe(true)

test('a cold start creates a durable UTF-8 database, a warm start finds its rows', async () => {
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
  const { mtimeMs } = statSync(directory)
  const attached = await openEmbeddedPostgres({ directory, purpose: 'command' })
  expect(attached).toMatchObject({ started: false, url })
  await attached.stop()
  // The command creates no file there, not even a temporary one, which would fail on a full disk.
  expect(statSync(directory).mtimeMs).toBe(mtimeMs)
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

test('after kill -9 of the owner the database stops by itself, and the next start finds every row', async () => {
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

test('a database without a watcher is stopped and started anew', async () => {
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

/** Starts a PostgreSQL as if both its owner and its watcher had been killed. */
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
])('an owner.json that names %s does not prevent a start', async (_, describe) => {
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
    // The same user as the database, because PostgreSQL ignores processes of other users.
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
  for (const draft of ['postgres.new', 'postgres.new-abc'])
    mkdirSync(join(directory, draft, 'base'), { recursive: true })
  expect((await open(directory)).started).toBe(true)
  expect(readdirSync(directory).filter(name => name.startsWith('postgres.new'))).toEqual([])
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
