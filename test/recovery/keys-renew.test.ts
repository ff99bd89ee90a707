/** Data keys are renewed and cards resealed while shops keep paying with pseudo numbers, which must stay readable. */
import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { openDatabase } from '#storage/database.ts'
import { installationOwner, openRotationStore } from '#storage/vault/key-rotation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { createMasterRing, toMasterKey } from '#vault/master-key.ts'
import { type RenewalDeps, renewDataKeys } from '#vault/renew-data-keys.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

const masterKey = createMasterRing(async () => [toMasterKey(masterKeyText, 'the key of this test')])
const masterKeyText = randomBytes(32).toString('base64')
const numbers = ['4111111111111111', '5555555555554444', '378282246310005']

let database: TestDatabase
let warm: TestGateway
let cold: TestGateway
let shops: { shop: Shop; pseudoNumbers: string[]; pseudoAccount: string }[]
beforeAll(async () => {
  database = await createTestDatabase()
  warm = await startTestGateway({ databaseUrl: database.url, masterKey })
  cold = await startTestGateway({ databaseUrl: database.url, masterKey, beside: warm })
  shops = await Promise.all([0, 1, 2].map(openPaidShop))
})
afterAll(async () => {
  await cold.stop()
  await warm.stop()
  await database.drop()
})

async function openPaidShop() {
  const shop = await openShop(warm)
  const pseudoNumbers: string[] = []
  for (const number of numbers) {
    const { body } = await shop.create('CARD', { card: { number } })
    pseudoNumbers.push((await shop.read(body.payId)).paymentMethods.card.pseudoCardNumber)
  }
  const { body } = await shop.create('DIRECTDEBIT')
  const { account } = (await shop.read(body.payId)).paymentMethods.directDebit
  return { shop, pseudoNumbers, pseudoAccount: account.pseudoBankAccountNumber as string }
}

let debits = 0

const debitBy = (at: TestGateway, { authorization }: Shop, number: string) =>
  at.call(
    'POST',
    '/payments',
    {
      transId: `debit-${++debits}`,
      amount: { value: 1000, currency: 'EUR' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
      },
    },
    { authorization },
  )

const payBy = (at: TestGateway, { authorization }: Shop, number: string) =>
  at.call('POST', '/payments', cardPayment({ card: { number, expiryDate: undefined } }), { authorization })

async function payEverywhere(at: TestGateway): Promise<void> {
  for (const { shop, pseudoNumbers, pseudoAccount } of shops) {
    for (const number of pseudoNumbers) expect((await payBy(at, shop, number)).body.status).toBe('OK')
    expect((await debitBy(at, shop, pseudoAccount)).body.status).toBe('OK')
  }
}

async function renew(more: Partial<RenewalDeps> = {}) {
  const store = await openRotationStore(database.url)
  if (!store) throw new Error('somebody else holds the lock')
  try {
    return await renewDataKeys(masterKey, { store, batch: 2, ...more })
  } finally {
    await store.close()
  }
}

const versions = async () =>
  (
    await queryRows<{ version: number }>(
      database.url,
      'SELECT key_version AS version FROM vault_card UNION SELECT key_version FROM vault_account ORDER BY 1',
    )
  ).map(({ version }) => version)

test('no payment fails, and every card is sealed with the new key of its merchant', async () => {
  expect(await versions()).toEqual([1])
  let stopped = false
  const statuses: number[] = []
  const clients = [warm, cold].flatMap(at =>
    shops.map(async ({ shop, pseudoNumbers }) => {
      for (let count = 0; !stopped; count++) {
        const number = pseudoNumbers[count % pseudoNumbers.length] ?? ''
        statuses.push((await payBy(at, shop, number)).status)
      }
    }),
  )
  const renewed = await renew()
  stopped = true
  await Promise.all(clients)
  expect(renewed).toEqual({ dataKeys: 3, cards: 9, accounts: 3 })
  expect(await versions()).toEqual([2])
  expect(statuses.length).toBeGreaterThan(0)
  expect(statuses.filter(status => status !== 200)).toEqual([])
  await payEverywhere(warm)
  await payEverywhere(cold)
})

test('a run that is stopped in the middle leaves everything readable, and the next run continues', async () => {
  const died = new Error('killed')
  const onProgress = (line: string) => {
    if (line === '4 cards sealed anew') throw died
  }
  await expect(renew({ onProgress })).rejects.toBe(died)
  expect(await versions()).toEqual([2, 3])
  await payEverywhere(warm)
  await payEverywhere(cold)
  expect(await renew()).toEqual({ dataKeys: 3, cards: 9, accounts: 3 })
  expect(await versions()).toEqual([4])
  await payEverywhere(cold)
})

