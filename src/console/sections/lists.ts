/**
 * The lists of the console, one row each: which endpoint fills it, its filters and its columns. A new list is one more
 * row. Everything comes from the API, so that a list and its export show what the API shows.
 */

import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  readAnswer,
  readRefusal,
} from '#console/context.ts'
import { consoleHeaders, renderInside } from '#console/layout.ts'
import {
  type Column,
  type Field,
  money,
  pick,
  renderFilters,
  renderTable,
  state,
  text,
  time,
} from '#console/views/parts.ts'
import { html, type Part } from '#pages/html.ts'

interface ListSection {
  readonly path: string
  readonly title: string
  /** Relative to the API's base. */
  readonly endpoint: string
  readonly filters: readonly Field[]
  readonly columns: (base: string) => readonly Column[]
  readonly empty: Part
  /** What the endpoint wants in any case. */
  readonly always?: Readonly<Record<string, string>>
  /** The endpoint also gives CSV. */
  readonly exports?: true
}

const link =
  (href: (row: Json) => string, label: (row: Json) => Part) =>
  (row: Json): Part =>
    html`<a href="${href(row)}">${label(row)}</a>`

const payment = (base: string): Column => ({
  title: 'Payment',
  show: link(
    row => `${base}/payments/${String(pick(row, 'payId'))}`,
    row => text('transId')(row) || text('payId')(row),
  ),
})

const statuses = [
  '',
  'AUTHORIZE_REQUEST',
  'PENDING',
  'AUTHORIZED',
  'CAPTURE_REQUEST',
  'OK',
  'FAILED',
  'REVERSED',
]
const dates: readonly Field[] = [
  { name: 'from', label: 'From (date and time, ISO 8601)' },
  { name: 'to', label: 'To (exclusive)' },
]

