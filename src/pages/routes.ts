/**
 * The routes of the customer's pages. Whatever a customer sends, the answer shows the payment's current state, so the back
 * button, a reload, a second tab and a form sent twice do no harm.
 */
import type { Money } from '#domain/money.ts'
import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { openTry } from '#lifecycle/payment.ts'
import { type CustomerAction, takeCustomerStep } from '#operations/payments/customer-action.ts'
import { fieldsPath, showFields, takeFields, tokensMax } from '#pages/card-fields.ts'
import { countDeclineAfter } from '#pages/count-decline.ts'
import { offersMax } from '#pages/currency.ts'
import { fileRoutes } from '#pages/files.ts'
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
import { showResult, showStep } from '#pages/show.ts'
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
