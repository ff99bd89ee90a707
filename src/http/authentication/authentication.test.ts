import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answer } from '#http/endpoint.ts'
import { basic, createToy, goodBody, shop, type Toy, toyMerchant } from '#test/support/toy-http.ts'

let toy: Toy
beforeAll(async () => {
  toy = await createToy()
})
beforeEach(async () => {
  // Long enough for all counts and caches to expire.
  await toy.clock.advance(120_000)
  toy.credentials.put(toyMerchant('shop'), 'shop-key')
  toy.credentials.finds = 0
})

const get = (url: string, headers: Record<string, string> = {}) =>
  toy.app.inject({ method: 'GET', url: `/api/v2${url}`, headers })
const bearer = async (intentId?: string, merchant = toyMerchant('shop')) => {
  const { accessToken } = await toy.accessTokens.issue(merchant, intentId)
  return { authorization: `Bearer ${accessToken}` }
}
const confirm = (id: string, headers: Record<string, string>) =>
  toy.app.inject({ method: 'POST', url: `/api/v2/intents/${id}/confirm`, headers })

describe('401 for credentials that are missing or wrong', () => {
  test.each<[name: string, headers: Record<string, string>]>([
    ['nothing', {}],
    ['unknown scheme', { authorization: 'Digest x' }],
    ['scheme only', { authorization: 'Basic' }],
    ['no colon', { authorization: `Basic ${Buffer.from('shop').toString('base64')}` }],
    ['no merchant', { authorization: basic('', 'shop-key') }],
    ['wrong key', { authorization: basic('shop', 'wrong') }],
    ['empty key', { authorization: basic('shop', '') }],
    ['unknown merchant', { authorization: basic('nobody', 'shop-key') }],
    ['impossible merchant id', { authorization: basic('a\u0000b', 'shop-key') }],
    ['too long', { authorization: `Basic ${'A'.repeat(5_000)}` }],
    ['broken access token', { authorization: 'Bearer a.b.c' }],
    ['bare key where none is accepted', { 'x-api-key': 'shop-key' }],
  ])('%s', async (_, headers) => {
    const response = await get('/toys/1', headers)
    expect(response.statusCode).toBe(401)
    expect(response.headers['content-type']).toBe('application/problem+json')
    expect(response.headers['www-authenticate']).toMatch(/^Basic realm=.*, Bearer realm=/)
    expect(response.json()).toMatchObject({ status: 401, type: 'urn:tollgate:problem:unauthenticated' })
  })

  test('the body is not read first', async () => {
    const response = await toy.app.inject({
      method: 'POST',
      url: '/api/v2/payment',
      payload: '{',
      headers: { 'content-type': 'text/plain' },
    })
    expect(response.statusCode).toBe(401)
  })

  test('an access token stops working when it expires', async () => {
    const headers = await bearer()
    expect((await get('/toys/1', headers)).statusCode).toBe(200)
    await toy.clock.advance(3_599_000)
    expect((await get('/toys/1', headers)).statusCode).toBe(200)
    await toy.clock.advance(1_000)
    expect((await get('/toys/1', headers)).statusCode).toBe(401)
  })

  test('an access token expires by the clock of its merchant', async () => {
    const headers = await bearer()
    toy.credentials.put(toyMerchant('shop', { clockOffsetMs: 3_600_000 }), 'shop-key')
    expect((await get('/toys/1', headers)).statusCode).toBe(401)
  })

  test('an access token from the future is refused', async () => {
    const headers = await bearer(undefined, toyMerchant('shop', { clockOffsetMs: 60_000 }))
    expect((await get('/toys/1', headers)).statusCode).toBe(401)
  })

  test('an access token of a merchant that no longer exists is refused', async () => {
    const headers = await bearer()
    toy.credentials.merchants.delete('shop')
    expect((await get('/toys/1', headers)).statusCode).toBe(401)
  })
})

