/** The shell around every page of the console: navigation, search, the person, and the two files it loads. */

import type { ConsoleAssets } from '#console/assets.ts'
import { may, type Visit } from '#console/context.ts'
import type { ConsoleAct } from '#domain/console-roles.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Html, html, type Part } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'

export interface Content {
  readonly title: string
  readonly main: Html
  /** The merchant that the page is about. */
  readonly merchant?: Merchant | undefined
  readonly status?: number
}

interface Place {
  readonly path: string
  /** Another path at which this entry of the navigation is highlighted. */
  readonly also?: string
  readonly title: string
  readonly act: ConsoleAct
  readonly testOnly?: true
  readonly key?: string
}

/** In the order of the navigation. Typing g and then `key` opens the page. */
const groups: readonly { readonly title: string; readonly places: readonly Place[] }[] = [
  {
    title: 'Money',
    places: [
      { path: '', title: 'Overview', act: 'read', key: 'o' },
      { path: '/payments', title: 'Payments', act: 'read', key: 'p' },
      { path: '/operations', title: 'Operations', act: 'read', key: 'b' },
      { path: '/customers', title: 'Customers', act: 'read', key: 'c' },
      { path: '/plans', title: 'Plans', act: 'read', key: 'n' },
      { path: '/links', title: 'Links', act: 'read', key: 'l' },
      { path: '/disputes', title: 'Disputes', act: 'read', key: 'd' },
      { path: '/settlements', also: '/reconciliation', title: 'Settlement', act: 'read', key: 's' },
    ],
  },
  {
    title: 'Integration',
    places: [
      { path: '/events', title: 'Events', act: 'read', key: 'e' },
      { path: '/endpoints', title: 'Webhook endpoints', act: 'webhooks', key: 'w' },
      { path: '/keys', title: 'API keys', act: 'keys', key: 'k' },
      { path: '/providers', title: 'Providers and routes', act: 'providers', key: 'r' },
      { path: '/settings', title: 'Settings', act: 'retention' },
    ],
  },
  {
    title: 'Testing',
    places: [
      { path: '/inbox', title: 'Webhook inbox', act: 'testTools', testOnly: true, key: 'i' },
      { path: '/test', title: 'Test tools', act: 'testTools', testOnly: true, key: 't' },
    ],
  },
]

const globalPlaces: readonly Place[] = [
  { path: '/merchants', title: 'Merchants', act: 'read', key: 'm' },
  { path: '/operators', title: 'Operators', act: 'operators' },
  { path: '/audit', title: 'Audit', act: 'audit', key: 'a' },
]

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

export const consoleHeaders = {
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
}

