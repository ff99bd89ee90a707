import { createSecretKey } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { expect, test } from 'vitest'
import { createAccessTokens } from '#http/authentication/access-token.ts'
import { toyMerchant } from '#test/support/toy-http.ts'

const nowMs = () => Date.UTC(2026, 10, 15)
const key = createSecretKey(Buffer.alloc(32, 7))
const otherKey = createSecretKey(Buffer.alloc(32, 8))
const settings = { key: () => key, issuer: 'tollgate', audience: 'test', nowMs }
const tokens = createAccessTokens(settings)
const nowSeconds = nowMs() / 1000

test('a token names its merchant, its environment and its lifetime', async () => {
  const { accessToken, expiresInSeconds } = await tokens.issue(toyMerchant('shop'))
  expect(expiresInSeconds).toBe(3600)
  expect(decodeProtectedHeader(accessToken)).toEqual({ alg: 'HS256', typ: 'at+jwt' })
  expect(decodeJwt(accessToken)).toEqual({
    iss: 'tollgate',
    aud: 'test',
    sub: 'shop',
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: nowSeconds + 3600,
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect(await tokens.read(accessToken)).toMatchObject({ merchantId: 'shop', intentId: undefined })
})

test('a token of one intent lives 900 s and names it', async () => {
  const { accessToken, expiresInSeconds } = await tokens.issue(toyMerchant('shop'), 'intent-1')
  expect(expiresInSeconds).toBe(900)
  expect(await tokens.read(accessToken)).toMatchObject({ intentId: 'intent-1' })
})

test('lifetimes run on the merchant’s clock', async () => {
  const { accessToken } = await tokens.issue(toyMerchant('shop', { clockOffsetMs: 86_400_000 }))
  expect(decodeJwt(accessToken).exp).toBe(nowSeconds + 86_400 + 3600)
})

const times = { iat: nowSeconds, nbf: nowSeconds, exp: nowSeconds + 60 }

const sign = (
  claims: Record<string, unknown>,
  options: { key?: typeof key; typ?: string; alg?: string } = {},
) =>
  new SignJWT({ iss: 'tollgate', aud: 'test', sub: 'shop', ...times, ...claims })
    .setProtectedHeader({ alg: options.alg ?? 'HS256', typ: options.typ ?? 'at+jwt' })
    .sign(options.key ?? key)

test.each<[name: string, token: () => Promise<string> | string, read: boolean]>([
  ['ours', () => sign({}), true],
  ['another key', () => sign({}, { key: otherKey }), false],
  [
    'another algorithm with the same key',
    () => sign({}, { alg: 'HS512', key: createSecretKey(Buffer.alloc(64, 7)) }),
    false,
  ],
  ['no algorithm', () => new UnsecuredJWT({ sub: 'shop' }).encode(), false],
  ['another type', () => sign({}, { typ: 'JWT' }), false],
  ['another issuer', () => sign({ iss: 'somebody' }), false],
  ['another environment', () => sign({ aud: 'live' }), false],
  ['several audiences', () => sign({ aud: ['test', 'live'] }), false],
  ['no subject', () => sign({ sub: undefined }), false],
  ['no end', () => sign({ exp: undefined }), false],
  ['no beginning', () => sign({ nbf: undefined }), false],
  ['an intent that is no text', () => sign({ payment_intent_id: 1 }), false],
  ['nonsense', () => 'a.b.c', false],
])('whether a token is accepted: %s', async (_, token, read) => {
  expect((await tokens.read(await token())) !== undefined).toBe(read)
})

test.each([
  ['an hour and a second', { exp: nowSeconds + 3601 }],
  ['for ever', { exp: 9_999_999_999 }],
  ['an intent an hour', { exp: nowSeconds + 3600, payment_intent_id: 'intent-1' }],
  ['no time at all', { exp: nowSeconds }],
  ['from no moment', { iat: undefined }],
])('a token that lives %s is not ours, whoever signed it', async (_, change) => {
  const claims = {
    iss: 'tollgate',
    aud: 'test',
    sub: 'shop',
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: nowSeconds + 60,
  }
  const sign = (more: object) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).sign(key)
  expect(await tokens.read(await sign({}))).toMatchObject({ merchantId: 'shop' })
  expect(await tokens.read(await sign(change))).toBeUndefined()
})
