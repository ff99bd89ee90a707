/** Payment links and known customers: their saved cards. */
import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { setStage } from '#test/support/browser/page-stage.ts'
import { findBrowser, noticeOf, phone, press, typeCard } from '#test/support/browser/visitor.ts'

const found = await findBrowser()

describe.runIf(found)('links and known customers', () => {
  const browser = found as Browser
  const stage = setStage(browser)

  describe('a link', () => {
    test('without addresses ends on a page that says it is paid; afterwards the link does not work', async () => {
      const { payId, href } = await stage.shop.link({ description: 'Lessons in <i>March</i>' })
      const seen = await stage.open(href, { viewport: phone })
      expect(await seen.page.textContent('body')).toContain('Lessons in <i>March</i>')
      await typeCard(seen.page)
      await press(seen.page)
      await seen.page.getByRole('heading', { name: 'your payment is complete' }).waitFor()
      expect(seen.statuses.at(-1)).toBe(200)
      await stage.expectSound(seen)
      expect((await stage.shop.read(payId)).status).toBe('OK')
      const dead = await stage.open(href)
      expect(dead.statuses).toEqual([410])
      await stage.expectSound(dead)
    })

    test('a failed attempt leaves the link open', async () => {
      const { payId, href } = await stage.shop.link()
      const { page } = await stage.open(href)
      await typeCard(page, { number: '4000000000000002' })
      await press(page)
      await noticeOf(page)
      const later = await stage.open(href)
      expect(later.statuses).toEqual([200])
      expect(await noticeOf(later.page)).toContain('did not accept')
      await typeCard(later.page)
      await press(later.page)
      await later.page.getByRole('heading', { name: 'your payment is complete' }).waitFor()
      expect(await stage.shop.tries(payId)).toEqual(['OK', ['21000305', '00000000']])
    })

    test('a link that is cancelled without return addresses says so on our page', async () => {
      const { href } = await stage.shop.link()
      const { page } = await stage.open(href)
      await page.locator('form.cancel button').click()
      await page.getByRole('heading', { name: 'was cancelled' }).waitFor()
    })

    test('expired by the clock: a page that says so, and an earlier form pays nothing', async () => {
      const { payId, href } = await stage.shop.link()
      const early = await stage.open(href)
      await typeCard(early.page)
      await stage.shop.advance('PT25H')
      const late = await stage.open(href, { locale: 'th-TH' })
      expect(late.statuses).toEqual([410])
      await stage.expectSound(late)
      await press(early.page)
      await early.page.getByRole('heading', { name: 'has expired' }).waitFor()
      expect(await stage.shop.read(payId)).toMatchObject({
        status: 'FAILED',
        responseCode: '29000402',
        amount: { capturedValue: 0 },
      })
    })
  })

  describe('a known customer', () => {
    const known = (merchantCustomerId: string) => ({
      customerInfo: { merchantCustomerId, email: 'ada@stage.shop.example' },
    })
    /** Last digits of the cards that the customer of this payment has stored. */
    async function keptCards(payId: string): Promise<string[]> {
      const { customerInfo } = await stage.shop.read(payId)
      const { body } = await stage.shop.call(
        'GET',
        `/customers/${customerInfo.gatewayCustomerId}/paymentMethods`,
      )
      return body.data.map(({ last4Digits }: { last4Digits: string }) => last4Digits)
    }

    test('ticks to save a card, and pays with it next time without typing', async () => {
      const first = await stage.shop.session(known('ada'))
      const { page } = await stage.open(first.href)
      await typeCard(page, { number: '4242424242424242' })
      await page.check('#saveCard')
      await press(page)
      await stage.waitForThanks(page)
      expect(await keptCards(first.payId)).toEqual(['4242'])

      const second = await stage.shop.session(known('ada'))
      const seen = await stage.open(second.href)
      expect(await seen.page.locator('fieldset.saved').textContent()).toContain('4242')
      expect(await seen.page.locator('#number').isVisible()).toBe(false)
      expect(await seen.page.content()).not.toMatch(/4242 ?4242 ?4242 ?4242/)
      await stage.expectSound(seen)
      await press(seen.page)
      await stage.waitForThanks(seen.page)
      expect(await stage.shop.read(second.payId)).toMatchObject({
        status: 'OK',
        paymentMethods: {
          card: { last4Digits: '4242', cardHolderName: 'Ada Lovelace', expiryDate: '203912' },
        },
      })

      const third = await stage.shop.session(known('ada'))
      const plain = await stage.open(third.href, { javaScriptEnabled: false })
      await plain.page.check('[data-new-card]')
      await typeCard(plain.page, { number: '5555555555554444' })
      await plain.page.uncheck('#saveCard')
      await press(plain.page)
      await stage.waitForThanks(plain.page)
      expect((await stage.shop.read(third.payId)).paymentMethods.card.last4Digits).toBe('4444')
      expect(await keptCards(third.payId)).toEqual(['4242'])
    })

    test('without the tick no card is stored or offered', async () => {
      const first = await stage.shop.session(known('bob'))
      const { page } = await stage.open(first.href)
      await typeCard(page)
      await page.uncheck('#saveCard')
      await press(page)
      await stage.waitForThanks(page)
      expect(await keptCards(first.payId)).toEqual([])
      expect(await stage.shop.read(first.payId)).not.toHaveProperty('keepCard')
      const second = await stage.open((await stage.shop.session(known('bob'))).href)
      expect(await second.page.locator('fieldset.saved').count()).toBe(0)
    })

    test('a link for saving a card needs no tick, and no link offers the cards of the customer it was sent to', async () => {
      const first = await stage.shop.link({ ...known('eve'), linkType: 'TOKENIZE' })
      const { page } = await stage.open(first.href)
      expect(await page.locator('#saveCard').count()).toBe(0)
      await typeCard(page)
      await press(page)
      await page.getByRole('heading', { name: 'complete' }).waitFor()
      expect(await keptCards(first.payId)).toEqual(['1111'])
      const forwarded = await stage.open((await stage.shop.link(known('eve'))).href)
      expect(await forwarded.page.locator('fieldset.saved').count()).toBe(0)
    })

    test('a card that was deleted while the page was open is not charged', async () => {
      const paid = await stage.shop.create('CARD', known('dan'))
      const { payId, href } = await stage.shop.session(known('dan'))
      const { page } = await stage.open(href)
      expect(await page.locator('fieldset.saved').count()).toBe(1)
      const { customerInfo } = await stage.shop.read(paid.body.payId)
      await stage.shop.call('DELETE', `/customers/${customerInfo.gatewayCustomerId}`)
      await press(page)
      expect(await noticeOf(page)).toContain('out of date')
      expect(await stage.shop.tries(payId)).toEqual(['AUTHORIZE_REQUEST', ['60000100']])
    })
  })
})
