/** A cell that is away: its merchants are told to come again, all others notice nothing. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openMerchants } from '#cells/open-merchants.ts'
import { prepareCells } from '#cells/prepare.ts'
import { hashBoundKey, newestPepper, writeApiKey } from '#domain/api-key.ts'
import { followRoot, rotateRoot } from '#operations/merchants/rotate-root.ts'
import { dumpDatabase } from '#storage/backup/dump.ts'
import { inCell } from '#storage/cells/address.ts'
import { withClient } from '#storage/cells/create-cell.ts'
import { createDirectoryStore } from '#storage/cells/directory-store.ts'
import { isConnectionLost, openDatabase } from '#storage/database.ts'
import { migrate } from '#storage/migrate.ts'
import { joinStores, openRotationStore } from '#storage/vault/key-rotation.ts'
import { signUp } from '#test/support/browser/console.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { type CellStage, createCellStage } from '#test/support/database/cells.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { deriveAll } from '#vault/key-ring.ts'
import { createMasterRing, toMasterKey, toRing } from '#vault/master-key.ts'
import { unwrapRoots } from '#vault/root-secrets.ts'
import { rotateTo } from '#vault/rotate-master-key.ts'

let stage: CellStage
let proxy: DatabaseProxy
/** Lives in the cell that goes away, and one that does not. */
let shops: { readonly merchantId: string; readonly apiKey: string }[]
beforeAll(async () => {
  stage = await createCellStage(2)
  proxy = await startDatabaseProxy(stage.otherUrl)
  const { merchants, close } = await openMerchants({ ...stage, environment: 'test' })
  shops = [await merchants.create('One'), await merchants.create('Other')]
  await close()
  const home = openDatabase(stage.databaseUrl, () => undefined)
  const cellOf = new Map(
    await Promise.all(
      shops.map(
        async ({ merchantId }) =>
          [merchantId, (await createDirectoryStore(home).find(merchantId))?.cell ?? 0] as const,
      ),
    ),
  )
  await home.close()
  shops.sort((a, b) => (cellOf.get(b.merchantId) ?? 0) - (cellOf.get(a.merchantId) ?? 0))
  expect(shops.map(({ merchantId }) => cellOf.get(merchantId))).toEqual([1, 0])
})
afterAll(async () => {
  proxy.thaw()
  await proxy.close()
  await stage.drop()
})

const cellsAt = (url: string) =>
  stage.cells.slice(1).map(cell => ({ ...cell, url: inCell(url, cell.number) }))

async function pay(gateway: TestGateway, who: number, header: 'basic' | 'x-api-key' = 'basic') {
  const { merchantId, apiKey } = shops[who] ?? { merchantId: '', apiKey: '' }
  if (header === 'basic')
    return gateway.call('POST', '/payments', cardPayment(), { authorization: basic(merchantId, apiKey) })
  const response = await fetch(`${gateway.url}/api/v2/customers?page=1`, { headers: { 'x-api-key': apiKey } })
  return { status: response.status, headers: response.headers }
}

test('merchants of a database that falls silent get 503 until it is back', async () => {
  const gateway = await startTestGateway({
    ...stage,
    cells: cellsAt(proxy.url),
    databaseSilenceMs: 2_000,
  })
  expect((await pay(gateway, 0)).status).toBe(200)
  proxy.freeze()
  const refused = await pay(gateway, 0)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('2')
  expect((await pay(gateway, 1)).status).toBe(200)
  expect((await pay(gateway, 1, 'x-api-key')).status).toBe(200)
  expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
  // Several, so that the silent cell is the emptiest for one of them.
  for (const name of ['First', 'Second', 'Third'])
    expect(await gateway.gateway.merchants.create(name)).toHaveProperty('apiKey')
  proxy.thaw()
  await vi.waitFor(async () => expect((await pay(gateway, 0)).status).toBe(200), 30_000)
  await gateway.stop()
})

