/** API keys with scopes, address lists and expiry; their access tokens; their entries in audit trail and log. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes as allScopes, hashApiKey, type Scope } from '#domain/api-key.ts'
import { endpoints } from '#endpoints/index.ts'
import { expectWaiting } from '#test/support/database/database.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let now = Date.now()
const clock = { nowMs: () => now, waitMs: async () => undefined }
beforeAll(async () => {
  gateway = await startTestGateway({ clock, requestsPerSecond: 1_000_000 })
})
afterAll(() => gateway.stop())

const makeKey = async (
  rights: { scopes?: readonly Scope[]; allowFrom?: string[]; expiresAt?: Date } = {},
) => {
  const made = await gateway.gateway.merchants.createKey(gateway.merchantId, {
    name: 'Test',
    scopes: allScopes,
    allowFrom: [],
    ...rights,
  })
  if (!made) throw new Error('no key')
  return made
}

const using = (apiKey: string) => ({ authorization: basic(gateway.merchantId, apiKey) })

const askToken = async (apiKey: string, at: TestGateway = gateway) => {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: gateway.merchantId,
    client_secret: apiKey,
  })
  return at.call('POST', '/authorization/oauth/token', form.toString(), {
    'content-type': 'application/x-www-form-urlencoded',
  })
}

const path = `/payments/getByPayId/${'0'.repeat(32)}`
const refund = { transId: 'r', amount: { value: 1, currency: 'EUR' } }

describe('scopes', () => {
  test('every endpoint names one: GET reads, what is under /test tests, and only the token endpoint needs none', () => {
    for (const { verb, path, scope, operationId } of endpoints) {
      const expected = path.startsWith('/test/') ? 'test' : verb === 'GET' ? 'read' : undefined
      if (expected) expect({ operationId, scope }).toEqual({ operationId, scope: expected })
      expect(scope === 'none').toBe(path === '/authorization/oauth/token')
    }
  })

  test('403 problem details that name the missing scope, for the key and for its access token', async () => {
    const { apiKey } = await makeKey({ scopes: ['payments'] })
    const token = `Bearer ${(await askToken(apiKey)).body.access_token}`
    for (const headers of [using(apiKey), { authorization: token }]) {
      const answer = await gateway.call('GET', path, undefined, headers)
      expect(answer).toMatchObject({ status: 403, body: { type: 'urn:tollgate:problem:forbidden' } })
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(answer.body.detail).toMatch(/lacks the scope read\b/)
      expect((await gateway.call('POST', '/payments', cardPayment(), headers)).status).toBe(200)
    }
  })

  test.each<[scope: Scope, verb: string, path: string, body?: object]>([
    ['read', 'GET', '/customers?page=1'],
    ['read', 'GET', '/events'],
    ['payments', 'POST', '/payments', {}],
    ['payments', 'POST', `/payments/${'0'.repeat(32)}/captures`, refund],
    ['payments', 'PATCH', `/payments/${'0'.repeat(32)}`, {}],
    ['payments', 'DELETE', `/customers/${'0'.repeat(32)}`],
    ['payments', 'POST', '/services/binLookup', {}],
    ['payments', 'POST', `/events/${'0'.repeat(32)}/replays`],
    ['refunds', 'POST', `/payments/${'0'.repeat(32)}/refunds`, refund],
    ['payouts', 'POST', '/payments/refunds', {}],
    ['test', 'GET', '/test/clock'],
    ['test', 'POST', '/test/faults', {}],
  ])('%s opens %s %s and nothing else does', async (scope, verb, path, body) => {
    const { apiKey: own } = await makeKey({ scopes: [scope] })
    const { apiKey: others } = await makeKey({ scopes: allScopes.filter(other => other !== scope) })
    expect((await gateway.call(verb, path, body, using(own))).status).not.toBe(403)
    const refused = await gateway.call(verb, path, body, using(others))
    expect(refused).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining(`the scope ${scope}`) },
    })
  })

  test('a key that may pay makes intents and tokens for them; the device then needs no other scope', async () => {
    const { apiKey } = await makeKey({ scopes: ['payments'], allowFrom: ['127.0.0.0/8', '::1'] })
    const { body: intent } = await gateway.call(
      'POST',
      '/payment-intents',
      { amount: { value: 1000, currency: 'EUR' } },
      using(apiKey),
    )
    const askIntentToken = (key: string) => {
      const form = new URLSearchParams({
        grant_type: 'payment_intents',
        payment_intent_id: intent.paymentIntentId ?? intent.id,
        client_id: gateway.merchantId,
        client_secret: key,
      })
      return gateway.call('POST', '/authorization/oauth/token', form.toString(), {
        'content-type': 'application/x-www-form-urlencoded',
      })
    }
    expect((await askIntentToken(apiKey)).status).toBe(200)
    const { apiKey: others } = await makeKey({ scopes: allScopes.filter(other => other !== 'payments') })
    expect(await askIntentToken(others)).toMatchObject({
      status: 403,
      body: {
        error: 'access_denied',
        error_description: expect.stringContaining('lacks the scope payments'),
      },
    })
  })
})

describe('keys that are bound to addresses', () => {
  test.each<[name: string, allowFrom: string[], status: number]>([
    ['the network', ['127.0.0.0/8'], 404],
    ['the address', ['10.0.0.1', '127.0.0.1'], 404],
    ['another network', ['10.0.0.0/8', '2001:db8::/32'], 403],
  ])('a key bound to %s is accepted or refused', async (_, allowFrom, status) => {
    const { apiKey } = await makeKey({ allowFrom })
    expect((await gateway.call('GET', path, undefined, using(apiKey))).status).toBe(status)
    const bare = await fetch(`${gateway.url}/api/v2/customers/${'0'.repeat(32)}`, {
      headers: { 'x-api-key': apiKey },
    })
    expect(bare.status).toBe(status)
    expect((await askToken(apiKey)).status).toBe(status === 403 ? 403 : 200)
  })
})

describe('the end of a key', () => {
  test('401 after its expiry, in real time, for the key and its tokens', async () => {
    const { apiKey } = await makeKey({ expiresAt: new Date(Date.now() + 3_600_000) })
    const { body } = await askToken(apiKey)
    const bearer = { authorization: `Bearer ${body.access_token}` }
    expect((await gateway.call('GET', path, undefined, bearer)).status).toBe(404)
    await queryRows(gateway.databaseUrl, 'UPDATE api_key SET expires_at = now() WHERE key_id = $1', [
      apiKey.slice(8, 40),
    ])
    now += 5_000
    expect((await gateway.call('GET', path, undefined, bearer)).status).toBe(401)
    expect((await gateway.call('GET', path, undefined, using(apiKey))).status).toBe(401)
    expect((await askToken(apiKey)).status).toBe(401)
  })

  test('a token is said to live no longer than its key', async () => {
    for (const [keySeconds, tokenSeconds] of [
      [600, 600],
      [7_200, 3_600],
    ] as const) {
      now = Date.now()
      const { apiKey } = await makeKey({ expiresAt: new Date(now + keySeconds * 1_000) })
      expect((await askToken(apiKey)).body.expires_in).toBe(tokenSeconds)
    }
  })

  test('401 after it was revoked: at once here, within 5 s in another process, also for its tokens', async () => {
    const other = await startTestGateway({ beside: gateway, clock })
    try {
      const { apiKey, keyId } = await makeKey()
      const bearer = { authorization: `Bearer ${(await askToken(apiKey)).body.access_token}` }
      for (const at of [gateway, other])
        expect((await at.call('GET', path, undefined, bearer)).status).toBe(404)
      expect(await gateway.gateway.merchants.revokeKey(keyId)).toEqual({ merchantId: gateway.merchantId })
      expect((await gateway.call('GET', path, undefined, bearer)).status).toBe(401)
      expect((await gateway.call('GET', path, undefined, using(apiKey))).status).toBe(401)
      now += 5_000
      expect((await other.call('GET', path, undefined, bearer)).status).toBe(401)
      expect(await gateway.gateway.merchants.revokeKey(keyId)).toBeUndefined()
      expect(await gateway.gateway.merchants.listKeys(gateway.merchantId)).not.toContainEqual(
        expect.objectContaining({ keyId }),
      )
    } finally {
      await other.stop()
    }
  })

  test('a rotation replaces the keys without a name and leaves the others alone', async () => {
    const { merchants } = gateway.gateway
    const { merchantId, apiKey } = await merchants.create('Rotator')
    const rights = { name: 'Kept', scopes: allScopes, allowFrom: [] }
    const named = await merchants.createKey(merchantId, rights)
    const ask = async (key = '') =>
      (await gateway.call('GET', path, undefined, { authorization: basic(merchantId, key) })).status
    const rotated = await merchants.rotateKey(merchantId, 0)
    expect([await ask(apiKey), await ask(named?.apiKey), await ask(rotated)]).toEqual([401, 404, 404])
  })

  test('of two rotations at the same moment the later one ends what the other has made', async () => {
    const { merchants } = gateway.gateway
    const { merchantId } = await merchants.create('Hasty')
    const wish = { merchantId, url: 'http://localhost:9/hook', kind: 'ENHANCED' } as const
    const { endpointId = '' } = (await merchants.endpoints.add(wish)) ?? {}
    const holder = new pg.Client(gateway.databaseUrl)
    await holder.connect()
    for (const [table, rotate] of [
      ['api_key', () => merchants.rotateKey(merchantId, 24)],
      ['webhook_secret', () => merchants.rotateWebhookSecret(merchantId, 24)],
      ['webhook_endpoint_secret', () => merchants.endpoints.rotateSecret(endpointId, 24)],
    ] as const) {
      await holder.query('BEGIN')
      await holder.query(`SELECT FROM ${table} WHERE merchant_id = $1 FOR UPDATE`, [merchantId])
      const rotations = [rotate(), rotate()]
      await expectWaiting(gateway.databaseUrl, 2)
      await holder.query('COMMIT')
      await Promise.all(rotations)
      const kept = await queryRows(
        gateway.databaseUrl,
        `SELECT count(*)::integer AS made, count(nullif(coalesce(expires_at, 'infinity') = 'infinity', false))::integer AS endless
         FROM ${table} WHERE merchant_id = $1`,
        [merchantId],
      )
      expect({ table, kept }).toEqual({ table, kept: [{ made: 3, endless: 1 }] })
    }
    await holder.end()
  })
})

describe('the text of a key and its stored hash', () => {
  test('a key carries its id; its row opens nothing when it is copied to another merchant', async () => {
    const { apiKey, keyId } = await makeKey()
    expect(apiKey).toContain(keyId)
    const { merchantId } = await gateway.gateway.merchants.create('Thief')
    await queryRows(
      gateway.databaseUrl,
      `WITH own AS MATERIALIZED (SELECT key_id, key_hash, bound FROM api_key WHERE key_id = $2)
       INSERT INTO api_key (merchant_id, key_id, key_hash, bound) SELECT $1, key_id, key_hash, bound FROM own`,
      [merchantId, keyId],
    )
    const stolen = { authorization: basic(merchantId, apiKey) }
    expect((await gateway.call('GET', path, undefined, stolen)).status).toBe(401)
    const bare = await fetch(`${gateway.url}/api/v2/customers?page=1`, { headers: { 'x-api-key': apiKey } })
    expect(bare.status).toBe(200)
  })

  test('keys of an earlier release stay valid, by Basic and bare', async () => {
    const apiKey = `tg_test_${'o'.repeat(43)}`
    const { keys } = await readPepper()
    await queryRows(
      gateway.databaseUrl,
      'INSERT INTO api_key (merchant_id, key_id, key_hash) VALUES ($1, gen_random_uuid(), $2)',
      [gateway.merchantId, hashApiKey(keys.peppers, apiKey)],
    )
    now += 5_000
    expect((await gateway.call('GET', path, undefined, using(apiKey))).status).toBe(404)
    const bare = await fetch(`${gateway.url}/api/v2/customers?page=1`, { headers: { 'x-api-key': apiKey } })
    expect(bare.status).toBe(200)
  })
})

async function readPepper() {
  const { openDatabase } = await import('#storage/database.ts')
  const { createInstallation } = await import('#storage/installation.ts')
  const { openDerivedKeys } = await import('#vault/key-ring.ts')
  const { toMasterKey } = await import('#vault/master-key.ts')
  const { masterKeyOf } = await import('#test/support/gateway.ts')
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  try {
    const master = toMasterKey(masterKeyOf(gateway.databaseUrl), 'the test key')
    return { keys: await openDerivedKeys(master, createInstallation(database)) }
  } finally {
    await database.close()
  }
}

describe('records about the use of a key', () => {
  test('the last use and the address; the first use from an address, refused or not, and failed logins are audited', async () => {
    const own = await startTestGateway({ beside: gateway, clock })
    const { apiKey, keyId } = await makeKey()
    const { apiKey: elsewhere, keyId: refusedId } = await makeKey({ allowFrom: ['10.0.0.0/8'] })
    for (const key of [apiKey, apiKey, elsewhere])
      await own.call('GET', path, undefined, { authorization: basic(gateway.merchantId, key) })
    for (let at = 0; at < 3; at += 1)
      await own.call('GET', path, undefined, { authorization: basic('mer_nobody', 'wrong') })
    await own.gateway.close()
    const listed = await gateway.gateway.merchants.listKeys(gateway.merchantId)
    expect(listed?.find(key => key.keyId === keyId)).toMatchObject({
      lastUsedAt: new Date(now),
      lastUsedFrom: '127.0.0.1',
    })
    const rows = await queryRows(
      gateway.databaseUrl,
      'SELECT actor, came_from, act, object, after FROM audit WHERE actor = ANY ($1) ORDER BY number',
      [[`key ${keyId}`, `key ${refusedId}`, 'mer_nobody']],
    )
    const used = { act: 'key.used-from-new-address', came_from: '127.0.0.1', object: gateway.merchantId }
    expect(rows).toEqual([
      { actor: `key ${keyId}`, ...used, after: { allowed: true } },
      { actor: `key ${refusedId}`, ...used, after: { allowed: false } },
      {
        actor: 'mer_nobody',
        act: 'login.failed',
        came_from: '127.0.0.1',
        object: 'mer_nobody',
        after: { count: 3, minute: expect.any(String) },
      },
    ])
  })

  test('the log holds the address of every request and, on 401, the claimed merchant', async () => {
    gateway.logged.length = 0
    await gateway.call('GET', path)
    await gateway.call('GET', path, undefined, { authorization: basic('mer_claimed', 'wrong') })
    await gateway.call(
      'POST',
      '/authorization/oauth/token',
      'grant_type=client_credentials&client_id=mer_form&client_secret=x',
      { 'content-type': 'application/x-www-form-urlencoded', authorization: '' },
    )
    const lines = gateway.logged.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    expect(
      lines.map(({ address, status, claimedMerchantId }) => [address, status, claimedMerchantId]),
    ).toEqual([
      ['127.0.0.1', 404, undefined],
      ['127.0.0.1', 401, 'mer_claimed'],
      ['127.0.0.1', 401, 'mer_form'],
    ])
  })
})

test('services that decrypt stored numbers are audited, and numbers that came with the request are not', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const record = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
  const { pseudoCardNumber } = record.body.paymentMethods.card
  const cards = [{ number: pseudoCardNumber }, { number: '5555555555554444' }]
  expect(await gateway.call('POST', '/services/accountUpdater', { transId: 'u-1', cards })).toMatchObject({
    status: 200,
  })
  for (const number of [pseudoCardNumber, '5555555555554444']) {
    const token = await gateway.call('POST', '/services/tokenService', { type: 'CARD', number })
    expect(token.status).toBe(200)
  }
  const rows = await queryRows(
    gateway.databaseUrl,
    "SELECT actor, came_from, after FROM audit WHERE act = 'cards.opened' ORDER BY number",
  )
  const opened = { actor: gateway.merchantId, came_from: '127.0.0.1' }
  expect(rows).toEqual([
    { ...opened, after: { purpose: 'account updater', cards: 1 } },
    { ...opened, after: { purpose: 'tokenization', cards: 1 } },
  ])
})
