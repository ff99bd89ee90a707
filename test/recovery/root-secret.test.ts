/**
 * A thief once had the master key and the database, and so the root secret. After `keys rotate --root`, nothing that
 * the thief can forge is accepted, and nothing that was stored since can be read or guessed with the old secret.
 * Merchants notice only that their access tokens are invalid.
 */
import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeFault } from '#commands/faults.ts'
import { hashBoundKey, writeApiKey } from '#domain/api-key.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import { createAccessTokens } from '#http/authentication/access-token.ts'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import { rotateRoot } from '#operations/merchants/rotate-root.ts'
import { openRotationStore } from '#storage/vault/key-rotation.ts'
import { basic, masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { fingerprint, toHeldId } from '#vault/fingerprints.ts'
import { isSigned } from '#vault/inventory-signature.ts'
import { deriveAll } from '#vault/key-ring.ts'
import { toMasterKey, toRing } from '#vault/master-key.ts'
import { createPageTokens } from '#vault/page-token.ts'
import { addRoot, unwrapRoots, wrapRoots } from '#vault/root-secrets.ts'

type Derived = ReturnType<typeof deriveAll>

const known = '4111111111111111'
const later = '5555555555554444'
const urls = { return: 'https://shop.example/a', cancel: 'https://shop.example/b' }
const order = (transId: string) => ({ transId, amount: { value: 500, currency: 'EUR' }, urls })

let gateway: TestGateway
let neighbour: TestGateway
let shop: Shop
let stolen: Derived
let current: Derived
/** The merchant's credentials and data from before the change. */
let before: { page: string; payId: string; pseudoNumber: string; secret: Buffer; accessToken: string }

const ring = () => toRing(toMasterKey(masterKeyOf(gateway.databaseUrl), 'the test key'))
const withStore = async <T>(work: (store: NonNullable<Store>) => Promise<T>): Promise<T> => {
  const store = (await openRotationStore(gateway.databaseUrl)) ?? assert.fail('the lock is held')
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
type Store = Awaited<ReturnType<typeof openRotationStore>>
const readDerived = () =>
  withStore(async store => deriveAll(await unwrapRoots(await store.readRoot(), ring())))
const readSealed = async (): Promise<Buffer> => {
  const rows = await queryRows<{ sealed: Buffer }>(
    gateway.databaseUrl,
    'SELECT sealed FROM webhook_secret WHERE merchant_id = $1',
    [shop.merchantId],
  )
  return rows[0]?.sealed ?? assert.fail('there is no webhook secret')
}
const owner = () => ({ merchantId: shop.merchantId as MerchantId })
const pay = (number: string, more = {}, headers = {}) =>
  shop.create('CARD', { card: { number }, ...more }, headers)

beforeAll(async () => {
  gateway = await startTestGateway()
  neighbour = await startTestGateway({ beside: gateway })
  shop = await openShop(gateway)
  stolen = await readDerived()
  const { body } = await pay(known, { transId: 'known' }, { 'idempotency-key': 'before' })
  const record = await shop.read(body.payId)
  const session = await shop.call('POST', '/payments/sessions', order('before'))
  const form = { grant_type: 'client_credentials', client_id: shop.merchantId, client_secret: shop.apiKey }
  const token = await shop.call('POST', '/authorization/oauth/token', new URLSearchParams(form).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
  })
  before = {
    page: session.body._links.redirect.href,
    payId: session.body.payId,
    pseudoNumber: record.paymentMethods.card.pseudoCardNumber,
    secret: openWebhookSecret(stolen.webhookSecrets, owner(), await readSealed()),
    accessToken: token.body.access_token,
  }
  // Addresses that the old key seals within a minute after the change are accepted: that minute ends now.
  const nowMs = () => Date.now() - 60_000
  expect(await withStore(store => rotateRoot(ring(), { stores: [store], nowMs }))).toBe(2)
  current = await readDerived()
})
afterAll(async () => {
  await neighbour.stop()
  await gateway.stop()
})

test('API keys keep working at once, in every process', async () => {
  for (const at of [gateway, neighbour]) {
    const headers = { authorization: shop.authorization }
    expect((await at.call('GET', '/payments', undefined, headers)).status).toBe(200)
  }
  const bare = await fetch(`${neighbour.url}/api/v2/customers?page=1`, {
    headers: { 'x-api-key': shop.apiKey },
  })
  expect(bare.status).toBe(200)
})

test('an API key that is created afterwards works, also after another change', async () => {
  const made = await neighbour.gateway.merchants.createKey(shop.merchantId, {
    ...{ name: 'later', scopes: ['read'], allowFrom: [] },
  })
  const headers = { authorization: basic(shop.merchantId, made?.apiKey ?? '') }
  const status = async () => (await gateway.call('GET', '/payments', undefined, headers)).status
  expect(await status()).toBe(200)
  await withStore(store => rotateRoot(ring(), { stores: [store], nowMs: () => Date.now() - 60_000 }))
  current = await readDerived()
  expect(await status()).toBe(200)
  expect((await neighbour.call('GET', '/payments', undefined, headers)).status).toBe(200)
})

test('a known card keeps its pseudo number, and the answer under an idempotency key is replayed', async () => {
  const again = await pay(known, { transId: 'known' }, { 'idempotency-key': 'before' })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const next = await pay(known)
  expect((await shop.read(next.body.payId)).paymentMethods.card.pseudoCardNumber).toBe(before.pseudoNumber)
  const reused = await pay(known, { transId: 'other' }, { 'idempotency-key': 'before' })
  expect(reused.status).toBe(422)
})

test('the page of an earlier payment still opens', async () => {
  expect((await fetch(before.page)).status).toBe(200)
})

test('access tokens: neither old nor forged ones are accepted', async () => {
  const forger = createAccessTokens({
    ...{ key: () => stolen.accessToken, issuer: 'tollgate', audience: 'tollgate test', nowMs: Date.now },
  })
  const merchant = { merchantId: shop.merchantId, clockOffsetMs: 0 }
  const { accessToken } = await forger.issue(merchant as Parameters<typeof forger.issue>[0])
  for (const at of [gateway, neighbour]) {
    for (const used of [accessToken, before.accessToken]) {
      const headers = { authorization: `Bearer ${used}` }
      expect((await at.call('GET', '/payments', undefined, headers)).status).toBe(401)
    }
  }
})

test('API keys: a row with a hash of the old pepper is never accepted, whichever pepper it claims', async () => {
  for (const pepper of [1, 2, 3, 4]) {
    const keyId = randomBytes(16).toString('hex')
    const apiKey = writeApiKey('test', keyId, randomBytes(32).toString('base64url'))
    await queryRows(
      gateway.databaseUrl,
      'INSERT INTO api_key (merchant_id, key_id, key_hash, bound, pepper) VALUES ($1, $2, $3, true, $4)',
      [shop.merchantId, keyId, hashBoundKey(stolen.peppers, { merchantId: shop.merchantId, apiKey }), pepper],
    )
    const headers = { authorization: basic(shop.merchantId, apiKey) }
    expect((await gateway.call('GET', '/payments', undefined, headers)).status, `pepper ${pepper}`).toBe(401)
  }
})

test('webhook secrets: resealed, and unchanged for the merchant', async () => {
  const sealed = await readSealed()
  expect(() => openWebhookSecret(stolen.webhookSecrets, owner(), sealed)).toThrow()
  expect(openWebhookSecret(current.webhookSecrets, owner(), sealed)).toEqual(before.secret)
})

test('page addresses: a forged one opens no later payment', async () => {
  const { body } = await shop.call('POST', '/payments/sessions', order('after'))
  const forge = createPageTokens(() => stolen.pageTokens)
  const subject = { merchantId: shop.merchantId as MerchantId, payId: body.payId as PayId }
  expect((await fetch(`${gateway.url}/pay/${forge.issue(subject)}`)).status).toBe(404)
  expect((await fetch(body._links.redirect.href)).status).toBe(200)
})

test('page addresses: a forged one opens no earlier payment if only its payId is known', async () => {
  const forge = createPageTokens(() => stolen.pageTokens)
  const subject = { merchantId: shop.merchantId as MerchantId, payId: before.payId as PayId }
  const open = async (more: object) =>
    (await fetch(`${gateway.url}/pay/${forge.issue({ ...subject, ...more })}`)).status
  expect(await open({})).toBe(404)
  expect(await open({ first: before.payId })).toBe(404)
  // A thief who has the payment's row too knows as much as its merchant.
  expect(await open({ first: (await shop.read(before.payId)).operations[0].xId })).toBe(200)
})

test('fingerprints: a later card is stored under a fingerprint that the old key cannot compute', async () => {
  const { body } = await pay(later)
  const rows = await queryRows<{ id: string }>(
    gateway.databaseUrl,
    `SELECT replace(card_id::text, '-', '') AS id FROM payment WHERE merchant_id = $1 AND pay_id = $2`,
    [shop.merchantId, body.payId],
  )
  const idsOf = ({ fingerprints }: Derived) =>
    fingerprint(fingerprints, `${shop.merchantId}\0${later}`).map(toHeldId)
  expect(idsOf(stolen)).not.toContain(rows[0]?.id)
  expect(idsOf(current)[0]).toBe(rows[0]?.id)
})

test('the list of files that pages load is signed with the newest root secret', async () => {
  const served = await fetch(`${neighbour.url}/.well-known/payment-page-inventory.json`)
  const { signature, ...inventory } = (await served.json()) as { signature: { value: string } }
  const text = JSON.stringify(inventory)
  expect(isSigned(current.pageInventory, text, signature.value)).toBe(true)
  expect(isSigned(stolen.pageInventory, text, signature.value)).toBe(false)
})

test('there is room for a hundred root secrets', async () => {
  const [store, master] = [await openRotationStore(gateway.databaseUrl), await ring().newest()]
  assert(store, 'the lock is held')
  try {
    const made = await unwrapRoots(await store.readRoot(), ring())
    const roots = Array.from({ length: 99 - made.length }).reduce<typeof made>(
      known => addRoot(known, Date.now()),
      made,
    )
    await store.replaceRoot(await store.readRoot(), wrapRoots(master, roots))
    expect(await rotateRoot(ring(), { stores: [store] })).toBe(100)
    const refusal: unknown = await rotateRoot(ring(), { stores: [store] }).catch(error => error)
    // As the person at the terminal reads it: not as an unexpected error.
    expect(describeFault(refusal, false)).toBe(
      'tollgate: there are 100 root secrets already, the most that an installation keeps',
    )
  } finally {
    await store.close()
  }
})
