/** Each kind of method on its page, and the simulated pages of providers and banks. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import decodeQr from 'qr/decode.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { setStage } from '#test/support/browser/page-stage.ts'
import {
  findBrowser,
  noticeOf,
  openTab,
  phone,
  press,
  typeCard,
  visitAnew,
} from '#test/support/browser/visitor.ts'

const found = await findBrowser()

const challenged = '4000002760003184'

describe.runIf(found)('methods', () => {
  const browser = found as Browser
  const stage = setStage(browser)
  const decide = (page: Page, action: string) => page.click(`button[value="${action}"]`)

  async function openChallenge(options?: BrowserContextOptions) {
    const begun = await stage.shop.hosted('CARD')
    const seen = await stage.open(begun.href, options)
    await typeCard(seen.page, { number: challenged })
    await press(seen.page)
    await seen.page.waitForURL(`${stage.gateway.url}/pay/step/**`)
    return { ...begun, seen, page: seen.page }
  }

  describe('3-D Secure', () => {
    test('a challenge that is approved pays, with its proof in the record', async () => {
      const { payId, seen, page } = await openChallenge()
      expect(await page.textContent('main')).toContain('3184')
      await stage.expectSound(seen)
      await decide(page, 'approve')
      await stage.waitForThanks(page)
      expect(await stage.shop.read(payId)).toMatchObject({
        status: 'OK',
        paymentMethods: { card: { threeDsData: { transStatus: 'Y' } } },
      })
    })

    test('a declined challenge returns to the form, which says so and still has the name', async () => {
      const { payId, seen, page } = await openChallenge({ colorScheme: 'dark', viewport: phone })
      await stage.expectSound(seen)
      await decide(page, 'decline')
      expect(await noticeOf(page)).toContain('Nothing was charged')
      expect(await page.inputValue('#number')).toBe('')
      expect(await page.inputValue('#cardholderName')).toBe('Ada Lovelace')
      expect((await stage.shop.tries(payId))[0]).toBe('AUTHORIZE_REQUEST')
      await typeCard(page)
      await press(page)
      await stage.waitForThanks(page)
      expect(await stage.shop.tries(payId)).toEqual(['OK', ['21000305', '00000000']])
    })

    test('a cancelled challenge returns to the basket of the shop', async () => {
      const { payId, page } = await openChallenge()
      await decide(page, 'cancel')
      await page.waitForURL(`${stage.place.urls.cancel}?PayId=${payId}`)
      expect(await stage.shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '21000703' })
    })

    test('a challenge that is left open can still be approved later', async () => {
      const { payId, href, seen, page } = await openChallenge({ javaScriptEnabled: false })
      await decide(page, 'pending')
      await stage.waitForThanks(page)
      expect((await stage.shop.read(payId)).status).toBe('PENDING')
      const { page: later } = await openTab(seen.context, href)
      await decide(later, 'approve')
      await stage.waitForThanks(later)
      expect((await stage.shop.read(payId)).status).toBe('OK')
    })

    test('the back button shows the form again; the abandoned challenge has ended', async () => {
      const { payId, page } = await openChallenge()
      const left = page.url()
      await page.goBack()
      await page.reload()
      await typeCard(page)
      await press(page)
      await stage.waitForThanks(page)
      await page.goto(left)
      await stage.waitForThanks(page)
      expect(await stage.shop.tries(payId)).toEqual(['OK', ['00000000']])
    })

    test('approved in one tab and cancelled in another at once: one of them counts', async () => {
      const { payId, seen, page } = await openChallenge()
      const other = await openTab(seen.context, page.url())
      await Promise.all([decide(page, 'approve'), decide(other.page, 'cancel')])
      await Promise.all([page, other.page].map(one => one.waitForURL(`${stage.place.origin}/**`)))
      const { status, amount } = await stage.shop.read(payId)
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
    const { payId, href } = await stage.shop.hosted(type, { amount: { value: 4999, currency } })
    const seen = await stage.open(href)
    expect(await seen.page.textContent('body')).toContain('Test mode')
    await stage.expectSound(seen)
    await decide(seen.page, 'approve')
    await stage.waitForThanks(seen.page)
    expect(await stage.shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type } })
  })

  test('a session: declined by one provider, the customer chooses another method', async () => {
    const { payId, href } = await stage.shop.session({ billingAddress: { country: 'NLD' } })
    const { page } = await stage.open(href)
    const more = page.locator('[data-more] summary')
    if (await more.isVisible()) await more.click()
    await page.check('[value="IDEAL"]')
    await press(page)
    await decide(page, 'decline')
    expect(await noticeOf(page)).toContain('Nothing was charged')
    await page.check('[value="CARD"]')
    await typeCard(page)
    await press(page)
    await stage.waitForThanks(page)
    expect(await stage.shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type: 'CARD' } })
    expect(await stage.shop.tries(payId)).toEqual(['OK', ['23000305', '00000000']])
  })

  test('direct debit: only with the mandate, and the account is kept in the vault', async () => {
    const { payId, href } = await stage.shop.hosted('DIRECTDEBIT')
    const seen = await stage.open(href)
    const { page } = seen
    await page.fill('#accountHolder', 'Ada King')
    await page.fill('#iban', 'DE62 3704 0044 0532 0130 01')
    await press(page)
    expect(await page.textContent('#consent-error')).toContain('agree')
    await stage.expectSound(seen)
    await page.check('#consent')
    await press(page)
    expect(await noticeOf(page)).toContain('not enough money')
    expect(await page.inputValue('#iban')).toBe('DE62 3704 0044 0532 0130 01')
    await page.fill('#iban', 'DE89370400440532013000')
    await press(page)
    await stage.waitForThanks(page)
    const record = await stage.shop.read(payId)
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

  /** The text that a phone reads from the QR code. */
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
          let bytes = ''
          for (const byte of context.getImageData(0, 0, image.width, image.height).data)
            bytes += String.fromCharCode(byte)
          resolve({ width: image.width, height: image.height, bytes: btoa(bytes) })
        }
        image.src = 'data:image/png;base64,${picture.toString('base64')}'
      })`,
    )) as { width: number; height: number; bytes: string }
    await blank.close()
    const { width, height, bytes } = drawn
    return decodeQr({ width, height, data: Buffer.from(bytes, 'base64') })
  }

  test('a transfer: everything to copy, scan and print, in light and in dark', async () => {
    const { payId, href } = await stage.shop.hosted('SEPACREDITTRANSFER')
    // A tab of its own, because the emulated medium of a tab stays.
    const seen = await visitAnew(browser, href, { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = seen
    await stage.expectSound(seen)
    const { paymentMethods } = await stage.shop.read(payId)
    const [told] = Object.values(paymentMethods).filter(part => typeof part === 'object') as {
      qrCode: string
      paymentReference: string
      account: { number: string }
    }[]
    expect(await scan(page)).toBe(told?.qrCode)
    // The QR code must be black on white in dark mode, too.
    await page.emulateMedia({ colorScheme: 'dark' })
    await stage.expectSound(seen)
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
    await stage.shop.call('POST', `/test/payments/${payId}/customer-action`, { action: 'approve' })
    await page.reload()
    await page.getByRole('heading', { name: 'already been made' }).waitFor()
  })

  test('a voucher from a session: its reference and deadline, also without a script', async () => {
    const { payId, href } = await stage.shop.session({
      allowedPaymentMethod: ['BOLETO'],
      amount: { value: 4999, currency: 'BRL' },
    })
    const seen = await stage.open(href, { javaScriptEnabled: false })
    await press(seen.page)
    await seen.page.locator('dl.slip').waitFor()
    const slip = await seen.page.textContent('dl.slip')
    expect(slip).toMatch(/\d{3} \d{3} \d{3}/)
    expect(slip).toContain('UTC')
    expect(await seen.page.locator('[data-print]').isVisible()).toBe(false)
    await seen.page.reload()
    expect(await seen.page.textContent('dl.slip')).toBe(slip)
    expect((await stage.shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('the page of a provider ends with the try it was for', async () => {
    const { href } = await stage.shop.session({
      billingAddress: { country: 'NLD' },
      allowedPaymentMethod: ['IDEAL', 'CARD'],
    })
    const { page, context } = await stage.open(href)
    await page.check('[value="IDEAL"]')
    await press(page)
    await page.waitForURL('**/pay/step/**')
    const stale = await openTab(context, page.url())
    await decide(page, 'decline')
    await noticeOf(page)
    await decide(stale.page, 'approve')
    expect(await noticeOf(stale.page)).toContain('Nothing was charged')
  })

  test('instalments: the plan is shown before they are chosen, and by their provider', async () => {
    const { payId, href } = await stage.shop.session({ allowedPaymentMethod: ['CARD', 'PROVIDERT'] })
    const seen = await stage.open(href, { colorScheme: 'dark', viewport: phone })
    const { page } = seen
    expect(await page.locator('table.plan').isVisible()).toBe(false)
    await page.check('[value="PROVIDERT"]')
    const sums = () => page.locator('table.plan tbody .sum').allTextContents()
    expect(await sums()).toEqual(['€16.67', '€16.66', '€16.66'])
    await stage.expectSound(seen)
    await press(page)
    await page.waitForURL('**/pay/step/**')
    expect(await sums()).toEqual(['€16.67', '€16.66', '€16.66'])
    await stage.expectSound(seen)
    await decide(page, 'approve')
    await stage.waitForThanks(page)
    expect((await stage.shop.read(payId)).status).toBe('OK')
  })

  describe('the choice of a currency', () => {
    let converting: PageShop
    beforeAll(async () => {
      converting = await openPageShop(stage.gateway, stage.place)
      await stage.gateway.gateway.merchants.set(converting.merchantId, { dcc: true })
    })

    const choiceOf = (page: Page) => page.getByRole('radiogroup', { name: 'Choose your currency' })
    const dccOf = async (payId: string) => (await converting.read(payId)).paymentMethods.card.dcc

    /** Sends the card and waits for the question. */
    async function ask(options?: BrowserContextOptions) {
      const begun = await converting.session()
      const seen = await stage.open(begun.href, options)
      await typeCard(seen.page)
      await press(seen.page)
      await choiceOf(seen.page).waitFor()
      return { ...begun, seen, page: seen.page }
    }

    test('accepted: nothing is chosen beforehand, and another card is asked anew', async () => {
      const { payId, seen, page } = await ask()
      expect(await page.evaluate('document.activeElement.id')).toBe('dcc')
      expect(await page.inputValue('#number')).toBe('4111 1111 1111 1111')
      await press(page)
      expect(await page.textContent('#dcc-error')).toBe('Choose the currency you want to pay in.')
      await stage.expectSound(seen)
      await page.getByLabel('Pay in British Pound').check()
      expect(await page.textContent('#dcc-error')).toBe('')
      expect(await page.textContent('button.primary')).toBe('Pay £43.77')
      await page.fill('#number', '5105105105105100')
      expect(await choiceOf(page).isVisible()).toBe(false)
      expect(await page.textContent('button.primary')).toBe('Pay €49.99')
      await press(page)
      await page.getByLabel('Pay in US Dollar').check()
      await press(page)
      await stage.waitForThanks(page)
      expect(await dccOf(payId)).toMatchObject({ accepted: true, cardholderAmount: { currency: 'USD' } })
    })

    test('an expired offer is renewed; after a refusal the shop gets its own currency', async () => {
      const { payId, seen, page } = await ask({ colorScheme: 'dark', viewport: phone })
      await page.getByLabel('Pay in British Pound').check()
      await converting.advance('PT10M')
      await press(page)
      expect(await noticeOf(page)).toContain('no longer valid')
      expect(await page.locator('[name="dcc"]:checked').count()).toBe(0)
      await stage.expectSound(seen)
      await page.getByLabel('Pay in Euro').check()
      await press(page)
      await stage.waitForThanks(page)
      expect(await dccOf(payId)).toEqual({ quoteId: expect.any(String), accepted: false })
    })

    test('without a script the card is typed again, and the choice is part of the page', async () => {
      const { payId, page } = await ask({ javaScriptEnabled: false })
      expect(await page.inputValue('#number')).toBe('')
      expect(await page.inputValue('#cardholderName')).toBe('Ada Lovelace')
      await page.getByLabel('Pay in British Pound').check()
      await typeCard(page)
      await press(page)
      await stage.waitForThanks(page)
      expect(await dccOf(payId)).toMatchObject({ accepted: true, cardholderAmount: { value: 4377 } })
    })
  })
})