describe('200 for right credentials', () => {
  test.each<
    [name: string, url: string, headers: () => Record<string, string> | Promise<Record<string, string>>]
  >([
    ['Basic', '/toys/1', () => shop],
    [
      'basic in lower case',
      '/toys/1',
      () => ({ authorization: shop.authorization.replace('Basic', 'basic') }),
    ],
    ['Bearer', '/toys/1', () => bearer()],
    ['bare key on customers', '/customers?page=1', () => ({ 'x-api-key': 'shop-key' })],
    ['Basic on customers', '/customers?page=1', () => shop],
    ['Basic wins over a bare key', '/customers?page=1', () => ({ ...shop, 'x-api-key': 'wrong' })],
  ])('%s', async (_, url, headers) => {
    expect((await get(url, await headers())).statusCode).toBe(200)
  })

  test('both keys of a merchant work', async () => {
    toy.credentials.put(toyMerchant('shop'), 'old', 'new')
    const statuses = ['old', 'new', 'shop-key'].map(
      async key => (await get('/toys/1', { authorization: basic('shop', key) })).statusCode,
    )
    expect(await Promise.all(statuses)).toEqual([200, 200, 401])
  })

  test('the key may contain colons', async () => {
    toy.credentials.put(toyMerchant('shop'), 'a:b:c')
    expect((await get('/toys/1', { authorization: basic('shop', 'a:b:c') })).statusCode).toBe(200)
  })

  test('the token of an intent confirms it, and so do Basic and a merchant’s own token', async () => {
    expect((await confirm('intent-1', await bearer('intent-1'))).statusCode).toBe(200)
    expect((await confirm('intent-1', shop)).statusCode).toBe(200)
    expect((await confirm('intent-1', await bearer())).statusCode).toBe(200)
  })
})

describe('403 for credentials without permission', () => {
  test('the access token of another intent is refused', async () => {
    expect((await confirm('intent-2', await bearer('intent-1'))).statusCode).toBe(403)
  })

  test('the access token of an intent is refused by other endpoints, even when it is cached', async () => {
    const headers = await bearer('intent-1')
    expect((await confirm('intent-1', headers)).statusCode).toBe(200)
    expect((await get('/toys/intent-1', headers)).statusCode).toBe(403)
    expect((await get('/customers?page=1', headers)).statusCode).toBe(403)
  })

  test('a disabled merchant with right credentials is refused', async () => {
    toy.credentials.put(toyMerchant('shop', { disabled: true }), 'shop-key')
    const response = await get('/toys/1', shop)
    expect(response.statusCode).toBe(403)
    expect(response.json()).toMatchObject({ type: 'urn:tollgate:problem:forbidden' })
  })

  test('a disabled merchant with wrong credentials gets 401', async () => {
    toy.credentials.put(toyMerchant('shop', { disabled: true }), 'shop-key')
    expect((await get('/toys/1', { authorization: basic('shop', 'wrong') })).statusCode).toBe(401)
  })
})

describe('cached credentials', () => {
  test('a verified header is looked up once in 5 s', async () => {
    for (let at = 0; at < 5; at++) await get('/toys/1', shop)
    expect(toy.credentials.finds).toBe(1)
    await toy.clock.advance(5_000)
    await get('/toys/1', shop)
    expect(toy.credentials.finds).toBe(2)
  })

  test('concurrent requests share the look-up', async () => {
    await Promise.all([get('/toys/1', shop), get('/toys/1', shop), get('/toys/1', shop)])
    expect(toy.credentials.finds).toBe(1)
  })

  test('a revoked key stops working at once', async () => {
    expect((await get('/toys/1', shop)).statusCode).toBe(200)
    toy.credentials.put(toyMerchant('shop'), 'another')
    expect((await get('/toys/1', shop)).statusCode).toBe(401)
  })

  test('a look-up that began before a change is not cached', async () => {
    const own = await createToy()
    const { credentials } = own
    const find = credentials.find.bind(credentials)
    credentials.find = async merchantId => {
      const found = await find(merchantId)
      credentials.find = find
      credentials.put(toyMerchant('shop', { disabled: true }), 'shop-key')
      return found
    }
    const ask = () => own.app.inject({ url: '/api/v2/toys/1', headers: shop })
    await ask()
    expect((await ask()).statusCode).toBe(403)
  })
})

