/**
 * The pages of customers as a table of routes. Whatever a customer sends, the answer is a page that says where the payment
 * stands: back button, reload, a second tab and a form sent twice are all just another look at it.
 */
import type { AccountData, CardData } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { PageAnswer, PageRequest, PageRoute } from '#http/page-routes.ts'
import { countDeclines } from '#lifecycle/attempt.ts'
import { lastOperation, openTry } from '#lifecycle/payment.ts'
import { formOf, offeredMethods } from '#methods/offer.ts'
import { attemptPayment } from '#operations/attempt.ts'
import { type CustomerAction, takeCustomerStep } from '#operations/customer-action.ts'
import { assetCacheControl, assetFolder, describeInventory, loadAssets } from '#pages/assets.ts'
import { explainDecline } from '#pages/decline-text.ts'
import { type Entered, readEntries } from '#pages/entries.ts'
import {
  type Hosted,
  isSession,
  openHosted,
  type PageDeps,
  returnUrl,
  stageOf,
  urlsOf,
} from '#pages/hosted.ts'
import type { PageFrame } from '#pages/layout.ts'
import { createLimits } from '#pages/limits.ts'
import { securityHeaders } from '#pages/security-headers.ts'
import {
  type FormState,
  frameOf,
  showDeadEnd,
  showForm,
  showInstructions,
  showResult,
  showStep,
  themeOf,
} from '#pages/show.ts'
import type { DeadEndKind } from '#pages/views/dead-end.ts'

/** 30 declines in ten minutes from one address or with one card: a family may share an address, but not that many. */
const declinesMax = 30
/** Ten times as many in the test environment, where every test comes from one address with the same few cards. */
const testDeclinesMax = 300

const actions: readonly string[] = ['approve', 'decline', 'cancel', 'pending'] satisfies CustomerAction[]

/** Where pages lie at the origin. */
export const pagePath = '/pay/'
const stepPath = '/pay/step/'

