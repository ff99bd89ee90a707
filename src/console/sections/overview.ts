/**
 * The overview of a merchant: figures, charts rendered on the server with a table for each, and items that need
 * attention.
 */

import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, MerchantPage, MerchantVisit, Visit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import type { Figures } from '#console/overviews.ts'
import type { FoundInCells } from '#console/search-cells.ts'
import { samplePayment } from '#console/sections/test-tools.ts'
import { renderBars, renderShares } from '#console/views/charts.ts'
import {
  renderAway,
  renderCurl,
  renderForm,
  renderTable,
  showMoney,
  showState,
  showTime,
  type TypedColumn,
} from '#console/views/parts.ts'
import { isCardNumber } from '#domain/cards/card-numbers.ts'
import { describe } from '#domain/response-codes.ts'
import { type Html, html } from '#http/html.ts'
import { undecided } from '#methods/method.ts'
import { formatMoney } from '#pages/money-text.ts'
import type {
  ApprovalRate,
  DayVolume,
  DeclineReason,
  ProviderHealth,
  Waiting,
} from '#storage/console/figures.ts'
import type { FoundPayment } from '#storage/console/search.ts'

const dayMs = 24 * 60 * 60 * 1000
/** 30 days: a month at a glance. */
const shownDays = 30
/** A week: time enough to gather evidence. */
const dueDays = 7

async function showOverview(visit: MerchantVisit) {
  const { merchant, deps } = visit
  const { merchantId } = merchant
  // In test a merchant's clock may run ahead; its payments are dated by it.
  const nowMs = deps.nowMs() + merchant.clockOffsetMs
  const today = Math.floor(nowMs / dayMs) * dayMs
  const since = new Date(today - (shownDays - 1) * dayMs)
  const { figures, readAt } = await deps.overviews.read(merchantId, {
    since,
    lately: new Date(nowMs - dayMs),
    dueBefore: new Date(nowMs + dueDays * dayMs),
  })
  if (!figures) {
    const main = html`<p class="note warn" role="status">There are so many payments that their figures could not be counted in time. They are counted anew in a minute; the lists are not affected.</p>`
    return renderInside(loadConsoleAssets(), visit, { title: 'Overview', main, merchant })
  }
  const accounts = await deps.providersAs(visit.audit).list(merchantId)
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  const main = renderFigures(visit, { figures, readAt, since, names })
  return renderInside(loadConsoleAssets(), visit, { title: 'Overview', main, merchant })
}

interface ShownFigures {
  readonly figures: Figures
  readonly readAt: Date | undefined
  readonly since: Date
  /** The names of the provider accounts by their ids. */
  readonly names: ReadonlyMap<string, string>
}

function renderFigures(visit: MerchantVisit, { figures, readAt, since, names }: ShownFigures): Html {
  const { volumes, approvals, declines, health, waiting } = figures
  const base = `/console/m/${visit.merchant.merchantId}`
  const days = Array.from({ length: shownDays }, (_, index) =>
    new Date(since.getTime() + index * dayMs).toISOString().slice(0, 10),
  )
  return volumes.length === 0
    ? html`${isAnyWaiting(waiting) && html`<div class="figures">${renderWaiting(waiting, base)}</div>`}${renderFirstSteps(visit)}`
    : html`<div class="figures">${renderTotals(volumes)}${renderWaiting(waiting, base)}</div>
${renderVolume(volumes, days, base)}
<div class="columns even"><section><h2>Approval rate by method</h2>${renderApproval(approvals)}</section>
<section><h2>Why payments fail</h2>${renderTable(declines, declineColumns(base, declines), 'Nothing was declined.', 'Why payments fail')}</section></div>
<section><h2>Providers, last 24 hours</h2>${renderTable(health, healthColumns(names), 'No payments in the last 24 hours.', 'Providers')}</section>${readAt && html`<p class="quiet">Figures of ${showTime(readAt)} UTC; they are read anew every minute.</p>`}`
}

/** Of older payments too: a dispute may come months after its payment. */
const isAnyWaiting = ({ pending, failedEvents, disputesDue }: Waiting): boolean =>
  pending + failedEvents + disputesDue > 0