const head = (assets: ConsoleAssets, title: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Tollgate console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="${assets.icon.url}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style.url}" integrity="${assets.style.integrity}">
<script type="module" src="${assets.script.url}" integrity="${assets.script.integrity}"></script>
</head>`

/** A page for people who are not signed in: one sheet in the middle. */
export function renderOutside(assets: ConsoleAssets, { title, main, status = 200 }: Content): PageAnswer {
  const body = html`${head(assets, title)}
<body class="outside"><main id="main"><p class="brand">Tollgate</p><h1>${title}</h1>${main}</main></body></html>`
  return { status, body: body.text, headers: consoleHeaders }
}

const base = (merchant: Merchant): string => `/console/m/${merchant.merchantId}`

function renderNavigation(visit: Visit, merchant: Merchant | undefined): Html {
  const isTest = visit.deps.environment === 'test'
  const path = visit.request.url.split('?')[0] ?? ''
  const isHere = (href: string): boolean =>
    path === href || (path.startsWith(`${href}/`) && href !== (merchant ? base(merchant) : ''))
  const list = (title: string, root: string, places: readonly Place[]): Part => {
    const open = places.filter(place => may(visit, place.act) && (isTest || !place.testOnly))
    const link = ({ path: end, also, title: name, key }: Place): Html =>
      html`<li><a href="${root}${end}"${isHere(root + end) || path === `${root}${also}` ? html` aria-current="page"` : ''}${key && html` data-key="${key}"`}>${name}</a></li>`
    return open.length > 0 && html`<p class="nav-title">${title}</p><ul>${open.map(link)}</ul>`
  }
  return html`<nav aria-label="Console">${
    merchant &&
    html`${renderMerchantChoice(visit, merchant)}${groups.map(({ title, places }) => list(title, base(merchant), places))}`
  }${list('Installation', '/console', globalPlaces)}</nav>`
}

/** 20: beyond that the page of merchants is easier to use. */
const choicesMax = 20

/** The current merchant, and links to the others. */
function renderMerchantChoice({ merchants }: Visit, merchant: Merchant): Html {
  const others = merchants.filter(({ merchantId }) => merchantId !== merchant.merchantId)
  if (others.length === 0) return html`<p class="merchant">${merchant.name}</p>`
  return html`<details class="merchant"><summary>${merchant.name}</summary><ul>${others
    .slice(0, choicesMax)
    .map(other => html`<li><a href="${base(other)}">${other.name}</a></li>`)}${
    others.length > choicesMax && html`<li><a href="/console/merchants">All merchants</a></li>`
  }</ul></details>`
}

function renderHeader(visit: Visit): Html {
  const { operator, csrf, deps } = visit
  return html`<header class="top"><a class="brand" href="/console">Tollgate</a>${
    deps.environment === 'test'
      ? html`<span class="badge warn">test</span>`
      : html`<span class="badge good">live</span>`
  }<form class="search" action="/console/search" role="search"><label class="unseen" for="q">Search payments</label><input id="q" name="q" type="search" placeholder="payId, transId, e-mail, last four digits, amount" autocomplete="off"><button>Search</button></form>
<details class="person"><summary>${operator.email}</summary><div><p>${operator.role}</p><a href="/console/sessions">Sessions and passkeys</a><form method="post" action="/console/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button class="plain">Sign out</button></form></div></details></header>`
}

/**
 * The time by which the page is dated. In test a merchant's clock may run ahead, and dates of its payments follow it.
 */
function renderFoot({ deps }: Visit, merchant: Merchant | undefined): Html {
  const ahead = merchant?.clockOffsetMs ?? 0
  const now = new Date(deps.nowMs() + ahead).toISOString().slice(0, 16).replace('T', ' ')
  return html`<p class="foot">All times are UTC.${ahead !== 0 && ` By the test clock of this merchant it is ${now}.`}</p>`
}

export function renderInside(assets: ConsoleAssets, visit: Visit, content: Content): PageAnswer {
  const { title, main, merchant, status = 200 } = content
  const notice = visit.request.query.done
  const body = html`${head(assets, title)}
<body><a class="skip" href="#main">Skip to content</a>${renderHeader(visit)}
<div class="frame">${renderNavigation(visit, merchant)}<main id="main" tabindex="-1"><h1>${title}</h1>${
    notice !== undefined &&
    Object.hasOwn(notices, notice) &&
    html`<p class="note good" role="status">${notices[notice]}</p>`
  }${main}${main.text.includes('<time ') && renderFoot(visit, merchant)}</main></div></body></html>`
  return { status, body: body.text, headers: consoleHeaders }
}

/** 404 inside the console's layout; the sentence names the missing object. */
export const renderNotFound = (
  assets: ConsoleAssets,
  visit: Visit,
  { main, merchant }: Pick<Content, 'main' | 'merchant'>,
): PageAnswer =>
  renderInside(assets, visit, {
    title: 'Not found',
    main: html`<div class="empty">${main}</div>`,
    merchant,
    status: 404,
  })

/** Notices after an action: only our own texts, named in the address. */
export const notices: Readonly<Record<string, string>> = {
  captured: 'Captured.',
  refunded: 'Refunded.',
  reversed: 'Reversed.',
  cancelled: 'Cancelled.',
  replayed: 'The event is sent again.',
  saved: 'Saved.',
  linkended:
    'Saved. The link that was not used yet has ended, because it was made for fewer merchants: make a new one.',
  removed: 'Removed.',
  ended: 'The session has ended.',
  paid: 'A test payment was made.',
  moved: 'The clock was moved.',
  sent: 'The event was written and is being sent.',
  once: 'This form was sent twice. It was done once.',
  pending: 'The provider has not answered yet; this page shows the result when there is one.',
}

export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): PageAnswer => ({
  status: 303,
  headers: { ...consoleHeaders, location, ...headers },
})
