/**
 * The lists of the console, one row each: which endpoint fills it, its filters and its columns. A new list is one more
 * row. Everything comes from the API, so that a list and its export show what the API shows.
 */

import { readAmount } from '#console/amount.ts'
import { type Json, type MerchantVisit, may, toRows } from '#console/context.ts'
import { type Column, type Field, money, pick, showMoney, state, text, time } from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'
import { operationTypes } from '#schemas/payment-record.ts'

export interface ListSection {
  readonly path: string
  readonly title: string
  /** Relative to the API's base. */
  readonly endpoint: string
  readonly filters: readonly Field[]
  readonly columns: (base: string) => readonly Column[]
  /** The text shown when there is nothing at all, without any filter. */
  readonly empty: (visit: MerchantVisit) => Part
  /** The default query of the endpoint. */
  readonly usual?: Readonly<Record<string, string>>
  /** The export format of the endpoint for the same filters. */
  readonly exports?: 'csv' | 'json'
  /** Reads the rows faster than the endpoint; undefined: use the endpoint. */
  readonly quickRows?: (visit: MerchantVisit, query: URLSearchParams) => Promise<Json | undefined>
  /** Content above the list, such as a link to create a new one. */
  readonly head?: (visit: MerchantVisit) => Part
  /** The filter that the head already shows. */
  readonly tabbed?: string
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

const last4 = (row: Json): Part => {
  const digits = pick(row, 'paymentMethods.last4Digits')
  return digits !== undefined && html` <span class="quiet">•••• ${String(digits)}</span>`
}

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
  { name: 'from', label: 'From (UTC)', type: 'datetime-local' },
  { name: 'to', label: 'Before (UTC)', type: 'datetime-local' },
]

const toCapitals = (typed: string): string => typed.toUpperCase()

const boundHint = 'Smallest unit; with a currency also 12.34'

/** Decimals are known only with a currency; the endpoint refuses what cannot be read. */
const readBound: Field['read'] = (typed, { currency = '' }) =>
  String(readAmount(typed, currency.toUpperCase()) ?? typed)

const tabs: readonly (readonly [title: string, status: string])[] = [
  ['All', ''],
  ['Paid', 'OK'],
  ['Authorised', 'AUTHORIZED'],
  ['Waiting', 'PENDING,AUTHORIZE_REQUEST,CAPTURE_REQUEST'],
  ['Failed', 'FAILED'],
  ['Reversed', 'REVERSED'],
]

/** The states that people look for, one click each; other filters stay. */
function renderStatusTabs({ request, merchant }: MerchantVisit): Part {
  const { cursor: _, status: current = '', done: __, ...others } = request.query
  const link = ([title, status]: (typeof tabs)[number]): Part => {
    const query = new URLSearchParams({ ...others, ...(status === '' ? {} : { status }) })
    const isHere = status === current
    return html`<li><a href="/console/m/${merchant.merchantId}/payments?${query.toString()}"${isHere ? html` aria-current="true"` : ''}>${title}</a></li>`
  }
  return html`<ul class="tabs" aria-label="Status">${tabs.map(link)}</ul>`
}

/** 50: as many as people read before they filter. */
const rowsPerPage = { limit: '50' }
/** Lists that count their pages. */
const firstPage = { page: '1' }

