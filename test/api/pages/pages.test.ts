/** The customer's pages over plain HTTP: what is forged, replayed, foreign or somebody else's gets a page and no effect. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openPageShop, type PageShop } from '#test/support/page-shop.ts'

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

interface Page {
  readonly status: number
  readonly html: string
  readonly headers: Headers
  /** Value of the hidden field that tells which state of the payment the page showed. */
  readonly attempt: string
}

async function read(response: Response): Promise<Page> {
  const html = await response.text()
  const attempt = /name="attempt" value="(\d+)"/.exec(html)?.[1] ?? ''
  return { status: response.status, html, headers: response.headers, attempt }
}

const get = async (href: string, headers: Record<string, string> = {}): Promise<Page> =>
  read(await fetch(href, { headers, redirect: 'manual' }))

const post = async (
  href: string,
  fields: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<Page> =>
  read(
    await fetch(href, {
      method: 'POST',
      headers,
      body: typeof fields === 'string' ? fields : new URLSearchParams(fields),
      redirect: 'manual',
    }),
  )

let orders = 0

const untouched = ['AUTHORIZE_REQUEST', ['60000100']]

describe('headers', () => {
  test('200 nothing inline, nothing foreign, nothing kept', async () => {
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

test('503 a merchant that was disabled takes no payments on its pages, until it is enabled again', async () => {
  const { payId, href } = await shop.session()
  const { attempt } = await get(href)
  await gateway.gateway.merchants.set(shop.merchantId, { disabled: true })
  expect((await get(href)).status).toBe(503)
  expect((await post(href, { ...card, attempt })).status).toBe(503)
  await gateway.gateway.merchants.set(shop.merchantId, { disabled: false })
  expect(await shop.tries(payId)).toEqual(untouched)
  expect((await post(href, { ...card, attempt })).status).toBe(303)
})

describe('addresses', () => {
  test('404 for one that was changed by a single character, wherever', async () => {
    const { payId, href } = await shop.session()
    const start = href.lastIndexOf('/') + 1
    for (let at = start; at < href.length; at += 9) {
      const forged = `${href.slice(0, at)}${href[at] === 'A' ? 'B' : 'A'}${href.slice(at + 1)}`
      expect((await get(forged)).status).toBe(404)
      expect((await post(forged, { ...card, attempt: '1' })).status).toBe(404)
    }
    expect(await shop.tries(payId)).toEqual(untouched)
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

describe('forms', () => {
  const pay = async (href: string, change: Record<string, string> = {}) => {
    const { attempt } = await get(href)
    return post(href, { ...card, attempt, ...change })
  }

  test('303 to the shop, with nothing of its address changed', async () => {
    const { payId, href } = await shop.session()
    const { status, headers } = await pay(href)
    expect([status, headers.get('location')]).toEqual([
      303,
      `https://shop.example/thanks?a=b%20c&PayId=${payId}#top`,
    ])
    const left = await shop.session()
    const turned = await post(`${left.href}/cancel`, {})
    expect(turned.headers.get('location')).toBe(`https://shop.example/basket?PayId=${left.payId}`)
  })

  test('303 a form sent again has the effect of the first one only', async () => {
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    const sent = { ...card, attempt }
    const all = await Promise.all([post(href, sent), post(href, sent), post(href, sent)])
    all.push(await post(href, sent))
    expect(all.map(({ status }) => status)).toEqual([303, 303, 303, 303])
    expect(await shop.tries(payId)).toEqual(['OK', ['00000000']])
  })

  test('422 a declined form sent again is out of date: the card is not tried a second time', async () => {
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    const sent = { ...card, number: '4000000000000002', attempt }
    expect((await post(href, sent)).status).toBe(422)
    const again = await post(href, sent)
    expect(again.status).toBe(422)
    expect(again.html).toContain('out of date')
    expect(await shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['21000305']])
  })

  test('303 fields that no form of ours has change nothing', async () => {
    const { payId, href } = await shop.session()
    const { payId: other } = await shop.session()
    const foreign = { amount: '1', value: '1', currency: 'JPY', payId: other, status: 'OK', __proto__: 'x' }
    expect((await pay(href, { ...foreign, 'urls[return]': 'https://evil.example' })).status).toBe(303)
    expect((await shop.read(payId)).amount).toMatchObject({
      value: 4999,
      currency: 'EUR',
      capturedValue: 4999,
    })
    expect(await shop.tries(other)).toEqual(untouched)
  })

  // Each line: what is wrong with the form.
  test.each([
    ['a method that is not offered', { type: 'PIX' }],
    ['no method at all', { type: '' }],
    ['no attempt', { attempt: '' }],
    ['an attempt to come', { attempt: '99' }],
    ['a card that nobody remembers', { remembered: '019a3f6e33f49d2cb7031b2c3d4e5f60' }],
    ['a remembered card that is none', { remembered: "' OR 1=1 --" }],
    ['a number that is none', { number: '4111111111111112' }],
    ['letters for digits', { securityCode: 'abc' }],
    ['a name that is too long', { cardholderName: 'x'.repeat(46) }],
  ])('422 %s', async (_, change) => {
    const { payId, href } = await shop.session()
    const { status, html } = await pay(href, change)
    expect(status).toBe(422)
    expect(html).toContain('role="alert"')
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  // Each line: the field into which the customer typed a card number.
  test.each([
    ['cardholderName', '4539 5787 6362 1486', {}],
    ['cardholderName', '4716-0677-6353-8366', {}],
    ['cardholderName', 'Ada 4716 0677 6353 8366', { number: '' }],
    ['cardholderName', '٤٥٣٩٥٧٨٧٦٣٦٢١٤٨٦', {}],
    ['cardholderName', '4539 5787 6362 1486', { type: 'DIRECTDEBIT' }],
    ['expiry', '4539 5787 6362 1486', {}],
    ['accountHolder', '4539578763621486', { type: 'DIRECTDEBIT' }],
    ['iban', '4539578763621486', { type: 'DIRECTDEBIT' }],
  ])('422 a card number as %s (%s) is not shown again', async (field, value, change) => {
    const { payId, href } = await shop.session()
    const { status, html } = await pay(href, { [field]: value, ...change })
    expect(status).toBe(422)
    expect(html).not.toContain(value)
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  test('422 what else was typed is still there', async () => {
    const { href } = await shop.session()
    const typed = { number: '', cardholderName: 'Ada King 2nd', expiry: '11/38' }
    const { html } = await pay(href, typed)
    expect(html).toContain('value="Ada King 2nd"')
    expect(html).toContain('value="11/38"')
  })

  // Each line: where the browser says the form comes from.
  test.each([['cross-site'], ['same-site']])('403 a form that comes %s has no effect', async site => {
    const headers = { 'sec-fetch-site': site }
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    expect((await post(href, { ...card, attempt }, headers)).status).toBe(403)
    expect((await post(`${href}/cancel`, {}, headers)).status).toBe(403)
    expect(await shop.tries(payId)).toEqual(untouched)
    const redirected = await shop.hosted('IDEAL')
    const step = new URL((await get(redirected.href)).headers.get('location') ?? '', gateway.url).href
    expect((await post(step, { action: 'approve' }, headers)).status).toBe(403)
    expect((await shop.read(redirected.payId)).status).toBe('AUTHORIZE_REQUEST')
    expect((await post(step, { action: 'approve' }, { 'sec-fetch-site': 'same-origin' })).status).toBe(303)
  })

  test.each([
    ['of another site, without a body', { 'sec-fetch-site': 'cross-site' }],
    ['of another origin, from a browser that knows no more', { origin: 'https://evil.example' }],
  ])('403 a cancellation %s', async (_, headers) => {
    const { payId, href } = await shop.session()
    const answer = await fetch(`${href}/cancel`, { method: 'POST', headers, redirect: 'manual' })
    expect(answer.status).toBe(403)
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  test('404 thirty days after the payment has ended, and not before', async () => {
    const { href } = await shop.session()
    const open = await shop.session({ expirationTime: new Date(Date.now() + 60 * 86_400_000).toISOString() })
    expect((await post(`${href}/cancel`, {})).status).toBe(303)
    await shop.advance('P29D')
    expect((await get(href)).status).toBe(410)
    await shop.advance('P2D')
    const gone = [href, `${href}/result`, `${href}/cancel`].map(async address => (await get(address)).status)
    expect(await Promise.all(gone)).toEqual([404, 404, 404])
    expect((await get(open.href)).status).toBe(200)
  })

  test('403 a body that is not a form has no effect', async () => {
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    const json = JSON.stringify({ ...card, attempt })
    expect((await post(href, json, { 'content-type': 'application/json' })).status).toBe(403)
    expect((await post(href, json, { 'content-type': 'text/plain' })).status).toBe(403)
    const bare = await fetch(`${href}/cancel`, { method: 'POST', redirect: 'manual' })
    expect(bare.status).toBe(403)
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  test('413 a form that is far too large gets a page too', async () => {
    const { payId, href } = await shop.session()
    const { status, html, headers } = await pay(href, { note: 'x'.repeat(20_000) })
    expect(status).toBe(413)
    expect(headers.get('content-type')).toContain('text/html')
    expect(html).toContain('</html>')
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  test('200 for the script: what is wrong, what to send next, where to go on', async () => {
    const { href } = await shop.session()
    const accept = { accept: 'application/json' }
    const { attempt } = await get(href)
    const declined = await post(href, { ...card, number: '4000000000009995', attempt }, accept)
    const answer = JSON.parse(declined.html)
    expect([declined.status, answer.errors]).toEqual([200, {}])
    expect(answer.message).toContain('not enough money')
    const wrong = await post(href, { ...card, number: '1', attempt: answer.attempt }, accept)
    expect(Object.keys(JSON.parse(wrong.html).errors)).toEqual(['number'])
    const paid = await post(href, { ...card, attempt: answer.attempt }, accept)
    expect(JSON.parse(paid.html).redirect).toContain('https://shop.example/thanks')
  })

  test('number and security code are in no page, no address and no line of the log', async () => {
    const seen: string[] = []
    for (const typed of [number, '4000000000000002', '4000000000009995', '4000002760003184']) {
      const { href } = await shop.session()
      const page = await pay(href, { number: typed, securityCode: '739' })
      seen.push(page.html, page.headers.get('location') ?? '', JSON.stringify([...page.headers]))
      seen.push((await get(href)).html)
      const wrong = await shop.session()
      seen.push((await pay(wrong.href, { number: `${typed}1`, securityCode: '7391', expiry: '1' })).html)
      expect(seen.join('\n')).not.toContain(typed)
      // In groups it stands among the test cards, and nowhere else.
      const besides = seen.join('\n').replace(/<bdi class="code">[\d ]+<\/bdi>/g, '')
      expect(besides.replaceAll(' ', '')).not.toContain(typed)
    }
    expect(seen.join('\n')).not.toMatch(/value="739/)
    const logged = gateway.logged.join('\n')
    expect(logged).not.toMatch(/4111111111111111|4000000000009995|4000002760003184|["=]739["&]/)
  })
})

describe('known customers', () => {
  const known = (merchantCustomerId: string) => ({
    customerInfo: { merchantCustomerId, email: 'ada@shop.example' },
  })
  const pay = async (href: string, change: Record<string, string> = {}) => {
    const { attempt } = await get(href)
    return post(href, { ...card, attempt, ...change })
  }
  const stored = async (payId: string): Promise<{ id: string; last4Digits: string }[]> => {
    const { customerInfo } = await shop.read(payId)
    return (await shop.call('GET', `/customers/${customerInfo.gatewayCustomerId}/paymentMethods`)).body.data
  }

  // Each line: who asks for the card, what the customer ticks, and whether the card is kept.
  test.each([
    ['session', {}, {}, false],
    ['session', {}, { saveCard: 'yes' }, true],
    ['session', { credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true } }, {}, true],
    ['link', {}, {}, false],
    ['link', {}, { saveCard: 'yes' }, true],
    ['link', { linkType: 'TOKENIZE' }, {}, true],
  ] as const)('303 %s %j %j: kept %s', async (kind, more, ticked, kept) => {
    const { payId, href } = await shop[kind]({ ...known(`kept ${orders++}`), ...more })
    expect((await pay(href, ticked)).status).toBe(303)
    expect((await stored(payId)).map(({ last4Digits }) => last4Digits)).toEqual(kept ? ['1111'] : [])
    expect(JSON.stringify(await shop.read(payId))).not.toContain('keepCard')
  })

  test('303 the last try decides what is kept', async () => {
    const { payId, href } = await shop.session(known('undecided'))
    await pay(href, { number: '4000000000000002', saveCard: 'yes' })
    expect((await pay(href)).status).toBe(303)
    expect(await stored(payId)).toEqual([])
  })

  test('the tick is set at first; taken off, it stays off', async () => {
    const ticked = /id="saveCard"[^>]* checked/
    const { href } = await shop.session(known('asked'))
    expect((await get(href)).html).toMatch(ticked)
    const declined = { number: '4000000000000002' }
    expect((await pay(href, { ...declined, saveCard: 'yes' })).html).toMatch(ticked)
    expect((await pay(href, { number: '1' })).html).not.toMatch(ticked)
    expect((await pay(href, declined)).html).not.toMatch(ticked)
    expect((await get(href)).html).not.toMatch(ticked)
  })

  test('a remembered card pays without its code; nobody pays with the card of somebody else', async () => {
    const paid = await shop.create('CARD', known('owner'))
    const [method] = await stored(paid.body.payId)
    const own = await shop.session(known('owner'))
    expect((await get(own.href)).html).toContain(`name="remembered" value="${method?.id}"`)
    // Each: a page that is not the owner's, or not one on which it is known who sits before it.
    const other = await openPageShop(gateway, { urls })
    for (const { payId, href, reader } of [
      { ...(await shop.session(known('stranger'))), reader: shop },
      { ...(await shop.session()), reader: shop },
      { ...(await shop.link(known('owner'))), reader: shop },
      { ...(await other.session(known('owner'))), reader: other },
    ]) {
      expect((await get(href)).html).not.toContain('name="remembered"')
      expect((await pay(href, { remembered: method?.id ?? '' })).status).toBe(422)
      expect(await reader.tries(payId)).toEqual(untouched)
    }
    const { attempt } = await get(own.href)
    expect((await post(own.href, { type: 'CARD', remembered: method?.id ?? '', attempt })).status).toBe(303)
    expect(await shop.read(own.payId)).toMatchObject({
      status: 'OK',
      paymentMethods: { card: { last4Digits: '1111', cardHolderName: 'Ada Lovelace' } },
    })
  })

  test('an expired card is not offered', async () => {
    const late = await openPageShop(gateway, { urls })
    await late.create('CARD', known('owner'))
    await late.advance('P5Y')
    expect((await get((await late.session(known('owner'))).href)).html).not.toContain('name="remembered"')
  })
})

test('303 an account goes into the vault with its mandate', async () => {
  const { payId, href } = await shop.hosted('DIRECTDEBIT')
  const { attempt, html } = await get(href)
  expect(html).toContain(payId)
  const entries = { type: 'DIRECTDEBIT', accountHolder: 'Ada King', iban: 'de89 3704 0044 0532 0130 00' }
  expect((await post(href, { ...entries, attempt })).status).toBe(422)
  expect((await post(href, { ...entries, consent: 'yes', attempt })).status).toBe(303)
  expect((await shop.read(payId)).paymentMethods.directDebit).toMatchObject({
    account: { last4Digits: '3000', accountHolderName: 'Ada King' },
    mandateId: payId,
    dateOfSignature: expect.stringMatching(/^\d\d\.\d\d\.20\d\d$/),
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

test('422 where a card is only to be verified, the page offers and takes cards alone', async () => {
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
  expect((await post(href, { ...card, attempt })).status).toBe(303)
  const { paymentPlanId } = await shop.read(payId)
  expect((await shop.call('GET', `/payment-plans/${paymentPlanId}`)).body.status).toBe('ACTIVE')
  await expect(shop.session({ ...agreement, allowedPaymentMethod: ['IDEAL'] })).rejects.toThrow(
    'credentialOnFile.initialPayment',
  )
})

describe('what is paid elsewhere', () => {
  const choices = async (href: string) => {
    const { html } = await get(href)
    const [, action = ''] = /<form method="post" action="(\/pay\/step\/[^"]+)"/.exec(html) ?? []
    const [, shown = ''] = /name="shown" value="([^"]+)"/.exec(html) ?? []
    return { step: `${gateway.url}${action}`, shown }
  }

  // Each line: what the customer does with the reference it was given, and what becomes of the payment.
  test.each([
    ['approve', ['OK', ['00000000']], 'https://shop.example/thanks'],
    ['decline', ['AUTHORIZE_REQUEST', ['25000305']], '/pay/'],
    ['cancel', ['FAILED', ['25000703']], 'https://shop.example/basket'],
    ['pending', ['PENDING', ['60000200']], '/pay/'],
  ])('303 a voucher in the test environment: %s', async (action, tries, place) => {
    const { payId, href } = await shop.hosted('MULTIBANCO')
    const { step, shown } = await choices(href)
    const { status, headers } = await post(step, { action, shown })
    expect([status, headers.get('location')]).toEqual([303, expect.stringContaining(place)])
    expect(await shop.tries(payId)).toEqual(tries)
  })

  test('303 nothing is approved that was not shown', async () => {
    const { payId, href } = await shop.hosted('MULTIBANCO')
    const { step, shown } = await choices(href)
    expect(shown).toBe('4999 EUR')
    await post(step, { action: 'approve', shown: '1 EUR' })
    expect(await shop.tries(payId)).toEqual(untouched)
  })
})