test("an operator's secret for one-time codes is resealed too", async () => {
  const opened = openDatabase(database.url, error => expect(error).toBeUndefined())
  const owner = installationOwner as MerchantId
  const vaultAt = () => createRecordVault(createKeyRing(masterKey, createVaultStore(opened)))
  const id = randomBytes(16).toString('hex')
  const before = await vaultAt().seal('operator totp', owner, id, Buffer.from('secret'))
  await queryRows(
    database.url,
    `INSERT INTO operator (operator_id, email, role, totp_key, totp_sealed) VALUES ($1, 'a@b.example', 'owner', $2, $3)`,
    [id, before.keyVersion, before.sealed],
  )
  expect(await renew()).toMatchObject({ records: 1 })
  const [after] = await queryRows<{ keyVersion: number; sealed: Buffer }>(
    database.url,
    'SELECT totp_key AS "keyVersion", totp_sealed AS sealed FROM operator',
  )
  expect(after?.keyVersion).toBe(before.keyVersion + 1)
  const record = {
    recordId: id,
    keyVersion: after?.keyVersion ?? 0,
    sealed: after?.sealed ?? Buffer.alloc(0),
  }
  expect((await vaultAt().open('operator totp', owner, record)).toString()).toBe('secret')
  await queryRows(database.url, 'DELETE FROM operator')
  await queryRows(database.url, 'DELETE FROM vault_key WHERE merchant_id = $1', [owner])
  await opened.close()
})

test('a destroyed card stays destroyed', async () => {
  await queryRows(
    database.url,
    `UPDATE vault_card SET sealed = NULL, destroyed_at = now() WHERE merchant_id = $1 AND pseudo_number = $2`,
    [shops[0]?.shop.merchantId, shops[0]?.pseudoNumbers[0]],
  )
  expect(await renew()).toEqual({ dataKeys: 3, cards: 8, accounts: 3 })
  const [first] = shops
  const gone = await payBy(warm, first?.shop as Shop, first?.pseudoNumbers[0] ?? '')
  expect(gone.status).toBe(400)
})

/** A renewal during which `between` runs after a batch of cards was read and before it is written. */
async function renewAround(between: () => Promise<void>) {
  const store = await openRotationStore(database.url)
  if (!store) throw new Error('somebody else holds the lock')
  let isFirst = true
  const reseal: typeof store.reseal = async (holding, changes) => {
    if (isFirst) await between()
    isFirst = false
    return store.reseal(holding, changes)
  }
  try {
    return await renewDataKeys(masterKey, { store: { ...store, reseal }, batch: 500 })
  } finally {
    await store.close()
  }
}

test('a card that is destroyed while it is being resealed stays destroyed', async () => {
  const { shop, pseudoNumbers } = shops[0] ?? assert.fail('there is no shop')
  const number = pseudoNumbers[1] ?? ''
  const renewed = await renewAround(async () => {
    await queryRows(
      database.url,
      `UPDATE vault_card SET sealed = NULL, destroyed_at = now() WHERE merchant_id = $1 AND pseudo_number = $2`,
      [shop.merchantId, number],
    )
  })
  expect(renewed).toEqual({ dataKeys: 3, cards: 7, accounts: 3 })
  expect((await payBy(cold, shop, number)).status).toBe(400)
})

test('a card that is stored during a renewal can be used after it, in every process', async () => {
  const { shop } = shops[1] ?? assert.fail('there is no shop')
  let number = ''
  await renewAround(async () => {
    const { body } = await shop.create('CARD', { card: { number: '4539578763621486' } })
    number = (await shop.read(body.payId)).paymentMethods.card.pseudoCardNumber
  })
  const fresh = await startTestGateway({ databaseUrl: database.url, masterKey, beside: warm })
  try {
    for (const at of [warm, cold, fresh]) expect((await payBy(at, shop, number)).body.status).toBe('OK')
    // The next renewal reseals this card too.
    expect(await renew()).toEqual({ dataKeys: 3, cards: 8, accounts: 3 })
    for (const at of [warm, cold, fresh]) expect((await payBy(at, shop, number)).body.status).toBe('OK')
  } finally {
    await fresh.stop()
  }
})

test('a process that has cached the older key uses the newer one after a minute', async () => {
  const merchantId = shops[1]?.shop.merchantId as MerchantId
  const opened = openDatabase(database.url, error => expect(error).toBeUndefined())
  let now = 0
  const ring = createKeyRing(masterKey, createVaultStore(opened), () => now)
  const before = (await ring.current(merchantId)).version
  await renew()
  now = 59_999
  expect((await ring.current(merchantId)).version).toBe(before)
  now = 60_000
  expect((await ring.current(merchantId)).version).toBe(before + 1)
  // A card that another process sealed with a newer key is opened at once.
  await renew()
  expect((await ring.byVersion(merchantId, before + 2)).version).toBe(before + 2)
  expect((await ring.byVersion(merchantId, 1)).version).toBe(1)
  await expect(ring.byVersion(merchantId, before + 3)).rejects.toThrow('no data key of version')
  await opened.close()
})