test('the console answers 503 for merchants of a silent cell, and 404 to people who may not see them', async () => {
  const gateway = await startTestGateway({ ...stage, cells: cellsAt(proxy.url), databaseSilenceMs: 2_000 })
  const [away, there] = shops.map(({ merchantId }) => merchantId)
  if (away === undefined || there === undefined) throw new Error('two merchants were made')
  const owner = await signUp(gateway, { role: 'owner', masterKey: stage.key })
  const limited = await signUp(gateway, { role: 'viewer', merchants: [there], masterKey: stage.key })
  const statusFor = async (person: typeof owner, path: string) => {
    const { status, headers } = await person.get(`/console/m/${path}`)
    return [status, headers.get('retry-after')]
  }
  expect(await statusFor(owner, `${away}/payments`)).toEqual([200, null])
  proxy.freeze()
  for (const page of ['', '/payments', '/settings'])
    expect([page, await statusFor(owner, `${away}${page}`)]).toEqual([page, [503, '2']])
  expect(await statusFor(owner, `${there}/payments`)).toEqual([200, null])
  expect(await statusFor(owner, 'mer_0000000000000000/payments')).toEqual([404, null])
  expect(await statusFor(limited, `${away}/payments`)).toEqual([404, null])
  proxy.thaw()
  await vi.waitFor(async () => expect(await statusFor(owner, away)).toEqual([200, null]), 30_000)
  await gateway.stop()
})

test('merchants of other cells are served while cell 0 is silent, and the process stays ready for them', async () => {
  const line = await startDatabaseProxy(stage.databaseUrl)
  const gateway = await startTestGateway({
    ...stage,
    databaseUrl: line.url,
    cells: cellsAt(stage.otherUrl),
    databaseSilenceMs: 2_000,
  })
  const askReady = () => fetch(`${gateway.url}/health/ready`)
  for (const who of [0, 1]) expect((await pay(gateway, who)).status).toBe(200)
  line.freeze()
  const refused = await pay(gateway, 1)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('2')
  // A proxy that finds the process not ready would take it away from the merchants of all other cells.
  await vi.waitFor(async () => {
    const ready = await askReady()
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ status: 'ready', details: { cellsAway: ['cell_00'] } })
  }, 30_000)
  expect((await pay(gateway, 0)).status).toBe(200)
  line.thaw()
  await vi.waitFor(async () => expect((await pay(gateway, 1)).status).toBe(200), 30_000)
  await vi.waitFor(
    async () => expect(await (await askReady()).json()).toMatchObject({ details: { cellsAway: [] } }),
    30_000,
  )
  await gateway.stop()
  await line.close()
})

test('merchants of other databases are served when one is away at the start, and unknown keys and accounts get 503 instead of 401 and 404', async () => {
  const nowhere = new URL(stage.otherUrl)
  nowhere.searchParams.set('host', '/nowhere')
  const gateway = await startTestGateway({ ...stage, cells: cellsAt(nowhere.href) })
  expect((await pay(gateway, 1)).status).toBe(200)
  for (const header of ['basic', 'x-api-key'] as const) {
    const refused = await pay(gateway, 0, header)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('2')
  }
  // On a busy machine a heartbeat may come late; the next one makes the process ready again.
  await expect
    .poll(async () => (await fetch(`${gateway.url}/health/ready`)).json())
    .toMatchObject({ status: 'ready', details: { cellsAway: ['cell_01'] } })
  // Of an account that may live in the cell that is away; a provider might not come again after 404.
  const notice = await fetch(`${gateway.url}/providers/acc_${'0'.repeat(24)}/notices`, { method: 'POST' })
  expect(notice.status).toBe(503)
  expect(notice.headers.get('retry-after')).toBe('2')
  const created = await gateway.gateway.merchants.create('Made meanwhile')
  expect(created.merchantId).toMatch(/^mer_/)
  await gateway.stop()
})

