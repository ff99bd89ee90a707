/** Backing up a running gateway, restoring into an empty folder, and moving to the operator's own PostgreSQL. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDemoMerchant } from '#commands/serve/demo-merchant.ts'
import { dumpDatabase } from '#storage/backup/dump.ts'
import { loadDatabase } from '#storage/backup/load.ts'
import { listMigrations, listPending, migrate } from '#storage/migrate.ts'
import { commandsHere } from '#test/support/command-here.ts'
import {
  type Banner,
  killRest,
  login,
  makeDataFolder,
  makeEmptyFolder,
  startServer,
  tollgate,
} from '#test/support/command-line.ts'
import { createEmptyDatabase } from '#test/support/database/database.ts'
import { cardPayment, masterKeyOf, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const folders: string[] = []
function keepTrack(folder: string): string {
  folders.push(folder)
  return folder
}

let source: string
let file: string
let banner: Banner
const transIds: string[] = []

async function pay(at: Banner): Promise<void> {
  const request = cardPayment()
  const response = await fetch(`${at.baseUrl}/payments`, {
    method: 'POST',
    headers: { authorization: login(at), 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  expect(response.status).toBe(200)
  transIds.push(String(request.transId))
}

/** Starts one server, makes payments, and backs it up while it runs. */
beforeAll(async () => {
  source = keepTrack(makeDataFolder())
  file = join(source, 'backup.gz')
  const server = startServer('node', { TOLLGATE_DATA: source, PORT: '0' })
  banner = await server.ready()
  for (let count = 0; count < 5; count += 1) await pay(banner)
  const made = await tollgate(['backup', '--out', file, '--json'], { TOLLGATE_DATA: source })
  expect(made, made.stderr).toMatchObject({ code: 0 })
  expect(JSON.parse(made.stdout)).toMatchObject({ file, rows: expect.any(Number) })
  server.child.kill('SIGTERM')
  await server.exited
})
afterAll(async () => {
  for (const folder of folders) {
    await killRest(folder)
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the backup holds no card number and no key', () => {
  const text = gunzipSync(readFileSync(file)).toString()
  expect(text).toContain('"trans_id"')
  expect(text).not.toContain('4111111111111111')
  expect(text).not.toContain(banner.apiKey)
})

test('restored with its key, the database has every payment, opens with the key, and has one demo merchant', async () => {
  const folder = keepTrack(makeEmptyFolder())
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o711 })
  copyFileSync(join(source, 'master.key'), join(data, 'master.key'))
  const restored = await tollgate(['restore', file], { TOLLGATE_DATA: data })
  expect(restored, restored.stderr).toMatchObject({ code: 0 })
  const server = startServer('node', { TOLLGATE_DATA: data, PORT: '0' })
  const second = await server.ready()
  expect(second.merchantId).toBe(banner.merchantId)
  for (const transId of transIds) {
    const response = await fetch(`${second.baseUrl}/payments/getByTransId/${transId}`, {
      headers: { authorization: login(banner) },
    })
    expect(await response.json()).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  }
  server.child.kill('SIGTERM')
  await server.exited
  const list = await tollgate(['merchant', 'list', '--json'], { TOLLGATE_DATA: data })
  expect(JSON.parse(list.stdout)).toHaveLength(1)
  const doctor = await tollgate(['doctor'], { TOLLGATE_DATA: data })
  expect(doctor, doctor.stdout).toMatchObject({ code: 0 })
  // Its demo merchant has no key until it is given a new one, as the refusal says.
  expect(await tollgate(['payments', 'create', '--amount', '1000'], { TOLLGATE_DATA: data })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`key rotate ${banner.merchantId}`),
  })
  const { stdout } = await tollgate(['key', 'rotate', banner.merchantId, '--json'], { TOLLGATE_DATA: data })
  expect((await readDemoMerchant(data))?.apiKey).toBe(JSON.parse(stdout).apiKey)
})

test('without the key nothing is restored, and no new key is written', async () => {
  const folder = keepTrack(makeEmptyFolder())
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o711 })
  const restored = await tollgate(['restore', file], { TOLLGATE_DATA: data })
  expect(restored).toMatchObject({ code: 1, stderr: expect.stringContaining('master key') })
  expect(existsSync(join(data, 'master.key'))).toBe(false)
  expect(existsSync(join(data, 'demo.json'))).toBe(false)
})

