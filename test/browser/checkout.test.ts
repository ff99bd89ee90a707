/** The checkout of a real gateway in a real browser: from the session to the shop's return address. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { setStage } from '#test/support/browser/page-stage.ts'
import {
  findBrowser,
  noticeOf,
  openTab,
  phone,
  press,
  pressTop,
  typeCard,
} from '#test/support/browser/visitor.ts'

const found = await findBrowser()

const order = {
  description: 'Spring order',
  items: [
    { name: 'Felt hat <b>green</b>', quantity: 2, grossPrice: 2000 },
    { name: 'Ribbon', quantity: 1, grossPrice: 999 },
  ],
}

describe.runIf(found)('checkout', () => {
  const browser = found as Browser
  const stage = setStage(browser)

  /** Each line: the customer's browser settings and language. */
  const looks: [string, BrowserContextOptions, string][] = [
    ['light on a desktop', { colorScheme: 'light' }, 'en'],
    ['dark on a phone', { colorScheme: 'dark', viewport: phone, hasTouch: true }, 'de-AT'],
    ['from right to left on a phone', { colorScheme: 'light', viewport: phone }, 'ar'],
    ['without a script', { javaScriptEnabled: false }, 'en'],
    ['dark, from right to left, without a script', { colorScheme: 'dark', javaScriptEnabled: false }, 'he'],
  ]

  test.each(looks)('%s: a card pays, and the shop gets its customer back', async (_, options, language) => {
    const { payId, href } = await stage.shop.session({ order, language })
    expect(href).not.toContain(payId)
    const seen = await stage.open(href, options)
    const { page } = seen
    expect(await page.getAttribute('html', 'lang')).toBe(language.split('-')[0])
    expect(await page.getAttribute('html', 'dir')).toBe(/^(ar|he)/.test(language) ? 'rtl' : 'ltr')
    // As text: markup in the shop's descriptions does not become part of the page.
    expect(await page.locator('aside').textContent()).toContain('Felt hat <b>green</b>')
    if (options.javaScriptEnabled !== false) await stage.expectSound(seen)
    await typeCard(page)
    await press(page)
    await page.waitForURL(`${stage.place.origin}/**`)
    expect(page.url()).toBe(`${stage.place.urls.return}&PayId=${payId}`)
    expect(await stage.shop.read(payId)).toMatchObject({
      status: 'OK',
      paymentMethods: { type: 'CARD', card: { last4Digits: '1111', cardHolderName: 'Ada Lovelace' } },
    })
    expect(seen.complaints).toEqual([])
    expect(
      seen.requested.filter(url => ![stage.gateway.url, stage.place.origin].includes(new URL(url).origin)),
    ).toEqual([])
  })

  test('a card can be paid with the keyboard alone', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    const fields = ['number', 'expiry', 'securityCode', 'cardholderName']
    const typed = ['4111111111111111', '1239', '123', 'Ada Lovelace']
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab')
      const id = (await page.evaluate('document.activeElement.id')) as string
      const index = fields.indexOf(id)
      if (index >= 0) await page.keyboard.type(typed[index] ?? '')
      if (id === fields.at(-1)) break
    }
    await page.keyboard.press('Enter')
    await stage.waitForThanks(page)
    expect((await stage.shop.read(payId)).status).toBe('OK')
  })

  test('a decline says why and keeps all that was typed; another card pays', async () => {
    const { payId, href } = await stage.shop.session()
    const seen = await stage.open(href)
    const { page } = seen
    await typeCard(page, { number: '4000000000009995' })
    await press(page)
    expect(await noticeOf(page)).toContain('not enough money')
    expect(await page.inputValue('#number')).toBe('4000 0000 0000 9995')
    expect(await page.inputValue('#securityCode')).toBe('123')
    expect(await page.inputValue('#cardholderName')).toBe('Ada Lovelace')
    await stage.expectSound(seen)
    expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['21000351']])
    await page.fill('#number', '4111111111111111')
    await press(page)
    await stage.waitForThanks(page)
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['21000351', '00000000']])
  })

  test('without a script a decline keeps everything but number and code, which no page ever shows', async () => {
    const { payId, href } = await stage.shop.session({
      customerInfo: { merchantCustomerId: 'kept', email: 'ada@stage.shop.example' },
    })
    const { page, statuses } = await stage.open(href, { javaScriptEnabled: false })
    await typeCard(page, { number: '4000000000000002', code: '987' })
    await page.check('#saveCard')
    await press(page)
    expect(await noticeOf(page)).toContain('did not accept')
    expect(statuses.at(-1)).toBe(422)
    expect(await page.isChecked('#saveCard')).toBe(true)
    const shown = await Promise.all(
      ['number', 'securityCode', 'expiry', 'cardholderName'].map(name => page.inputValue(`#${name}`)),
    )
    expect(shown).toEqual(['', '', '12/39', 'Ada Lovelace'])
    const html = await page.content()
    expect(html).not.toMatch(/value="[^"]*(4000 ?0000 ?0000 ?0002|987)/)
    expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['21000305']])
  })

  test('after ten declines no further try is allowed', async () => {
    const { payId, href } = await stage.shop.session()
    const seen = await stage.open(href)
    const { page, statuses } = seen
    await typeCard(page, { number: '4000000000000002' })
    for (let n = 1; n <= 9; n += 1) {
      const answered = page.waitForResponse(response => response.request().method() === 'POST')
      await press(page)
      await answered
      await noticeOf(page)
      await page.locator('form.pay:not([aria-busy="true"])').waitFor()
    }
    await press(page)
    await page.getByRole('heading', { name: 'Too many tries' }).waitFor()
    expect(statuses.at(-1)).toBe(410)
    await stage.expectSound(seen)
    const [status, tries] = await stage.shop.tries(payId)
    expect([status, tries.length]).toEqual(['FAILED', 10])
    await page.getByRole('link', { name: /Back/ }).click()
    await page.waitForURL(`${stage.place.urls.cancel}?PayId=${payId}`)
  })

  test('cancelling redirects to the cancel address, and the page expires', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    await page.locator('form.cancel button').click()
    await page.waitForURL(`${stage.place.urls.cancel}?PayId=${payId}`)
    expect(await stage.shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '29000703' })
    const again = await stage.open(href)
    expect(again.statuses).toEqual([410])
    await stage.expectSound(again)
  })

  // Browsers apply the policy of a page to every redirect that follows its form, including the shop's own.
  test('customers return to a shop that redirects to another origin', async () => {
    const { urls, origin } = stage.place.moved
    const left = await stage.shop.session({ urls })
    const { page, complaints } = await stage.open(left.href)
    await page.locator('form.cancel button').click()
    await page.waitForURL(`${origin}/basket?PayId=${left.payId}`)
    expect((await stage.shop.read(left.payId)).status).toBe('FAILED')
    const paid = await stage.shop.session({ urls })
    await page.goto(paid.href)
    await typeCard(page, { number: '4000002760003184' })
    await press(page)
    await page.click('button[value="approve"]')
    await page.waitForURL(`${origin}/thanks?PayId=${paid.payId}`)
    expect((await stage.shop.read(paid.payId)).status).toBe('OK')
    expect(complaints).toEqual([])
  })

  test('a cancellation whose answer to the script is lost shows the server’s page', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    // Only requests of the script are lost: the browser's own form still works.
    await page.route('**/cancel', route =>
      route.request().isNavigationRequest() ? route.continue() : route.abort(),
    )
    await page.locator('form.cancel button').click()
    await page.waitForURL(`${stage.place.urls.cancel}?PayId=${payId}`)
    expect((await stage.shop.read(payId)).status).toBe('FAILED')
  })

  test('the back button and a reload after paying show that it is paid, and pay nothing', async () => {
    const { payId, href } = await stage.shop.session()
    const { page, statuses } = await stage.open(href)
    await typeCard(page)
    await press(page)
    await stage.waitForThanks(page)
    await page.goBack()
    await page.reload()
    await page.getByRole('heading', { name: 'already been made' }).waitFor()
    expect(statuses.at(-1)).toBe(410)
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['00000000']])
  })

  test('pressing the button twice pays once', async () => {
    const { payId, href } = await stage.shop.session()
    const { page, requested } = await stage.open(href)
    await typeCard(page)
    await page.dblclick('button.primary')
    await stage.waitForThanks(page)
    expect(requested.filter(url => url === href).length).toBe(2)
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['00000000']])
  })

  // Each line: with or without a script in two tabs whose buttons are pressed at the same moment.
  test.each([[{ javaScriptEnabled: true }], [{ javaScriptEnabled: false }]])(
    'two tabs at once pay once: %j',
    async options => {
      const { payId, href } = await stage.shop.session()
      const one = await stage.open(href, options)
      const other = await openTab(one.context, href)
      for (const { page } of [one, other]) await typeCard(page)
      await Promise.all([one, other].map(({ page }) => press(page)))
      await Promise.all([one, other].map(({ page }) => page.waitForURL(`${stage.place.origin}/thanks**`)))
      expect(await stage.shop.tries(payId)).toEqual(['OK', ['00000000']])
    },
  )

  test('a form of an outdated page asks again and pays nothing', async () => {
    const { payId, href } = await stage.shop.session()
    const one = await stage.open(href)
    const other = await openTab(one.context, href)
    await typeCard(one.page, { number: '4000000000000002' })
    await press(one.page)
    await noticeOf(one.page)
    await typeCard(other.page)
    await press(other.page)
    expect(await noticeOf(other.page)).toContain('out of date')
    expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['21000305']])
    await press(other.page)
    await stage.waitForThanks(other.page)
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['21000305', '00000000']])
  })

  // Each line: what the server has against the form, and so tells the next version of the payment to the script.
  test.each([
    ['is out of date', 'Ada Lovelace'],
    ['has a mistake that only the server finds', '4111 1111 1111 1111'],
  ])(
    'an amount that was changed while the page was open is shown before it is paid: a form that %s',
    async (_, name) => {
      const { payId, href } = await stage.shop.session()
      const { page } = await stage.open(href)
      await typeCard(page, { name })
      await stage.shop.call('PATCH', `/payments/${payId}`, { amount: { value: 9999, currency: 'EUR' } })
      await press(page)
      await page.locator('.due', { hasText: '€99.99' }).waitFor()
      expect(await page.textContent('button.primary')).toBe('Pay €99.99')
      expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
      await typeCard(page)
      await press(page)
      await stage.waitForThanks(page)
      expect((await stage.shop.read(payId)).amount).toMatchObject({ value: 9999, capturedValue: 9999 })
    },
  )

  test('an unreadable answer reloads the page, also after a link of the error summary was followed', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    await press(page)
    await page.click('[data-notice] a')
    expect(new URL(page.url()).hash).toBe('#number')
    await typeCard(page)
    await page.route('**/pay/**', route =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 403, contentType: 'text/html' })
        : route.continue(),
    )
    await press(page)
    await page.waitForURL(href)
    expect(await page.locator('form.pay').getAttribute('aria-busy')).toBe(null)
    expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
  })

  test('mistakes are shown before anything is sent; without a script the server shows them', async () => {
    const { payId, href } = await stage.shop.session()
    const seen = await stage.open(href)
    await typeCard(seen.page, { number: '4111111111111112', expiry: '12/20', code: '1' })
    await press(seen.page)
    expect(await noticeOf(seen.page)).toContain('This card has expired.')
    expect(seen.requested.filter(url => url === href).length).toBe(1)
    await stage.expectSound(seen)
    const plain = await stage.open(href, { javaScriptEnabled: false })
    await typeCard(plain.page, { number: '4111111111111112', expiry: '12/20', code: '1' })
    await press(plain.page)
    expect(await plain.page.locator('[data-notice] a').allTextContents()).toHaveLength(3)
    expect(plain.statuses.at(-1)).toBe(422)
    expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
  })

  test('the button stays under the pointer when leaving a field shows what is wrong', async () => {
    const { href } = await stage.shop.session()
    const { page } = await stage.open(href)
    await page.fill('#number', '4111111111111112')
    await pressTop(page, page.locator('button.primary'))
    await page.mouse.up()
    // Only pressing the button validates fields that were never focused.
    await page.locator('#expiry[aria-invalid="true"]').waitFor()
    expect(await page.getAttribute('#number', 'aria-invalid')).toBe('true')
  })

  test('a try that never reached the provider says so, and the next one pays', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    await typeCard(page, { number: '4000000000000259' })
    await press(page)
    expect(await noticeOf(page)).toContain('cannot be reached')
    await page.fill('#number', '4111111111111111')
    await press(page)
    await stage.waitForThanks(page)
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['21000391', '00000000']])
  })

  test('a lost answer: the customer returns to the shop, which gets the result later', async () => {
    const { payId, href } = await stage.shop.session()
    const { page } = await stage.open(href)
    await typeCard(page, { number: '4000000000000101' })
    await press(page)
    await stage.waitForThanks(page)
    expect((await stage.shop.read(payId)).status).toBe('PENDING')
    const again = await stage.open(href)
    await again.page.getByRole('heading', { name: 'being processed' }).waitFor()
    await stage.expectSound(again)
    await stage.shop.advance('PT1M')
    expect((await stage.shop.read(payId)).status).toBe('OK')
  })
})
