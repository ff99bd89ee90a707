/**
 * Pages that we serve for a provider without a web site, described and signed by a connector other than the simulator.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { createLateProvider, type LateProvider } from '#test/support/providers/late-provider.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const word = 'a word that only the provider knows'
const sitePath = '/pay/signed/'
let provider: LateProvider
let gateway: TestGateway

beforeAll(async () => {
  provider = createLateProvider({ sitePath })
  gateway = await startTestGateway({ definitions: [provider.definition], requestsPerSecond: 10_000 })
  await addProviderAccount(gateway, provider.definition, { secrets: { word } })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' }

const create = async (more: Record<string, unknown> = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({ urls, ...more })
  const method = { integrationType: 'HOSTED', type: 'IDEAL' }
  const answer = await gateway.call('POST', '/payments', { ...body, paymentMethods: method })
  expect([answer.status, answer.body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  return answer.body
}
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const post = (action: string, fields: Record<string, string>) =>
  fetch(`${gateway.url}${action}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(fields),
    headers: { 'sec-fetch-site': 'same-origin' },
  })

/** The customer follows the payment's link to the provider's page. */
async function openPage(more: Record<string, unknown> = {}) {
  const { payId, _links } = await create(more)
  const page = await fetch(_links.redirect.href)
  const html = await page.text()
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(html) ?? []
  const words = [...html.matchAll(/name="word" value="([^"]+)"/g)].map(([, value]) => value ?? '')
  return { payId: payId as string, page, html, action, pay: words[0] ?? '', refuse: words[1] ?? '' }
}

test('200 our pages send the customer to it, and it has the connector’s content', async () => {
  const { page, html, action } = await openPage({ language: 'de' })
  expect(new URL(page.url).pathname).toMatch(new RegExp(`^${sitePath}.`))
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(html).toContain('<h1>Signed page of iDEAL')
  expect(html).toContain('Spoken here: de')
  expect(html).toMatch(/<button class="primary"[^>]*><span>Pay now<\/span>/)
  expect(html).toMatch(/<button class="secondary"[^>]*><span>Not today<\/span>/)
  expect(html).toContain('<input type="hidden" name="made" value="here">')
  expect(action).toMatch(/^\/pay\/return\//)
})

test('303 the signed decision of the page is applied, once', async () => {
  const { payId, action, pay, refuse } = await openPage()
  const back = await post(action, { word: pay })
  expect([back.status, back.headers.get('location')]).toEqual([303, `${urls.return}?PayId=${payId}`])
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  await post(action, { word: refuse })
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('a customer who declines is declined', async () => {
  const { payId, action, refuse } = await openPage()
  await post(action, { word: refuse })
  expect((await read(payId)).operations.map(({ status }: { status: string }) => status)).toContain('FAILED')
  expect(provider.ledger.at(-1)).toMatchObject({ state: 'declined' })
})

test('a decision that is not signed, or signed for another payment, changes nothing', async () => {
  const other = await openPage()
  const { payId, action, pay } = await openPage()
  for (const forged of [
    '',
    'approve',
    pay.replace(/.$/, 'x'),
    pay.replace('approve', 'decline'),
    other.pay,
  ]) {
    const back = await post(action, { word: forged })
    expect(back.status).toBe(303)
    expect(await read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
  }
  await post(action, { word: pay })
  expect(await read(payId)).toMatchObject({ status: 'OK' })
  expect(await read(other.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
})

test.each([
  ['approve', 'OK'],
  ['decline', 'FAILED'],
])('a customer without a browser comes back with what such a page signs: %s', async (action, status) => {
  const { payId } = await create()
  await gateway.call('POST', `/test/payments/${payId}/customer-action`, { action })
  expect((await read(payId)).operations.at(-1)).toMatchObject({ status })
})

test('hints are passed to the connector, which may ignore them', async () => {
  const { payId, action, pay } = await openPage({ simulationMode: '0305' })
  expect(provider.requests.at(-1)?.hints).toEqual({ simulationMode: '0305' })
  await post(action, { word: pay })
  expect(await read(payId)).toMatchObject({ status: 'OK' })
})
