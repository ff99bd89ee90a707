/**
 * The setup of every test file with real browsers: one gateway, one shop and one browser for all of its tests. To be
 * called inside a `describe`; the parts are there once its first test runs.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import {
  closePages,
  expectSound,
  leaveBrowser,
  openReturnPlace,
  type ReturnPlace,
  type Visit,
  visit,
} from '#test/support/browser/visitor.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

export interface Stage {
  readonly gateway: TestGateway
  readonly place: ReturnPlace
  readonly shop: PageShop
  open(href: string, options?: BrowserContextOptions): Promise<Visit>
  /**
   * Expects a page that is accessible, reports no errors, is no wider than the screen, and requested only us and the
   * shop.
   */
  expectSound(seen: Visit): Promise<void>
  /** Waits until the customer has paid and is back at the shop. */
  waitForThanks(page: Page): Promise<void>
}

export function setStage(browser: Browser): Stage {
  let parts: Pick<Stage, 'gateway' | 'place' | 'shop'> | undefined
  const part = <Name extends keyof NonNullable<typeof parts>>(name: Name) => {
    if (!parts) throw new Error('the stage is set when the first test begins')
    return parts[name]
  }

  beforeAll(async () => {
    const [gateway, place] = await Promise.all([startTestGateway(), openReturnPlace()])
    parts = { gateway, place, shop: await openPageShop(gateway, place) }
  })

  // Also after a failure, because an open page keeps polling.
  afterEach(() => closePages(browser))

  afterAll(async () => {
    await leaveBrowser(browser)
    await parts?.gateway.stop()
    await parts?.place.close()
  })

  return {
    get gateway() {
      return part('gateway')
    },
    get place() {
      return part('place')
    },
    get shop() {
      return part('shop')
    },
    open: (href, options) => visit(browser, href, options),
    expectSound: seen => expectSound(seen, [part('gateway').url, part('place').origin]),
    waitForThanks: page => page.waitForURL(`${part('place').origin}/thanks**`),
  }
}
