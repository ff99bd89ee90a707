/**
 * What all pages share: their frame and headers, the page a payment is on right now, and where its customer goes next.
 * Nothing here changes a payment.
 */
import type { InstalmentPlan } from '#connectors/contract.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { lastOperation, openTry } from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'
import { isDatabaseLost, retryAfterSeconds } from '#operations/lost-database.ts'
import { type Assets, loadAssets } from '#pages/assets.ts'
import {
  type Hosted,
  isOwnPath,
  isSession,
  openHosted,
  type PageDeps,
  providerAction,
  returnAddresses,
  returnUrl,
  stageOf,
} from '#pages/hosted.ts'
import { securityHeaders } from '#pages/security-headers.ts'
import {
  type FormState,
  frameOf,
  showDeadEnd,
  showForm,
  showInstructions,
  showResult,
  themeOf,
} from '#pages/show.ts'
import { labelMethod } from '#pages/views/checkout.ts'
import { describeOffer } from '#pages/views/currency-choice.ts'
import type { DeadEndKind } from '#pages/views/dead-end.ts'
import { renderSendOn } from '#pages/views/instructions.ts'
import type { PageFrame } from '#pages/views/layout.ts'
import { nameDue } from '#pages/views/order-summary.ts'

/** The path of payment pages. */
export const pagePath = '/pay/'
/** The path that sends the customer of one try on to its provider. */
export const onwardPath = '/pay/on/'
/** The path to which a provider returns the customer. */
export const returnPath = '/pay/return/'

/** 410: the page existed and has expired. */
const goneStatus = 410

export interface PageContext {
  readonly assets: Assets
  readonly isTest: boolean
  frame(request: PageRequest, hosted?: Hosted): PageFrame
  answer(status: number, html: string, hosted?: Hosted): PageAnswer
  json(value: unknown): PageAnswer
  seeOther(location: string): PageAnswer
  deadEnd(request: PageRequest, kind: DeadEndKind, hosted?: Hosted): PageAnswer
  /** The page about a fault: an error of ours, or a database that is temporarily unavailable. `path` is the route's. */
  fail(request: PageRequest, fault: unknown, path: string): PageAnswer
  /** The page for the payment's current state. A form keeps the entries that may be shown again. */
  show(request: PageRequest, hosted: Hosted, state?: FormState): PageAnswer
  /** Redirects to the next step, back to the shop, or to the result page. */
  redirectToNextStep(request: PageRequest, hosted: Hosted): PageAnswer
  /** The form with its errors; a redirect to the current step if the payment no longer has a form. */
  refuse(request: PageRequest, hosted: Hosted, state: FormState): PageAnswer
  reopen(hosted: Hosted): Promise<Hosted>
  /** Sends the customer to the provider's page; undefined if there is no such step. */
  sendOn(request: PageRequest, hosted: Hosted): PageAnswer | undefined
  /** The instalments that the provider offers with this method. */
  planOf(hosted: Hosted, method: Method): InstalmentPlan | undefined
}

export function createPageContext(deps: PageDeps): PageContext {
  const answers = createAnswers(deps)
  const steps = createSteps(deps, answers)
  const { frame, json, seeOther } = answers
  const { show, sendOn } = steps

  const redirectToNextStep: PageContext['redirectToNextStep'] = (request, hosted) => {
    const isSentOn = stageOf(hosted) === 'step' && hosted.payment.status !== 'PENDING'
    // Browsers apply the page's form-action policy to every redirect of its form, so a page of ours lies in between.
    const between = isSentOn && !wantsJson(request) ? sendOn(request, hosted) : undefined
    if (between) return between
    const redirect = onward(hosted, deps)
    return wantsJson(request) ? json({ redirect }) : seeOther(redirect)
  }

  return {
    ...answers,
    ...steps,
    redirectToNextStep,
    refuse: (request, hosted, state) => {
      if (!isOpenForm(hosted)) return redirectToNextStep(request, hosted)
      if (!wantsJson(request)) return show(request, hosted, state)
      const { title, message, errors = {}, offer } = state
      const choice = offer && describeOffer(frame(request, hosted), offer)
      // 200: the script reads what is wrong from the body, and browsers would report any other status as a fault.
      const { amount, version } = hosted.payment
      return json({ title, message, errors, attempt: String(version), choice, due: nameDue(amount) })
    },
    reopen: async hosted => {
      const found = await openHosted(hosted.pageToken, deps)
      return found ?? hosted
    },
  }
}

type Answers = Pick<
  PageContext,
  'assets' | 'isTest' | 'frame' | 'answer' | 'seeOther' | 'json' | 'deadEnd' | 'fail'
>