test('commands say that a cell is away, and do not call it unexpected', async () => {
  const nowhere = new URL(stage.otherUrl)
  nowhere.searchParams.set('host', '/nowhere')
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: nowhere.href,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  for (const words of [['doctor'], ['payments', 'find', '--last4', '1111']]) {
    const { code, stderr } = await commands.run(...words)
    expect(code).toBe(1)
    expect(stderr).toContain('a database cannot be reached: ')
    expect(stderr).not.toContain('unexpected')
  }
  const batch = ['bank', 'batch', '--account', `acc_${'0'.repeat(24)}`, '--out', commands.folder]
  expect((await commands.run(...batch)).stderr).toContain(
    'a cell cannot be reached, and the account may be there',
  )
  // The money of a statement may be for a merchant of the cell that is away.
  const imported = await commands.run('bank', 'import', commands.file('statement.xml', '<Document/>'))
  expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining('and nothing was done') })
  for (const name of ['First', 'Second', 'Third', 'Fourth', 'Fifth'])
    expect(await commands.json('merchant', 'create', '--name', name)).toHaveProperty('apiKey')
  commands.remove()
})

test('a backup of a frozen cell ends with a fault instead of waiting for ever', async () => {
  const cell = cellsAt(proxy.url)[0]
  if (!cell) throw new Error('there is a second cell')
  proxy.freeze()
  const dump = dumpDatabase(cell, undefined, { connectMs: 300 })
  await expect(dump.next()).rejects.toSatisfy(isConnectionLost)
  proxy.thaw()
})

test('a backup of a cell that freezes in the middle ends with a fault instead of waiting for ever', async () => {
  const cell = cellsAt(proxy.url)[0]
  if (!cell) throw new Error('there is a second cell')
  const dump = dumpDatabase(cell, undefined, { answerMs: 300 })
  await dump.next()
  proxy.freeze()
  const rest = async () => {
    for await (const _ of dump);
  }
  await expect(rest()).rejects.toSatisfy(isConnectionLost)
  proxy.thaw()
})

test('a backup of a cell that goes away in the middle ends with 1 and leaves no file', async () => {
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: proxy.url,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  proxy.cutNext('DECLARE dump', 'before')
  const folder = join(commands.folder, 'backups')
  mkdirSync(folder)
  expect(await commands.run('backup', '--out', join(folder, 'b.gz'))).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('a database cannot be reached: '),
  })
  expect(readdirSync(folder)).toEqual([])
  commands.remove()
})

test('commands neither deny what may be in a cell that is away, nor list the others as if they were all', async () => {
  const nowhere = new URL(stage.otherUrl)
  nowhere.searchParams.set('host', '/nowhere')
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: nowhere.href,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  const [away, there] = shops.map(({ merchantId }) => merchantId)
  if (away === undefined || there === undefined) throw new Error('two merchants were made')
  const viewer = ['operator', 'add', '--role', 'viewer', '--merchants']
  for (const words of [
    ['merchant', 'list', '--json'],
    ['merchant', 'set', away, '--requests-per-second', '90'],
    ['webhook', 'list', '--json'],
    ['webhook', 'list', away],
    ['webhook', 'remove', `we_${'0'.repeat(32)}`],
    [...viewer, `${there},${away}`, '--email', 'away@example.com'],
  ])
    expect([words, await commands.run(...words)]).toEqual([
      words,
      { code: 1, stdout: '', stderr: expect.stringContaining('a database cannot be reached: ') },
    ])
  // A merchant of a cell that is there is changed as ever.
  const changed = await commands.json('merchant', 'set', there, '--requests-per-second', '90')
  expect(changed).toMatchObject({ merchantId: there, requestsPerSecond: 90 })
  expect(await commands.json('webhook', 'list', there)).toEqual([])
  expect(await commands.json(...viewer, there, '--email', 'there@example.com')).toHaveProperty('link')
  commands.remove()
})

