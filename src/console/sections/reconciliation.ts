/** Compares a provider's settlement lines with our own books: three lists, empty when both agree. */
import { loadConsoleAssets } from '#console/assets.ts'
import type { MerchantPage, MerchantVisit } from '#console/context.ts'
import { renderInside } from '#console/layout.ts'
import {
  renderField,
  renderProblem,
  renderTable,
  renderTerminal,
  shellWord,
  showMoney,
  type TypedColumn,
} from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'
import type { BookedOperation, Reconciliation, StoredLine } from '#storage/providers/settlements.ts'

const dayMs = 24 * 60 * 60 * 1000
/** 30 days: providers settle within one month. */
const usualDays = 30

type Differing = Reconciliation['amountsDiffer'][number]

const showOurs = ({ amount, currency }: BookedOperation): Part => showMoney({ value: amount, currency })
const showTheirs = ({ gross, currency }: StoredLine): Part => showMoney({ value: gross, currency })
/**
 * In the currency of the payment if the line names that amount; an amount settled in another currency cannot be
 * compared with ours.
 */
const showCompared = ({ gross, currency, paid }: StoredLine): Part =>
  showMoney(paid ?? { value: gross, currency })

interface Referred {
  readonly payId?: string | undefined
  readonly transId?: string
  readonly providerReference?: string | undefined
}

const showPayment =
  (base: string) =>
  ({ payId, transId, providerReference }: Referred): Part =>
    payId === undefined
      ? (providerReference ?? '')
      : html`<a href="${base}/payments/${payId}">${transId ?? payId}</a>`

interface Listed extends Referred {
  readonly date: string
  readonly type: string
}

function renderLists(visit: MerchantVisit, found: Awaited<ReturnType<typeof reconcile>>): Part {
  if (!found) return ''
  const base = `/console/m/${visit.merchant.merchantId}`
  const columns = <Row extends Listed>(amount: (row: Row) => Part): readonly TypedColumn<Row>[] => [
    { title: 'Date', show: ({ date }) => date },
    { title: 'Type', show: ({ type }) => type },
    { title: 'Payment', show: showPayment(base) },
    { title: 'Amount', show: amount, numeric: true },
  ]
  const differing: readonly TypedColumn<Differing>[] = [
    { title: 'Payment', show: ({ ours }) => showPayment(base)(ours) },
    { title: 'Type', show: ({ ours }) => ours.type },
    { title: 'Ours', show: ({ ours }) => showOurs(ours), numeric: true },
    { title: 'Theirs', show: ({ theirs }) => showCompared(theirs), numeric: true },
  ]
  const { oursWithoutTheirs, theirsWithoutOurs, amountsDiffer } = found
  return html`<h2>Ours without theirs</h2>${renderTable(oursWithoutTheirs, columns(showOurs), 'None.', 'Ours without theirs')}
<h2>Theirs without ours</h2>${renderTable(theirsWithoutOurs, columns(showTheirs), 'None.', 'Theirs without ours')}
<h2>Amounts differ</h2>${renderTable(amountsDiffer, differing, 'None.', 'Amounts differ')}`
}

/** JavaScript reads 31 February as a day in March; the database rejects it. */
const isDay = (text: string): boolean => {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

/** Days in the wrong order would find nothing, which looks as if the books agreed. */
function findWrongDays(from: string, to: string): string | undefined {
  if (!isDay(from) || !isDay(to)) return 'From and to must be days such as 2026-11-01.'
  return from >= to ? `From is ${from} and to is ${to}; from must be the earlier day.` : undefined
}

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
  const names = Object.fromEntries(accounts.map(({ accountId, name }) => [accountId, name]))
  const {
    from = day(nowMs - usualDays * dayMs),
    to = day(nowMs + dayMs),
    account = ids[0] ?? '',
  } = request.query
  const problem =
    account !== '' && !ids.includes(account)
      ? `This merchant has no account ${account}.`
      : findWrongDays(from, to)
  const found = problem === undefined ? await reconcile(visit, account, from, to) : undefined
  const main = html`${renderProblem(problem)}${
    ids.length === 0
      ? html`<p class="empty">This merchant has no provider account whose settlement could be compared.</p>`
      : html`<form class="act">${renderField({ name: 'account', label: 'Account', choices: ids, names, value: account })}${renderField({ name: 'from', label: 'From', type: 'date', value: from })}${renderField({ name: 'to', label: 'To (exclusive)', type: 'date', value: to })}<button>Compare</button></form>${renderLists(visit, found)}${renderTerminal(`reconcile --account ${shellWord(account)} --from ${shellWord(from)} --to ${shellWord(to)}`)}`
  }`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: 'Reconciliation', main, merchant, status })
}

export const reconciliationPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/reconciliation', act: 'read', show: showReconciliation },
]
