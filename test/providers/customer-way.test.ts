/** The customer's way to a provider and back: forms, redirects, returns once, twice or never, pages that end. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock, dayMs } from '#test/support/clock.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { createLateProvider, type LateProvider } from '#test/support/late-provider.ts'
import { addProviderAccount } from '#test/support/provider-account.ts'

const word = 'a word that only the provider knows'
const clock = createTestClock()
let provider: LateProvider
let gateway: TestGateway
let accountId: string

beforeAll(async () => {
  provider = createLateProvider()
  gateway = await startTestGateway({ clock, definitions: [provider.definition], requestsPerSecond: 10_000 })
  accountId = await addProviderAccount(gateway, provider.definition, { secrets: { word } })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' }

const create = async (more: Record<string, unknown> = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({ urls, ...more })
  const answer = await gateway.call('POST', '/payments', {
    ...body,
    paymentMethods: { integrationType: 'HOSTED', type: 'IDEAL' },
  })
  return answer
}
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const visit = (url: string, init: RequestInit = {}) => fetch(url, { redirect: 'manual', ...init })

async function deliver(): Promise<void> {
  for (const body of provider.tell(word)) {
    await fetch(`${gateway.url}/providers/${accountId}/notices`, { method: 'POST', body })
  }
  await queryRows(gateway.databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
  await gateway.gateway.notices.runDue()
}

const fieldsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  )

async function openPage() {
  const { status, body } = await create()
  expect([status, body.status, body.responseCode]).toEqual([200, 'AUTHORIZE_REQUEST', '60000100'])
  const page = await visit(body._links.redirect.href)
  const html = await page.text()
  return { payId: body.payId as string, page, html, fields: fieldsOf(html) }
}

test('200 our page sends the customer on by a form to exactly one address; reloading does the same', async () => {
  const { payId, page, html, fields } = await openPage()
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain(
    'form-action https://pay.late.example/checkout;',
  )
  expect(html).toContain('action="https://pay.late.example/checkout"')
  expect(fields.back).toMatch(new RegExp(`^${gateway.url}/pay/return/`))
  const record = await read(payId)
  expect(record.provider).toEqual({ account: accountId, connector: 'late' })
  const again = await create()
  expect((await visit(again.body._links.redirect.href)).status).toBe(200)
})

test('200 the notice finishes the payment, whether or not the customer ever comes back', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('303 back from the provider, by GET and by POST, once and twice', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  // Back before the notice: nothing is known yet, and the shop is told so.
  const early = await visit(`${fields.back}?result=maybe`)
  expect([early.status, early.headers.get('location')]).toEqual([303, `${urls.return}?PayId=${payId}`])
  await deliver()
  const form = new URLSearchParams({ result: 'yes' })
  for (const init of [{}, { method: 'POST', body: form, headers: { 'sec-fetch-site': 'cross-site' } }]) {
    const back = await visit(fields.back ?? '', init)
    expect([back.status, back.headers.get('location')]).toEqual([303, `${urls.return}?PayId=${payId}`])
  }
  expect(await read(payId)).toMatchObject({ status: 'OK' })
})

test('404 a return address that we never gave out', async () => {
  expect((await visit(`${gateway.url}/pay/return/abc`)).status).toBe(404)
})

test('a customer who turns back ends the page at the provider first', async () => {
  const { payId, fields } = await openPage()
  const page = (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
  expect(page.status).toBe('AUTHORIZE_REQUEST')
  await gateway.call('POST', `/test/payments/${payId}/customer-action`, { action: 'cancel' })
  expect(() => provider.act(fields.reference ?? '', 'approve')).toThrow('ended')
  expect(await read(payId)).toMatchObject({ status: 'FAILED' })
})

test('a page that is paid when the time is over makes the payment go on as paid', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  clock.move(dayMs)
  await gateway.gateway.timerWorker.runDue()
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})