export function createPageRoutes(deps: PageDeps): readonly PageRoute[] {
  const assets = loadAssets()
  const isTest = deps.environment === 'test'
  const limits = createLimits({
    most: isTest ? testDeclinesMax : declinesMax,
    nowMs: deps.engine.clock.nowMs,
  })
  const visitOf = ({ headers }: PageRequest) => ({
    assets,
    isTest,
    acceptLanguage: headers['accept-language'],
  })

  /** The headers of a page about this payment: its forms may end at the shop's own addresses, and nowhere else. */
  const answer = (status: number, html: string, hosted?: Hosted): PageAnswer => ({
    status,
    body: html,
    headers: securityHeaders({
      formActions: hosted && Object.values(urlsOf(hosted.payment)),
      theme: hosted && themeOf(hosted),
      frameAncestors: hosted?.merchant.frameOrigins,
      tls: deps.secure,
    }),
  })
  const seeOther = (location: string): PageAnswer => ({
    status: 303,
    headers: { ...securityHeaders({ tls: deps.secure }), location },
  })
  const deadEnd = (request: PageRequest, kind: DeadEndKind, hosted?: Hosted): PageAnswer => {
    const page = showDeadEnd(frameOf(hosted, visitOf(request)), kind, hosted?.payment)
    return answer(page.status, page.html, hosted)
  }
  const baseOf = ({ pageToken }: Hosted): string => `${pagePath}${pageToken}`

  function stepAddress({ merchant, payment }: Hosted): string {
    const waiting = openTry(payment) ?? lastOperation(payment)
    const step = { xId: waiting.xId, type: payment.method.type }
    return `${stepPath}${deps.pageTokens.issue({ merchantId: merchant.merchantId, payId: payment.payId, step })}`
  }

  /** The page as it stands. A form is shown again with what may be shown again of it. */
  function show(request: PageRequest, hosted: Hosted, state?: FormState): PageAnswer {
    const frame = frameOf(hosted, visitOf(request))
    const stage = stageOf(hosted)
    const goesBack = isSession(hosted.payment) || formOf(hosted.payment.method) !== 'none'
    switch (stage) {
      case 'step':
        // Who comes back from a provider's page to a choice may choose anew; without a choice there is only the way on.
        if (hosted.payment.integrationType === 'HOSTED' && goesBack && hosted.payment.status !== 'PENDING')
          return answer(200, showForm(hosted, frame, baseOf(hosted), state), hosted)
        return seeOther(stepAddress(hosted))
      case 'form':
        return answer(statusOf(state), showForm(hosted, frame, baseOf(hosted), state), hosted)
      case 'instructions':
        return answer(200, showInstructions(hosted, frame), hosted)
      case 'waiting':
        return answer(200, showResult(hosted, frame, stage), hosted)
      case 'paid':
        return deadEnd(request, 'completed', hosted)
      case 'expired':
      case 'tooManyTries':
        return deadEnd(request, stage, hosted)
      case 'failed':
      case 'cancelled':
        return answer(goneStatus, showResult(hosted, frame, stage), hosted)
    }
  }

  /** Where the customer goes after it has done something: on to its next step, back to the shop, or to our own result. */
  function onward(hosted: Hosted): string {
    switch (stageOf(hosted)) {
      case 'form':
      case 'instructions':
        return baseOf(hosted)
      case 'step':
        return hosted.payment.status === 'PENDING'
          ? (returnUrl(hosted.payment) ?? `${baseOf(hosted)}/result`)
          : stepAddress(hosted)
      default:
        return returnUrl(hosted.payment) ?? `${baseOf(hosted)}/result`
    }
  }

  async function reopen(hosted: Hosted): Promise<Hosted> {
    return (await openHosted(hosted.pageToken, deps)) ?? hosted
  }

  /** One submitted form: read, tried once, and answered by where the payment stands then. */
  async function submit(request: PageRequest, hosted: Hosted, entered: Entered): Promise<PageAnswer> {
    const frame = frameOf(hosted, visitOf(request))
    const { merchant, payment } = hosted
    const method = offeredMethods(payment, merchant.methods).find(({ type }) => type === entered.type)
    if (!method) return refuseForm(request, hosted, { message: frame.language.texts.pageOutdated, entered })
    const reading = readEntries(formOf(method), entered, { texts: frame.language.texts, now: hosted.now })
    if (reading.errors)
      return refuseForm(request, hosted, { errors: reading.errors, entered, chosen: method.type })
    const { instrument } = reading
    const keys = [`address ${request.address}`, ...cardKeys(hosted, instrument.card?.number.reveal())]
    if (!limits.allows(keys)) return deadEnd(request, 'slowDown', hosted)
    const seenVersion = Number(entered.attempt)
    const result = await attemptPayment(
      { merchant, payId: payment.payId, method, ...withPreferences(hosted, instrument), seenVersion },
      deps.engine,
    )
    const after = await reopen(hosted)
    if (countDeclines(after.payment) > countDeclines(payment)) limits.countDecline(keys)
    if (stageOf(after) !== 'form') return goOn(request, after)
    return refuseForm(request, after, { ...failureOf(after, result, frame), entered, chosen: method.type })
  }

  function goOn(request: PageRequest, hosted: Hosted): PageAnswer {
    const redirect = onward(hosted)
    return wantsJson(request) ? json(200, { redirect }) : seeOther(redirect)
  }

  function refuseForm(request: PageRequest, hosted: Hosted, state: FormState): PageAnswer {
    if (stageOf(hosted) !== 'form' && !isOpenForm(hosted)) return goOn(request, hosted)
    if (!wantsJson(request)) return show(request, hosted, state)
    const { message, errors = {} } = state
    return json(200, { message, errors, attempt: String(hosted.payment.version) })
  }

  const json = (status: number, value: unknown): PageAnswer => ({
    status,
    contentType: 'application/json',
    body: JSON.stringify(value),
    headers: securityHeaders({ tls: deps.secure }),
  })

  const withHosted =
    (handle: (request: PageRequest, hosted: Hosted) => Promise<PageAnswer>) =>
    async (request: PageRequest): Promise<PageAnswer> => {
      const hosted = await openHosted(request.params.pageToken ?? '', deps)
      if (!hosted || hosted.step) return deadEnd(request, 'unknown')
      if (request.form === undefined || isForeign(request)) return refuseForeign(request, hosted)
      return handle(request, hosted)
    }

  /** A form of somebody else's making, or none at all: it has no effect, and the customer sees the page as it stands. */
  function refuseForeign(request: PageRequest, hosted: Hosted): PageAnswer {
    const { texts } = frameOf(hosted, visitOf(request)).language
    return { ...show(request, hosted, { message: texts.pageOutdated }), status: 403 }
  }

  const withStep =
    (handle: (request: PageRequest, hosted: Hosted, shown: Step) => Promise<PageAnswer>) =>
    async (request: PageRequest): Promise<PageAnswer> => {
      const hosted = isTest ? await openHosted(request.params.pageToken ?? '', deps) : undefined
      if (!hosted?.step) return deadEnd(request, 'unknown')
      if (request.form === undefined || isForeign(request)) return deadEnd(request, 'unknown', hosted)
      const { merchantId, payId } = hosted.payment
      // From here on the page is the payment's own again.
      const pageToken = deps.pageTokens.issue({ merchantId, payId })
      const waiting = openTry(hosted.payment)
      const isShown = waiting?.xId === hosted.step.xId && hosted.payment.method.type === hosted.step.type
      if (!isShown) return seeOther(onward({ ...hosted, pageToken }))
      return handle(
        request,
        { ...hosted, pageToken },
        { ...hosted.step, pageToken: request.params.pageToken ?? '' },
      )
    }

  const fail: PageRoute['fail'] = request => deadEnd(request, 'error')
  const page = (verb: PageRoute['verb'], path: string, handle: PageRoute['handle']): PageRoute => ({
    verb,
    path,
    handle,
    fail,
  })

  return [
    page(
      'GET',
      `${pagePath}{pageToken}`,
      withHosted(async (request, hosted) => show(request, hosted)),
    ),
    page(
      'POST',
      `${pagePath}{pageToken}`,
      withHosted(async (request, hosted) =>
        isOpenForm(hosted) ? submit(request, hosted, request.form ?? {}) : goOn(request, hosted),
      ),
    ),
    page(
      'POST',
      `${pagePath}{pageToken}/cancel`,
      withHosted(async (request, hosted) => {
        const { merchant, payment } = hosted
        await takeCustomerStep({ merchant, payId: payment.payId, action: 'cancel' }, deps.engine)
        return goOn(request, await reopen(hosted))
      }),
    ),
    page(
      'GET',
      `${pagePath}{pageToken}/result`,
      withHosted(async (request, hosted) => {
        const stage = stageOf(hosted)
        if (stage === 'form' || stage === 'instructions') return seeOther(baseOf(hosted))
        const shown = stage === 'step' ? 'waiting' : stage
        return answer(200, showResult(hosted, frameOf(hosted, visitOf(request)), shown), hosted)
      }),
    ),
    page(
      'GET',
      `${stepPath}{pageToken}`,
      withStep(async (request, hosted, shown) =>
        answer(
          200,
          showStep(hosted, frameOf(hosted, visitOf(request)), `${stepPath}${shown.pageToken}`),
          hosted,
        ),
      ),
    ),
    page(
      'POST',
      `${stepPath}{pageToken}`,
      withStep(async (request, hosted, { xId, type }) => {
        const action = request.form?.action ?? ''
        const { merchant, payment } = hosted
        if (actions.includes(action)) {
          const step = {
            merchant,
            payId: payment.payId,
            action: action as CustomerAction,
            shown: { xId, type },
          }
          await takeCustomerStep(step, deps.engine)
        }
        return goOn(request, await reopen(hosted))
      }),
    ),
    page('GET', `${assetFolder}/{file}`, async request => {
      const asset = assets.byUrl.get(`${assetFolder}/${request.params.file}`)
      if (!asset) return deadEnd(request, 'unknown')
      const accepted = request.headers['accept-encoding'] ?? ''
      const coding = /\bbr\b/.test(accepted) ? 'brotli' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined
      return {
        status: 200,
        contentType: asset.contentType,
        body: coding ? asset[coding] : asset.body,
        headers: {
          'cache-control': assetCacheControl,
          vary: 'accept-encoding',
          ...(coding ? { 'content-encoding': coding === 'brotli' ? 'br' : 'gzip' } : {}),
        },
      }
    }),
    page('GET', '/.well-known/payment-page-inventory.json', async () => ({
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify(describeInventory(assets)),
    })),
  ]
}

