/** The example shop in a browser: paid by redirect, in a frame, by link and as a subscription; shipped and refunded. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FrameLocator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { loadAssets } from '#pages/assets.ts'
import { closePages, findBrowser, leaveBrowser, pressTop, visit } from '#test/support/browser/visitor.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { createShop } from '../../examples/shop/shop.ts'

const browser = await findBrowser()

describe.skipIf(browser === undefined)('the example shop', () => {
  let gateway: TestGateway
  let shop: Server
  let origin: string
  let merchantId: string

  beforeAll(async () => {
    gateway = await startTestGateway()
    const merchant = await gateway.gateway.merchants.create('Hats')
    merchantId = merchant.merchantId
    shop = createShop({ gateway: gateway.url, ...merchant })
    shop.listen(0, '127.0.0.1')
    await once(shop, 'listening')
    origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
    await gateway.gateway.merchants.set(merchant.merchantId, { frameOrigins: [origin] })
  })
  afterEach(() => browser && closePages(browser))
  afterAll(async () => {
    if (browser) await leaveBrowser(browser)
    shop.close()
    await gateway.stop()
  })

  async function choose(button: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    if (browser === undefined) throw new Error('no browser')
    const { page } = await visit(browser, origin)
    await prepare?.(page)
    await page.getByRole('button', { name: button }).click()
    return page
  }

  async function payByCard(place: Page | FrameLocator, number = '4111111111111111'): Promise<void> {
    const card = place.getByRole('radio', { name: 'Card', exact: true })
    if ((await card.count()) > 0) await card.check()
    await place.locator('#number').fill(number)
    await place.locator('#expiry').fill('12/30')
    await place.locator('#securityCode').fill('123')
    await place.locator('#cardholderName').fill('Ada Lovelace')
    const consent = place.locator('#planConsent')
    if ((await consent.count()) > 0) await consent.check()
    await place.locator('form[data-pay] button.primary').click()
  }

  test('a customer pays by redirect, and the order is shipped and refunded', async () => {
    const page = await choose("Pay on the gateway's page")
    await page.waitForURL(`${gateway.url}/pay/**`)
    await payByCard(page)
    await page.waitForURL(`${origin}/order?PayId=*`)
    expect(await page.textContent('#status')).toBe('AUTHORIZED')
    await page.getByRole('button', { name: 'Ship it (capture)' }).click()
    await page.getByRole('button', { name: 'Take it back (refund)' }).click()
    await page.locator('#refunded', { hasText: '€49.99' }).waitFor()
    expect(await page.textContent('#captured')).toBe('€49.99')
  })

  test('a customer pays in a frame that grows, and then gets the whole page back', async () => {
    const page = await choose('Pay here')
    const frame = page.frameLocator('#pay iframe')
    await frame.locator('form[data-pay]').waitFor()
    const asTall = () =>
      page.evaluate("document.querySelector('#pay iframe').style.height.endsWith('px')") as Promise<boolean>
    await expect.poll(asTall).toBe(true)
    await payByCard(frame)
    await page.waitForURL(`${origin}/order?PayId=*`)
    expect(await page.textContent('#status')).toBe('AUTHORIZED')
  })

  test('the frame is as tall as each page in it, and a new page begins at its top', async () => {
    if (browser === undefined) throw new Error('no browser')
    const { page } = await visit(browser, origin, { viewport: { width: 390, height: 500 } })
    await page.getByRole('button', { name: 'Pay here' }).click()
    const frame = page.frameLocator('#pay iframe')
    await payByCard(frame, '4000002760003184')
    await frame.locator('button[value="approve"]').waitFor()
    const shown = async () => {
      const inside = await frame.locator('body').evaluate(body => body.getBoundingClientRect().height)
      const box = await page.locator('#pay iframe').boundingBox()
      return [Math.ceil(inside) === Math.round(box?.height ?? 0), (box?.y ?? -1) > -1]
    }
    await expect.poll(shown, { timeout: 60_000 }).toEqual([true, true])
  })

  test('a frame on a site that is not on the list stays empty', async () => {
    const page = await choose('Pay here')
    const foreign = page.url().replace('127.0.0.1', 'localhost')
    await page.goto(foreign.replace('/checkout', '/'))
    const refused = page.waitForEvent('console', message => message.text().includes('frame-ancestors'))
    await page.getByRole('button', { name: 'Pay here' }).click()
    await refused
    expect(await page.frameLocator('#pay iframe').locator('form[data-pay]').count()).toBe(0)
  })

  test('a customer pays by card fields in the shop’s own page, which never sees the number', async () => {
    const page = await choose('Pay by card here')
    const fields = page.frameLocator('#card iframe')
    await fields.locator('#number').fill('4111111111111112')
    await page.getByRole('button', { name: 'Pay €49.99' }).click()
    await page.locator('#problem', { hasText: /./ }).waitFor()
    const sent = page.waitForRequest(request => request.url() === `${origin}/pay`)
    await fields.locator('#number').fill('4111111111111111')
    await fields.locator('#expiry').fill('12/30')
    await fields.locator('#securityCode').fill('123')
    await fields.locator('#cardholderName').fill('Ada Lovelace')
    await fields.locator('#cardholderName').press('Enter')
    expect((await sent).postData()).toMatch(/^order=hat-[\w-]{36}&token=ott_[\w-]+$/)
    await page.waitForURL(`${origin}/order?PayId=*`)
    expect(await page.textContent('#status')).toBe('AUTHORIZED')
  })

  test('the button below the card fields stays under the pointer when leaving a field shows what is wrong', async () => {
    const page = await choose('Pay by card here')
    const fields = page.frameLocator('#card iframe')
    const height = () =>
      page.evaluate("document.querySelector('#card iframe').style.height") as Promise<string>
    await expect.poll(height).toMatch(/px$/)
    await fields.locator('#number').fill('4111111111111112')
    const before = await height()
    await pressTop(page, page.getByRole('button', { name: 'Pay €49.99' }))
    await fields.locator('#number[aria-invalid="true"]').waitFor()
    await page.mouse.up()
    await page.locator('#problem', { hasText: /./ }).waitFor()
    await expect.poll(height).not.toBe(before)
  })

  test('a customer who presses the button before the card fields have loaded is answered once they have', async () => {
    const page = await choose('Pay by card here', shown =>
      shown.route('**/pay/fields/**', async route => {
        await shown.getByRole('button', { name: 'Pay €49.99' }).click()
        await route.continue()
      }),
    )
    await page.locator('#problem', { hasText: /./ }).waitFor()
  })

  test('a customer whose card fields cannot be loaded gets a message instead of waiting', async () => {
    const page = await choose('Pay by card here', async shown => {
      await shown.clock.install()
      // The answer for a merchant that is disabled, or has not named the shop's site.
      await shown.route('**/pay/fields/**', route => route.fulfill({ status: 404, contentType: 'text/html' }))
    })
    const said = async () => {
      await page.clock.fastForward(5_000)
      return page.textContent('#problem')
    }
    await page.getByRole('button', { name: 'Pay €49.99' }).click()
    await expect.poll(said, { timeout: 60_000 }).toContain('could not be loaded')
    await page.evaluate("document.querySelector('#problem').textContent = ''")
    await page.getByRole('button', { name: 'Pay €49.99' }).click()
    await page.locator('#problem', { hasText: 'could not be loaded' }).waitFor()
  })

  test('card fields that are taken out answer at once, and put back they answer when they have loaded', async () => {
    const page = await choose('Pay by card here')
    const fields = page.frameLocator('#card iframe')
    const press = () => page.getByRole('button', { name: 'Pay €49.99' }).click()
    const problem = (text: RegExp) => page.locator('#problem', { hasText: text }).waitFor()
    await press()
    await problem(/number/)
    await page.evaluate('card.unmount()')
    await press()
    await problem(/are gone/)
    await page.evaluate("card.mount('#card')")
    await press()
    await problem(/number/)
    await fields.locator('#number').waitFor()
  })

  test('a refusal of a token without a reason shows a message', async () => {
    const page = await choose('Pay by card here')
    const fields = page.frameLocator('#card iframe')
    await fields.locator('#number').fill('4111111111111111')
    await fields.locator('#expiry').fill('12/30')
    await fields.locator('#securityCode').fill('123')
    await fields.locator('#cardholderName').fill('Ada Lovelace')
    // The answer for a merchant that was disabled since the page was opened.
    await page.route('**/pay/fields/**', route => route.fulfill({ status: 404, contentType: 'text/html' }))
    await page.getByRole('button', { name: 'Pay €49.99' }).click()
    await page.locator('#problem', { hasText: 'Please try again' }).waitFor()
  })

  test('an order whose button is pressed twice is paid once, although each press brings a token of its own', async () => {
    const token = async () => {
      const entries = { number: '4111111111111111', expiry: '12/30', securityCode: '123' }
      const response = await fetch(`${gateway.url}/pay/fields/${merchantId}`, {
        method: 'POST',
        headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ ...entries, cardholderName: 'Ada Lovelace' }),
      })
      return ((await response.json()) as { token: string }).token
    }
    const form = { method: 'POST', redirect: 'manual' } as const
    const fields = new URLSearchParams({ how: 'fields' })
    const shown = await (await fetch(`${origin}/checkout`, { ...form, body: fields })).text()
    const hidden = Object.fromEntries(
      [...shown.matchAll(/name="(\w+)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]),
    )
    const press = async () => {
      const body = new URLSearchParams({ ...hidden, token: await token() })
      return (await fetch(`${origin}/pay`, { ...form, body })).headers.get('location')
    }
    const first = await press()
    expect(first).toMatch(/^\/order\?PayId=\w{32}$/)
    expect(await press()).toBe(first)
  })

  test('a customer pays by a link', async () => {
    const page = await choose('Get a payment link')
    await page.locator('#link').click()
    await page.waitForURL(`${gateway.url}/pay/**`)
    await payByCard(page)
    await page.waitForURL(`${gateway.url}/pay/**/result`)
  })

  test('a customer begins a subscription, which is charged again', async () => {
    const page = await choose('A hat every month')
    await page.waitForURL(`${gateway.url}/pay/**`)
    await payByCard(page)
    await page.waitForURL(`${origin}/order?PayId=*`)
    const first = page.url()
    await page.getByRole('button', { name: 'Charge the next month' }).click()
    await page.waitForURL(url => url.href !== first)
    expect(await page.textContent('#captured')).toBe('€49.99')
    // The same button pressed twice charges once.
    const body = new URLSearchParams({ payId: new URL(first).searchParams.get('PayId') ?? '', act: 'next' })
    const again = await fetch(`${origin}/order`, { method: 'POST', redirect: 'manual', body })
    expect(origin + again.headers.get('location')).toBe(page.url())
  })

  test('the script for shops is small, may be loaded anywhere, and is kept for ever under its hash', async () => {
    const load = async (path: string) => {
      const { status, headers } = await fetch(gateway.url + path, { headers: { 'accept-encoding': 'br' } })
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*'])
      // docs/pages.md names its size.
      expect(Number(headers.get('content-length'))).toBeLessThan(2_500)
      return headers.get('cache-control')
    }
    expect(await load('/js/tollgate.js')).toBe('public, max-age=300')
    expect(await load(loadAssets().embed.url)).toBe('public, max-age=31536000, immutable')
    expect((await fetch(`${gateway.url}/js/other.js`)).status).toBe(404)
  })
})
