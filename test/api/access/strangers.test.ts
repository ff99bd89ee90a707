/** What somebody without credentials can make the gateway remember, compute and log. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { basic, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const ask = (fields: Record<string, string>) =>
  gateway.call('POST', '/authorization/oauth/token', new URLSearchParams(fields).toString(), form)
const credentials = (client_id: string) => ({
  grant_type: 'client_credentials',
  client_id,
  client_secret: 'x',
})

test('413 a token request above 4 KiB', async () => {
  const large = await ask(credentials('x'.repeat(5_000)))
  expect(large).toMatchObject({
    status: 413,
    body: { error: 'invalid_request', error_description: 'The body may have 4 KiB at most.' },
  })
  expect((await ask(credentials('x'.repeat(3_900)))).status).toBe(401)
})

test('401 for ever, and never 429, to a client_id that no merchant can have: nothing of it is remembered', async () => {
  for (let round = 0; round < 15; round++) {
    expect((await ask(credentials('x'.repeat(31)))).status).toBe(401)
    const authorization = basic('y'.repeat(31), 'x')
    expect((await gateway.call('GET', '/customers', undefined, { authorization })).status).toBe(401)
  }
})

const lastLine = () => JSON.parse(gateway.logged.findLast(line => line.includes('"msg":"request"')) ?? '{}')

test.each([
  ['Basic', () => gateway.call('GET', '/customers', undefined, { authorization: basic('mer_claimed', 'x') })],
  [
    'Bearer',
    () => {
      const claims = Buffer.from(JSON.stringify({ sub: 'mer_claimed' })).toString('base64url')
      return gateway.call('GET', '/customers', undefined, { authorization: `Bearer a.${claims}.b` })
    },
  ],
  ['a form', () => ask(credentials('mer_claimed'))],
])('401 the log names the address and the merchant that %s claims', async (_, call) => {
  expect((await call()).status).toBe(401)
  await expect
    .poll(lastLine)
    .toMatchObject({ status: 401, address: '127.0.0.1', claimedMerchantId: 'mer_claimed' })
})

test('200 the log names the address', async () => {
  expect((await gateway.call('GET', '/test/clock')).status).toBe(200)
  await expect
    .poll(lastLine)
    .toMatchObject({ status: 200, address: '127.0.0.1', merchantId: gateway.merchantId })
})