/** Answers of every kind, with the headers that protect them. */
function createAnswers(deps: PageDeps): Answers {
  const assets = loadAssets()
  const isTest = deps.environment === 'test'
  const tls = deps.secure

  const frame: PageContext['frame'] = ({ headers }, hosted) =>
    frameOf(hosted, { assets, isTest, acceptLanguage: headers['accept-language'] })

  /** Forms may redirect only to the shop's addresses from the stored payment. */
  const answer: PageContext['answer'] = (status, html, hosted) => ({
    status,
    body: html,
    headers: securityHeaders({
      formActions: hosted && returnAddresses(hosted.payment),
      theme: hosted && themeOf(hosted),
      frameAncestors: hosted?.merchant.frameOrigins,
      tls,
    }),
  })

  const seeOther: PageContext['seeOther'] = location => ({
    status: 303,
    headers: { ...securityHeaders({ tls }), location },
  })

  const json: PageContext['json'] = value => ({
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify(value),
    headers: securityHeaders({ tls }),
  })

  const deadEnd: PageContext['deadEnd'] = (request, kind, hosted) => {
    const page = showDeadEnd(frame(request, hosted), kind, hosted)
    return answer(page.status, page.html, hosted)
  }

  const fail: PageContext['fail'] = (request, fault, path) => {
    const isPassing = isDatabaseLost(fault)
    const kind = isPassing ? 'unavailable' : 'error'
    const retryUrl = path.replace('{pageToken}', request.params.pageToken ?? '').replace(/\/cancel$/, '')
    const page = showDeadEnd(frame(request), kind, undefined, retryUrl)
    const { headers, ...rest } = answer(page.status, page.html)
    return {
      ...rest,
      headers: { ...headers, ...(isPassing ? { 'retry-after': `${retryAfterSeconds}` } : {}) },
    }
  }

  return { assets, isTest, frame, answer, seeOther, json, deadEnd, fail }
}

/** The page for each state of a payment. */
function createSteps(deps: PageDeps, answers: Answers): Pick<PageContext, 'show' | 'sendOn' | 'planOf'> {
  const { frame, answer, seeOther, deadEnd } = answers
  const tls = deps.secure

  const planOf: PageContext['planOf'] = ({ payment, now, offered }, method) =>
    offered
      .find(offer => offer.method === method)
      ?.account.connector.instalments?.(method, payment.amount, now)

  const form = (request: PageRequest, hosted: Hosted, state: FormState | undefined): PageAnswer => {
    const place = { base: baseOf(hosted), state, planOf: (method: Method) => planOf(hosted, method) }
    return answer(statusOf(state), showForm(hosted, frame(request, hosted), place), hosted)
  }

  const show: PageContext['show'] = (request, hosted, state) => {
    const stage = stageOf(hosted)
    switch (stage) {
      case 'form':
        return form(request, hosted, state)
      case 'step':
        // A customer who returns from a provider's page may choose another method; with a single method they are sent on.
        if (isOpenForm(hosted)) return form(request, hosted, state)
        return (
          sendOn(request, hosted) ??
          answer(200, showResult(hosted, frame(request, hosted), 'waiting'), hosted)
        )
      case 'instructions':
        return answer(200, showInstructions(hosted, frame(request, hosted)), hosted)
      case 'waiting':
        return answer(200, showResult(hosted, frame(request, hosted), stage), hosted)
      case 'paid':
        return deadEnd(request, 'completed', hosted)
      case 'expired':
      case 'tooManyTries':
        return deadEnd(request, stage, hosted)
      case 'failed':
      case 'cancelled':
        return answer(goneStatus, showResult(hosted, frame(request, hosted), stage), hosted)
    }
  }

  /** To the provider's page: by redirect, or through a page of ours if a form must be posted or was just submitted. */
  const sendOn: PageContext['sendOn'] = (request, hosted) => {
    const action = providerAction(hosted)
    if (!action) return undefined
    if (action.verb === 'GET' && (request.verb === 'GET' || isOwnPath(action.url)))
      return seeOther(action.url)
    const { texts } = frame(request, hosted).language
    const methodLabel = hosted.label ?? labelMethod(hosted.payment.method, texts)
    const body = renderSendOn(frame(request, hosted), { ...action, methodLabel })
    const formTarget = action.verb === 'POST' ? action.url : undefined
    const frameAncestors = hosted.merchant.frameOrigins
    const headers = securityHeaders({ formTarget, theme: themeOf(hosted), frameAncestors, tls })
    return { status: 200, body, headers }
  }

  return { show, sendOn, planOf }
}

export const baseOf = ({ pageToken }: Hosted): string => `${pagePath}${pageToken}`

/**
 * The address that redirects the customer of this try to the provider. It expires when the customer begins another try.
 */
function onwardAddress({ payment }: Hosted, { pageTokens }: PageDeps): string {
  const { merchantId, payId, method } = payment
  const { xId } = openTry(payment) ?? lastOperation(payment)
  return `${onwardPath}${pageTokens.issue({ merchantId, payId, step: { xId, type: method.type } })}`
}

function onward(hosted: Hosted, deps: PageDeps): string {
  const { payment } = hosted
  const stage = stageOf(hosted)
  // A customer without tries left sees the result before they return to the shop.
  if (stage === 'form' || stage === 'instructions' || stage === 'tooManyTries') return baseOf(hosted)
  // A customer who left the provider's page open returns to the shop, which gets the result by an event.
  if (stage === 'step' && payment.status !== 'PENDING') {
    const { url = '' } = providerAction(hosted) ?? {}
    return isOwnPath(url) ? url : onwardAddress(hosted, deps)
  }
  return returnUrl(hosted) ?? `${baseOf(hosted)}/result`
}

/** 422: understood, but nothing was paid. */
const statusOf = (state: FormState | undefined): number => (state?.errors || state?.message ? 422 : 200)

/** Whether the form may be submitted now, also by a customer who came back from a provider's page to choose another method. */
export function isOpenForm(hosted: Hosted): boolean {
  const { payment, offered, isPlanCancelled } = hosted
  if (isPlanCancelled || payment.integrationType !== 'HOSTED' || payment.status !== 'AUTHORIZE_REQUEST')
    return false
  const stage = stageOf(hosted)
  const hasChoice = isSession(payment) || offered.some(({ form }) => form !== 'none')
  return stage === 'form' || (stage === 'step' && hasChoice)
}

export const wantsJson = ({ headers }: PageRequest): boolean =>
  (headers.accept ?? '').includes('application/json')
