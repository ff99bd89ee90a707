/** Each kind of method on its page, and the pages of providers and banks that the test environment plays. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import decodeQr from 'qr/decode.js'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openPageShop, type PageShop } from '#test/support/page-shop.ts'
import {
  expectSound,
  findBrowser,
  noticeOf,
  openReturnPlace,
  openTab,
  phone,
  press,
  type ReturnPlace,
  typeCard,
  visit,
} from '#test/support/visitor.ts'

const found = await findBrowser()

const challenged = '4000002760003184'

describe.runIf(found)('methods', () => {
  const browser = found as Browser
  let gateway: TestGateway
  let place: ReturnPlace
  let shop: PageShop
  const origins = () => [gateway.url, place.origin]

  beforeAll(async () => {
    gateway = await startTestGateway()
    place = await openReturnPlace()
    shop = await openPageShop(gateway, place)
  })

  afterEach(async () => {
    await Promise.all(browser.contexts().map(context => context.close()))
  })

  afterAll(async () => {
    await browser.close()
    await gateway.stop()
    await place.close()
  })

  const open = (href: string, options?: BrowserContextOptions) => visit(browser, href, options)
  const decide = (page: Page, action: string) => page.click(`button[value="${action}"]`)

  async function openChallenge(options?: BrowserContextOptions) {
    const begun = await shop.hosted('CARD')
    const seen = await open(begun.href, options)
    await typeCard(seen.page, { number: challenged })
    await press(seen.page)
    await seen.page.waitForURL(`${gateway.url}/pay/step/**`)
    return { ...begun, seen, page: seen.page }
  }

  describe('3-D Secure', () => {
    test('approved: paid, with the proof on record', async () => {
      const { payId, seen, page } = await openChallenge()
      expect(await page.textContent('main')).toContain('3184')
      await expectSound(seen, origins())
      await decide(page, 'approve')
      await page.waitForURL(`${place.origin}/thanks**`)
      expect(await shop.read(payId)).toMatchObject({
        status: 'OK',
        paymentMethods: { card: { threeDsData: { transStatus: 'Y' } } },
      })
    })

    test('declined: back to the form, which says so and still has the name', async () => {
      const { payId, seen, page } = await openChallenge({ colorScheme: 'dark', viewport: phone })
      await expectSound(seen, origins())
      await decide(page, 'decline')
      expect(await noticeOf(page)).toContain('Nothing was charged')
      expect(await page.inputValue('#number')).toBe('')
      expect(await page.inputValue('#cardholderName')).toBe('Ada Lovelace')
      expect((await shop.tries(payId))[0]).toBe('AUTHORIZE_REQUEST')
      await typeCard(page)
      await press(page)
      await page.waitForURL(`${place.origin}/thanks**`)
      expect(await shop.tries(payId)).toEqual(['OK', ['21000305', '00000000']])
    })

    test('cancelled: over, and the shop gets its customer back at its basket', async () => {
      const { payId, page } = await openChallenge()
      await decide(page, 'cancel')
      await page.waitForURL(`${place.urls.cancel}?PayId=${payId}`)
      expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '21000703' })
    })

    test('left pending: the shop waits, and the customer may still come back and approve', async () => {
      const { payId, href, seen, page } = await openChallenge({ javaScriptEnabled: false })
      await decide(page, 'pending')
      await page.waitForURL(`${place.origin}/thanks**`)
      expect((await shop.read(payId)).status).toBe('PENDING')
      const { page: later } = await openTab(seen.context, href)
      await decide(later, 'approve')
      await later.waitForURL(`${place.origin}/thanks**`)
      expect((await shop.read(payId)).status).toBe('OK')
    })

    test('the back button leads to the form again; the challenge that was left is over', async () => {
      const { payId, page } = await openChallenge()
      const left = page.url()
      await page.goBack()
      await page.reload()
      await typeCard(page)
      await press(page)
      await page.waitForURL(`${place.origin}/thanks**`)
      await page.goto(left)
      await page.waitForURL(`${place.origin}/thanks**`)
      expect(await shop.tries(payId)).toEqual(['OK', ['00000000']])
    })

    test('approved in one tab and cancelled in another at once: one of them counts', async () => {
      const { payId, seen, page } = await openChallenge()
      const other = await openTab(seen.context, page.url())
      await Promise.all([decide(page, 'approve'), decide(other.page, 'cancel')])
      await Promise.all([page, other.page].map(one => one.waitForURL(`${place.origin}/**`)))
      const { status, amount } = await shop.read(payId)
      expect([
        ['OK', 4999],
        ['FAILED', 0],
      ]).toContainEqual([status, amount.capturedValue])
    })
  })

  // Each line: a method of its kind, and its currency.
  test.each([
    ['IDEAL', 'EUR'],
    ['PIX', 'BRL'],
    ['PROVIDERK', 'EUR'],
  ])('%s: approved on the page of its provider', async (type, currency) => {
    const { payId, href } = await shop.hosted(type, { amount: { value: 4999, currency } })
    const seen = await open(href)
    expect(await seen.page.textContent('body')).toContain('Test mode')
    await expectSound(seen, origins())
    await decide(seen.page, 'approve')
    await seen.page.waitForURL(`${place.origin}/thanks**`)
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type } })
  })

  test('a session: turned away by one provider, the customer chooses another method', async () => {
    const { payId, href } = await shop.session({ billingAddress: { country: 'NLD' } })
    const { page } = await open(href)
    const more = page.locator('[data-more] summary')
    if (await more.isVisible()) await more.click()
    await page.check('[value="IDEAL"]')
    await press(page)
    await decide(page, 'decline')
    expect(await noticeOf(page)).toContain('Nothing was charged')
    await page.check('[value="CARD"]')
    await typeCard(page)
    await press(page)
    await page.waitForURL(`${place.origin}/thanks**`)
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type: 'CARD' } })
    expect(await shop.tries(payId)).toEqual(['OK', ['23000305', '00000000']])
  })

  test('direct debit: only with the mandate, and the account is kept in the vault', async () => {
    const { payId, href } = await shop.hosted('DIRECTDEBIT')
    const seen = await open(href)
    const { page } = seen
    await page.fill('#accountHolder', 'Ada King')
    await page.fill('#iban', 'DE62 3704 0044 0532 0130 01')
    await press(page)
    expect(await page.textContent('#consent-error')).toContain('agree')
    await expectSound(seen, origins())
    await page.check('#consent')
    await press(page)
    expect(await noticeOf(page)).toContain('not enough money')
    expect(await page.inputValue('#iban')).toBe('DE62 3704 0044 0532 0130 01')
    await page.fill('#iban', 'DE89370400440532013000')
    await press(page)
    await page.waitForURL(`${place.origin}/thanks**`)
    const record = await shop.read(payId)
    expect(record).toMatchObject({
      status: 'OK',
      paymentMethods: {
        type: 'DIRECTDEBIT',
        directDebit: {
          account: {
            last4Digits: '3000',
            accountHolderName: 'Ada King',
            pseudoBankAccountNumber: expect.stringMatching(/3000$/),
          },
          mandateId: payId,
          dateOfSignature: expect.stringMatching(/^\d\d\.\d\d\.20\d\d$/),
        },
      },
    })
    expect(JSON.stringify(record)).not.toContain('DE89370400440532013000')
  })

  /** What a phone reads from the screen. */
  async function scan(page: Page): Promise<string> {
    const picture = await page.locator('svg.qr-code').screenshot()
    const blank = await page.context().newPage()
    const drawn = (await blank.evaluate(
      `new Promise((resolve, reject) => {
        const image = new Image()
        image.onerror = reject
        image.onload = () => {
          const canvas = document.createElement('canvas')
          canvas.width = image.width
          canvas.height = image.height
          const context = canvas.getContext('2d')
          context.drawImage(image, 0, 0)
          const { data } = context.getImageData(0, 0, image.width, image.height)
          resolve({ width: image.width, height: image.height, data: Array.from(data) })
        }
        image.src = 'data:image/png;base64,${picture.toString('base64')}'
      })`,
    )) as { width: number; height: number; data: number[] }
    await blank.close()
    return decodeQr({ ...drawn, data: Uint8Array.from(drawn.data) })
  }

  // Each line: in light and dark the code must be black on white.
  test.each([['light'], ['dark']] as const)(
    'a transfer, %s: everything to copy, scan and print',
    async colorScheme => {
      const { payId, href } = await shop.hosted('SEPACREDITTRANSFER')
      const seen = await open(href, { colorScheme, permissions: ['clipboard-read', 'clipboard-write'] })
      const { page } = seen
      await expectSound(seen, origins())
      const { paymentMethods } = await shop.read(payId)
      const [told] = Object.values(paymentMethods).filter(part => typeof part === 'object') as {
        qrCode: string
        paymentReference: string
        account: { number: string }
      }[]
      expect(await scan(page)).toBe(told?.qrCode)
      for (const [name, value] of [
        ['IBAN', told?.account.number],
        ['Reference', told?.paymentReference],
      ]) {
        await page.getByRole('button', { name: `Copy: ${name}` }).click()
        await page.getByText('Copied').first().waitFor()
        expect(await page.evaluate('navigator.clipboard.readText()')).toBe(value)
      }
      await page.evaluate('window.print = () => { document.title = "printed" }')
      await page.click('[data-print]')
      expect(await page.title()).toBe('printed')
      await page.emulateMedia({ media: 'print' })
      expect(await page.locator('[data-print]').isVisible()).toBe(false)
      expect(await page.locator('dl.slip').isVisible()).toBe(true)
      await shop.call('POST', `/test/payments/${payId}/customer-action`, { action: 'approve' })
      await page.reload()
      await page.getByRole('heading', { name: 'already been made' }).waitFor()
    },
  )

  test('a voucher from a session: its reference and deadline, also without a script', async () => {
    const { payId, href } = await shop.session({
      allowedPaymentMethod: ['BOLETO'],
      amount: { value: 4999, currency: 'BRL' },
    })
    const seen = await open(href, { javaScriptEnabled: false })
    await press(seen.page)
    await seen.page.locator('dl.slip').waitFor()
    const slip = await seen.page.textContent('dl.slip')
    expect(slip).toMatch(/\d{3} \d{3} \d{3}/)
    expect(slip).toContain('UTC')
    expect(await seen.page.locator('[data-print]').isVisible()).toBe(false)
    await seen.page.reload()
    expect(await seen.page.textContent('dl.slip')).toBe(slip)
    expect((await shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('the page of a provider ends with the try it was for', async () => {
    const { href } = await shop.session({
      billingAddress: { country: 'NLD' },
      allowedPaymentMethod: ['IDEAL', 'CARD'],
    })
    const { page, context } = await open(href)
    await page.check('[value="IDEAL"]')
    await press(page)
    await page.waitForURL('**/pay/step/**')
    const stale = await openTab(context, page.url())
    await decide(page, 'decline')
    await noticeOf(page)
    await decide(stale.page, 'approve')
    expect(await noticeOf(stale.page)).toContain('Nothing was charged')
  })
})
