/**
 * Customers with a real browser, and the shop to which they return. Every page is watched: errors of the browser,
 * requested addresses, and findings of axe-core.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { launchBrowser } from '#test/support/browser/browser.ts'

export const phone = { width: 390, height: 844 }
/** A small phone, or a wide screen at a zoom of 400 %. */
export const narrowest = { width: 320, height: 640 }
export const desktop = { width: 1280, height: 860 }

/** One for all files that this process runs: a start takes seconds of a processor. It ends with the process. */
let browserHere: Promise<Browser | string> | undefined

/** A browser; undefined after printing the reason. Without a browser the tests of pages are skipped, not failed. */
export async function findBrowser(): Promise<Browser | undefined> {
  browserHere ??= launchBrowser()
  const started = await browserHere
  if (typeof started !== 'string') return started
  process.stderr.write(`browser tests are left out: ${started}\n`)
  return undefined
}

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors reported by the browser, including violations of the policy. */
  readonly complaints: string[]
  readonly requested: string[]
  /** Statuses of the pages that were loaded, newest last. */
  readonly statuses: number[]
}

/** By browser and options: our pages store nothing, so that customers alike may share a profile; starting one is slow. */
const shared = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

/** 90 s: a limit for hanging tests on a busy machine. */
const patienceMs = 90_000

async function newContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: desktop, locale: 'en-GB', ...options })
  context.setDefaultTimeout(patienceMs)
  return context
}

export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const contexts = shared.get(browser) ?? new Map<string, Promise<BrowserContext>>()
  shared.set(browser, contexts)
  const key = JSON.stringify(options)
  const context = contexts.get(key) ?? newContext(browser, options)
  contexts.set(key, context)
  return openTab(await context, url)
}

/** A visit with a profile of its own: its cache is empty, and changes to it affect no other test. */
export const visitAnew = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> => openTab(await newContext(browser, options), url)

/** Tabs without a page, by profile: to open one takes more of the processor than to load a page of ours into it. */
const idleTabs = new WeakMap<BrowserContext, Page[]>()

/** After each test: pages that others opened must not be in the way of the next one. */
export async function closePages(browser: Browser): Promise<void> {
  const kept = await Promise.all(shared.get(browser)?.values() ?? [])
  await Promise.all(
    browser.contexts().map(async context => {
      if (!kept.includes(context)) return context.close()
      const tabs = context.pages()
      await Promise.all(tabs.map(clearTab))
      idleTabs.set(context, tabs)
    }),
  )
}

/** After the last test of a file: the next file finds no cookie and no page of this one. */
export async function leaveBrowser(browser: Browser): Promise<void> {
  shared.delete(browser)
  await Promise.all(browser.contexts().map(context => context.close()))
}

/**
 * Resets the state that loading another page does not reset. A test that does more to its tab, such as another medium,
 * visits anew.
 */
async function clearTab(page: Page): Promise<void> {
  for (const event of watched) page.removeAllListeners(event)
  await page.unrouteAll()
  await page.goto('about:blank')
}

const watched = ['console', 'pageerror', 'request', 'response']