describe('429 after failed logins', () => {
  const fail = () => get('/toys/1', { authorization: basic('shop', 'wrong') })

  test('the eleventh failure in a minute gets Retry-After, and the right key still works', async () => {
    for (let at = 0; at < 10; at++) expect((await fail()).statusCode).toBe(401)
    const response = await fail()
    expect(response.statusCode).toBe(429)
    expect(response.headers).toMatchObject({
      'retry-after': '60',
      'ratelimit-policy': '"failed-logins";q=10;w=60',
      ratelimit: '"failed-logins";r=0;t=60',
    })
    expect((await get('/toys/1', shop)).statusCode).toBe(200)
    await toy.clock.advance(60_000)
    expect((await fail()).statusCode).toBe(401)
  })

  test('wrong bare keys are counted by address', async () => {
    const failBare = () => get('/customers?page=1', { 'x-api-key': 'wrong' })
    for (let at = 0; at < 10; at++) expect((await failBare()).statusCode).toBe(401)
    expect((await failBare()).statusCode).toBe(429)
  })

  test('missing credentials and wrong access tokens are not counted', async () => {
    for (let at = 0; at < 15; at++) {
      expect((await get('/toys/1')).statusCode).toBe(401)
      expect((await get('/toys/1', { authorization: 'Bearer a.b.c' })).statusCode).toBe(401)
    }
  })
})

test('429 above the merchant’s rate, and the headers on every answer', async () => {
  toy.credentials.put(toyMerchant('shop', { requestsPerSecond: 1 }), 'shop-key')
  const first = await get('/toys/1', shop)
  expect(first.headers).toMatchObject({
    'ratelimit-policy': '"merchant";q=1;w=1',
    ratelimit: '"merchant";r=0;t=1',
  })
  const second = await get('/toys/1', shop)
  expect(second.statusCode).toBe(429)
  expect(second.headers).toMatchObject({ 'retry-after': '1', ratelimit: '"merchant";r=0;t=1' })
  await toy.clock.advance(1_000)
  expect((await get('/toys/1', shop)).statusCode).toBe(200)
})