test('with another key, or for the other environment, nothing is stored, and the right one can be restored to the same folder', async () => {
  const target = await createEmptyDatabase()
  const key = readFileSync(join(source, 'master.key'), 'utf8').trim()
  const restore = async (env: Record<string, string>) => {
    const commands = commandsHere(target.url, env)
    const result = await commands.run('restore', file)
    commands.remove()
    return result
  }
  const otherKey = Buffer.alloc(32, 7).toString('base64')
  expect(await restore({ TOLLGATE_MASTER_KEY: otherKey })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('sealed with the master key'),
  })
  expect(await queryRows(target.url, 'SELECT 1 FROM merchant')).toEqual([])
  expect(await restore({ TOLLGATE_MASTER_KEY: key, TOLLGATE_ENVIRONMENT: 'live' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the backup is of the test environment'),
  })
  expect(await queryRows(target.url, 'SELECT 1 FROM merchant')).toEqual([])
  expect(await restore({ TOLLGATE_MASTER_KEY: key })).toMatchObject({ code: 0 })
  expect(await restore({ TOLLGATE_MASTER_KEY: key })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('not empty'),
  })
  await target.drop()
})

test.each([
  [
    'restore',
    'a file that is not there',
    (folder: string) => ['restore', join(folder, 'nothing.gz')],
    'does not exist',
  ],
  ['restore', 'a folder', (folder: string) => ['restore', folder], 'is a folder'],
  ['backup', 'a folder', (folder: string) => ['backup', '--out', folder], 'is a folder'],
  [
    'backup',
    'a file in a folder that is not there',
    (folder: string) => ['backup', '--out', join(folder, 'nothing', 'b.gz')],
    'cannot be written (ENOENT)',
  ],
])('%s of %s is refused in one sentence', async (_command, _what, words, sentence) => {
  const folder = keepTrack(makeEmptyFolder())
  // As a process: an error that nobody handles would end it with a stack.
  const refused = await tollgate(words(folder), { TOLLGATE_DATA: source })
  expect(refused.code).toBe(1)
  expect(refused.stderr.trim().split('\n').at(-1)).toMatch(/^tollgate: /)
  expect(refused.stderr).toContain(sentence)
  expect(refused.stderr).not.toContain('unexpected')
})

test.runIf(process.platform !== 'win32')(
  'a backup does not take the place of a pipe or device, whose reader would get nothing',
  async () => {
    const pipe = join(keepTrack(makeEmptyFolder()), 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(await tollgate(['backup', '--out', pipe], { TOLLGATE_DATA: source })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is a device or a pipe'),
    })
    expect(lstatSync(pipe).isFIFO()).toBe(true)
  },
)

test('two backups to one file at once are both whole: neither writes into the draft of the other', async () => {
  const { databaseUrl, stop } = await startTestGateway()
  const folder = keepTrack(makeEmptyFolder())
  const out = join(folder, 'b.gz')
  // What an earlier one left when it was killed.
  for (const [name, hours] of [
    ['b.gz.part', 2],
    [`b.gz.${randomUUID()}.part`, 2],
    ['b.gz.other.part', 2],
    [`b.gz.0${randomUUID().slice(1)}.part`, 0],
  ] as const) {
    writeFileSync(join(folder, name), 'half')
    const at = new Date(Date.now() - hours * 3_600_000)
    utimesSync(join(folder, name), at, at)
  }
  const settings = {
    DATABASE_URL: databaseUrl,
    TOLLGATE_DATA: folder,
    TOLLGATE_MASTER_KEY: masterKeyOf(databaseUrl),
  }
  const back = () => tollgate(['backup', '--out', out], settings)
  expect(await Promise.all([back(), back()])).toMatchObject([{ code: 0 }, { code: 0 }])
  expect(gunzipSync(readFileSync(out)).toString().trimEnd().split('\n').at(-1)).toMatch(/"sha256"/)
  const drafts = readdirSync(folder).filter(name => name.endsWith('.part'))
  expect(drafts.sort()).toEqual([expect.stringMatching(/^b\.gz\.0/), 'b.gz.other.part'])
  await stop()
})

