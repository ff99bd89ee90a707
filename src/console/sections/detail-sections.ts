/** The single objects of the console, one row each: where it is read, what can be done with it, and what else is shown of it. */
import { type Json, type MerchantVisit, readAnswer } from '#console/context.ts'
import { rowsOf } from '#console/sections/lists.ts'
import { type Column, type Field, renderTable, showMoney, showState, showTime } from '#console/views/parts.ts'
import type { ConsoleAct } from '#domain/console-roles.ts'
import { html, type Part } from '#http/html.ts'

export interface Detail {
  /** Of the list it belongs to. */
  readonly path: string
  readonly title: string
  readonly endpoint: (id: string) => string
  readonly acts: readonly DetailAct[]
  readonly more?: (object: Json, visit: MerchantVisit) => Part | Promise<Part>
}

export interface DetailAct {
  readonly name: string
  readonly title: string
  readonly act: ConsoleAct
  readonly done: string
  /** States in which it makes sense; all unless given. */
  readonly from?: readonly string[]
  readonly endpoint: (id: string) => string
  readonly body?: (form: Readonly<Record<string, string>>) => unknown
  readonly field?: Field
  /** What is asked once more before it is done. */
  readonly asks?: string
}

export const attemptColumns: readonly Column[] = [
  { title: 'At', show: row => showTime(row.at) },
  { title: 'To', show: row => String(row.endpointId ?? 'the address') },
  { title: 'Answer', show: row => String(row.status ?? 'none') },
  { title: 'Took', show: row => `${String(row.durationMs)} ms`, numeric: true },
  { title: 'Text', show: row => html`<code>${String(row.answer ?? '').slice(0, 200)}</code>` },
]

const paymentColumns = (base: string): readonly Column[] => [
  {
    title: 'Payment',
    show: row =>
      html`<a href="${base}/payments/${String(row.payId)}">${String(row.transId ?? row.payId)}</a>`,
  },
  { title: 'Status', show: row => showState(row.status) },
  { title: 'Amount', show: row => showMoney(row.amount as never), numeric: true },
  { title: 'Created', show: row => showTime(row.creationDate) },
]

const disputeColumns: readonly Column[] = [
  { title: 'At', show: row => showTime(row.at) },
  { title: 'What happened', show: row => String(row.type) },
  { title: 'Stage', show: row => String(row.stage ?? '') },
  { title: 'Status', show: row => showState(row.status) },
]

const methodColumns: readonly Column[] = [
  { title: 'Method', show: row => String(row.type ?? '') },
  { title: 'Id', show: row => html`<code>${String(row.id ?? row.paymentMethodId ?? '')}</code>` },
]

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

async function listRows(visit: MerchantVisit, path: string): Promise<readonly Json[]> {
  return rowsOf(readAnswer(await visit.api({ verb: 'GET', path })) ?? {})
}

const showPayments = (visit: MerchantVisit, rows: readonly Json[]): Part =>
  html`<h2>Payments</h2>${renderTable(rows, paymentColumns(baseOf(visit)), 'None.', 'Payments')}`

const showBody = (event: Json): Part =>
  html`<h2>Attempts</h2>${renderTable((event.attempts ?? []) as Json[], attemptColumns, 'Not tried yet.', 'Attempts')}<h2>Body</h2><pre tabindex="0"><code data-copy>${JSON.stringify(event.body, null, 2)}</code></pre>`

async function showCustomer(customer: Json, visit: MerchantVisit): Promise<Part> {
  const id = String(customer.id)
  const [payments, methods] = await Promise.all([
    listRows(visit, `/payments?gatewayCustomerId=${id}&limit=20`),
    listRows(visit, `/customers/${id}/paymentMethods?page=1`),
  ])
  return html`${showPayments(visit, payments)}<p><a href="${baseOf(visit)}/payments?gatewayCustomerId=${id}">All payments</a></p><h2>Stored methods</h2>${renderTable(methods, methodColumns, 'None.', 'Stored methods')}`
}

export const details: readonly Detail[] = [
  {
    path: '/events',
    title: 'Event',
    endpoint: id => `/events/${id}`,
    acts: [
      {
        name: 'replay',
        title: 'Send again',
        act: 'replay',
        done: 'replayed',
        endpoint: id => `/events/${id}/replays`,
        body: () => ({}),
      },
    ],
    more: showBody,
  },
  {
    path: '/plans',
    title: 'Plan',
    endpoint: id => `/payment-plans/${id}`,
    acts: [
      {
        name: 'pause',
        title: 'Pause',
        act: 'plans',
        done: 'saved',
        from: ['ACTIVE'],
        endpoint: id => `/payment-plans/${id}/pause`,
      },
      {
        name: 'resume',
        title: 'Resume',
        act: 'plans',
        done: 'saved',
        from: ['PAUSED', 'SUSPENDED'],
        endpoint: id => `/payment-plans/${id}/resume`,
        body: () => ({}),
      },
      {
        name: 'cancel',
        title: 'Cancel the plan',
        act: 'plans',
        done: 'cancelled',
        from: ['ACTIVE', 'PAUSED', 'SUSPENDED'],
        endpoint: id => `/payment-plans/${id}/cancel`,
        body: () => ({ reason: 'Cancelled in the console' }),
        asks: 'Cancel this plan? It is never charged again.',
      },
    ],
    more: async (plan, visit) =>
      showPayments(visit, await listRows(visit, `/payment-plans/${String(plan.paymentPlanId)}/payments`)),
  },
  {
    path: '/disputes',
    title: 'Dispute',
    endpoint: id => `/disputes/${id}`,
    acts: [
      {
        name: 'evidence',
        title: 'Send evidence',
        act: 'disputes',
        done: 'saved',
        from: ['OPEN'],
        endpoint: id => `/disputes/${id}/evidence`,
        body: form => ({ text: form.text ?? '' }),
        field: { name: 'text', label: 'Evidence', long: true },
      },
      {
        name: 'accept',
        title: 'Accept the loss',
        act: 'disputes',
        done: 'saved',
        from: ['OPEN'],
        endpoint: id => `/disputes/${id}/accept`,
        body: () => ({}),
        asks: 'Accept this dispute? The money is lost, and no evidence can be sent any more.',
      },
    ],
    more: dispute =>
      html`<h2>What happened</h2>${renderTable((dispute.events ?? []) as Json[], disputeColumns, 'Nothing yet.', 'What happened')}`,
  },
  {
    path: '/customers',
    title: 'Customer',
    endpoint: id => `/customers/${id}`,
    acts: [],
    more: showCustomer,
  },
]
