/**
 * The routes of the customer's pages. Whatever a customer sends, the answer shows the payment's current state, so the back
 * button, a reload, a second tab and a form sent twice do no harm.
 */
import type { Money } from '#domain/money.ts'
import { accepts } from '#http/server/accept-encoding.ts'
import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { openTry } from '#lifecycle/payment.ts'
import { type CustomerAction, takeCustomerStep } from '#operations/payments/customer-action.ts'
import {
  type Asset,
  type Assets,
  assetCacheControl,
  assetFolder,
  describeInventory,
  embedFolder,
} from '#pages/assets.ts'
import { countDeclineAfter } from '#pages/count-decline.ts'
import { offersMax } from '#pages/currency.ts'
import {
  type Hosted,
  isSimulated,
  openHosted,
  type PageDeps,
  providerAction,
  stageOf,
} from '#pages/hosted.ts'
import { createLimits } from '#pages/limits.ts'
import {
  baseOf,
  createPageContext,
  isOpenForm,
  type PageContext,
  pagePath,
  returnPath,
  stepPath,
} from '#pages/page-context.ts'
import { takeBack, withFreshAction } from '#pages/provider-step.ts'
import { writeSecurityText } from '#pages/security-text.ts'
import { showResult, showStep } from '#pages/show.ts'
import { submitForm } from '#pages/submit.ts'

/** 30 declines in ten minutes per address or card: several people may share an address, but do not cause that many. */
const declinesMax = 30
/** Ten times as many in the test environment, where every test comes from one address with the same few cards. */
const testDeclinesMax = 300

type Handle = (request: PageRequest, hosted: Hosted) => Promise<PageAnswer>

export function createPageRoutes(deps: PageDeps): readonly PageRoute[] {
  const pageContext = createPageContext(deps)
  const most = pageContext.isTest ? testDeclinesMax : declinesMax
  const { nowMs } = deps.engine.clock
  const limits = createLimits({ most, nowMs, shared: deps.counts?.scope('declines') })
  const offers = createLimits({ most: offersMax, nowMs, shared: deps.counts?.scope('offers') })
  const page = (verb: PageRoute['verb'], path: string, handle: PageRoute['handle']): PageRoute => ({
    verb,
    path,
    handle,
    fail: (request, fault) => pageContext.fail(request, fault, path),
  })
  const own = (handle: Handle) => withHosted(handle, pageContext, deps)
  const step = (handle: Handle) => withStep(handle, pageContext, deps)
  return [
    page(
      'GET',
      `${pagePath}{pageToken}`,
      own(async (request, hosted) =>
        pageContext.show(request, await withFreshAction(hosted, pageContext, deps)),
      ),
    ),
    page(
      'POST',
      `${pagePath}{pageToken}`,
      own((request, hosted) => submitForm({ request, hosted }, { pageContext, limits, offers, deps })),
    ),
    page(
      'POST',
      `${pagePath}{pageToken}/cancel`,
      own((request, hosted) => act(request, hosted, 'cancel', { pageContext, deps })),
    ),
    page(
      'GET',
      `${pagePath}{pageToken}/result`,
      own(async (request, hosted) => showEnd(request, hosted, pageContext)),
    ),
    page(
      'GET',
      `${stepPath}{pageToken}`,
      step(async (request, hosted) => {
        const fresh = await withFreshAction(hosted, pageContext, deps)
        return pageContext.sendOn(request, fresh) ?? showOtherPage(request, fresh, pageContext)
      }),
    ),
    ...(['GET', 'POST'] as const).map(verb =>
      page(verb, `${returnPath}{pageToken}`, request => takeBack(request, { context: pageContext, deps })),
    ),
    page(
      'POST',
      `${stepPath}{pageToken}`,
      step((request, hosted) => act(request, hosted, request.form?.action, { pageContext, deps })),
    ),
    page('GET', `${assetFolder}/{file}`, async request => sendAsset(request, pageContext)),
    page('GET', `${embedFolder}/{file}`, async request => sendEmbed(request, pageContext)),
    // An address that was cut off or changed in transit gets a page too.
    page('GET', `${pagePath}*`, async request => pageContext.deadEnd(request, 'unknown')),
    page('GET', '/.well-known/payment-page-inventory.json', async () =>
      sendInventory(pageContext.assets, deps),
    ),
    page('GET', '/.well-known/security.txt', async () => sendSecurityText(deps)),
  ]
}

/** Handles a hosted page. A form posted from another site has no effect: the customer sees the current page. */
function withHosted(handle: Handle, pageContext: PageContext, deps: PageDeps): PageRoute['handle'] {
  return async request => {
    const hosted = await openHosted(request.params.pageToken ?? '', deps)
    if (!hosted || hosted.step) return pageContext.deadEnd(request, 'unknown')
    // A merchant who may not take payments through the API may not take them through pages either.
    if (hosted.merchant.disabled && isOpenForm(hosted))
      return pageContext.deadEnd(request, 'unavailable', hosted)
    if (!isForeign(request)) return handle(request, hosted)
    const { errorSummary: title, pageOutdated: message } = pageContext.frame(request, hosted).language.texts
    return { ...pageContext.show(request, hosted, { title, message }), status: 403 }
  }
}

