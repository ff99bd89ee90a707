/** Limits on what clients without credentials can make the gateway store, compute and log. */
import { createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
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

test('401 and never 429 for a client_id that no merchant can have: it is not stored', async () => {
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

test('200 security.txt names the contact for reports and its date of expiry', async () => {
  const text = await (await fetch(`${gateway.url}/.well-known/security.txt`)).text()
  expect(text).toMatch(/^Contact: mailto:security@127\.0\.0\.1$/m)
  const [, expires = ''] = /^Expires: (.+)$/m.exec(text) ?? []
  expect(Date.parse(expires)).toBeGreaterThan(Date.now())
})

test('200 the list of what a page loads is signed', async () => {
  const listed = await fetch(`${gateway.url}/.well-known/payment-page-inventory.json`)
  const { signature, ...inventory } = (await listed.json()) as AnyJson
  const key = createPublicKey({
    key: Buffer.from(signature.publicKey, 'base64'),
    format: 'der',
    type: 'spki',
  })
  const isSigned = (text: string) =>
    verify(null, Buffer.from(text), key, Buffer.from(signature.value, 'base64'))
  expect(isSigned(JSON.stringify(inventory))).toBe(true)
  expect(isSigned(JSON.stringify({ ...inventory, files: [] }))).toBe(false)
})

test('204 a report about a page is counted, 413 one above 8 KiB is not', async () => {
  const report = (body: string) =>
    fetch(`${gateway.url}/pay/csp-reports`, {
      method: 'POST',
      headers: { 'content-type': 'application/csp-report' },
      body,
    })
  const violation = { 'effective-directive': 'script-src-elem', 'blocked-uri': 'https://evil.example/a.js' }
  expect((await report(JSON.stringify({ 'csp-report': violation }))).status).toBe(204)
  expect((await report('nonsense')).status).toBe(204)
  expect((await report(' '.repeat(9_000))).status).toBe(413)
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  expect(metrics).toContain('tollgate_csp_reports_total{directive="script-src"} 1')
})
