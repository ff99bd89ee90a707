/**
 * All routes of the console, in one table: pages without sign-in, pages about the installation, and pages about one
 * merchant. Here, and only here, the session, the role, the merchant and the form's origin are checked.
 */
import { loadConsoleAssets } from '#console/assets.ts'
import type { ConsoleDeps, ConsolePage, GlobalPage, MerchantPage, Visit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { consoleHeaders, renderInside, renderNotFound, renderOutside, seeOther } from '#console/layout.ts'
import {
  csrfOf,
  forgetCookie,
  keepForm,
  readCookie,
  renderOffer,
  setUp,
  setUpPasskey,
  showSetUp,
  showSignIn,
  signIn,
  signInWithPasskey,
} from '#console/outside.ts'
import { administrationPages, merchantListPages } from '#console/sections/administration.ts'
import { detailPages } from '#console/sections/details.ts'
import { endpointPages } from '#console/sections/endpoints.ts'
import { inboxPages } from '#console/sections/inbox.ts'
import { linkPages } from '#console/sections/links.ts'
import { listPages } from '#console/sections/lists.ts'
import { noticePages } from '#console/sections/notices.ts'
import { operatorPages } from '#console/sections/operators.ts'
import { homePages, overviewPages } from '#console/sections/overview.ts'
import { paymentPages } from '#console/sections/payment.ts'
import { peoplePages } from '#console/sections/people.ts'
import { providerAccountPages } from '#console/sections/provider-accounts.ts'
import { providerPages } from '#console/sections/providers.ts'
import { reconciliationPages } from '#console/sections/reconciliation.ts'
import { settingsPages } from '#console/sections/settings.ts'
import { testPages } from '#console/sections/test-tools.ts'
import { actOnce } from '#console/sent-forms.ts'
import type { Merchant } from '#domain/merchant.ts'
import { isStorable } from '#domain/text.ts'
import { html } from '#http/html.ts'
import type { InsideRequest } from '#http/server/inside-call.ts'
import {
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  textBytesMax,
  type Upload,
} from '#http/server/page-routes.ts'
import { auditAs } from '#operations/audit/audit.ts'
import { isDatabaseLost, retryAfterSeconds } from '#operations/lost-database.ts'
import type { AuditEntry } from '#storage/audit/audit.ts'

export const globalPages: readonly GlobalPage[] = [
  ...homePages,
  ...merchantListPages,
  ...operatorPages,
  ...peoplePages,
]

export const merchantPages: readonly MerchantPage[] = [
  ...overviewPages,
  ...listPages,
  ...paymentPages,
  ...linkPages,
  ...detailPages,
  ...reconciliationPages,
  ...endpointPages,
  ...providerPages,
  ...providerAccountPages,
  ...noticePages,
  ...settingsPages,
  ...administrationPages,
  ...inboxPages,
  ...testPages,
]

export function createConsoleRoutes(deps: ConsoleDeps): readonly PageRoute[] {
  const isServed = ({ testOnly }: ConsolePage): boolean => deps.environment === 'test' || !testOnly
  const route = (
    verb: 'GET' | 'POST',
    path: string,
    handle: PageRoute['handle'],
    upload?: Upload,
  ): PageRoute => ({
    verb,
    path: `/console${path}`,
    handle: async request => (isForeign(request) ? refuseForm(request, upload) : handle(request)),
    fail: ({ verb: sent }, fault) => fail(sent, fault),
    ...(upload ? { upload } : {}),
  })
  return [
    route('GET', '/sign-in', request => showSignIn(request, deps, { next: request.query.next })),
    route('POST', '/sign-in', request => signIn(request, deps), keptTexts),
    route('POST', '/passkey-sign-in', request => signInWithPasskey(request, deps), keptTexts),
    route('GET', '/setup/{token}', request => showSetUp(request, deps)),
    route('POST', '/setup/{token}', request => setUp(request, deps)),
    route('POST', '/setup/{token}/passkey', request => setUpPasskey(request, deps)),
    route('POST', '/sign-out', request => signOut(request, deps)),
    route('GET', '/assets/{file}', async request => sendAsset(request)),
    ...globalPages
      .filter(isServed)
      .map(page =>
        route(page.verb, page.path, request =>
          withVisit(request, deps, visit => guard(visit, page, () => page.show(visit))),
        ),
      ),
    ...merchantPages
      .filter(isServed)
      .map(page =>
        route(
          page.verb,
          `/m/{merchant}${page.path}`,
          request => withVisit(request, deps, visit => showMerchantPage(visit, page)),
          page.uploadBytesMax === undefined ? undefined : uploadOf(page.uploadBytesMax, deps),
        ),
      ),
    route('GET', '/*', async request => withVisit(request, deps, async visit => redirectToStart(visit))),
  ]
}

/** A sign-in form also carries the entries of another form: its longest text, and the fields of the sign-in itself. */
const keptTexts: Upload = { bytesMax: 2 * textBytesMax, admits: async () => true }

/** Only signed-in people may send files; of other forms the texts are kept until the person has signed in. */
const uploadOf = (bytesMax: number, { people }: ConsoleDeps): Upload => ({
  bytesMax,
  async admits(headers) {
    const token = readCookie({ headers })
    return token !== undefined && (await people.openSession(token)) !== undefined
  },
})

/**
 * A page that refreshes itself sends this header: the person may have left, so the refresh does not extend the session.
 */
const refreshHeader = 'x-refresh'

/** Opens the session; without one the person is sent to the sign-in and back, and their entries are kept. */
async function withVisit(
  request: PageRequest,
  deps: ConsoleDeps,
  show: (visit: Visit) => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const token = readCookie(request)
  const idle = request.headers[refreshHeader] !== undefined
  const session = token === undefined ? undefined : await deps.people.openSession(token, { idle })
  if (!token || !session) return askToSignIn(request, deps)
  const { operator, sessionId } = session
  const csrf = csrfOf(token)
  if (request.verb === 'POST' && request.form?.csrf !== csrf) return refuseStale(request, csrf)
  const all = await deps.listMerchants()
  const { merchants: scope } = operator
  const merchants = scope === undefined ? all : all.filter(({ merchantId }) => scope.includes(merchantId))
  const audit = auditAs({ actor: operator.email, from: request.address }, deps.auditStore)
  const { once, ...form } = request.form ?? {}
  return show({
    ...{ operator, sessionId, csrf, merchants, deps, audit },
    request: request.form ? { ...request, form } : request,
    // Forms that move money call their unique value `key`, all others `once`.
    once: once ?? form.key,
  })
}

/** 1,000: all filters of a list with their longest values are shorter, and three times that still fits a header. */
const nextMax = 1_000

function askToSignIn(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> | PageAnswer {
  const next = request.verb === 'GET' ? request.url : (request.url.split('?')[0] ?? '')
  // Servers and proxies in front refuse long headers, so a query that is too long is dropped.
  const way = next.length > nextMax ? (next.split('?', 1)[0] ?? '').slice(0, nextMax) : next
  if (request.verb === 'GET') return seeOther(`/console/sign-in?next=${encodeURIComponent(way)}`)
  const problem = 'Your session has ended. Sign in to go on; what you typed is kept.'
  return showSignIn(request, deps, { next, kept: keepForm(request), problem, status: 401 })
}

async function guard(
  visit: Visit,
  page: ConsolePage,
  show: () => Promise<PageAnswer>,
  merchant?: Merchant,
): Promise<PageAnswer> {
  if (may(visit, page.act)) return actOnce({ ...visit, cutOff: cutOffOf(visit, merchant) }, show)
  const main = html`<div class="empty"><p>Your role (${visit.operator.role}) does not allow this. An owner can change it.</p><p><a href="/console">Go to the overview</a></p></div>`
  return renderInside(loadConsoleAssets(), visit, { title: 'Not allowed', main, merchant, status: 403 })
}

/**
 * The entry names the payment, plan, person … of the page, else the merchant. It has no entries of the form, because
 * some are secrets.
 */
function cutOffOf({ request, operator, deps }: Visit, merchant?: Merchant): AuditEntry {
  const { merchant: merchantId = 'console', ...ids } = request.params
  const [page = ''] = request.url.split('?')
  const offset = merchant?.clockOffsetMs ?? 0
  return {
    ...{ actor: operator.email, from: request.address, act: 'console.cut-off' },
    object: Object.values(ids)[0] ?? merchantId,
    after: {
      ...{ page, status: 'UNKNOWN' },
      ...(offset === 0 ? {} : { testClock: new Date(deps.nowMs() + offset).toISOString() }),
    },
  }
}

async function showMerchantPage(visit: Visit, page: MerchantPage): Promise<PageAnswer> {
  const listed = visit.merchants.find(({ merchantId }) => merchantId === visit.request.params.merchant)
  const merchant = listed ?? (await findUnlisted(visit))
  // A merchant that the person may not see looks like one that does not exist.
  if (!merchant) return notFound(visit)
  const caller = { merchant, intentId: undefined, key: undefined }
  const { callInside } = visit.deps
  const api = (request: InsideRequest) => callInside(caller, request)
  const stream = (request: InsideRequest) => callInside.stream(caller, request)
  return guard(visit, page, () => page.show({ ...visit, merchant, api, stream }), merchant)
}

/**
 * The list lacks merchants whose cell is unreachable. Reading such a merchant alone throws, so that the answer is 503
 * and not 404.
 */
async function findUnlisted({ operator, request, deps }: Visit): Promise<Merchant | undefined> {
  const { merchant = '' } = request.params
  if (!isStorable(merchant)) return undefined
  if (operator.merchants && !operator.merchants.includes(merchant)) return undefined
  const [found] = await deps.listMerchants(merchant)
  return found
}

/** People easily type a slash at the end of the console's address. */
const redirectToStart = (visit: Visit): PageAnswer =>
  visit.request.url === '/console/' ? seeOther('/console') : notFound(visit)

function notFound(visit: Visit): PageAnswer {
  const main = html`<p>Nothing is here, or nothing that you may see.</p><p><a href="/console">Go to the overview</a></p>`
  return renderNotFound(loadConsoleAssets(), visit, { main })
}

async function signOut(request: PageRequest, deps: ConsoleDeps): Promise<PageAnswer> {
  const token = readCookie(request)
  const isOver = token === undefined || (await deps.people.openSession(token)) === undefined
  if (isOver) return seeOther('/console/sign-in', forgetCookie)
  return withVisit(request, deps, async ({ operator, sessionId, audit }) => {
    await deps.peopleStore.endSession(operator.operatorId, sessionId)
    await audit({ act: 'console.sign-out', object: 'console' })
    return seeOther('/console/sign-in', forgetCookie)
  })
}

/** Rejects posts from other sites and bodies that are not forms. Browsers report the site that a form comes from. */
function isForeign({ verb, form, headers }: PageRequest): boolean {
  if (verb !== 'POST') return false
  const site = headers['sec-fetch-site']
  return form === undefined || (site !== undefined && site !== 'same-origin' && site !== 'none')
}

function refuseForm({ isTooLarge }: PageRequest, upload: Upload | undefined): PageAnswer {
  const way = html`<p><a href="/console">Go to the console</a></p>`
  const megabytes = Math.floor((upload?.bytesMax ?? 0) / 1_000_000)
  const main = isTooLarge
    ? html`<p>What was sent is too large: this form takes ${megabytes > 0 ? `${megabytes} MB, files included` : 'texts of a few thousand letters'}. Nothing was done. Go back and send less.</p>${way}`
    : html`<p>This form did not come from this console. Nothing was done.</p>${way}`
  const title = isTooLarge ? 'Too large' : 'Not accepted'
  return renderOutside(loadConsoleAssets(), { title, main, status: isTooLarge ? 413 : 403 })
}

/** The session has changed since the form was shown: the person signed in again in another tab. */
function refuseStale(request: PageRequest, csrf: string): PageAnswer {
  const action = request.url.split('?')[0] ?? ''
  const main = html`<p>This form is of an earlier session, or not of this console. Nothing was done. If you filled it in, send it again.</p>${renderOffer(keepForm(request), { action, csrf })}`
  return renderOutside(loadConsoleAssets(), { title: 'Not accepted', main, status: 403 })
}

function fail(verb: string, fault: unknown): PageAnswer {
  const isPassing = isDatabaseLost(fault)
  const main = html`<p>${isPassing ? 'The database cannot be reached at the moment.' : 'Something broke on our side; the log says what.'}</p>${
    isPassing &&
    html`<p>Load this page again in a moment.${verb === 'POST' && ' Your browser then asks whether to send what you typed once more.'}</p>`
  }`
  const page = renderOutside(loadConsoleAssets(), {
    title: 'Not available',
    main,
    status: isPassing ? 503 : 500,
  })
  return isPassing
    ? { ...page, headers: { ...page.headers, 'retry-after': String(retryAfterSeconds) } }
    : page
}

/** A year: other content has another address. */
const assetCache = 'public, max-age=31536000, immutable'

function sendAsset({ params, headers }: PageRequest): PageAnswer {
  const { style, script, icon } = loadConsoleAssets()
  const asset = [style, script, icon].find(({ url }) => url === `/console/assets/${params.file}`)
  if (!asset)
    return { status: 404, contentType: 'text/plain', body: 'Nothing is here.', headers: consoleHeaders }
  const isPacked = (headers['accept-encoding'] ?? '').includes('gzip')
  return {
    status: 200,
    contentType: asset.contentType,
    body: isPacked ? asset.gzip : asset.body,
    headers: {
      'cache-control': assetCache,
      vary: 'accept-encoding',
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    },
  }
}
