/** The shell around every page of the console: navigation, search, the person, and the two files it loads. */

import type { ConsoleAssets } from '#console/assets.ts'
import { may, type Visit } from '#console/context.ts'
import type { ConsoleAct } from '#domain/console-roles.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Html, html } from '#http/html.ts'
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
  readonly title: string
  readonly act: ConsoleAct
  readonly testOnly?: true
}

/** In the order of the navigation. */
export const merchantPlaces: readonly Place[] = [
  { path: '', title: 'Overview', act: 'read' },
  { path: '/payments', title: 'Payments', act: 'read' },
  { path: '/operations', title: 'Operations', act: 'read' },
  { path: '/customers', title: 'Customers', act: 'read' },
  { path: '/plans', title: 'Plans', act: 'read' },
  { path: '/links', title: 'Links', act: 'read' },
  { path: '/disputes', title: 'Disputes', act: 'read' },
  { path: '/settlements', title: 'Settlement', act: 'read' },
  { path: '/events', title: 'Events', act: 'read' },
  { path: '/endpoints', title: 'Webhook endpoints', act: 'webhooks' },
  { path: '/providers', title: 'Providers and routes', act: 'providers' },
  { path: '/keys', title: 'API keys', act: 'keys' },
  { path: '/settings', title: 'Settings', act: 'retention' },
  { path: '/inbox', title: 'Webhook inbox', act: 'testTools', testOnly: true },
  { path: '/test', title: 'Test tools', act: 'testTools', testOnly: true },
]

const globalPlaces: readonly Place[] = [
  { path: '/merchants', title: 'Merchants', act: 'read' },
  { path: '/operators', title: 'Operators', act: 'operators' },
  { path: '/audit', title: 'Audit', act: 'audit' },
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
  const link = (href: string, title: string): Html =>
    html`<li><a href="${href}"${isHere(href) ? html` aria-current="page"` : ''}>${title}</a></li>`
  const own = merchantPlaces.filter(place => may(visit, place.act) && (isTest || !place.testOnly))
  const shared = globalPlaces.filter(place => may(visit, place.act))
  return html`<nav aria-label="Console">${
    merchant &&
    html`<p class="nav-title">${merchant.name}</p><ul>${own.map(place => link(base(merchant) + place.path, place.title))}</ul>`
  }<p class="nav-title">Installation</p><ul>${shared.map(place => link(`/console${place.path}`, place.title))}</ul></nav>`
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

export function renderInside(assets: ConsoleAssets, visit: Visit, content: Content): PageAnswer {
  const { title, main, merchant, status = 200 } = content
  const notice = visit.request.query.done
  const body = html`${head(assets, title)}
<body><a class="skip" href="#main">Skip to content</a>${renderHeader(visit)}
<div class="frame">${renderNavigation(visit, merchant)}<main id="main" tabindex="-1"><h1>${title}</h1>${
    notice !== undefined &&
    notice in notices &&
    html`<p class="note good" role="status">${notices[notice]}</p>`
  }${main}</main></div></body></html>`
  return { status, body: body.text, headers: consoleHeaders }
}

/** What a page may say after an act: only texts of ours, named in the address. */
export const notices: Readonly<Record<string, string>> = {
  captured: 'Captured.',
  refunded: 'Refunded.',
  reversed: 'Reversed.',
  cancelled: 'Cancelled.',
  replayed: 'The event is sent again.',
  saved: 'Saved.',
  removed: 'Removed.',
  paid: 'A test payment was made.',
  moved: 'The clock was moved.',
  sent: 'The event was written and is being sent.',
  pending: 'The provider has not answered yet; this page shows the result when there is one.',
}

export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): PageAnswer => ({
  status: 303,
  headers: { ...consoleHeaders, location, ...headers },
})
