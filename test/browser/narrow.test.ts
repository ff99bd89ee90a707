/** Hosted pages on the narrowest screens, where long words and long amounts need care to fit. */
import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { setStage } from '#test/support/browser/page-stage.ts'
import { findBrowser, narrowest } from '#test/support/browser/visitor.ts'

const found = await findBrowser()

describe.runIf(found)('in a browser', () => {
  const stage = setStage(found as Browser)
  const narrow = { viewport: narrowest }

  const linesOf = (page: Page, selector: string): Promise<number> =>
    page.evaluate(`(() => {
      const range = document.createRange()
      range.selectNodeContents(document.querySelector(${JSON.stringify(selector)}))
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
    })()`)

  test('no word of a label is broken, whatever the language', async () => {
    for (const language of ['de', 'en', 'fi', 'ar']) {
      const { href } = await stage.shop.session({ language })
      const seen = await stage.open(href, narrow)
      const broken = await seen.page.evaluate(`[...document.querySelectorAll('.pair label')].filter(label => {
        const range = document.createRange()
        const [text] = label.childNodes
        return [...text.data.matchAll(/\\S+/g)].some(({ index, 0: word }) => {
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          return range.getClientRects().length > 1
        })
      }).map(label => label.textContent)`)
      expect([language, broken]).toEqual([language, []])
      await stage.expectSound(seen)
    }
  })

  test('an amount stays in one line, because a part of it looks like a smaller one', async () => {
    const amounts = [
      { value: 1_234_567, currency: 'KWD' },
      { value: 999_999_999_999, currency: 'JPY' },
      { value: 999_999_999_999, currency: 'KWD' },
      { value: 4999, currency: 'EUR' },
    ]
    for (const amount of amounts)
      for (const language of ['ar', 'en']) {
        const { href } = await stage.shop.session({ language, amount })
        const { page } = await stage.open(href, narrow)
        expect([amount, language, await linesOf(page, '.due')]).toEqual([amount, language, 1])
        // With text of twice the size, too.
        const broken = await page.evaluate(`(() => {
          const { style } = document.documentElement
          style.fontSize = '200%'
          const broken = [...document.querySelectorAll('.due, .primary span')].filter(({ firstChild }) => {
            const { index, 0: digits } = /\\d[\\d.,\\s]*/.exec(firstChild.data.trimEnd())
            const range = document.createRange()
            range.setStart(firstChild, index)
            range.setEnd(firstChild, index + digits.trimEnd().length)
            return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1
          })
          style.fontSize = ''
          return broken.map(({ textContent }) => textContent)
        })()`)
        expect([amount, language, broken]).toEqual([amount, language, []])
      }
  })

  test('sums and their names stay whole, however long amounts and references are', async () => {
    const { href } = await stage.shop.session({
      language: 'de',
      amount: { value: 999_999_000_099, currency: 'EUR' },
      order: {
        merchantReference: `R-${'X'.repeat(40)}`,
        items: [
          { name: 'Hut', quantity: 1_000_000, grossPrice: 999_999 },
          { name: 'Versand', type: 'shipping_fee', quantity: 1, grossPrice: 99 },
        ],
      },
    })
    const seen = await stage.open(href, narrow)
    await seen.page.click('.lines summary')
    const broken =
      await seen.page.evaluate(`[...document.querySelectorAll('.sums dt, .sums div:not(.sum-note) dd')]
      .filter(part => {
        const range = document.createRange()
        range.selectNodeContents(part)
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1
      })
      .map(part => part.textContent)`)
    expect(broken).toEqual([])
    expect(await seen.page.locator('.sums dt').count()).toBe(4)
    await stage.expectSound(seen)
  })

  test('the icon of the search does not cover its text, in both directions', async () => {
    for (const language of ['en', 'ar']) {
      const { href } = await stage.shop.session({ language })
      const { page } = await stage.open(href, narrow)
      await page.click('[data-more] summary')
      const [icon, field] = await Promise.all(
        ['.search .icon', '.search input'].map(part => page.locator(part).boundingBox()),
      )
      const padding = await page.evaluate(
        `Number.parseFloat(getComputedStyle(document.querySelector('.search input')).paddingInlineStart)`,
      )
      if (!icon || !field) throw new Error('the search is not shown')
      const covered = language === 'ar' ? field.x + field.width - icon.x : icon.x + icon.width - field.x
      expect(padding).toBeGreaterThanOrEqual(covered)
    }
  })

  test.each([12345, 999_999_999_999])(
    'the parts of a payment of %i cents in instalments keep each sum in one line',
    async value => {
      const { href } = await stage.shop.hosted('PROVIDERT', {
        language: 'fr',
        amount: { value, currency: 'EUR' },
      })
      const seen = await stage.open(href, narrow)
      const sums = await seen.page.locator('.plan .sum').count()
      expect(sums).toBeGreaterThan(3)
      expect(
        await seen.page.evaluate(`Math.max(...[...document.querySelectorAll('.plan .sum')].map(cell => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return range.getClientRects().length
      }))`),
      ).toBe(1)
      await stage.expectSound(seen)
    },
  )

  test('the number of other methods stays in one line beside a name that breaks', async () => {
    const { href } = await stage.shop.session({ language: 'fr' })
    const { page } = await stage.open(href, narrow)
    expect(await linesOf(page, '.count')).toBe(1)
  })

  test('text of twice the size fits', async () => {
    const pages = [
      await stage.shop.session({ language: 'nl' }),
      await stage.shop.hosted('MULTIBANCO', { language: 'de' }),
      await stage.shop.hosted('PROVIDERT', { language: 'de' }),
    ]
    for (const { href } of pages) {
      const { page } = await stage.open(href, narrow)
      const wide = await page.evaluate(`(() => {
        const { style } = document.documentElement
        style.fontSize = '200%'
        const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
        style.fontSize = ''
        return wide
      })()`)
      expect([page.url(), wide]).toEqual([page.url(), 0])
    }
  })

  test('a reference begins below the first letter of its name, in both directions', async () => {
    for (const language of ['en', 'ar']) {
      const { href } = await stage.shop.hosted('MULTIBANCO', { language })
      const { page } = await stage.open(href, narrow)
      const apart = await page.evaluate(`(() => {
        const [name, code] = ['.slip div:has(.code) dt', '.slip .code'].map(part => {
          const range = document.createRange()
          range.selectNodeContents(document.querySelector(part))
          return range.getBoundingClientRect()
        })
        return Math.round(document.dir === 'rtl' ? code.right - name.right : code.left - name.left)
      })()`)
      expect([language, apart]).toEqual([language, 0])
    }
  })

  test('the terms of a plan are a list of lines: each value is beside its name', async () => {
    const { href } = await stage.shop.session({
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: '2099-12-31' },
      },
    })
    const seen = await stage.open(href)
    const lines = await seen.page.evaluate(`[...document.querySelectorAll('[data-plan] dt')].map(name =>
      Math.round(name.getBoundingClientRect().top) === Math.round(name.nextElementSibling.getBoundingClientRect().top))`)
    expect(lines).toEqual([true, true, true, true])
    await stage.expectSound(seen)
  })

  test('a link that is cancelled before a method was chosen has no empty line for the method', async () => {
    const { href } = await stage.shop.link({ language: 'en' })
    const seen = await stage.open(href, narrow)
    await seen.page.click('form[action$="/cancel"] button')
    await seen.page.waitForURL('**/result')
    const facts = await seen.page.locator('.facts dd').allTextContents()
    expect(facts).toHaveLength(3)
    expect(facts).not.toContain('')
    await stage.expectSound(seen)
  })
})
