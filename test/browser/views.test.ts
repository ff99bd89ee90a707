/** The hosted pages in a real browser: accessible, usable by keyboard and without a script, quiet, small. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { chooseLanguage, type Language } from '#pages/language.ts'
import { samples } from '#test/support/browser/page-samples.ts'
import { type PageServer, startPageServer } from '#test/support/browser/page-server.ts'
import {
  closePages,
  findBrowser,
  findViolations,
  leaveBrowser,
  narrowest,
  phone,
  visit,
  visitAnew,
} from '#test/support/browser/visitor.ts'

const found = await findBrowser()

/** English texts from right to left: the test is about the layout, not the texts. */
const mirrored: Language = { ...chooseLanguage('en', undefined), tag: 'ar', direction: 'rtl' }

describe.runIf(found)('in a browser', () => {
  const browser = found as Browser
  let plain: PageServer
  let turned: PageServer
  let themed: PageServer

  beforeAll(async () => {
    plain = await startPageServer()
    turned = await startPageServer({ language: mirrored })
    themed = await startPageServer({ theme: { accent: '#ffd400', background: '#fff8ee', font: 'serif' } })
  })

  // Also after a failure, because an open page keeps polling.
  afterEach(() => closePages(browser))

  afterAll(async () => {
    await leaveBrowser(browser)
    await Promise.all([plain.close(), turned.close(), themed.close()])
  })

  const open = (url: string, options?: BrowserContextOptions) => visit(browser, url, options)

  const every = Object.keys(samples)
  /** One page of each layout: these show every problem of direction and colours. */
  const some = ['checkout', 'mistakes', 'debit', 'currency', 'transfer', 'challenge']
  const looks: [string, () => PageServer, BrowserContextOptions, readonly string[]][] = [
    ['light on a desktop', () => plain, { colorScheme: 'light' }, every],
    ['dark on a phone', () => plain, { colorScheme: 'dark', viewport: phone, hasTouch: true }, some],
    ['dark on a desktop, from right to left', () => turned, { colorScheme: 'dark' }, some],
    [
      "light in a merchant's colours, on a phone",
      () => themed,
      { colorScheme: 'light', viewport: phone },
      some,
    ],
  ]

  test.each(looks)(
    '%s all pages are accessible, quiet, and not wider than the screen',
    async (_, server, options, names) => {
      const { page, complaints, requested } = await open('about:blank', options)
      const wrong: string[] = []
      for (const name of names) {
        await page.goto(`${server().url}/${name}`)
        for (const details of await page.locator('details summary:visible').all()) await details.click()
        wrong.push(...(await findViolations(page)).map(violation => `${name} ${violation}`))
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        if (overflow !== 0) wrong.push(`${name} is ${overflow} pixels wider than the screen`)
      }
      expect(wrong).toEqual([])
      expect(complaints).toEqual([])
      expect(requested.filter(url => !url.startsWith(server().url) && url !== 'about:blank')).toEqual([])
    },
    180_000,
  )

  test('the first load fits into 40 kB', async () => {
    // Its own profile: what is in a cache is not loaded.
    const { page, context } = await visitAnew(browser, 'about:blank')
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(`${plain.url}/checkout`, { waitUntil: 'networkidle' })
    expect(bytes).toBeGreaterThan(5_000)
    // Headers included: the budget is for what goes over the wire.
    expect(bytes).toBeLessThanOrEqual(40_000)
  })

  test('on the narrowest phones the choice of a currency breaks no amount and no word', async () => {
    const { page } = await open(`${plain.url}/currency`, { viewport: narrowest })
    const broken = await page.evaluate(`(() => {
      document.querySelector('.currency strong bdi').textContent = 'IDR\u00a01,234,567.00'
      const isBroken = (text, start, end) => {
        const range = document.createRange()
        range.setStart(text, start)
        range.setEnd(text, end)
        return range.getClientRects().length > 1
      }
      return [...document.querySelectorAll('.currency strong bdi, .fact > :first-child, .fact bdi')]
        .map(part => part.firstChild)
        .flatMap(text =>
          [...text.data.matchAll(/[^ ]+/g)]
            .filter(({ index, 0: word }) => isBroken(text, index, index + word.length))
            .map(([word]) => word),
        )
    })()`)
    expect(broken).toEqual([])
  })

  test('on the narrowest phones with text of twice the size, options fit and break no short word', async () => {
    const server = await startPageServer({ language: chooseLanguage('hi', undefined) })
    try {
      const { page } = await open(`${server.url}/remembered`, { viewport: narrowest })
      const [wide, lines] = await page.evaluate<[number, number]>(`(() => {
        const { documentElement } = document
        documentElement.style.fontSize = '200%'
        const [text] = document.querySelector('.option-name').childNodes
        const range = document.createRange()
        range.setEnd(text, text.data.indexOf(' '))
        range.setStart(text, 0)
        return [documentElement.scrollWidth - documentElement.clientWidth, range.getClientRects().length]
      })()`)
      expect([wide, lines]).toEqual([0, 1])
    } finally {
      await server.close()
    }
  })

  test('the initial of a shop keeps its shape beside a long name', async () => {
    const { page } = await open(`${plain.url}/paid`, { viewport: narrowest })
    const width = await page.evaluate(`(() => {
      document.querySelector('.brand bdi').textContent = 'Northwind'.repeat(9)
      const { width, height } = document.querySelector('.initial').getBoundingClientRect()
      return width - height
    })()`)
    expect(width).toBe(0)
  })

  const typeCard = async (page: Page): Promise<void> => {
    await page.locator('#number').pressSequentially('4111111111111111')
    await page.locator('#expiry').pressSequentially('1229')
    await page.locator('#securityCode').pressSequentially('123')
    await page.locator('#cardholderName').pressSequentially('Ada King')
  }

  test('a card is paid with the keyboard alone', async () => {
    const { page } = await open(`${plain.url}/checkout`)
    plain.posted.length = 0
    const focusOn = async (selector: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`${selector} cannot be reached`)
    }
    await focusOn('[name="type"]')
    await focusOn('#number')
    await page.keyboard.type('4111111111111111')
    await focusOn('#expiry')
    await page.keyboard.type('1229')
    await focusOn('#securityCode')
    await page.keyboard.type('123')
    await focusOn('#cardholderName')
    await page.keyboard.type('Ada King')
    await focusOn('button.primary')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/paid')
    expect(plain.posted).toHaveLength(1)
    expect(Object.fromEntries(plain.posted[0]?.fields ?? [])).toEqual({
      attempt: 'attempt-1',
      type: 'CARD',
      number: '4111 1111 1111 1111',
      expiry: '12/29',
      securityCode: '123',
      cardholderName: 'Ada King',
    })
  })

  test('without a script the same form is sent by the browser itself', async () => {
    const { page } = await open(`${plain.url}/checkout`, { javaScriptEnabled: false })
    plain.posted.length = 0
    await page.fill('#number', '4111 1111 1111 1111')
    await page.fill('#expiry', '12/29')
    await page.fill('#securityCode', '123')
    await page.fill('#cardholderName', 'Ada King')
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted[0]).toMatchObject({ path: '/submit', isJson: false })
    expect(plain.posted[0]?.fields.get('type')).toBe('CARD')
    await page.goto(`${plain.url}/checkout`)
    await page.click('text=Other ways to pay')
    await page.check('[value="BLIK"]')
    expect(await page.locator('#number').isVisible()).toBe(false)
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted[1]?.fields.get('type')).toBe('BLIK')
  })

  test('digits are grouped without fighting paste, caret and deletion', async () => {
    const { page } = await open(`${plain.url}/card`)
    const number = page.locator('#number')
    const state = () => page.evaluate('[number.value, number.selectionStart]')
    await number.focus()
    await page.keyboard.insertText('4111-1111.1111 1111')
    expect(await state()).toEqual(['4111 1111 1111 1111', 19])
    await page.evaluate('number.setSelectionRange(2, 2)')
    await page.keyboard.type('9')
    expect(await state()).toEqual(['4191 1111 1111 1111 1', 3])
    await page.evaluate('number.setSelectionRange(5, 5)')
    await page.keyboard.press('Backspace')
    expect(await state()).toEqual(['4191 1111 1111 1111 1', 4])
    await page.keyboard.press('Backspace')
    expect(await state()).toEqual(['4191 1111 1111 1111', 3])
    await number.fill('378282246310005')
    expect(await number.inputValue()).toBe('3782 822463 10005')
    expect(await page.locator('#securityCode-hint').textContent()).toContain('4 digits')
    expect(await page.locator('[data-brand] use').getAttribute('href')).toBe('#b-amex')
    const expiry = page.locator('#expiry')
    await expiry.focus()
    await page.keyboard.type('5')
    expect(await expiry.inputValue()).toBe('05/')
    await page.keyboard.press('Backspace')
    expect(await expiry.inputValue()).toBe('05')
    await expiry.fill('2029-12')
    expect(await expiry.inputValue()).toBe('12/29')
  })

  test('mistakes are shown at the field and above the form, and nothing is sent', async () => {
    const { page } = await open(`${plain.url}/card`)
    plain.posted.length = 0
    await page.locator('#number').fill('4111 1111 1111 1112')
    await page.locator('#number').blur()
    expect(await page.locator('#number-error').textContent()).toContain('not right')
    await page.click('button.primary')
    const notice = page.locator('[data-notice]')
    await notice.waitFor({ state: 'visible' })
    expect(await notice.getByRole('link').count()).toBe(4)
    expect(await page.evaluate('document.activeElement.hasAttribute("data-notice")')).toBe(true)
    expect(await page.locator('#number').getAttribute('aria-invalid')).toBe('true')
    expect(await findViolations(page)).toEqual([])
    await notice.getByRole('link').first().click()
    expect(await page.evaluate('document.activeElement.id')).toBe('number')
    expect(plain.posted).toEqual([])
  })

  test('after a decline everything typed is still there, and the next try is a new attempt', async () => {
    const { page } = await open(`${plain.url}/card`)
    plain.posted.length = 0
    plain.answer = async () => ({ status: 422, body: { message: 'No money', attempt: 'attempt-2' } })
    await typeCard(page)
    await page.click('button.primary')
    const notice = page.locator('[data-notice]')
    await notice.waitFor({ state: 'visible' })
    expect(await notice.textContent()).toContain('No money')
    expect(await page.inputValue('#number')).toBe('4111 1111 1111 1111')
    expect(await page.inputValue('#securityCode')).toBe('123')
    plain.answer = async () => ({ status: 200, body: { redirect: '/paid' } })
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted.map(({ fields }) => fields.get('attempt'))).toEqual(['attempt-1', 'attempt-2'])
  })

  test('pressing twice sends once', async () => {
    const { page } = await open(`${plain.url}/card`)
    plain.posted.length = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    plain.answer = async () => {
      await promise
      return { status: 200, body: { redirect: '/paid' } }
    }
    await typeCard(page)
    await page.click('button.primary')
    await page.locator('form[aria-busy="true"]').waitFor()
    expect(await page.locator('[data-progress]').textContent()).toContain('processed')
    await page.click('button.primary')
    await page.locator('#number').press('Enter')
    resolve()
    await page.waitForURL('**/paid')
    expect(plain.posted).toHaveLength(1)
    plain.answer = async () => ({ status: 200, body: { redirect: '/paid' } })
  })

  test('a lost connection is reported, and the same attempt can be sent again', async () => {
    const { page, context } = await visitAnew(browser, `${plain.url}/card`)
    await typeCard(page)
    await context.setOffline(true)
    await page.click('button.primary')
    await page.locator('[data-notice]').waitFor({ state: 'visible' })
    expect(await page.locator('[data-notice]').textContent()).toContain('You will not pay twice')
    await context.setOffline(false)
    await page.click('button.primary')
    await page.waitForURL('**/paid')
  })

  test('fields of a method that is not chosen are not sent', async () => {
    const { page } = await open(`${plain.url}/checkout`)
    plain.posted.length = 0
    await typeCard(page)
    await page.check('[value="PROVIDERP"]')
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted[0]?.fields.toString()).toBe('attempt=attempt-1&type=PROVIDERP')
  })

  test('a remembered card needs no typing, another card brings the form', async () => {
    const { page } = await open(`${plain.url}/remembered`)
    plain.posted.length = 0
    expect(await page.locator('#number').isVisible()).toBe(false)
    await page.check('[data-new-card]')
    expect(await page.locator('#number').isVisible()).toBe(true)
    await page.check('[value="card-2"]')
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted[0]?.fields.toString()).toBe('attempt=attempt-1&type=CARD&remembered=card-2')
  })

  test('many methods can be searched', async () => {
    const { page } = await open(`${plain.url}/checkout`)
    await page.click('text=Other ways to pay')
    await page.fill('#search', 'uber')
    expect(await page.locator('#more-methods [data-method]:visible').allInnerTexts()).toEqual([
      'eps-Überweisung',
    ])
    await page.fill('#search', 'nothing like it')
    expect(await page.locator('[data-nothing]').isVisible()).toBe(true)
    await page.locator('#search').press('Enter')
    expect(page.url()).toContain('/checkout')
  })

  test('test cards fill the form', async () => {
    const { page } = await open(`${plain.url}/card`)
    await page.click('.test-cards summary')
    await page.click('.test-cards button:has-text("3184")')
    expect(await page.inputValue('#number')).toBe('4000 0027 6000 3184')
    expect(await page.inputValue('#expiry')).toBe('12/29')
    expect(await page.inputValue('#securityCode')).toBe('123')
  })

  test('account data are checked and grouped, the mandate must be agreed to', async () => {
    const { page } = await open(`${plain.url}/debit`)
    plain.posted.length = 0
    await page.fill('#accountHolder', 'Ada King')
    await page.locator('#iban').pressSequentially('de89370400440532013000')
    expect(await page.inputValue('#iban')).toBe('DE89 3704 0044 0532 0130 00')
    await page.click('button.primary')
    expect(await page.locator('#consent-error').textContent()).toContain('agree')
    await page.check('#consent')
    await page.click('button.primary')
    await page.waitForURL('**/paid')
    expect(plain.posted[0]?.fields.get('consent')).toBe('yes')
  })

  test('a reference is copied as it must be typed', async () => {
    const { page } = await open(`${plain.url}/transfer`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('button', { name: 'Copy: IBAN' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('DE89370400440532013000')
  })

  test('the order folds on a phone and lies open on a desktop', async () => {
    const small = await open(`${plain.url}/checkout`, { viewport: phone })
    expect(await small.page.getByText('Subtotal').isVisible()).toBe(false)
    await small.page.getByText('Your order').click()
    expect(await small.page.getByText('Subtotal').isVisible()).toBe(true)
    const large = await open(`${plain.url}/checkout`)
    expect(await large.page.getByText('Subtotal').isVisible()).toBe(true)
  })
})
