/** The way to a provider that is reached by a form, in a real browser and with redirects of the provider's own. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  findBrowser,
  leaveBrowser,
  openReturnPlace,
  type ReturnPlace,
  visit,
} from '#test/support/browser/visitor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { type LateStage, openLateStage } from '#test/support/providers/late-stage.ts'

const found = await findBrowser()

describe.runIf(found)('the way to a provider', () => {
  const browser = found as Browser
  let site: ReturnPlace
  let stage: LateStage
  beforeAll(async () => {
    site = await openReturnPlace()
    stage = await openLateStage({ clock: createTestClock() }, { address: `${site.origin}/moved/bank` })
  })
  afterAll(async () => {
    await leaveBrowser(browser)
    await stage.gateway.stop()
    await site.close()
  })

  // Each line: with the script the form sends itself, without it the customer presses the button.
  test.each([true, false])('a provider may redirect its customer to a bank: script %s', async js => {
    const { paymentMethods: _, ...payment } = cardPayment({ urls: site.urls })
    const { body } = await stage.gateway.call('POST', '/payments', {
      ...payment,
      paymentMethods: { integrationType: 'HOSTED', type: 'IDEAL' },
    })
    const { page, complaints } = await visit(browser, body._links.redirect.href, { javaScriptEnabled: js })
    if (!js) await page.click('form[data-onward] button')
    await page.waitForURL(`${site.moved.origin}/bank`)
    expect(complaints).toEqual([])
  })
})
