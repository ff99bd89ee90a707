/**
 * The master key is changed while shops keep paying with pseudo numbers, which must stay readable: in processes that
 * know the data keys already, in those that do not, and in those that start in the middle. The rotation is killed at
 * every gap between two writes, and run again.
 */
import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { rotateRoot } from '#operations/merchants/rotate-root.ts'
import { openDatabase } from '#storage/database.ts'
import { openRotationStore } from '#storage/vault/key-rotation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { wrapKey } from '#vault/key-ring.ts'
import { createMasterRing, type MasterRing, readMasterKeys, toMasterKey } from '#vault/master-key.ts'
import { type RotationDeps, type RotationPoint, rotateKeyFile, rotateTo } from '#vault/rotate-master-key.ts'

/** Enough shops for several batches of two. */
const shopCount = 7

let folder: string
let file: string
let database: TestDatabase
let warm: TestGateway
let cold: TestGateway
let shops: { shop: Shop; pseudoNumber: string }[]

const ringOf = (path: string): MasterRing => createMasterRing(() => readMasterKeys(path))
const makeKey = () => `${randomBytes(32).toString('base64')}\n`
const start = (masterKey: MasterRing, beside?: TestGateway) =>
  startTestGateway({ databaseUrl: database.url, masterKey, ...(beside ? { beside } : {}) })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-keys-'))
  file = join(folder, 'master.key')
  await writeFile(file, makeKey(), { mode: 0o640 })
  database = await createTestDatabase()
  warm = await start(ringOf(file))
  cold = await start(ringOf(file), warm)
  shops = []
  for (let made = 0; made < shopCount; made++) shops.push(await openPaidShop())
})
afterAll(async () => {
  await cold.stop()
  await warm.stop()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function openPaidShop() {
  const shop = await openShop(warm)
  const { body } = await shop.create('CARD')
  const { paymentMethods } = await shop.read(body.payId)
  return { shop, pseudoNumber: paymentMethods.card.pseudoCardNumber as string }
}

/** Every shop pays with its pseudo number, and a new shop with a new card. */
async function payEverywhere(at: TestGateway): Promise<void> {
  const answers = await Promise.all(
    shops.map(({ shop, pseudoNumber }) => {
      const body = cardPayment({ card: { number: pseudoNumber, expiryDate: undefined } })
      return at.call('POST', '/payments', body, { authorization: shop.authorization })
    }),
  )
  expect(answers.map(({ status, body }) => [status, body.status])).toEqual(shops.map(() => [200, 'OK']))
  const { merchantId, apiKey } = await at.gateway.merchants.create('New')
  const first = await at.call('POST', '/payments', cardPayment(), {
    authorization: basic(merchantId, apiKey),
  })
  expect(first.status).toBe(200)
}

async function payInFreshProcess(): Promise<void> {
  const fresh = await start(ringOf(file), warm)
  await payEverywhere(fresh)
  await fresh.stop()
}

async function rotate(more: Partial<RotationDeps> = {}) {
  const store = await openRotationStore(database.url)
  if (!store) throw new Error('somebody else holds the lock')
  try {
    return await rotateKeyFile(file, { store, batch: 2, ...more })
  } finally {
    await store.close()
  }
}

const idsInUse = async () =>
  (
    await queryRows<{ id: string }>(
      database.url,
      `SELECT DISTINCT master_key_id AS id FROM vault_key
       UNION SELECT split_part(value, ':', 1) FROM installation WHERE name = 'root_secret'`,
    )
  ).map(({ id }) => id)

async function expectRotated(old: string): Promise<void> {
  const [key, ...others] = await readMasterKeys(file)
  expect(others).toEqual([])
  expect(await idsInUse()).toEqual([key.id])
  expect((await readFile(file, 'utf8')).includes(old.trim())).toBe(false)
  // The old key opens nothing any more.
  await writeFile(join(folder, 'old.key'), old)
  await expect(start(ringOf(join(folder, 'old.key')), warm)).rejects.toThrow('sealed with the master key')
  await payInFreshProcess()
  await payEverywhere(warm)
}

test('no payment fails at any point of a change, in any process', async () => {
  const old = await readFile(file, 'utf8')
  const points: RotationPoint[] = []
  const rotated = await rotate({
    testCrash: async point => {
      points.push(point)
      await payEverywhere(warm)
      await payInFreshProcess()
    },
  })
  // New shops were added in the meantime; those after the change of the root secret were wrapped with the new key at
  // once.
  expect(rotated).toMatchObject({ finished: false, retired: [expect.stringMatching(/^[0-9a-f]{16}$/)] })
  expect(rotated.rewrapped).toBeGreaterThanOrEqual(shopCount)
  expect(points.slice(0, 3)).toEqual(['afterKey', 'afterRoot', 'afterBatch'])
  expect(points.filter(point => point === 'afterBatch').length).toBeGreaterThanOrEqual(4)
  expect(points.at(-1)).toBe('beforeRetire')
  // Started before the change, and has not opened a single data key until now.
  await payEverywhere(cold)
  await expectRotated(old)
  expect((await stat(file)).mode & 0o777).toBe(0o640)
})

test('no payment fails while the key is changed repeatedly under load', async () => {
  let stopped = false
  const statuses: number[] = []
  // Two shops per process: more would only make the changes wait longer for the CPU.
  const clients = [warm, cold].flatMap(at =>
    shops.slice(0, 2).map(async ({ shop, pseudoNumber }) => {
      while (!stopped) {
        const body = cardPayment({ card: { number: pseudoNumber, expiryDate: undefined } })
        statuses.push(
          (await at.call('POST', '/payments', body, { authorization: shop.authorization })).status,
        )
      }
    }),
  )
  for (let round = 0; round < 3; round++) {
    await rotate()
    await payInFreshProcess()
  }
  stopped = true
  await Promise.all(clients)
  expect(statuses.length).toBeGreaterThan(shopCount)
  expect(statuses.filter(status => status !== 200)).toEqual([])
})

describe.each<RotationPoint>(['afterKey', 'afterRoot', 'afterBatch', 'beforeRetire'])(
  'a change of the key that dies %s',
  dying => {
    test('leaves everything readable, and the next run finishes', async () => {
      const old = await readFile(file, 'utf8')
      const died = new Error('killed')
      const testCrash = (point: RotationPoint) => {
        if (point === dying) throw died
      }
      await expect(rotate({ testCrash })).rejects.toBe(died)
      expect(await readMasterKeys(file)).toHaveLength(2)
      await payInFreshProcess()
      await payEverywhere(warm)
      await payEverywhere(cold)
      const [begun] = await readMasterKeys(file)
      expect(await rotate()).toMatchObject({ masterKeyId: begun.id, finished: true })
      await expectRotated(old)
    })
  },
)

test('a leftover draft of the key file does not prevent the next change', async () => {
  await writeFile(`${file}.new`, 'half of')
  const old = await readFile(file, 'utf8')
  await rotate()
  await expectRotated(old)
  await expect(stat(`${file}.new`)).rejects.toThrow('ENOENT')
})

test('a second change at the same time is refused', async () => {
  const first = await openRotationStore(database.url)
  expect(await openRotationStore(database.url)).toBeUndefined()
  await first?.close()
  const later = await openRotationStore(database.url)
  expect(later).toBeDefined()
  await later?.close()
})

test('a wrong file is refused before anything is written', async () => {
  const wrong = join(folder, 'wrong.key')
  await writeFile(wrong, makeKey())
  const before = await readFile(wrong, 'utf8')
  const store = await openRotationStore(database.url)
  try {
    await expect(rotateKeyFile(wrong, { store: store as never })).rejects.toThrow(
      'sealed with the master key',
    )
  } finally {
    await store?.close()
  }
  expect(await readFile(wrong, 'utf8')).toBe(before)
  await payInFreshProcess()
})

test('the first of several given keys wraps everything', async () => {
  const old = await readFile(file, 'utf8')
  const made = makeKey()
  const keys = [toMasterKey(made, 'new'), toMasterKey(old, 'old')] as const
  const both = await start(
    createMasterRing(async () => keys),
    warm,
  )
  const store = await openRotationStore(database.url)
  if (!store) throw new Error('somebody else holds the lock')
  const rotated = await rotateTo(keys, { store })
  await store.close()
  expect(rotated).toMatchObject({ masterKeyId: keys[0].id, retired: [keys[1].id] })
  expect(await idsInUse()).toEqual([keys[0].id])
  await payEverywhere(both)
  await both.stop()
  await writeFile(file, made)
  await expectRotated(old)
})

test('a process that cannot read the new key creates no data key under the old one', async () => {
  const old = await readFile(file, 'utf8')
  const key = toMasterKey(old, 'the old key')
  const stubborn = await start(
    createMasterRing(async () => [key]),
    warm,
  )
  await rotate()
  const { merchantId, apiKey } = await warm.gateway.merchants.create('Too late')
  const authorization = basic(merchantId, apiKey)
  expect((await stubborn.call('POST', '/payments', cardPayment(), { authorization })).status).toBe(500)
  await stubborn.stop()
  expect(await idsInUse()).not.toContain(key.id)
  expect((await cold.call('POST', '/payments', cardPayment(), { authorization })).status).toBe(200)
})

test('a data key that was wrapped before a change and is inserted after it is refused', async () => {
  const [old] = await readMasterKeys(file)
  await rotate()
  const [current] = await readMasterKeys(file)
  const opened = openDatabase(database.url, error => expect(error).toBeUndefined())
  const store = createVaultStore(opened)
  const merchantId = 'mer_of_this_test' as MerchantId
  const bytes = randomBytes(32)
  await store.insertKey(merchantId, wrapKey(merchantId, { version: 1, bytes }, old))
  expect(await store.findKeys(merchantId)).toEqual([])
  await store.insertKey(merchantId, wrapKey(merchantId, { version: 1, bytes }, current))
  expect(await store.findKeys(merchantId)).toMatchObject([{ keyVersion: 1, masterKeyId: current.id }])
  await opened.close()
})

test('a new root secret invalidates the access tokens of the old one and nothing else', async () => {
  const { shop, pseudoNumber } = shops[0] ?? assert.fail('there is no shop')
  const ask = async (at: TestGateway): Promise<{ authorization: string }> => {
    const form = { grant_type: 'client_credentials', client_id: shop.merchantId, client_secret: shop.apiKey }
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const path = '/authorization/oauth/token'
    const { body } = await at.call('POST', path, new URLSearchParams(form).toString(), headers)
    return { authorization: `Bearer ${body.access_token}` }
  }
  const before = await ask(warm)
  const urls = { return: 'https://shop.example/a', cancel: 'https://shop.example/b' }
  const order = { transId: 'root', amount: { value: 1, currency: 'EUR' }, urls }
  const page = (await shop.call('POST', '/payments/sessions', order)).body._links.redirect.href
  const store = (await openRotationStore(database.url)) ?? assert.fail('the lock is held')
  try {
    expect(await rotateRoot(ringOf(file), { stores: [store] })).toBe(2)
    expect(await rotateRoot(ringOf(file), { stores: [store] })).toBe(3)
    // The master key rewraps all of them.
    await rotateKeyFile(file, { store })
  } finally {
    await store.close()
  }
  for (const at of [warm, cold]) {
    const status = async () => (await at.call('GET', '/test/clock', undefined, before)).status
    await expect.poll(status, { timeout: 30_000, interval: 500 }).toBe(401)
    expect((await at.call('GET', '/test/clock', undefined, await ask(at))).status).toBe(200)
  }
  expect((await fetch(page)).status).toBe(200)
  const paid = await shop.create('CARD', { card: { number: pseudoNumber, expiryDate: '203012' } })
  expect(paid.status).toBe(200)
})
