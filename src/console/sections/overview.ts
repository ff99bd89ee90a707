/** The overview of a merchant: figures, charts drawn on the server with a table behind each, and what waits for somebody. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { GlobalPage, MerchantPage, MerchantVisit, Visit } from '#console/context.ts'
import { may } from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import { type Column, renderForm, renderTable, showMoney, showState, showTime } from '#console/views/parts.ts'
import { describe } from '#domain/response-codes.ts'
import { type Html, html } from '#pages/html.ts'
import type { DayVolume } from '#storage/console/figures.ts'

/** 30 days: a month at a glance. */
const shownDays = 30

async function showOverview(visit: MerchantVisit) {
  const { merchant, deps } = visit
  const { merchantId } = merchant
  const [volumes, approvals, declines, waiting] = await Promise.all([
    deps.figures.volumes(merchantId, shownDays),
    deps.figures.approvals(merchantId, shownDays),
    deps.figures.declines(merchantId, shownDays),
    deps.figures.waiting(merchantId),
  ])
  const base = `/console/m/${merchantId}`
  const main =
    volumes.length === 0
      ? renderFirstSteps(visit)
      : html`<div class="figures">${renderTotals(volumes)}<a class="figure" href="${base}/payments?status=PENDING"><strong>${waiting.pending}</strong> pending</a><a class="figure" href="${base}/events?status=FAILED"><strong>${waiting.failedEvents}</strong> failed webhooks</a><a class="figure" href="${base}/disputes?status=OPEN">disputes due</a></div>
<section><h2>Captured per day</h2>${renderVolume(volumes)}</section>
<div class="columns"><section><h2>Approval by method</h2>${renderTable(approvals as never, approvalColumns, 'Nothing yet.')}</section>
<section><h2>Why payments fail</h2>${renderTable(declines as never, declineColumns(base), 'Nothing was declined.')}</section></div>`
  return renderInside(loadConsoleAssets(), visit, { title: 'Overview', main, merchant })
}

const approvalColumns: readonly Column[] = [
  { title: 'Method', show: row => String(row.method) },
  { title: 'Approved', show: row => Number(row.approved), numeric: true },
  { title: 'Failed', show: row => Number(row.failed), numeric: true },
  {
    title: 'Rate',
    show: row =>
      `${Math.round((100 * Number(row.approved)) / Math.max(1, Number(row.approved) + Number(row.failed)))} %`,
    numeric: true,
  },
]

const declineColumns = (base: string): readonly Column[] => [
  {
    title: 'Reason',
    show: row =>
      html`<a href="${base}/payments?responseCode=${String(row.responseCode)}">${String(row.responseCode)}</a> ${describe(String(row.responseCode)).description}`,
  },
  { title: 'Count', show: row => Number(row.count), numeric: true },
]

function renderTotals(volumes: readonly DayVolume[]): Html {
  const totals = Map.groupBy(volumes, ({ currency }) => currency)
  return html`${[...totals].map(([currency, days]) => {
    const value = days.reduce((sum, { captured }) => sum + captured, 0)
    return html`<p class="figure"><strong>${showMoney({ value, currency })}</strong> captured in ${shownDays} days</p>`
  })}`
}

/** One bar a day, for the currency with the most payments; the table holds all of them. */
function renderVolume(volumes: readonly DayVolume[]): Html {
  const byCurrency = [...Map.groupBy(volumes, ({ currency }) => currency).values()]
  const [main = []] = byCurrency.toSorted((a, b) => b.length - a.length)
  const top = Math.max(1, ...main.map(({ captured }) => captured))
  const width = 12
  const bars = main.map(({ captured, day }, index) => {
    const height = Math.max(1, Math.round((captured / top) * 100))
    return html`<rect x="${index * (width + 4)}" y="${104 - height}" width="${width}" height="${height}" rx="2"><title>${day}</title></rect>`
  })
  const columns: readonly Column[] = [
    { title: 'Day', show: row => String(row.day) },
    {
      title: 'Captured',
      show: row => showMoney({ value: Number(row.captured), currency: String(row.currency) }),
      numeric: true,
    },
    { title: 'Payments', show: row => Number(row.payments), numeric: true },
  ]
  return html`<svg class="chart" viewBox="0 0 ${Math.max(1, main.length) * (width + 4)} 104" role="img" aria-label="Captured per day, the table below has the figures">${bars}</svg><details><summary>As a table</summary>${renderTable(volumes as never, columns, '')}</details>`
}

/** Nothing was paid yet: in test one click makes the first payment. */
function renderFirstSteps(visit: MerchantVisit): Html {
  const base = `/console/m/${visit.merchant.merchantId}`
  const isTest = visit.deps.environment === 'test' && may(visit, 'testTools')
  return html`<div class="empty"><p>No payments in the last ${shownDays} days.</p>${
    isTest
      ? html`<p>Make a first one with a test card and look at everything that happens.</p>${renderForm({ action: `${base}/test/payment`, csrf: visit.csrf, hidden: { key: visit.deps.newId() }, button: 'Make a test payment' })}`
      : html`<p>They appear here as soon as your shop sends them.</p>`
  }</div>`
}

async function showHome(visit: Visit) {
  const [first] = visit.merchants
  return seeOther(first ? `/console/m/${first.merchantId}` : '/console/merchants')
}

const foundColumns: readonly Column[] = [
  {
    title: 'Payment',
    show: row =>
      html`<a href="/console/m/${String(row.merchantId)}/payments/${String(row.payId)}">${String(row.transId)}</a>`,
  },
  { title: 'Merchant', show: row => String(row.merchantId) },
  { title: 'Status', show: row => showState(row.status) },
  { title: 'Method', show: row => String(row.method) },
  {
    title: 'Amount',
    show: row => showMoney({ value: Number(row.amount), currency: String(row.currency) }),
    numeric: true,
  },
  { title: 'Created', show: row => showTime(row.createdAt) },
]

async function showSearch(visit: Visit) {
  const { q = '' } = visit.request.query
  const merchants = visit.merchants.map(({ merchantId }) => merchantId)
  const found = q.trim() === '' ? [] : await visit.deps.figures.search(merchants, q.trim().slice(0, 255))
  const main = html`<p>Found for <q>${q}</q>:</p>${renderTable(found as never, foundColumns, 'Nothing. Search for a payId, transId, e-mail, the last four digits or an amount in the smallest unit.')}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Search', main })
}

export const overviewPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '', act: 'read', show: showOverview },
]

export const homePages: readonly GlobalPage[] = [
  { verb: 'GET', path: '', act: 'read', show: showHome },
  { verb: 'GET', path: '/search', act: 'read', show: showSearch },
]
