/** What a provider says it has paid, against our own books: three lists, empty when both agree. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { Json, MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside } from '#console/layout.ts'
import {
  type Column,
  pick,
  renderField,
  renderProblem,
  renderTable,
  renderTerminal,
  showMoney,
} from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'

const dayMs = 24 * 60 * 60 * 1000
/** 30 days: providers settle within one month. */
const usualDays = 30

const amountAt = (path: string, value: string) => (row: Json) => {
  const part = path === '' ? row : (pick(row, path) as Json)
  return showMoney({ value: Number(part[value]), currency: String(part.currency) })
}

const paymentAt = (base: string, path: string) => (row: Json) => {
  const part = path === '' ? row : (pick(row, path) as Json)
  return part.payId === undefined
    ? String(part.providerReference ?? '')
    : html`<a href="${base}/payments/${String(part.payId)}">${String(part.transId ?? part.payId)}</a>`
}

function renderLists(visit: MerchantVisit, found: Awaited<ReturnType<typeof reconcile>>): Part {
  if (!found) return ''
  const base = `/console/m/${visit.merchant.merchantId}`
  const columns = (value: string): readonly Column[] => [
    { title: 'Date', show: row => String(row.date) },
    { title: 'Type', show: row => String(row.type) },
    { title: 'Payment', show: paymentAt(base, '') },
    { title: 'Amount', show: amountAt('', value), numeric: true },
  ]
  const differing: readonly Column[] = [
    { title: 'Payment', show: paymentAt(base, 'ours') },
    { title: 'Type', show: row => String(pick(row, 'ours.type')) },
    { title: 'Ours', show: amountAt('ours', 'amount'), numeric: true },
    { title: 'Theirs', show: amountAt('theirs', 'gross'), numeric: true },
  ]
  const { oursWithoutTheirs, theirsWithoutOurs, amountsDiffer } = found
  return html`<h2>Ours without theirs</h2>${renderTable(oursWithoutTheirs as never, columns('amount'), 'None.', 'Ours without theirs')}
<h2>Theirs without ours</h2>${renderTable(theirsWithoutOurs as never, columns('gross'), 'None.', 'Theirs without ours')}
<h2>Amounts differ</h2>${renderTable(amountsDiffer as never, differing, 'None.', 'Amounts differ')}`
}

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

function reconcile(visit: MerchantVisit, accountId: string, from: string, to: string) {
  const { merchantId } = visit.merchant
  return accountId === ''
    ? Promise.resolve(undefined)
    : visit.deps.settlements.reconcile({ merchantId, accountId, from, to })
}

async function showReconciliation(visit: MerchantVisit) {
  const { merchant, request, deps } = visit
  const accounts = await deps.providersAs(visit.audit).list(merchant.merchantId)
  const nowMs = deps.nowMs() + merchant.clockOffsetMs
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const ids = accounts.map(({ accountId }) => accountId)
  const {
    from = day(nowMs - usualDays * dayMs),
    to = day(nowMs + dayMs),
    account = ids[0] ?? '',
  } = request.query
  const problem =
    !isDay(from) || !isDay(to)
      ? 'From and to must be days such as 2026-11-01.'
      : account !== '' && !ids.includes(account)
        ? `This merchant has no account ${account}.`
        : undefined
  const found = problem === undefined ? await reconcile(visit, account, from, to) : undefined
  const main = html`${renderProblem(problem)}${
    ids.length === 0
      ? html`<p class="empty">This merchant has no provider account whose settlement could be compared.</p>`
      : html`<form class="act">${renderField({ name: 'account', label: 'Account', choices: ids, value: account })}${renderField({ name: 'from', label: 'From', type: 'date', value: from })}${renderField({ name: 'to', label: 'To (exclusive)', type: 'date', value: to })}<button>Compare</button></form>${renderLists(visit, found)}${renderTerminal(`reconcile --account ${account} --from ${from} --to ${to}`)}`
  }`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Reconciliation', main, merchant, status })
}

export const reconciliationPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/reconciliation', act: 'read', show: showReconciliation },
]
