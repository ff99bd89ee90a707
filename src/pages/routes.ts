/**
 * The routes of the customer's pages. Whatever a customer sends, the answer shows the payment's current state, so the back
 * button, a reload, a second tab and a form sent twice do no harm.
 */
import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { openTry } from '#lifecycle/payment.ts'
import { takeCustomerStep } from '#operations/payments/customer-pages/customer-action.ts'
import { fieldsPath, showFields, takeFields, tokensMax } from '#pages/card-fields.ts'
import { siteRoutes } from '#pages/connector-site.ts'
import { offersMax } from '#pages/currency.ts'
import { fileRoutes } from '#pages/files.ts'
import { type Hosted, openHosted, type PageDeps, pageOf, stageOf } from '#pages/hosted.ts'
import { createLimits } from '#pages/limits.ts'
import {
  baseOf,
  createPageContext,
  isOpenForm,
  onwardPath,
  type PageContext,
  pagePath,
  returnPath,
} from '#pages/page-context.ts'
import { takeBack, withFreshAction } from '#pages/provider-step.ts'
import { showResult } from '#pages/show.ts'
import { submitForm } from '#pages/submit.ts'

/** 30 declines in ten minutes per address or card: several people may share an address, but do not cause that many. */
const declinesMax = 30
/** Ten times as many in the test environment, where every test comes from one address with the same few cards. */
const testDeclinesMax = 300

type Handle = (request: PageRequest, hosted: Hosted) => Promise<PageAnswer>

function openLimits({ environment, engine, counts }: PageDeps) {
  const { nowMs } = engine.clock
  const most = environment === 'test' ? testDeclinesMax : declinesMax
  const open = (name: string, limit: number) =>
    createLimits({ most: limit, nowMs, shared: counts?.scope(name) })
  return {
    limits: open('declines', most),
    offers: open('offers', offersMax),
    tokens: open('tokens', tokensMax),
  }
}

export function createPageRoutes(deps: PageDeps): readonly PageRoute[] {
  const pageContext = createPageContext(deps)
  const { limits, offers, tokens } = openLimits(deps)
  const page = (verb: PageRoute['verb'], path: string, handle: PageRoute['handle']): PageRoute => ({
    verb,
    path,
    handle,
    fail: (request, fault) => pageContext.fail(request, fault, path),
  })
  const own = (handle: Handle) => withHosted(handle, pageContext, deps)
  const step = (handle: Handle) => withStep(handle, { pageContext, deps })
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
      own((request, hosted) => cancel(request, hosted, { pageContext, deps })),
    ),
    page(
      'GET',
      `${pagePath}{pageToken}/result`,
      own(async (request, hosted) => showEnd(request, hosted, pageContext)),
    ),
    page(
      'GET',
      `${onwardPath}{pageToken}`,
      step(async (request, hosted) => {
        const fresh = await withFreshAction(hosted, pageContext, deps)
        return pageContext.sendOn(request, fresh) ?? pageContext.seeOther(baseOf(fresh))
      }),
    ),
    ...(['GET', 'POST'] as const).map(verb =>
      page(verb, `${returnPath}{pageToken}`, request =>
        takeBack(request, { context: pageContext, limits, deps }),
      ),
    ),
    // We serve the pages of providers without a web site of their own.
    ...deps.sites
      .flatMap(root => siteRoutes({ root, pageContext, limits, deps }))
      .map(({ verb, path, handle }) => page(verb, path, step(handle))),
    page('GET', `${fieldsPath}{merchantId}`, request => showFields(request, { pageContext, deps })),
    page('POST', `${fieldsPath}{merchantId}`, async request =>
      isForeign(request)
        ? { ...pageContext.deadEnd(request, 'unknown'), status: 403 }
        : takeFields(request, { pageContext, deps, tokens }),
    ),
    // An address that was cut off or changed in transit gets a page too.
    page('GET', `${pagePath}*`, async request => pageContext.deadEnd(request, 'unknown')),
    ...fileRoutes(pageContext, deps).map(([path, handle]) => page('GET', path, handle)),
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

/** A page of one try: once the customer has begun another try, they are redirected to the payment's current page. */
function withStep(
  handle: Handle,
  { pageContext, deps }: { readonly pageContext: PageContext; readonly deps: PageDeps },
): PageRoute['handle'] {
  return async request => {
    const hosted = await openHosted(request.params.pageToken ?? '', deps)
    if (!hosted?.step) return pageContext.deadEnd(request, 'unknown')
    if (isForeign(request)) return { ...pageContext.deadEnd(request, 'unknown'), status: 403 }
    const { method } = hosted.payment
    const isShown = openTry(hosted.payment)?.xId === hosted.step.xId && method.type === hosted.step.type
    // From here on the customer is on the payment's own pages again.
    const own = { ...hosted, pageToken: deps.pageTokens.issue(pageOf(hosted.payment)) }
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

/** `none`: the customer started the request, for example by reloading. */
const ownSites: readonly string[] = ['same-origin', 'none']

/** On our own pages the customer can only cancel; the provider reports everything else. */
async function cancel(
  request: PageRequest,
  hosted: Hosted,
  { pageContext, deps }: { readonly pageContext: PageContext; readonly deps: PageDeps },
): Promise<PageAnswer> {
  const { merchant, payment } = hosted
  await takeCustomerStep({ merchant, payId: payment.payId, action: 'cancel' }, deps.engine)
  return pageContext.redirectToNextStep(request, await pageContext.reopen(hosted))
}

/** The result page, for customers whose shop gave no return address. */
function showEnd(request: PageRequest, hosted: Hosted, pageContext: PageContext): PageAnswer {
  const stage = stageOf(hosted)
  if (stage === 'form' || stage === 'instructions') return pageContext.seeOther(baseOf(hosted))
  const shown = stage === 'step' ? 'waiting' : stage
  return pageContext.answer(200, showResult(hosted, pageContext.frame(request, hosted), shown), hosted)
}