test('a database without our tables is not backed up', async () => {
  const empty = await createEmptyDatabase()
  const commands = commandsHere(empty.url, { TOLLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') })
  expect(await commands.run('backup', '--out', join(commands.folder, 'b.gz'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing to copy'),
  })
  expect(existsSync(join(commands.folder, 'b.gz'))).toBe(false)
  commands.remove()
  await empty.drop()
})

test('a database that is not there is named as a refusal of the server, and not as something unexpected', async () => {
  const empty = await createEmptyDatabase()
  const commands = commandsHere(empty.url.replace(/\/\w+\?/, '/not_there?'))
  const refused = await commands.run('backup', '--out', join(commands.folder, 'b.gz'))
  expect(refused).toMatchObject({
    code: 1,
    stderr: 'tollgate: the database refuses this: database "not_there" does not exist\n',
  })
  commands.remove()
  await empty.drop()
})

test('a folder whose key is lost is not started with another one', async () => {
  const key = join(source, 'master.key')
  const text = readFileSync(key)
  rmSync(key)
  const refused = await tollgate(['merchant', 'list'], { TOLLGATE_DATA: source })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('master key') })
  expect(existsSync(key)).toBe(false)
  writeFileSync(key, text, { mode: 0o600 })
})

test.each([
  ['backup', (folder: string) => ['backup', '--out', join(folder, 'b.gz')]],
  ['migrate --check', () => ['migrate', '--check']],
])('%s does not make a new key where the key is lost', async (_, words) => {
  const { gateway, databaseUrl, stop } = await startTestGateway()
  await gateway.merchants.create('A shop')
  const commands = commandsHere(databaseUrl)
  expect(await commands.run(...words(commands.folder))).toMatchObject({ code: 0 })
  expect(existsSync(join(commands.folder, 'master.key'))).toBe(false)
  commands.remove()
  await stop()
})

test.each([
  ['cut off', (lines: string[]) => lines.slice(0, -1), 'is cut off'],
  ['changed', (lines: string[]) => lines.map(line => line.replace('"Ada ', '"Eve ')), 'changed or damaged'],
  ['not a backup', () => ['{"hello": 1}'], 'not a backup'],
  [
    'of a newer release, whose columns would be lost',
    ([header = '', ...rows]: string[]) => [header.replace(/"\]/, '","9999-newer.sql"]'), ...rows],
    'of a newer release, whose schema has 9999-newer.sql',
  ],
  ['not even JSON', () => ['hello'], 'not JSON'],
  ['followed by another one', (lines: string[]) => [...lines, ...lines], 'more than one backup'],
])('a backup that is %s is refused, and none of its rows is stored', async (_, damage, sentence) => {
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  const target = await createEmptyDatabase()
  const load = loadDatabase(async () => target.url, Readable.from(damage(lines)))
  await expect(load).rejects.toThrow(sentence)
  const client = new pg.Client({ connectionString: target.url })
  await client.connect()
  const { rows } = await client.query("SELECT to_regclass('payment') IS NOT NULL AS made")
  if (rows[0]?.made) expect((await client.query('SELECT 1 FROM payment')).rows).toEqual([])
  await client.end()
  // Empty tables do not prevent a restore of the whole backup.
  await loadDatabase(async () => target.url, Readable.from(lines))
  await target.drop()
})

test('the backup of an older release whose migrations had a gap keeps its rows, and the migration in the gap sees them', async () => {
  const [older, target] = [await createEmptyDatabase(), await createEmptyDatabase()]
  const names = await listMigrations()
  const late = '0025-root-secrets.sql'
  // A release had 0031 before 0025 was there.
  const only = names.filter(name => name <= '0031-cells.sql' && !/^002[5-8]/.test(name))
  expect(names).toContain(late)
  await migrate(older.url, { only })
  await queryRows(older.url, "INSERT INTO merchant (merchant_id, name) VALUES ('old-shop', 'Old shop')")
  await queryRows(
    older.url,
    `INSERT INTO api_key (merchant_id, key_id, key_hash) VALUES ('old-shop', gen_random_uuid(), repeat('ab', 32))`,
  )
  const lines: string[] = []
  for await (const line of dumpDatabase({ url: older.url, number: 0 })) lines.push(line)
  // A restore that is cut off before its rows are stored can be repeated.
  const cutOff = loadDatabase(async () => target.url, Readable.from(lines.slice(0, -1)))
  await expect(cutOff).rejects.toThrow('is cut off')
  await loadDatabase(async () => target.url, Readable.from(lines))
  const keys = await queryRows(target.url, 'SELECT merchant_id, pepper FROM api_key')
  expect(keys).toEqual([{ merchant_id: 'old-shop', pepper: 1 }])
  const applied = await queryRows(target.url, 'SELECT name FROM schema_migration')
  expect(applied.map(({ name }) => name).toSorted()).toEqual(names)
  for (const database of [older, target]) await database.drop()
})

test('migrations that ran under a former number do not run again, in their own database and after a restore', async () => {
  const [older, target] = [await createEmptyDatabase(), await createEmptyDatabase()]
  await migrate(older.url)
  const renamed = [
    ['0087-claims-of-one-time-cards.sql', '0094-claims-of-one-time-cards.sql'],
    ['0090-plans-began-on.sql', '0099-plans-began-on.sql'],
  ]
  for (const [name, former] of renamed)
    await queryRows(older.url, `UPDATE schema_migration SET name = '${former}' WHERE name = '${name}'`)
  const said: string[] = []
  await migrate(older.url, { onProgress: line => said.push(line) })
  expect(said).toEqual([])
  expect(await listPending(older.url)).toEqual([])
  const lines: string[] = []
  for await (const line of dumpDatabase({ url: older.url, number: 0 })) lines.push(line)
  await loadDatabase(async () => target.url, Readable.from(lines))
  const applied = await queryRows(target.url, 'SELECT name FROM schema_migration')
  expect(applied.map(({ name }) => name).toSorted()).toEqual(await listMigrations())
  for (const database of [older, target]) await database.drop()
})

test('move-to copies everything into an empty PostgreSQL, marks the folder as moved, and refuses a filled database', async () => {
  const target = await createEmptyDatabase()
  const moved = await tollgate(['move-to', target.url], { TOLLGATE_DATA: source })
  expect(moved, moved.stderr).toMatchObject({ code: 0 })
  const client = new pg.Client({ connectionString: target.url })
  await client.connect()
  const { rows } = await client.query('SELECT trans_id FROM payment ORDER BY pay_id')
  await client.end()
  expect(rows.map(({ trans_id }) => trans_id)).toEqual(transIds)
  // What happens in the target from now on is not in the folder, which must not be served by mistake.
  for (const words of [['serve'], ['merchant', 'list'], ['restore', file], ['move-to', target.url]]) {
    const refused = await tollgate(words, { TOLLGATE_DATA: source, PORT: '0' })
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/was moved to the database .*: set DATABASE_URL/),
    })
    expect(refused.stderr).toContain(`delete ${join(source, 'moved.json')}`)
  }
  const password = new URL(target.url.replace('@/', '@localhost/')).searchParams.get('password')
  expect(readFileSync(join(source, 'moved.json'), 'utf8')).not.toContain(password)
  expect(await tollgate(['backup', '--out', file], { TOLLGATE_DATA: source })).toMatchObject({ code: 0 })
  rmSync(join(source, 'moved.json'))
  const again = await tollgate(['move-to', target.url], { TOLLGATE_DATA: source })
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('not empty') })
  await target.drop()
})

test('move-to refuses a database that a gateway uses: its payments in the meantime would be missing in the copy', async () => {
  const [gateway, target] = [await startTestGateway(), await createEmptyDatabase()]
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  try {
    expect(await commands.run('move-to', target.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a gateway serves this database'),
    })
    const empty = await queryRows(target.url, "SELECT to_regclass('payment') AS payment")
    expect(empty).toEqual([{ payment: null }])
  } finally {
    commands.remove()
    await gateway.stop()
    await target.drop()
  }
})