describe('the token endpoint', () => {
  const ask = (form: Record<string, string> | string, type = 'application/x-www-form-urlencoded') =>
    toy.app.inject({
      method: 'POST',
      url: '/api/v2/token',
      payload: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
      headers: { 'content-type': type },
    })
  const good = { grant_type: 'client_credentials', client_id: 'shop', client_secret: 'shop-key' }

  test('answers with an access token for the API', async () => {
    const response = await ask(good)
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'x-api-version': '2.5.0',
    })
    const { access_token: accessToken, token_type: type, expires_in: expires } = response.json()
    expect([type, expires]).toEqual(['bearer', 3600])
    expect((await get('/toys/1', { authorization: `Bearer ${accessToken}` })).statusCode).toBe(200)
  })

  test('answers with an access token for one intent', async () => {
    const response = await ask({ ...good, grant_type: 'payment_intents', payment_intent_id: 'intent-1' })
    expect(response.json()).toMatchObject({ expires_in: 900 })
    const headers = { authorization: `Bearer ${response.json().access_token}` }
    expect((await confirm('intent-1', headers)).statusCode).toBe(200)
    expect((await get('/toys/1', headers)).statusCode).toBe(403)
  })

  test.each<[name: string, form: Record<string, string> | string, status: number, error: RegExp]>([
    ['no grant type', { client_id: 'shop', client_secret: 'x' }, 400, /^grant_type is missing/],
    ['no body', '', 400, /^grant_type is missing/],
    ['no client', { grant_type: 'client_credentials', client_secret: 'x' }, 400, /^client_id is missing/],
    ['no secret', { grant_type: 'client_credentials', client_id: 'shop' }, 400, /^client_secret is missing/],
    ['no intent', { ...good, grant_type: 'payment_intents' }, 400, /^payment_intent_id is missing/],
    [
      'unknown intent',
      { ...good, grant_type: 'payment_intents', payment_intent_id: 'x' },
      400,
      /^payment_intent_id names no/,
    ],
    [
      'intent with the wrong grant',
      { ...good, payment_intent_id: 'intent-1' },
      400,
      /^payment_intent_id is taken with/,
    ],
    ['unknown field', { ...good, scope: 'all' }, 400, /^scope is not a known field/],
    [
      'a field twice',
      'grant_type=client_credentials&client_id=a&client_id=b',
      400,
      /^client_id is given twice/,
    ],
    ['U+0000', 'grant_type=client_credentials&client_id=a%00', 400, /U\+0000/],
    ['unsupported grant', { ...good, grant_type: 'password' }, 401, /^unsupported_grant_type$/],
    ['unsupported grant alone', { grant_type: 'password' }, 401, /^unsupported_grant_type$/],
    ['wrong secret', { ...good, client_secret: 'wrong' }, 401, /^invalid_client$/],
    ['unknown client', { ...good, client_id: 'nobody' }, 401, /^invalid_client$/],
  ])('%s', async (_, form, status, error) => {
    const response = await ask(form)
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toBe('application/json')
    expect(response.headers['cache-control']).toBe('no-store')
    const body = response.json()
    expect(body.error).toMatch(error)
    expect(Object.keys(body)).toEqual(
      status === 400 ? ['error'] : ['error', 'error_description', 'error_uri'],
    )
  })

  test('JSON is refused', async () => {
    const response = await ask(JSON.stringify(good), 'application/json')
    expect(response.statusCode).toBe(415)
    expect(response.json()).toMatchObject({ error: 'invalid_request' })
  })

  test('other endpoints refuse forms', async () => {
    const headers = { ...shop, 'content-type': 'application/x-www-form-urlencoded' }
    const response = await toy.app.inject({ method: 'POST', url: '/api/v2/payment', headers, payload: 'a=1' })
    expect(response.statusCode).toBe(415)
  })

  test('a disabled merchant gets no token', async () => {
    toy.credentials.put(toyMerchant('shop', { disabled: true }), 'shop-key')
    const response = await ask(good)
    expect([response.statusCode, response.json().error]).toEqual([403, 'access_denied'])
  })

  test('429 after ten wrong secrets, and only for that client', async () => {
    const fail = async (clientId: string) =>
      (await ask({ ...good, client_id: clientId, client_secret: 'wrong' })).statusCode
    for (let at = 0; at < 10; at++) expect(await fail('shop')).toBe(401)
    const response = await ask({ ...good, client_secret: 'wrong' })
    expect([response.statusCode, response.json().error, response.headers['retry-after']]).toEqual([
      429,
      'slow_down',
      '60',
    ])
    expect(await fail('other')).toBe(401)
    expect((await ask(good)).statusCode).toBe(200)
  })

  test('an Idempotency-Key is ignored', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': 'not usable' }
    const response = await toy.app.inject({
      method: 'POST',
      url: '/api/v2/token',
      headers,
      payload: new URLSearchParams(good).toString(),
    })
    expect(response.statusCode).toBe(200)
  })

  test('a server error is answered in the format of OAuth errors', async () => {
    const { find } = toy.credentials
    toy.credentials.find = () => Promise.reject(new Error('boom'))
    const response = await ask(good)
    toy.credentials.find = find
    expect([response.statusCode, Object.keys(response.json())]).toEqual([
      500,
      ['responseCode', 'responseDescription'],
    ])
  })
})

test('the handler gets the calling merchant', async () => {
  toy.handle = async ({ merchant, address }) => answer(200, { who: merchant.merchantId, address })
  const response = await toy.app.inject({
    method: 'POST',
    url: '/api/v2/payment',
    headers: shop,
    payload: goodBody,
  })
  expect(response.json()).toEqual({ who: 'shop', address: '127.0.0.1' })
})
