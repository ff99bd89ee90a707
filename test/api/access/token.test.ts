/** The token endpoint over HTTP, and the endpoints that its tokens open. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const clock = createTestClock()
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
})
afterAll(() => gateway.stop())

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const ask = (fields: Record<string, string>) =>
  gateway.call('POST', '/authorization/oauth/token', new URLSearchParams(fields).toString(), form)
const good = () => ({
  grant_type: 'client_credentials',
  client_id: gateway.merchantId,
  client_secret: gateway.apiKey,
})

test('200 a token that opens the API for an hour', async () => {
  const answer = await ask(good())
  expect(answer).toMatchObject({ status: 200, body: { token_type: 'bearer', expires_in: 3600 } })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const authorization = `Bearer ${answer.body.access_token}`
  const create = () => gateway.call('POST', '/payments', cardPayment(), { authorization })
  expect((await create()).status).toBe(200)
  clock.move(3600 * secondMs - secondMs)
  expect((await create()).status).toBe(200)
  clock.move(secondMs)
  const late = await create()
  expect(late.status).toBe(401)
  expect(late.headers.get('www-authenticate')).toMatch(/Basic.+Bearer/)
})

test.each([
  ['unsupported grant type', { grant_type: 'password' }, 401, 'unsupported_grant_type'],
  ['wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
  ['unknown client', { client_id: 'mer_unknown' }, 401, 'invalid_client'],
])('a token request is refused: %s', async (_, change, status, error) => {
  const answer = await ask({ ...good(), ...change })
  expect(answer.status).toBe(status)
  expect(answer.body).toEqual({
    error,
    error_description: expect.stringMatching(/\w/),
    error_uri: expect.stringMatching(/\w/),
  })
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

test.each([
  ['no grant type', { grant_type: '' }],
  ['no client', { client_id: '' }],
  ['no secret', { client_secret: '' }],
  ['no intent', { grant_type: 'payment_intents' }],
  ['an unknown intent', { grant_type: 'payment_intents', payment_intent_id: 'never-was' }],
  ['an unknown field', { scope: 'all' }],
])('400 %s', async (_, change) => {
  const answer = await ask({ ...good(), ...change })
  expect(answer.status).toBe(400)
  expect(answer.body).toEqual({ error: expect.stringMatching(/\w/) })
})

test('429 after ten failures of one client, while others are served', async () => {
  const guess = { ...good(), client_id: 'mer_guessed', client_secret: 'wrong' }
  for (let count = 0; count < 10; count++) expect((await ask(guess)).status).toBe(401)
  const refused = await ask(guess)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await ask(good())).status).toBe(200)
  clock.move(60 * secondMs)
  expect((await ask(guess)).status).toBe(401)
})

test.each([
  ['nothing', undefined],
  ['a scheme of its own', 'Digest abc'],
  ['Basic without a colon', `Basic ${Buffer.from('abc').toString('base64')}`],
  ['Basic that is not base64', 'Basic ===='],
  ['a forged token', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZXJfMSJ9.'],
  ['an empty token', 'Bearer '],
])('401 %s', async (_, authorization) => {
  const response = await fetch(`${gateway.url}/api/v2/payments/getByTransId/x`, {
    headers: authorization === undefined ? {} : { authorization },
  })
  expect(response.status).toBe(401)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('www-authenticate')).toMatch(/Basic.+Bearer/)
})

test('403 a disabled merchant, with the key and with a token from before', async () => {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('To be closed')
  const issued = await ask({ grant_type: 'client_credentials', client_id: merchantId, client_secret: apiKey })
  await gateway.gateway.merchants.set(merchantId, { disabled: true })
  const basic = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
  for (const authorization of [basic, `Bearer ${issued.body.access_token}`]) {
    expect((await gateway.call('POST', '/payments', cardPayment(), { authorization })).status).toBe(403)
  }
})

test('both keys open while a rotation overlaps', async () => {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('Rotating')
  const newKey = await gateway.gateway.merchants.rotateKey(merchantId, 1)
  for (const key of [apiKey, newKey ?? '']) {
    const authorization = `Basic ${Buffer.from(`${merchantId}:${key}`).toString('base64')}`
    expect((await gateway.call('POST', '/payments', cardPayment(), { authorization })).status).toBe(200)
  }
})
