/** The customer's pages over plain HTTP: their headers, addresses, languages and offered methods. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getPage as get, postPage as post } from '#test/support/browser/customer-page.ts'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const urls = { return: 'https://shop.example/thanks?a=b%20c#top', cancel: 'https://shop.example/basket?' }
const number = '4111111111111111'
const card = { type: 'CARD', number, expiry: '12/39', securityCode: '739', cardholderName: 'Ada Lovelace' }

let gateway: TestGateway
let shop: PageShop
beforeAll(async () => {
  gateway = await startTestGateway({ logLevel: 'debug' })
  shop = await openPageShop(gateway, { urls })
})
afterAll(() => gateway.stop())

const untouched = ['AUTHORIZE_REQUEST', ['60000100']]

describe('headers of pages', () => {
  test('200 nothing inline, nothing foreign, nothing cached', async () => {
    const { status, headers, html } = await get((await shop.session()).href)
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self' https://shop.example",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]),
    )
    expect(policy).not.toMatch(/unsafe/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(html).not.toMatch(/ on[a-z]+=|javascript:|<script>| style="/)
    for (const [, url, hash] of html.matchAll(
      /(?:src|href)="(\/pay\/assets\/[^"]*)" integrity="sha384-([^"]*)"/g,
    )) {
      const bytes = Buffer.from(await (await fetch(`${gateway.url}${url}`)).arrayBuffer())
      expect(createHash('sha384').update(bytes).digest('base64')).toBe(hash)
    }
  })

  test('200 the inventory names every script and style of a page by its hash', async () => {
    const { html } = await get((await shop.session()).href)
    const response = await fetch(`${gateway.url}/.well-known/payment-page-inventory.json`)
    const { files } = (await response.json()) as { files: { url: string; integrity: string }[] }
    const named = [...html.matchAll(/(?:src|href)="(\/pay\/assets\/[^"]*)" integrity="([^"]*)"/g)]
    expect(named.map(([, url, integrity]) => `${url} ${integrity}`).sort()).toEqual(
      files.map(({ url, integrity }) => `${url} ${integrity}`).sort(),
    )
    expect(files.length).toBe(2)
  })

  test('200 merchants choose their look and who may frame it', async () => {
    await gateway.gateway.merchants.set(shop.merchantId, {
      theme: { accent: '#0b5fff', logoUrl: 'https://cdn.example/logo.svg', font: 'serif' },
      frameOrigins: ['https://shop.example'],
    })
    const { headers, html } = await get((await shop.session()).href)
    await gateway.gateway.merchants.set(shop.merchantId, { theme: null, frameOrigins: null })
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain('frame-ancestors https://shop.example')
    expect(policy).toContain("img-src 'self' https://cdn.example")
    expect(headers.has('x-frame-options')).toBe(false)
    const style = /<style>(.*)<\/style>/.exec(html)?.[1] ?? ''
    expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  })

  test('200 HTML is compressed for browsers that accept it', async () => {
    const { href } = await shop.session()
    const response = await fetch(href, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('vary')).toContain('accept-encoding')
    expect(Number(response.headers.get('content-length'))).toBeLessThan(12_000)
    expect(await response.text()).toContain('</html>')
    for (const accepted of ['identity', 'gzip;q=0, br']) {
      const plain = await fetch(href, { headers: { 'accept-encoding': accepted } })
      expect(plain.headers.get('content-encoding')).toBe(null)
    }
  })
})

test('503 a disabled merchant takes no payments on its pages, until it is enabled again', async () => {
  const { payId, href } = await shop.session()
  const { attempt } = await get(href)
  await gateway.gateway.merchants.set(shop.merchantId, { disabled: true })
  expect((await get(href)).status).toBe(503)
  expect((await post(href, { ...card, attempt })).status).toBe(503)
  await gateway.gateway.merchants.set(shop.merchantId, { disabled: false })
  expect(await shop.tries(payId)).toEqual(untouched)
  expect((await post(href, { ...card, attempt })).status).toBe(303)
})

describe('addresses of pages', () => {
  test('404 for an address with any single character changed', async () => {
    const { payId, href } = await shop.session()
    const start = href.lastIndexOf('/') + 1
    for (let at = start; at < href.length; at += 9) {
      const forged = `${href.slice(0, at)}${href[at] === 'A' ? 'B' : 'A'}${href.slice(at + 1)}`
      expect((await get(forged)).status).toBe(404)
      expect((await post(forged, { ...card, attempt: '1' })).status).toBe(404)
    }
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  // Decoding base64 drops bits that are left over at the end: without a look at the text, some of these are the same bytes.
  test('404 for an address with a changed end or a suffix', async () => {
    const { href } = await shop.session()
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
    const changed = letters.map(letter => `${href.slice(0, -1)}${letter}`).filter(other => other !== href)
    const longer = letters.map(letter => `${href}${letter}`)
    const answers = await Promise.all(
      [...changed, ...longer].map(async address => (await get(address)).status),
    )
    expect(answers).toEqual(answers.map(() => 404))
    expect((await get(href)).status).toBe(200)
  })

  // Each line: what stands in the place of the token.
  test.each([
    ['x'],
    ['%00'],
    ['..%2f..%2fetc'],
    ['a'.repeat(500)],
    ['x/y/z'],
    ['constructor'],
    ['%F0%9F%92%B3'],
  ])('404 /pay/%s', async token => {
    const { status, html } = await get(`${gateway.url}/pay/${token}`)
    expect(status).toBe(404)
    expect(html).toMatch(/<html lang="en"/)
  })

  test('404 a page token opens no page of a provider, nor the other way round', async () => {
    const { href } = await shop.hosted('IDEAL')
    const step = (await get(href)).headers.get('location') ?? ''
    expect(step).toContain('/pay/step/')
    expect((await get(`${gateway.url}${step.replace('/pay/step/', '/pay/')}`)).status).toBe(404)
    expect((await get(href.replace('/pay/', '/pay/step/'))).status).toBe(404)
    expect((await get(`${gateway.url}${step}`)).status).toBe(200)
  })

  test('404 a payId is no address, and another merchant sees nothing of the payment', async () => {
    const { payId } = await shop.session()
    expect((await get(`${gateway.url}/pay/${payId}`)).status).toBe(404)
    const other = await openPageShop(gateway, { urls })
    expect((await other.call('GET', `/payments/getByPayId/${payId}`)).status).toBe(404)
    const acted = await other.call('POST', `/test/payments/${payId}/customer-action`, { action: 'approve' })
    expect(acted.status).toBe(404)
    expect(await shop.tries(payId)).toEqual(untouched)
  })
})

test("200 the language is the payment's, else the browser's; without both it is English", async () => {
  const lang = (html: string) => /<html lang="([^"]*)"/.exec(html)?.[1]
  const { href } = await shop.session({ language: 'pl' })
  expect(lang((await get(href, { 'accept-language': 'fr' })).html)).toBe('pl')
  const open = await shop.session()
  expect(lang((await get(open.href, { 'accept-language': 'xx, fr-CH;q=0.9, en;q=0.8' })).html)).toBe('fr')
  expect(lang((await get(open.href)).html)).toBe('en')
})

test('410 an expired page, for every kind of request', async () => {
  const { payId, href } = await shop.session()
  const { attempt } = await get(href)
  await shop.advance('PT25H')
  expect((await get(href)).status).toBe(410)
  await post(href, { ...card, attempt })
  expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '29000402' })
})

test('422 where a card is only verified, the page offers and takes only cards', async () => {
  const verification = {
    amount: { value: 0, currency: 'EUR' },
    paymentMethods: { card: { eventToken: 'ACCOUNT_VERIFICATION' } },
  }
  const { payId, href } = await shop.session(verification)
  const { html, attempt } = await get(href)
  expect(html).toContain('id="number"')
  expect(html).not.toMatch(/PROVIDERP|IDEAL|id="iban"/)
  expect((await post(href, { type: 'PROVIDERP', attempt })).status).toBe(422)
  expect(await shop.tries(payId)).toEqual(untouched)
  expect((await post(href, { ...card, attempt })).status).toBe(303)
  expect((await shop.read(payId)).status).toBe('OK')
  await expect(shop.session({ ...verification, allowedPaymentMethod: ['IDEAL'] })).rejects.toThrow(
    'allowedPaymentMethod: no payment method fits 0 EUR',
  )
})

test('422 a page with consent to later charges offers only methods that can be charged again', async () => {
  const agreement = { credentialOnFile: { type: 'RECURRING', initialPayment: true } }
  const { payId, href } = await shop.session(agreement)
  const { html, attempt } = await get(href)
  const offered = [...html.matchAll(/name="type" value="(\w+)"/g)].map(([, type]) => type)
  const repeatable = ['CARD', 'DIRECTDEBIT', 'PROVIDERK', 'PROVIDERP', 'PROVIDERM', 'PROVIDERZ', 'BANCONTACT']
  expect(offered.toSorted()).toEqual(repeatable.toSorted())
  expect((await post(href, { type: 'IDEAL', attempt })).status).toBe(422)
  expect(await shop.tries(payId)).toEqual(untouched)
  expect((await post(href, { ...card, attempt })).status).toBe(422)
  expect(await shop.tries(payId)).toEqual(untouched)
  expect((await post(href, { ...card, attempt, planConsent: 'yes' })).status).toBe(303)
  const { paymentPlanId } = await shop.read(payId)
  expect((await shop.call('GET', `/payment-plans/${paymentPlanId}`)).body.status).toBe('ACTIVE')
  await expect(shop.session({ ...agreement, allowedPaymentMethod: ['IDEAL'] })).rejects.toThrow(
    'credentialOnFile.initialPayment',
  )
})