type Step = { readonly xId: XId; readonly type: string; readonly pageToken: string }

/** 410: it was here, and it is over. */
const goneStatus = 410

/** 422: understood, but nothing was paid. */
const statusOf = (state: FormState | undefined): number => (state?.errors || state?.message ? 422 : 200)

/** Whether a form of this page may be sent now: also by a customer who came back from a provider's page. */
const isOpenForm = (hosted: Hosted): boolean =>
  hosted.payment.integrationType === 'HOSTED' &&
  hosted.payment.status === 'AUTHORIZE_REQUEST' &&
  (stageOf(hosted) === 'form' || stageOf(hosted) === 'step')

const wantsJson = ({ headers }: PageRequest): boolean => (headers.accept ?? '').includes('application/json')

/** Browsers say where a form comes from. One that says another site did not come from our page. */
function isForeign({ headers }: PageRequest): boolean {
  const site = headers['sec-fetch-site']
  return (
    headers['content-type'] !== undefined && site !== undefined && site !== 'same-origin' && site !== 'none'
  )
}

const cardKeys = ({ merchant }: Hosted, number: string | undefined): string[] =>
  // The last digits with the length tell cards apart well enough to count, and are no card number.
  number === undefined ? [] : [`card ${merchant.merchantId} ${number.slice(0, 6)} ${number.slice(-4)}`]

function failureOf(after: Hosted, result: 'done' | 'stale' | undefined, { language }: PageFrame): FormState {
  const last = lastOperation(after.payment)
  return result === 'stale'
    ? { message: language.texts.pageOutdated }
    : { message: explainDecline(last.responseCode, language.texts) }
}

/** What the merchant said about cards when it asked for the page. */
function withPreferences(
  { payment }: Hosted,
  { card, account }: { readonly card?: CardData; readonly account?: AccountData },
) {
  const { threeDsPolicy } = (payment.details.methodFields ?? {}) as { threeDsPolicy?: object }
  return { card: card && { ...card, threeDs: { ...threeDsPolicy } }, account }
}