const renderWaiting = ({ pending, failedEvents, disputesDue }: Waiting, base: string): Html =>
  html`<a class="figure" href="${base}/payments?status=PENDING"><strong>${pending}</strong> pending</a><a class="figure${failedEvents > 0 ? ' alarm' : ''}" href="${base}/events?status=FAILED"><strong>${failedEvents}</strong> failed webhooks</a><a class="figure${disputesDue > 0 ? ' alarm' : ''}" href="${base}/disputes?status=OPEN"><strong>${disputesDue}</strong> disputes due within ${dueDays} days</a>`

const rateOf = ({ approved, failed }: ApprovalRate): number => approved / Math.max(1, approved + failed)

function renderApproval(approvals: readonly ApprovalRate[]): Html {
  // A customer who left before choosing a method was not declined.
  const tried = approvals.filter(
    ({ method, approved, failed }) => method !== undecided.type && approved + failed > 0,
  )
  if (tried.length === 0) return html`<p class="empty">No payment has been decided yet.</p>`
  const shares = tried.map(rate => ({ label: rate.method, share: rateOf(rate) }))
  return html`${renderShares(shares, 'Approval rate by method; the table below has the figures')}<details><summary>As a table</summary>${renderTable(tried, approvalColumns, '', 'Approval rate by method')}</details>`
}

const approvalColumns: readonly TypedColumn<ApprovalRate>[] = [
  { title: 'Method', show: ({ method }) => method },
  { title: 'Approved', show: ({ approved }) => approved, numeric: true },
  { title: 'Failed', show: ({ failed }) => failed, numeric: true },
  { title: 'Rate', show: rate => `${Math.round(100 * rateOf(rate))} %`, numeric: true },
]

const declineColumns = (
  base: string,
  declines: readonly DeclineReason[],
): readonly TypedColumn<DeclineReason>[] => [
  {
    title: 'Reason',
    show: ({ responseCode }) =>
      html`<a href="${base}/payments?responseCode=${responseCode}">${responseCode}</a> ${describe(responseCode).description}`,
  },
  { title: 'Count', show: ({ count }) => count, numeric: true },
  { title: 'Share', show: ({ count }) => shareOf(count, declines), numeric: true },
]

/** The share of the failures shown, which are those with the ten most frequent reasons. */
function shareOf(count: number, declines: readonly DeclineReason[]): string {
  const all = declines.reduce((sum, reason) => sum + reason.count, 0)
  return `${Math.round((100 * count) / Math.max(1, all))} %`
}

const healthColumns = (names: ReadonlyMap<string, string>): readonly TypedColumn<ProviderHealth>[] => [
  { title: 'Account', show: ({ account }) => names.get(account ?? '') ?? account ?? 'simulator', clip: true },
  {
    title: 'Health',
    show: ({ faults, payments }) =>
      faults * 10 > payments
        ? html`<span class="badge bad">many faults</span>`
        : html`<span class="badge good">serving</span>`,
  },
  { title: 'Payments', show: ({ payments }) => payments, numeric: true },
  { title: 'Not answered yet', show: ({ pending }) => pending, numeric: true },
  { title: 'Faults', show: ({ faults }) => faults, numeric: true },
]

/**
 * Up to €999,999.99 large letters fit into their card, up to €9,999,999.99 smaller ones; longer sums get two cards. On the
 * narrowest phones all but short ones get a row, because a currency without a sign needs the room of six digits.
 */
function sizeOf({ length }: string): string {
  if (length > 14) return 'figure longer'
  if (length > 12) return 'figure long ample'
  return length > 9 ? 'figure ample' : 'figure'
}

function renderTotals(volumes: readonly DayVolume[]): Html {
  const totals = Map.groupBy(volumes, ({ currency }) => currency)
  return html`${[...totals].map(([currency, days]) => {
    const value = days.reduce((sum, { captured }) => sum + captured, 0)
    return html`<p class="${sizeOf(formatMoney({ value, currency }, 'en'))}"><strong>${showMoney({ value, currency })}</strong> captured of the payments of ${shownDays} days</p>`
  })}`
}

const volumeColumns: readonly TypedColumn<DayVolume>[] = [
  { title: 'Day', show: ({ day }) => day },
  {
    title: 'Captured',
    show: ({ captured, currency }) => showMoney({ value: captured, currency }),
    numeric: true,
  },
  { title: 'Payments', show: ({ payments }) => payments, numeric: true },
]

