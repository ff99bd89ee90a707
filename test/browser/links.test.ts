/** Payment links, and customers who are known: what they may pay with again, and what is kept of them. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openPageShop, type PageShop } from '#test/support/page-shop.ts'
import {
  expectSound,
  findBrowser,
  noticeOf,
  openReturnPlace,
  phone,
  press,
  type ReturnPlace,
  typeCard,
  visit,
} from '#test/support/visitor.ts'

const found = await findBrowser()

describe.runIf(found)('links and known customers', () => {
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

  describe('a link', () => {
    test('without addresses ends on a page that says it is paid; afterwards the link is dead', async () => {
      const { payId, href } = await shop.link({ description: 'Lessons in <i>March</i>' })
      const seen = await open(href, { viewport: phone })
      expect(await seen.page.textContent('body')).toContain('Lessons in <i>March</i>')
      await typeCard(seen.page)
      await press(seen.page)
      await seen.page.getByRole('heading', { name: 'your payment is complete' }).waitFor()
      expect(seen.statuses.at(-1)).toBe(200)
      await expectSound(seen, origins())
      expect((await shop.read(payId)).status).toBe('OK')
      const dead = await open(href)
      expect(dead.statuses).toEqual([410])
      await expectSound(dead, origins())
    })

    test('a failed attempt leaves it open', async () => {
      const { payId, href } = await shop.link()
      const { page } = await open(href)
      await typeCard(page, { number: '4000000000000002' })
      await press(page)
      await noticeOf(page)
      const later = await open(href)
      expect(later.statuses).toEqual([200])
      expect(await noticeOf(later.page)).toContain('did not accept')
      await typeCard(later.page)
      await press(later.page)
      await later.page.getByRole('heading', { name: 'your payment is complete' }).waitFor()
      expect(await shop.tries(payId)).toEqual(['OK', ['21000305', '00000000']])
    })

    test('cancelled without addresses says so on a page of ours', async () => {
      const { href } = await shop.link()
      const { page } = await open(href)
      await page.locator('form.cancel button').click()
      await page.getByRole('heading', { name: 'was cancelled' }).waitFor()
    })

    test('expired by the clock: a page that says so, and a form of before pays nothing', async () => {
      const { payId, href } = await shop.link()
      const early = await open(href)
      await typeCard(early.page)
      await shop.advance('PT25H')
      const late = await open(href, { locale: 'th-TH' })
      expect(late.statuses).toEqual([410])
      await expectSound(late, origins())
      await press(early.page)
      await early.page.getByRole('heading', { name: 'has expired' }).waitFor()
      expect(await shop.read(payId)).toMatchObject({
        status: 'FAILED',
        responseCode: '29000402',
        amount: { capturedValue: 0 },
      })
    })
  })

  describe('a known customer', () => {
    const known = (merchantCustomerId: string) => ({
      customerInfo: { merchantCustomerId, email: 'ada@shop.example' },
    })
    /** Last digits of what the vault keeps for the customer of this payment. */
    async function keptCards(payId: string): Promise<string[]> {
      const { customerInfo } = await shop.read(payId)
      const { body } = await shop.call('GET', `/customers/${customerInfo.gatewayCustomerId}/paymentMethods`)
      return body.data.map(({ last4Digits }: { last4Digits: string }) => last4Digits)
    }

    test('ticks to save a card, and pays with it next time without typing', async () => {
      const first = await shop.session(known('ada'))
      const { page } = await open(first.href)
      await typeCard(page, { number: '4242424242424242' })
      await page.check('#saveCard')
      await press(page)
      await page.waitForURL(`${place.origin}/thanks**`)
      expect(await keptCards(first.payId)).toEqual(['4242'])

      const second = await shop.session(known('ada'))
      const seen = await open(second.href)
      expect(await seen.page.locator('fieldset.saved').textContent()).toContain('4242')
      expect(await seen.page.locator('#number').isVisible()).toBe(false)
      expect(await seen.page.content()).not.toMatch(/4242 ?4242 ?4242 ?4242/)
      await expectSound(seen, origins())
      await press(seen.page)
      await seen.page.waitForURL(`${place.origin}/thanks**`)
      expect(await shop.read(second.payId)).toMatchObject({
        status: 'OK',
        paymentMethods: {
          card: { last4Digits: '4242', cardHolderName: 'Ada Lovelace', expiryDate: '203912' },
        },
      })

      const third = await shop.session(known('ada'))
      const plain = await open(third.href, { javaScriptEnabled: false })
      await plain.page.check('[data-new-card]')
      await typeCard(plain.page, { number: '5555555555554444' })
      await plain.page.uncheck('#saveCard')
      await press(plain.page)
      await plain.page.waitForURL(`${place.origin}/thanks**`)
      expect((await shop.read(third.payId)).paymentMethods.card.last4Digits).toBe('4444')
      expect(await keptCards(third.payId)).toEqual(['4242'])
    })

    test('without the tick nothing is kept, and nothing is remembered', async () => {
      const first = await shop.session(known('bob'))
      const { page } = await open(first.href)
      await typeCard(page)
      await page.uncheck('#saveCard')
      await press(page)
      await page.waitForURL(`${place.origin}/thanks**`)
      expect(await keptCards(first.payId)).toEqual([])
      expect(await shop.read(first.payId)).not.toHaveProperty('keepCard')
      const second = await open((await shop.session(known('bob'))).href)
      expect(await second.page.locator('fieldset.saved').count()).toBe(0)
    })

    test('a link to keep the card by needs no tick; no link shows the cards of whom it was meant for', async () => {
      const first = await shop.link({ ...known('eve'), linkType: 'TOKENIZE' })
      const { page } = await open(first.href)
      expect(await page.locator('#saveCard').count()).toBe(0)
      await typeCard(page)
      await press(page)
      await page.getByRole('heading', { name: 'complete' }).waitFor()
      expect(await keptCards(first.payId)).toEqual(['1111'])
      const forwarded = await open((await shop.link(known('eve'))).href)
      expect(await forwarded.page.locator('fieldset.saved').count()).toBe(0)
    })

    test('a card that was deleted while the page was open is not charged', async () => {
      const paid = await shop.create('CARD', known('dan'))
      const { payId, href } = await shop.session(known('dan'))
      const { page } = await open(href)
      expect(await page.locator('fieldset.saved').count()).toBe(1)
      const { customerInfo } = await shop.read(paid.body.payId)
      await shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}`)
      await press(page)
      expect(await noticeOf(page)).toContain('out of date')
      expect(await shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
    })
  })
})
