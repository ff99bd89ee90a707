/** Customers on the way to a provider and back: forms, redirects, returns once, twice or never, expired pages. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock, dayMs, secondMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { walletConfirmation } from '#test/support/intents.ts'
import { createLateProvider, type LateProvider } from '#test/support/providers/late-provider.ts'
import { type LateStage, openLateStage, word } from '#test/support/providers/late-stage.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let provider: LateStage['provider']
let gateway: LateStage['gateway']
let accountId: LateStage['accountId']
let read: LateStage['read']
let runTimers: LateStage['runTimers']
let deliver: LateStage['deliver']
/** Redirects customers to pages that expire after one hour. */
let brief: LateProvider

beforeAll(async () => {
  brief = createLateProvider({
    name: 'brief',
    verb: 'GET',
    pageEndsAt: () => new Date(clock.nowMs() + hourMs),
    // No look-up and no notices: the same request under the same key returns the first answer.
    facts: { lostAnswer: { noticeWithinMs: 0, repeatWithinMs: dayMs, undo: false } },
  })
  ;({ provider, gateway, accountId, read, runTimers, deliver } = await openLateStage({
    clock,
    definitions: [brief.definition],
  }))
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const hourMs = 60 * 60 * secondMs
const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' }

const create = async (more: Record<string, unknown> = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({ urls, ...more })
  const answer = await gateway.call('POST', '/payments', {
    ...body,
    paymentMethods: { integrationType: 'HOSTED', type: 'IDEAL' },
  })
  return answer
}
const visit = (url: string, init: RequestInit = {}) => fetch(url, { redirect: 'manual', ...init })

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

test('200 our page sends the customer to the provider with a form, which may redirect; reloading does the same', async () => {
  const { payId, page, html, fields } = await openPage()
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain(
    'form-action https://pay.late.example/checkout https:;',
  )
  expect(html).toContain('action="https://pay.late.example/checkout"')
  expect(fields.back).toMatch(new RegExp(`^${gateway.url}/pay/return/`))
  const record = await read(payId)
  expect(record.provider).toEqual({ account: accountId, connector: 'late' })
  const { body } = await create()
  const first = fieldsOf(await (await visit(body._links.redirect.href)).text())
  const again = fieldsOf(await (await visit(body._links.redirect.href)).text())
  // A reload, the back button and a second tab open the same page at the provider.
  expect(again).toEqual(first)
  expect(provider.requests.filter(({ reference }) => reference === first.reference)).toHaveLength(1)
})

test('200 sites that may frame the checkout may also frame the page that redirects to the provider', async () => {
  await gateway.gateway.merchants.set(gateway.merchantId, { frameOrigins: ['https://shop.example'] })
  const { page } = await openPage()
  await gateway.gateway.merchants.set(gateway.merchantId, { frameOrigins: null })
  expect(page.headers.get('content-security-policy')).toContain('frame-ancestors https://shop.example;')
  expect(page.headers.has('x-frame-options')).toBe(false)
})

test('200 the notice completes the payment, whether or not the customer returns', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('303 return from the provider by GET and by POST, once and twice', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  // A return before the notice: the outcome is unknown, and the shop gets that.
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

test('404 an unknown return address', async () => {
  expect((await visit(`${gateway.url}/pay/return/abc`)).status).toBe(404)
})

test('404 on the simulator’s site for a payment of another provider', async () => {
  const { payId, fields } = await openPage()
  const site = (fields.back ?? '').replace('/pay/return/', '/pay/step/')
  expect((await visit(site)).status).toBe(404)
  const body = new URLSearchParams({ action: 'approve' })
  expect((await visit(site, { method: 'POST', body })).status).toBe(404)
  expect(await read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
})

test('a customer who turns back ends the page at the provider first', async () => {
  const { payId, fields } = await openPage()
  const page = (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
  expect(page.status).toBe('AUTHORIZE_REQUEST')
  await gateway.call('POST', `/test/payments/${payId}/customer-action`, { action: 'cancel' })
  expect(() => provider.act(fields.reference ?? '', 'approve')).toThrow('ended')
  expect(await read(payId)).toMatchObject({ status: 'FAILED' })
})

test.each(['decline', 'lostBefore'] as const)(
  'a page that the provider did not create (%s) can be requested again until the payment expires',
  async behaviour => {
    provider.arm('AUTHORIZATION', behaviour)
    const { body } = await create()
    clock.move(hourMs)
    while ((await runTimers()) > 0);
    const waiting = await read(body.payId)
    expect(waiting).toMatchObject({
      status: 'AUTHORIZE_REQUEST',
      expirationTime: expect.any(String),
      operations: [{ status: 'FAILED' }],
    })
    expect(Date.parse(waiting.expirationTime)).toBeGreaterThan(clock.nowMs())
    expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
    clock.move(2 * dayMs)
    await runTimers()
    expect(await read(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '23000402' })
  },
)

test('303 after its deadline a page leads to the cancel address, even before the payment is recorded as expired', async () => {
  const { body } = await create()
  clock.move(dayMs)
  const { href } = body._links.redirect
  const over = await visit(href)
  expect(over.status).toBe(410)
  expect(await over.text()).toContain(`href="${urls.cancel}?PayId=${body.payId}"`)
  const sent = await visit(href, { method: 'POST', body: new URLSearchParams({ type: 'IDEAL' }) })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, `${urls.cancel}?PayId=${body.payId}`])
  expect(await read(body.payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST' })
  await runTimers()
  expect(await read(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '23000402' })
})

test('a page that was paid when the deadline passes: the payment continues as paid', async () => {
  const { payId, fields } = await openPage()
  provider.act(fields.reference ?? '', 'approve')
  clock.move(dayMs)
  await runTimers()
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

/** A shop at the provider whose pages expire after one hour. */
async function openBriefShop({ isSecond = false } = {}) {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('Shop')
  if (isSecond) await addProviderAccount(gateway, provider.definition, { secrets: { word }, merchantId })
  const account = await addProviderAccount(gateway, brief.definition, { secrets: { word }, merchantId })
  const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
  const call = (verb: string, path: string, body?: unknown) =>
    gateway.call(verb, path, body, { authorization })
  const tell = async () => {
    for (const body of brief.tell(word))
      await fetch(`${gateway.url}/providers/${account}/notices`, { method: 'POST', body })
    await gateway.gateway.notices.runDue()
  }
  const show = async (payId: string) => (await call('GET', `/payments/getByPayId/${payId}`)).body
  const begin = async (more: Record<string, unknown> = {}) => {
    const { paymentMethods: _, ...body } = cardPayment({ urls, ...more })
    const paymentMethods = { integrationType: 'HOSTED', type: 'IDEAL' }
    return (await call('POST', '/payments', { ...body, paymentMethods })).body
  }
  return { call, tell, show, begin }
}

const sentTo = async (url: string): Promise<URL> => new URL((await visit(url)).headers.get('location') ?? '')

test('303 to a provider reached by a redirect, and again after a reload', async () => {
  const shop = await openBriefShop()
  const created = await shop.begin()
  const first = await sentTo(created._links.redirect.href)
  expect(`${first.origin}${first.pathname}`).toBe('https://pay.late.example/checkout')
  expect((await sentTo(created._links.redirect.href)).href).toBe(first.href)
  brief.act(created.xId, 'approve')
  const back = await visit(first.searchParams.get('back') ?? '')
  expect(back.headers.get('location')).toBe(`${urls.return}?PayId=${created.payId}`)
  await shop.tell()
  expect(await shop.show(created.payId)).toMatchObject({ status: 'OK' })
  // The back button after the end: our page shows that it is paid, and the provider is not called again.
  expect((await visit(created._links.redirect.href)).status).toBe(410)
})

test('a payment that stays open longer than the provider’s page gets a new one at the next visit', async () => {
  const shop = await openBriefShop()
  const created = await shop.begin()
  const first = await sentTo(created._links.redirect.href)
  clock.move(2 * hourMs)
  // Two tabs at once: both are sent to the same new page, the slower one perhaps with its next poll.
  await Promise.all([visit(created._links.redirect.href), visit(created._links.redirect.href)])
  const one = await sentTo(created._links.redirect.href)
  const two = await sentTo(created._links.redirect.href)
  expect(two.href).toBe(one.href)
  const reference = one.searchParams.get('reference') ?? ''
  expect(reference).not.toBe(first.searchParams.get('reference'))
  expect(() => brief.act(created.xId, 'approve')).toThrow('ended')
  brief.act(reference, 'approve')
  await shop.tell()
  expect(await shop.show(created.payId)).toMatchObject({
    status: 'OK',
    amount: { capturedValue: 1000 },
    operations: [
      { type: 'AUTHORIZATION', status: 'FAILED' },
      { type: 'AUTHORIZATION', status: 'OK' },
      { type: 'CAPTURE', status: 'OK' },
    ],
  })
})

test('a page that was paid at the last moment is not renewed: the payment continues as paid', async () => {
  const shop = await openBriefShop()
  const created = await shop.begin()
  brief.act(created.xId, 'approve')
  clock.move(2 * hourMs)
  await visit(created._links.redirect.href)
  await shop.tell()
  const record = await shop.show(created.payId)
  expect(record).toMatchObject({ status: 'OK', amount: { authorizedValue: 1000, capturedValue: 1000 } })
  expect(record.operations).toHaveLength(2)
})

test('a request whose answer was lost is repeated unchanged, under the same key', async () => {
  const shop = await openBriefShop()
  brief.arm('AUTHORIZATION', 'lostBefore')
  const created = await shop.begin()
  expect(created.status).toBe('PENDING')
  clock.move(hourMs)
  for (let due = 1; due > 0; ) due = await runTimers()
  const [first, again] = brief.requests.filter(({ reference }) => reference === created.xId)
  const { send: _first, ...sent } = first ?? {}
  const { send: _again, ...repeated } = again ?? {}
  expect(JSON.parse(JSON.stringify(repeated))).toEqual(JSON.parse(JSON.stringify(sent)))
  const waiting = await shop.show(created.payId)
  expect(waiting).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
})

test.each([
  ['the first account', false],
  ['the account that follows one that was not reached', true],
])(
  'a wallet’s payload is never stored, so %s is not sent the payment again without it',
  async (_, isSecond) => {
    const shop = await openBriefShop({ isSecond })
    if (isSecond) provider.arm('AUTHORIZATION', 'unreached')
    brief.arm('AUTHORIZATION', 'lostBefore')
    const amount = { value: 1000, currency: 'EUR' }
    const intent = await shop.call('POST', '/payment-intents', { amount, urls })
    const wallet = walletConfirmation('{"version":"EC_v1","data":"AAAA"}')
    const { body } = await shop.call('POST', `/payment-intents/${intent.body.id}/confirm`, wallet)
    expect(body.status).toBe('PENDING')
    clock.move(hourMs)
    for (let due = 1; due > 0; ) due = await runTimers()
    expect(await shop.show(body.payId)).toMatchObject({ status: 'PENDING', provider: { connector: 'brief' } })
    expect(brief.requests.filter(({ payment }) => payment.payId === body.payId)).toHaveLength(1)
  },
)