/** One bar a day, also for days without payments, for the currency with the most payments; the table holds all of them. */
function renderVolume(volumes: readonly DayVolume[], days: readonly string[], base: string): Html {
  const byCurrency = [...Map.groupBy(volumes, ({ currency }) => currency)]
  const count = (rows: readonly DayVolume[]) => rows.reduce((sum, { payments }) => sum + payments, 0)
  const [[currency, rows] = ['', []]] = byCurrency.toSorted((a, b) => count(b[1]) - count(a[1]))
  const capturedOn = new Map(rows.map(({ day, captured }) => [day, captured]))
  const bars = days.map(day => {
    const value = capturedOn.get(day) ?? 0
    return { label: day, value, title: `${day}: ${formatMoney({ value, currency }, 'en')}` }
  })
  return html`<section><h2>Captured of each day’s payments, ${currency}</h2>${renderBars(bars, `Captured of the payments of each day in ${currency}; the table below has the figures`)}<details><summary>As a table</summary>${renderTable(volumes, volumeColumns, '', 'Captured of each day’s payments')}</details><p class="quiet">A payment counts on the day it was made, whenever it was captured. What moved on which day is under <a href="${base}/operations">Operations</a>.</p></section>`
}

/** Shown while the merchant has no payments: in test one click makes the first. */
function renderFirstSteps(visit: MerchantVisit): Html {
  const base = `/console/m/${visit.merchant.merchantId}`
  const isTest = visit.deps.environment === 'test' && may(visit, 'testTools')
  const key = visit.deps.newId()
  return html`<div class="empty"><p>No payments in the last ${shownDays} days.</p>${
    isTest
      ? html`<p>Make a first one with a test card and look at everything that happens.</p>${renderForm({ action: `${base}/test/payment`, csrf: visit.csrf, hidden: { key }, button: 'Make a test payment' })}`
      : html`<p>They appear here as soon as your shop sends them.</p>`
  }</div>${isTest && renderCurl('POST', `${visit.deps.origin()}/api/v2/payments`, samplePayment(visit, key), `console-${key}`)}`
}

async function showHome(visit: Visit) {
  const [first] = visit.merchants
  return seeOther(first ? `/console/m/${first.merchantId}` : '/console/merchants')
}

const foundColumns = (merchants: Visit['merchants']): readonly TypedColumn<FoundPayment>[] => [
  {
    title: 'Amount',
    show: ({ amount, currency }) => showMoney({ value: amount, currency }),
    numeric: true,
  },
  { title: 'Status', show: ({ status }) => showState(status) },
  {
    title: 'Payment',
    show: ({ merchantId, payId, transId }) =>
      html`<a href="/console/m/${merchantId}/payments/${payId}">${transId}</a>`,
  },
  {
    title: 'Merchant',
    show: ({ merchantId }) => merchants.find(one => one.merchantId === merchantId)?.name ?? merchantId,
    clip: true,
  },
  { title: 'Method', show: ({ method }) => (method === undecided.type ? '' : method) },
  { title: 'Created', show: ({ createdAt }) => showTime(createdAt) },
]

/** 255: the longest text that any of the searched fields holds. */
const typedMax = 255

async function showSearch(visit: Visit) {
  const typed = (visit.request.query.q ?? '').replaceAll('\0', '').trim().slice(0, typedMax).toWellFormed()
  const merchants = visit.merchants.map(({ merchantId }) => merchantId)
  const { payments, isCut, away }: FoundInCells =
    typed === '' ? { payments: [], isCut: false, away: [] } : await visit.deps.search(merchants, typed)
  // A card number in the address would stay in the browser's history. Some order numbers look like one, so it is searched first.
  const digits = typed.replace(/[\s-]/g, '')
  if (payments.length === 0 && isCardNumber(digits)) return seeOther(`/console/search?q=${digits.slice(-4)}`)
  const main = html`${renderAway(away)}<p>Found for <q>${typed}</q>:</p>${renderTable(payments, foundColumns(visit.merchants), 'Nothing. Search for a payId, an xId or the id of a provider, a transId, refNr, merchantCustomerId, e-mail, the last four digits, or an amount such as 12.34.', 'Found payments')}${
    isCut &&
    html`<p class="quiet">These are the newest ${payments.length}; the lists of payments find the others.</p>`
  }`
  return renderInside(loadConsoleAssets(), visit, { title: 'Search', main })
}

export const overviewPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '', act: 'read', show: showOverview },
]

export const homePages: readonly GlobalPage[] = [
  { verb: 'GET', path: '', act: 'read', show: showHome },
  { verb: 'GET', path: '/search', act: 'read', show: showSearch },
]