export const listSections: readonly ListSection[] = [
  {
    path: '/payments',
    title: 'Payments',
    endpoint: '/payments',
    filters: [
      { name: 'status', label: 'Status', choices: statuses },
      { name: 'type', label: 'Method' },
      { name: 'currency', label: 'Currency' },
      { name: 'amountFrom', label: 'Amount from (smallest unit)' },
      { name: 'amountTo', label: 'Amount to (smallest unit)' },
      { name: 'transId', label: 'transId' },
      { name: 'refNr', label: 'refNr' },
      { name: 'email', label: 'E-mail' },
      { name: 'last4Digits', label: 'Last four digits' },
      { name: 'responseCode', label: 'Response code' },
      { name: 'merchantCustomerId', label: 'merchantCustomerId' },
      { name: 'paymentPlanId', label: 'paymentPlanId' },
      ...dates,
    ],
    columns: base => [
      payment(base),
      { title: 'Status', show: state('status') },
      {
        title: 'Method',
        show: row => text('paymentMethods.0.type')(row) || text('paymentMethods.type')(row),
      },
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Created', show: time('creationDate') },
    ],
    empty: 'No payments match. Change the filters, or make a first one under Test tools.',
  },
  {
    path: '/operations',
    title: 'Operations',
    endpoint: '/operations',
    filters: [
      {
        name: 'type',
        label: 'Type',
        choices: ['', 'AUTHORIZATION', 'CAPTURE', 'REFUND', 'REVERSAL', 'RETURN', 'CREDIT'],
      },
      { name: 'status', label: 'Status', choices: ['', 'OK', 'FAILED', 'AUTHORIZED'] },
      { name: 'payId', label: 'payId' },
      ...dates,
    ],
    columns: base => [
      { title: 'Settled', show: time('settledDate') },
      { title: 'Type', show: text('type') },
      { title: 'Status', show: state('status') },
      payment(base),
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Code', show: text('responseCode') },
    ],
    empty: 'Nothing has become final in this range.',
    exports: true,
  },
  {
    path: '/customers',
    title: 'Customers',
    endpoint: '/customers',
    always: { page: '1' },
    filters: [
      { name: 'email', label: 'E-mail', type: 'email' },
      { name: 'merchantCustomerId', label: 'merchantCustomerId' },
      { name: 'page', label: 'Page', type: 'number' },
    ],
    columns: base => [
      { title: 'Customer', show: row => text('merchantCustomerId')(row) || text('gatewayCustomerId')(row) },
      { title: 'E-mail', show: text('email') },
      {
        title: 'Payments',
        show: link(
          row => `${base}/payments?gatewayCustomerId=${String(pick(row, 'gatewayCustomerId'))}`,
          () => 'show',
        ),
      },
      { title: 'Created', show: time('creationDate') },
    ],
    empty: 'A customer appears with the first approved payment that names one.',
  },
  {
    path: '/plans',
    title: 'Plans',
    endpoint: '/payment-plans',
    filters: [],
    columns: base => [
      {
        title: 'Plan',
        show: link(
          row => `${base}/plans/${String(pick(row, 'paymentPlanId') ?? pick(row, 'id'))}`,
          row => text('paymentPlanId')(row) || text('id')(row),
        ),
      },
      { title: 'Status', show: state('status') },
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Every', show: text('recurring.frequency') },
      {
        title: 'Next charge',
        show: row => text('nextChargeDate')(row) || text('recurring.nextChargeDate')(row),
      },
    ],
    empty: 'A plan begins with a payment that has credentialOnFile.',
  },
  {
    path: '/links',
    title: 'Links',
    endpoint: '/payments/links',
    filters: [
      { name: 'status', label: 'Status', choices: ['', 'ACTIVE', 'COMPLETED', 'EXPIRED', 'CANCELLED'] },
    ],
    columns: () => [
      { title: 'transId', show: text('transId') },
      { title: 'Status', show: state('status') },
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Expires', show: time('expirationTime') },
      { title: 'Link', show: row => html`<code data-copy>${text('url')(row) || text('link')(row)}</code>` },
    ],
    empty: 'No links yet.',
  },
  {
    path: '/disputes',
    title: 'Disputes',
    endpoint: '/disputes',
    filters: [
      {
        name: 'status',
        label: 'Status',
        choices: ['', 'OPEN', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED', 'EXPIRED'],
      },
      { name: 'payId', label: 'payId' },
      ...dates,
    ],
    columns: base => [
      {
        title: 'Dispute',
        show: link(row => `${base}/disputes/${String(pick(row, 'disputeId'))}`, text('disputeId')),
      },
      { title: 'Status', show: state('status') },
      { title: 'Stage', show: text('stage') },
      { title: 'Reason', show: text('reasonGroup') },
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Evidence due', show: time('evidenceDueBy') },
    ],
    empty: 'No disputes. May it stay like this.',
  },
  {
    path: '/settlements',
    title: 'Settlement',
    endpoint: '/settlements',
    filters: dates,
    columns: base => [
      { title: 'Date', show: text('date') },
      { title: 'Type', show: text('type') },
      { title: 'Account', show: text('account') },
      payment(base),
      {
        title: 'Net',
        show: row => html`<span class="money">${text('net')(row)} ${text('currency')(row)}</span>`,
        numeric: true,
      },
    ],
    empty: 'Import a settlement file with the command settlements import.',
  },
  {
    path: '/events',
    title: 'Events',
    endpoint: '/events',
    filters: [
      { name: 'status', label: 'Status', choices: ['', 'PENDING', 'DELIVERED', 'FAILED'] },
      { name: 'payId', label: 'payId' },
    ],
    columns: base => [
      {
        title: 'Event',
        show: link(
          row => `${base}/events/${String(pick(row, 'id'))}`,
          row => text('type')(row) || text('payload.type')(row) || text('id')(row),
        ),
      },
      { title: 'Status', show: state('status') },
      {
        title: 'Payment',
        show: link(row => `${base}/payments/${String(pick(row, 'payId'))}`, text('payId')),
      },
      { title: 'Created', show: row => time('createdAt')(row) || time('creationDate')(row) },
    ],
    empty: 'No events yet.',
  },
]

/** What the console itself puts into the address; everything else is a filter of the endpoint. */
const ownParameters = ['done']

function toQuery(visit: MerchantVisit, { always = {} }: ListSection): string {
  const given = Object.entries(visit.request.query).filter(
    ([name, value]) => value !== '' && !ownParameters.includes(name),
  )
  return new URLSearchParams({ ...always, ...Object.fromEntries(given) }).toString()
}

/** Lists call their rows by different names. */
export function rowsOf(body: Json): readonly Json[] {
  const rows = Array.isArray(body) ? body : Object.values(body).find(Array.isArray)
  return (rows ?? []) as Json[]
}

async function showList(visit: MerchantVisit, section: ListSection) {
  const { title, endpoint, filters, columns, empty, exports } = section
  const { merchant, request } = visit
  const base = `/console/m/${merchant.merchantId}`
  const query = toQuery(visit, section)
  const answer = await visit.api({ verb: 'GET', path: `${endpoint}${query === '' ? '' : `?${query}`}` })
  const body = readAnswer(answer)
  const next = body && typeof body.nextCursor === 'string' ? body.nextCursor : undefined
  const nextQuery = next && new URLSearchParams({ ...request.query, cursor: next }).toString()
  const main = html`${filters.length > 0 && renderFilters(filters, request.query)}${
    exports && html`<p><a href="${base}${section.path}.csv?${query}" download>Export as CSV</a></p>`
  }${
    body
      ? renderTable(rowsOf(body), columns(base), empty)
      : html`<p class="note bad" role="alert">${readRefusal(answer)}</p>`
  }${nextQuery && html`<p class="pager"><a rel="next" href="?${nextQuery}">Next page</a></p>`}`
  return renderInside(loadConsoleAssets(), visit, {
    title,
    main,
    merchant,
    status: body ? 200 : answer.status,
  })
}

async function exportList(visit: MerchantVisit, section: ListSection) {
  const query = toQuery(visit, section)
  const { status, text: csv } = await visit.api({
    verb: 'GET',
    path: `${section.endpoint}?${query}`,
    accept: 'text/csv',
  })
  const disposition = `attachment; filename="${section.path.slice(1)}.csv"`
  return {
    status,
    contentType: status === 200 ? 'text/csv; charset=utf-8' : 'application/json',
    body: csv,
    headers: { ...consoleHeaders, 'content-disposition': disposition },
  }
}

export const listPages: readonly MerchantPage[] = listSections.flatMap(section => [
  { verb: 'GET', path: section.path, act: 'read', show: visit => showList(visit, section) } as const,
  ...(section.exports
    ? [
        {
          verb: 'GET',
          path: `${section.path}.csv`,
          act: 'read',
          show: (visit: MerchantVisit) => exportList(visit, section),
        } as const,
      ]
    : []),
])