/** A simulated page of a provider or issuer: only in the test environment, and only while its step is outstanding. */
function withStep(handle: Handle, pageContext: PageContext, deps: PageDeps): PageRoute['handle'] {
  return async request => {
    const hosted = await openHosted(request.params.pageToken ?? '', deps)
    const isTheirs = hosted !== undefined && providerAction(hosted) !== undefined
    if (!hosted?.step || !(pageContext.isTest || isTheirs)) return pageContext.deadEnd(request, 'unknown')
    if (isForeign(request)) return { ...pageContext.deadEnd(request, 'unknown'), status: 403 }
    const { merchantId, payId, method } = hosted.payment
    const isShown = openTry(hosted.payment)?.xId === hosted.step.xId && method.type === hosted.step.type
    // From here on the customer is on the payment's own pages again.
    const own = { ...hosted, pageToken: deps.pageTokens.issue({ merchantId, payId }) }
    return isShown ? handle(request, own) : pageContext.redirectToNextStep(request, own)
  }
}

/**
 * Rejects posts from other sites, with or without a body, and bodies that are not forms. Browsers say which site a request
 * comes from; older ones at least name its origin, which is `null` for our own pages because they send no referrer.
 */
function isForeign({ form, headers, verb }: PageRequest): boolean {
  if (form === undefined) return true
  if (verb !== 'POST') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return !ownSites.includes(site)
  const { origin, host } = headers
  if (origin === undefined || origin === 'null') return false
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase()
}

/** `none`: customers did it themselves, for example by reloading. */
const ownSites: readonly string[] = ['same-origin', 'none']

const actions: readonly string[] = ['approve', 'decline', 'cancel', 'pending'] satisfies CustomerAction[]

/** The customer's decision: on our page they can only cancel, on the simulated page they can do everything. */
async function act(
  request: PageRequest,
  hosted: Hosted,
  action: string | undefined,
  { pageContext, deps }: { readonly pageContext: PageContext; readonly deps: PageDeps },
): Promise<PageAnswer> {
  const { merchant, payment, step: page } = hosted
  const shown = page && { ...page, amount: readShown(request.form?.shown) }
  // Only the provider can report what the customer did on its page.
  const isOurs = action === 'cancel' || isSimulated(hosted)
  if (isOurs && action !== undefined && actions.includes(action)) {
    const step = { merchant, payId: payment.payId, action: action as CustomerAction, shown }
    await takeCustomerStep(step, deps.engine)
  }
  const after = await pageContext.reopen(hosted)
  await countDeclineAfter(request, { before: hosted, after }, deps)
  return pageContext.redirectToNextStep(request, after)
}

/** The amount that the page showed, sent back by its form; undefined if the form does not name one. */
function readShown(text: string | undefined): Money | undefined {
  const [value, currency] = text?.split(' ') ?? []
  return currency === undefined ? undefined : { value: Number(value), currency }
}

/** The result page, for customers whose shop gave no return address. */
function showEnd(request: PageRequest, hosted: Hosted, pageContext: PageContext): PageAnswer {
  const stage = stageOf(hosted)
  if (stage === 'form' || stage === 'instructions') return pageContext.seeOther(baseOf(hosted))
  const shown = stage === 'step' ? 'waiting' : stage
  return pageContext.answer(200, showResult(hosted, pageContext.frame(request, hosted), shown), hosted)
}

function showOtherPage(request: PageRequest, hosted: Hosted, pageContext: PageContext): PageAnswer {
  const action = `${stepPath}${request.params.pageToken}`
  const step = { action, instalments: pageContext.planOf(hosted, hosted.payment.method) }
  return pageContext.answer(200, showStep(hosted, pageContext.frame(request, hosted), step), hosted)
}

const codings = [
  ['br', 'brotli'],
  ['gzip', 'gzip'],
] as const

function sendAsset(request: PageRequest, pageContext: PageContext): PageAnswer {
  const asset = pageContext.assets.byUrl.get(`${assetFolder}/${request.params.file}`)
  return asset ? sendFile(request, asset) : pageContext.deadEnd(request, 'unknown')
}

/** Five minutes at the address without a hash, so that a shop that names no hash gets a new version soon. */
const embedCacheControl = 'public, max-age=300'

/** Every site may load it: browsers check its hash only when it may be read across origins. */
function sendEmbed(request: PageRequest, { assets, deadEnd }: PageContext): PageAnswer {
  const { file } = request.params
  const isNamed = file === assets.embed.name
  const asset = isNamed ? assets.embed : assets.byUrl.get(`${embedFolder}/${file}`)
  if (!asset) return deadEnd(request, 'unknown')
  const sent = sendFile(request, asset)
  const headers = {
    ...sent.headers,
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    ...(isNamed ? { 'cache-control': embedCacheControl } : {}),
  }
  return { ...sent, headers }
}

function sendFile(request: PageRequest, asset: Asset): PageAnswer {
  const coding = codings.find(([name]) => accepts(request.headers['accept-encoding'], name))
  return {
    status: 200,
    contentType: asset.contentType,
    body: coding ? asset[coding[1]] : asset.body,
    headers: {
      'cache-control': assetCacheControl,
      vary: 'accept-encoding',
      ...(coding ? { 'content-encoding': coding[0] } : {}),
    },
  }
}

/** Signed, so that `tollgate verify-page` can detect a list that was replaced. */
function sendInventory(assets: Assets, { signInventory }: PageDeps): PageAnswer {
  const inventory = describeInventory(assets)
  const signature = signInventory(JSON.stringify(inventory))
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ ...inventory, signature }),
  }
}

function sendSecurityText({ engine, origin, securityContact }: PageDeps): PageAnswer {
  const body = writeSecurityText({ contact: securityContact, origin: origin() }, engine.clock.nowMs())
  return { status: 200, contentType: 'text/plain; charset=utf-8', body }
}