export async function openTab(context: BrowserContext, url: string): Promise<Visit> {
  const page = idleTabs.get(context)?.pop() ?? (await context.newPage())
  const seen: Visit = { page, context, complaints: [], requested: [], statuses: [] }
  page.on('console', message => {
    // Answers 404, 410 and 422 are under test, so they are not errors.
    if (
      !/^Failed to load resource: the server responded with a status of (403|404|410|422)/.test(
        message.text(),
      )
    )
      seen.complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', error => seen.complaints.push(String(error)))
  page.on('request', request => seen.requested.push(request.url()))
  page.on('response', response => {
    if (response.request().isNavigationRequest()) seen.statuses.push(response.status())
  })
  await page.goto(url)
  return seen
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** Tabs whose next pages have axe-core at hand: to send half a megabyte to each page costs as much as to load it. */
const equipped = new WeakSet<Page>()

async function bringAxe(page: Page): Promise<void> {
  const isThere = 'globalThis.axe !== undefined || (globalThis.bringAxe?.() ?? false)'
  if (await page.evaluate(isThere)) return
  await page.evaluate(axeSource)
  if (equipped.has(page)) return
  equipped.add(page)
  // A function is compiled only if it is called, so that pages which are not judged pay little for it.
  await page.addInitScript(`globalThis.bringAxe = () => {${axeSource}; return true}`)
}

/**
 * A quarter of its time goes into what no rule that is switched on needs here: selectors of elements, which are named by their
 * HTML, and loading style sheets and media a second time.
 */
const axeOptions = `{ resultTypes: ['violations'], selectors: false, preload: false }`

export async function findViolations(page: Page): Promise<string[]> {
  await bringAxe(page)
  const violations = (await page.evaluate(
    `axe.run(document, ${axeOptions}).then(result => result.violations)`,
  )) as Violation[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}

/** Expects a page that is accessible, reports no errors, is no wider than the screen, and made no foreign requests. */
export async function expectSound(seen: Visit, origins: readonly string[]): Promise<void> {
  expect(await findViolations(seen.page)).toEqual([])
  expect(seen.complaints).toEqual([])
  expect(seen.requested.filter(url => !origins.includes(new URL(url).origin))).toEqual([])
  const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  expect(await seen.page.evaluate(wide)).toBeLessThanOrEqual(0)
}

export interface CardEntry {
  readonly number?: string
  readonly expiry?: string
  readonly code?: string
  readonly name?: string
}

export async function typeCard(page: Page, entry: CardEntry = {}): Promise<void> {
  await page.fill('#number', entry.number ?? '4111111111111111')
  await page.fill('#expiry', entry.expiry ?? '12/39')
  await page.fill('#securityCode', entry.code ?? '123')
  await page.fill('#cardholderName', entry.name ?? 'Ada Lovelace')
  const consent = page.locator('#planConsent')
  if ((await consent.count()) > 0) await consent.check()
}

export const press = (page: Page): Promise<void> => page.click('button.primary')

/** Down near the upper edge, where a small shift downwards already takes the button away; the caller lets go. */
export async function pressTop(page: Page, button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded()
  const box = await button.boundingBox()
  if (box === null) throw new Error('the button is not shown')
  await page.mouse.move(box.x + box.width / 2, box.y + 2)
  await page.mouse.down()
}

export const noticeOf = async (page: Page): Promise<string> => {
  const notice = page.locator('[data-notice]')
  await notice.waitFor({ state: 'visible' })
  return (await notice.textContent()) ?? ''
}

interface ReturnUrls {
  readonly return: string
  readonly cancel: string
}

export interface ReturnPlace {
  readonly origin: string
  readonly urls: ReturnUrls
  /** Addresses that redirect to the same pages under another origin, as many shops do. */
  readonly moved: { readonly origin: string; readonly urls: ReturnUrls }
  close(): Promise<void>
}

/** The pages to which a shop's customers return: one for each result, containing only its name. */
export async function openReturnPlace(): Promise<ReturnPlace> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    if (request.url?.startsWith('/favicon')) return void response.writeHead(204).end()
    const [, moved] = /^\/moved(\/.*)/.exec(request.url ?? '') ?? []
    if (moved) return void response.writeHead(302, { location: `${otherOrigin()}${moved}` }).end()
    response.end(
      `<!doctype html><html lang="en"><title>Shop</title><h1>Shop ${request.url?.split('?')[0]}</h1></html>`,
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const port = () => (server.address() as AddressInfo).port
  const otherOrigin = () => `http://localhost:${port()}`
  const origin = `http://127.0.0.1:${port()}`
  return {
    origin,
    moved: {
      origin: otherOrigin(),
      urls: { return: `${origin}/moved/thanks`, cancel: `${origin}/moved/basket` },
    },
    // A query of the shop's own, with a spelling that a careless rewrite would change.
    urls: { return: `${origin}/thanks?basket=a%20b`, cancel: `${origin}/basket` },
    close: () => new Promise(resolve => void server.close(() => resolve())),
  }
}
