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

describe('forms', () => {
  const pay = async (href: string, change: Record<string, string> = {}) => {
    const { attempt } = await get(href)
    return post(href, { ...card, attempt, ...change })
  }

  test('303 to the shop, with its address unchanged', async () => {
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

  test('303 a test card is filled in with a date that is valid by the test clock', async () => {
    const later = await openPageShop(gateway, { urls })
    await later.advance('P5Y')
    const { href } = await later.session()
    const { attempt, html } = await get(href)
    const [, expiry = ''] = /data-test-card="([^"]+)"/.exec(html) ?? []
    const paid = await post(href, { ...card, expiry, attempt })
    expect(paid.headers.get('location')).toMatch(/^https:\/\/shop\.example\/thanks/)
  })

  test('303 a form that is sent twice has one effect', async () => {
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    const sent = { ...card, attempt }
    const all = await Promise.all([post(href, sent), post(href, sent), post(href, sent)])
    all.push(await post(href, sent))
    expect(all.map(({ status }) => status)).toEqual([303, 303, 303, 303])
    expect(await shop.tries(payId)).toEqual(['OK', ['00000000']])
  })

  test('422 a declined form that is sent again is outdated: the card is not tried a second time', async () => {
    const { payId, href } = await shop.session()
    const { attempt } = await get(href)
    const sent = { ...card, number: '4000000000000002', attempt }
    expect((await post(href, sent)).status).toBe(422)
    const again = await post(href, sent)
    expect(again.status).toBe(422)
    expect(again.html).toContain('out of date')
    expect(await shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['21000305']])
  })

  test('303 unknown fields have no effect', async () => {
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

  test('422 the other entries are still there', async () => {
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

  test('410 a payment that was approved and reversed in full is not shown as paid', async () => {
    const { payId, href } = await shop.session({ captureMethod: { type: 'MANUAL' } })
    await pay(href)
    expect((await get(`${href}/result`)).html).toContain('your payment is complete')
    const { transId, amount } = await shop.read(payId)
    const { value, currency } = amount
    const reversed = await shop.call('POST', `/payments/${payId}/reversals`, {
      transId,
      amount: { value, currency },
    })
    expect(reversed.status).toBe(200)
    for (const [address, status] of [
      [href, 410],
      [`${href}/result`, 200],
    ] as const) {
      const shown = await get(address)
      expect(shown.status).toBe(status)
      expect(shown.html).toContain('The payment was cancelled')
      expect(shown.html).toContain(`https://shop.example/basket?PayId=${payId}`)
    }
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

  test('200 for the script: errors, the next attempt, the redirect', async () => {
    const { href } = await shop.session()
    const accept = { accept: 'application/json' }
    const { attempt } = await get(href)
    const declined = await post(href, { ...card, number: '4000000000009995', attempt }, accept)
    const answer = JSON.parse(declined.html)
    expect([declined.status, answer.errors, answer.due]).toEqual([200, {}, '4999 EUR'])
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