export const listSections: readonly ListSection[] = [
  {
    path: '/payments',
    title: 'Payments',
    endpoint: '/payments',
    usual: rowsPerPage,
    exports: 'json',
    quickRows: ({ deps, merchant }, query) => deps.paymentRows(merchant, Object.fromEntries(query)),
    filters: [
      { name: 'status', label: 'Status', choices: statuses },
      { name: 'type', label: 'Method', read: toCapitals },
      { name: 'currency', label: 'Currency', read: toCapitals },
      { name: 'amountFrom', label: 'Amount from', hint: boundHint, read: readBound },
      { name: 'amountTo', label: 'Amount to', hint: boundHint, read: readBound },
      { name: 'transId', label: 'transId' },
      { name: 'refNr', label: 'refNr' },
      { name: 'email', label: 'E-mail' },
      { name: 'last4Digits', label: 'Last four digits' },
      { name: 'responseCode', label: 'Response code' },
      { name: 'merchantCustomerId', label: 'merchantCustomerId' },
      { name: 'gatewayCustomerId', label: 'gatewayCustomerId' },
      { name: 'paymentPlanId', label: 'paymentPlanId' },
      ...dates,
    ],
    head: renderStatusTabs,
    tabbed: 'status',
    columns: base => [
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'Status', show: state('status') },
      payment(base),
      {
        title: 'Method',
        show: row =>
          pick(row, 'paymentMethods.type') !== undefined &&
          html`<span class="whole">${text('paymentMethods.type')(row)}${last4(row)}</span>`,
      },
      { title: 'Customer', show: text('customerInfo.email'), clip: true },
      { title: 'Created', show: time('creationDate') },
    ],
    empty: visit =>
      html`No payments yet. They appear here as soon as your shop sends them.${
        visit.deps.environment === 'test' &&
        may(visit, 'testTools') &&
        html` <a href="/console/m/${visit.merchant.merchantId}/test">Make a first one with a test card</a>`
      }`,
  },
  {
    path: '/operations',
    title: 'Operations',
    endpoint: '/operations',
    usual: rowsPerPage,
    filters: [
      {
        name: 'type',
        label: 'Type',
        choices: ['', ...operationTypes],
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
    empty: () => 'Nothing has moved yet. Every operation that is final appears here, the oldest first.',
    exports: 'csv',
  },
  {
    path: '/customers',
    title: 'Customers',
    endpoint: '/customers',
    usual: firstPage,
    filters: [
      { name: 'email', label: 'E-mail', type: 'email' },
      { name: 'merchantCustomerId', label: 'merchantCustomerId' },
    ],
    columns: base => [
      {
        title: 'Customer',
        show: link(
          row => `${base}/customers/${String(row.id)}`,
          row => text('merchantCustomerId')(row) || text('id')(row),
        ),
      },
      {
        title: 'Name',
        show: row => `${String(row.firstName ?? '')} ${String(row.lastName ?? '')}`.trim(),
        clip: true,
      },
      { title: 'E-mail', show: text('email'), clip: true },
      { title: 'Created', show: time('createdAt') },
    ],
    empty: () => 'A customer appears with the first approved payment that names one.',
  },
  {
    path: '/plans',
    title: 'Plans',
    endpoint: '/payment-plans',
    usual: firstPage,
    filters: [
      {
        name: 'status',
        label: 'Status',
        choices: ['', 'PENDING', 'ACTIVE', 'PAUSED', 'SUSPENDED', 'CANCELLED', 'COMPLETED'],
      },
      { name: 'type', label: 'Type', choices: ['', 'RECURRING', 'UNSCHEDULED'] },
      { name: 'gatewayCustomerId', label: 'gatewayCustomerId' },
      { name: 'createdFrom', label: 'Created from', type: 'date' },
      { name: 'createdTo', label: 'Created to', type: 'date' },
    ],
    columns: base => [
      {
        title: 'Plan',
        show: link(row => `${base}/plans/${String(row.paymentPlanId)}`, text('paymentPlanId')),
      },
      { title: 'Status', show: state('status') },
      { title: 'Customer', show: text('merchantCustomerId'), clip: true },
      { title: 'Amount', show: money('amount'), numeric: true },
      { title: 'How often', show: row => text('recurring.frequency')(row) || text('type')(row) },
      { title: 'Payments', show: text('numberOfPayments'), numeric: true },
      { title: 'Next charge', show: text('nextPaymentDate') },
    ],
    empty: () => html`A plan begins with a payment that has <code>credentialOnFile</code>.`,
  },
  {
    path: '/links',
    title: 'Links',
    endpoint: '/payments/links',
    usual: rowsPerPage,
    head: visit =>
      may(visit, 'links') &&
      html`<p class="buttons"><a class="button" href="/console/m/${visit.merchant.merchantId}/links/new">New link</a></p>`,
    filters: [
      { name: 'status', label: 'Status', choices: ['', 'ACTIVE', 'COMPLETED', 'EXPIRED', 'CANCELLED'] },
    ],
    columns: base => [
      {
        title: 'Link',
        show: link(row => `${base}/links/${String(row.id)}`, text('transId')),
      },
      { title: 'Status', show: state('status') },
      { title: 'For', show: text('description'), clip: true },
      { title: 'Amount', show: money('amount'), numeric: true },
      {
        title: 'Payment',
        show: link(
          row => `${base}/payments/${String(row.payId)}`,
          () => 'show',
        ),
      },
      { title: 'Expires', show: time('expirationTime') },
    ],
    empty: () => 'No links yet. A link is an address that you send to a customer, who pays there.',
  },
  {
    path: '/disputes',
    title: 'Disputes',
    endpoint: '/disputes',
    usual: rowsPerPage,
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
    empty: () =>
      'No disputes. When a customer disputes a payment at their bank, it appears here with the day until which evidence is due.',
  },
  {
    path: '/settlements',
    title: 'Settlement',
    endpoint: '/settlements',
    head: visit =>
      html`<p class="buttons"><a class="button plain" href="/console/m/${visit.merchant.merchantId}/reconciliation">Compare with our books</a></p>`,
    filters: [
      { name: 'account', label: 'Account' },
      { name: 'from', label: 'From', type: 'date' },
      { name: 'to', label: 'To (exclusive)', type: 'date' },
    ],
    columns: base => [
      { title: 'Date', show: text('date') },
      { title: 'Type', show: text('type') },
      { title: 'Account', show: text('account') },
      {
        title: 'Payment',
        show: row =>
          row.payId !== undefined
            ? payment(base).show(row)
            : html`<span class="clip quiet" title="${text('providerReference')(row)}">${text('providerReference')(row)}</span>`,
      },
      ...['gross', 'fee', 'net'].map(name => ({
        title: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
        show: (row: Json) => showMoney({ value: Number(row[name]), currency: String(row.currency) }),
        numeric: true as const,
      })),
    ],
    empty: () =>
      html`Nothing was imported yet. The command <code>settlements import</code> reads the files of providers.`,
  },
  {
    path: '/events',
    title: 'Events',
    endpoint: '/events',
    usual: firstPage,
    filters: [
      { name: 'status', label: 'Status', choices: ['', 'PENDING', 'DELIVERED', 'FAILED'] },
      { name: 'payId', label: 'payId' },
    ],
    columns: base => [
      {
        title: 'Event',
        show: link(
          row => `${base}/events/${String(pick(row, 'id'))}`,
          row => text('type')(row) || text('id')(row),
        ),
      },
      { title: 'Status', show: state('status') },
      {
        title: 'Payment',
        show: link(
          row => `${base}/payments/${String(pick(row, 'payId'))}`,
          row => text('body.transId')(row) || text('payId')(row),
        ),
      },
      { title: 'Attempts', show: row => toRows(row.attempts).length, numeric: true },
      { title: 'Created', show: time('creationDate') },
    ],
    empty: () => 'No events yet. An event tells the shop a result that no request of it was answered with.',
  },
]