test('a cell that was away while the release was changed gets the new schema when it is back', async () => {
  const older = await createCellStage(2)
  const [home, cell] = older.cells
  if (!home || !cell) return expect.fail('there are two cells')
  // As the release before left it.
  const names = (await queryRows(home.url, 'SELECT name FROM schema_migration ORDER BY name')).map(
    ({ name }) => String(name),
  )
  const common = await queryRows(cell.url, 'SELECT name, value FROM installation')
  await withClient(older.otherUrl, async client => {
    await client.query('DROP SCHEMA cell_01 CASCADE')
    await client.query('CREATE SCHEMA cell_01')
  })
  await migrate(cell.url, { only: names.slice(0, -1) })
  await withClient(cell.url, async client => {
    for (const { name, value } of common)
      await client.query('INSERT INTO installation VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, value])
  })
  const line = await startDatabaseProxy(older.otherUrl)
  const away = new URL(line.url)
  const folder = away.searchParams.get('host') ?? expect.fail('the proxy listens in a folder')
  away.searchParams.set('host', `${folder}-later`)
  const gateway = await startTestGateway({ ...older, cells: [{ ...cell, url: inCell(away.href, 1) }] })
  symlinkSync(folder, `${folder}-later`)
  await expect
    .poll(async () => (await fetch(`${gateway.url}/health/ready`)).json(), { timeout: 30_000 })
    .toMatchObject({ details: { cellsAway: [] } })
  const found = await queryRows(cell.url, 'SELECT name FROM schema_migration ORDER BY name')
  expect(found.map(({ name }) => name)).toEqual(names)
  await gateway.stop()
  rmSync(`${folder}-later`)
  await line.close()
  await older.drop()
})

test('a cell that opens late serves only once its workers run, and each try that fails leaves no connection open', async () => {
  const [, cell] = stage.cells
  if (!cell) return expect.fail('there are two cells')
  const tell = (text: string) => queryRows<{ count: number }>(cell.url, text)
  const countTries = async () =>
    (await tell('SELECT max(process) AS count FROM gateway_process'))[0]?.count ?? 0
  const line = await startDatabaseProxy(stage.otherUrl)
  const away = new URL(line.url)
  const folder = away.searchParams.get('host') ?? expect.fail('the proxy listens in a folder')
  away.searchParams.set('host', `${folder}-later`)
  const before = await countTries()
  // Without its heartbeat a process cannot claim its work.
  await tell(
    `CREATE FUNCTION refuse_beat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no beat'; END $$`,
  )
  await tell('CREATE TRIGGER refuse_beat BEFORE UPDATE ON gateway_process EXECUTE FUNCTION refuse_beat()')
  const gateway = await startTestGateway({ ...stage, cells: cellsAt(away.href) })
  symlinkSync(folder, `${folder}-later`)
  await expect.poll(countTries, { timeout: 30_000 }).toBeGreaterThan(before + 2)
  const connections = `SELECT count(*)::integer AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tollgate presence'`
  expect((await tell(connections))[0]?.count).toBeLessThanOrEqual(1)
  // Without the table of deliveries the workers cannot start.
  await tell('ALTER TABLE event_delivery RENAME TO event_delivery_away')
  await tell('DROP FUNCTION refuse_beat CASCADE')
  const claimed = await countTries()
  await expect.poll(countTries, { timeout: 30_000 }).toBeGreaterThan(claimed + 2)
  expect((await pay(gateway, 0)).status).toBe(503)
  await tell('ALTER TABLE event_delivery_away RENAME TO event_delivery')
  await expect.poll(async () => (await pay(gateway, 0)).status, { timeout: 30_000 }).toBe(200)
  await gateway.stop()
  rmSync(`${folder}-later`)
  await line.close()
})

const openKeys = async (number: number) =>
  (await openRotationStore(inCell(number === 0 ? stage.databaseUrl : stage.otherUrl, number))) ??
  expect.fail('the lock is held')

test('a new root secret that reaches only one of two cells is finished by repeating it', async () => {
  const ring = stage.masterKey
  const stores = [await openKeys(0), await openKeys(1)] as const
  const cutOff = () => Promise.reject(new Error('cut off'))
  try {
    const broken = [stores[0], { ...stores[1], replaceRootWith: cutOff }]
    await expect(rotateRoot(ring, { stores: broken })).rejects.toThrow('cut off')
    expect(await stores[0].readRoot()).not.toBe(await stores[1].readRoot())
    // Another one is cut off as well: the cell is then two behind.
    await expect(rotateRoot(ring, { stores: broken })).rejects.toThrow('cut off')
    expect(await rotateRoot(ring, { stores })).toBe(4)
    expect(await stores[0].readRoot()).toBe(await stores[1].readRoot())
  } finally {
    for (const store of stores) await store.close()
  }
  const gateway = await startTestGateway({ ...stage, cells: cellsAt(stage.otherUrl) })
  for (const who of [0, 1]) {
    expect((await pay(gateway, who)).status).toBe(200)
    expect((await pay(gateway, who, 'x-api-key')).status).toBe(200)
  }
  await gateway.stop()
})

/** A key for the merchant of cell 1, made with the newest root secret of cell 0. Returns the headers of requests with it. */
async function insertKeyOf(root: string): Promise<{ authorization: string }> {
  const { peppers } = deriveAll(await unwrapRoots(root, toRing(stage.masterKey)))
  const [{ merchantId } = { merchantId: '' }] = shops
  const keyId = randomBytes(16).toString('hex')
  const apiKey = writeApiKey('test', keyId, randomBytes(32).toString('base64url'))
  await queryRows(
    inCell(stage.otherUrl, 1),
    'INSERT INTO api_key (merchant_id, key_id, key_hash, bound, pepper) VALUES ($1, $2, $3, true, $4)',
    [merchantId, keyId, hashBoundKey(peppers, { merchantId, apiKey }), newestPepper(peppers)],
  )
  return { authorization: basic(merchantId, apiKey) }
}

test('a new root secret that reached only cell 0 is brought to the others by the next command', async () => {
  const [home, other] = [await openKeys(0), await openKeys(1)]
  const readRoot = async (number: number) => {
    const store = await openKeys(number)
    try {
      return await store.readRoot()
    } finally {
      await store.close()
    }
  }
  const gateway = await startTestGateway({ ...stage, cells: cellsAt(stage.otherUrl) })
  try {
    const broken = { ...other, replaceRootWith: () => Promise.reject(new Error('cut off')) }
    await expect(rotateRoot(stage.masterKey, { stores: [home, broken] })).rejects.toThrow('cut off')
    await other.close()
    // The cell keeps what it has until then, for running servers too.
    const payEverywhere = async () => {
      for (const who of [0, 1]) {
        expect((await pay(gateway, who)).status).toBe(200)
        expect((await pay(gateway, who, 'x-api-key')).status).toBe(200)
      }
    }
    await payEverywhere()
    const early = await insertKeyOf(await home.readRoot())
    await prepareCells({
      home: { url: stage.databaseUrl, place: 'home' },
      urls: [stage.otherUrl],
      wanted: 2,
      masterKey: stage.masterKey,
      describePlace: () => 'other',
      onProgress: () => undefined,
    })
    expect(await readRoot(1)).toBe(await home.readRoot())
    await payEverywhere()
    expect((await gateway.call('GET', '/payments', undefined, early)).status).toBe(200)
  } finally {
    await home.close()
    await gateway.stop()
  }
})

test('a new master key brings a cell that lags behind the root secret along, also when it is stopped after cell 0', async () => {
  const [home, other] = [await openKeys(0), await openKeys(1)]
  const ring = toRing(stage.masterKey)
  const stop = () => Promise.reject(new Error('cut off'))
  const keys = [toMasterKey(randomBytes(32).toString('base64'), 'the new key'), stage.key] as const
  const both = createMasterRing(async () => keys)
  const follow = (stored: string) => followRoot(stored, other, both)
  const deps = { store: joinStores([home, other]), follow }
  try {
    const broken = { ...other, replaceRootWith: stop }
    await expect(rotateRoot(ring, { stores: [home, broken] })).rejects.toThrow('cut off')
    await expect(rotateTo(keys, { ...deps, testCrash: stop })).rejects.toThrow('cut off')
    await rotateTo(keys, deps)
    expect(await other.readRoot()).toBe(await home.readRoot())
  } finally {
    await home.close()
    await other.close()
  }
  const masterKey = createMasterRing(async () => [keys[0]])
  const gateway = await startTestGateway({ ...stage, masterKey, cells: cellsAt(stage.otherUrl) })
  for (const who of [0, 1]) {
    expect((await pay(gateway, who)).status).toBe(200)
    expect((await pay(gateway, who, 'x-api-key')).status).toBe(200)
  }
  await gateway.stop()
})
