/** The single objects of the console, one row each: where it is read, which actions it has, and what else is shown. */
import { amountHint, amountProblem, readAmount } from '#console/amount.ts'
import { type Json, type MerchantVisit, readAnswer, toRows } from '#console/context.ts'
import { rowsOf } from '#console/sections/lists.ts'
import {
  type Column,
  type Field,
  isMoney,
  type Money,
  renderTable,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import type { ConsoleAct } from '#domain/console-roles.ts'
import type { UploadedFile } from '#http/body/form.ts'
import { type Html, html, type Part } from '#http/html.ts'
import { formatMoney } from '#pages/money-text.ts'

export interface Detail {
  /** The path of the list that leads to the object. */
  readonly path: string
  readonly title: string
  readonly endpoint: (id: string) => string
  readonly acts: readonly DetailAct[]
  /** Members whose own members are shown like those of the object. */
  readonly parts?: readonly string[]
  readonly more?: (object: Json, visit: MerchantVisit) => Part | Promise<Part>
  /** What is left of an object that was deleted; undefined: nothing is, or there never was one with this id. */
  readonly rest?: (id: string, visit: MerchantVisit) => Promise<Html | undefined>
}

export interface DetailAct {
  readonly name: string
  readonly title: string
  readonly act: ConsoleAct
  readonly done: string
  /** States of the object in which the action is offered; by default all. */
  readonly from?: readonly string[]
  /** Whether the action is offered for this object; by default it always is. */
  readonly when?: (object: Json) => boolean
  readonly verb?: 'PATCH'
  readonly endpoint: (id: string) => string
  /** The request body that the entries make. Throws `WrongEntry` where one has to be corrected. */
  readonly body?: (entered: Entered) => unknown
  /** The fields of the form; an empty list: the action is not offered for this object. */
  readonly fields?: (object: Json, visit: MerchantVisit) => readonly Field[] | Promise<readonly Field[]>
  /** The body in the curl command beside the form, where it differs from what the empty form would send. */
  readonly sample?: unknown
  /**
   * The question to confirm before the action. It names everything that the action depends on; if that changes, the
   * question is asked again.
   */
  readonly asks?: (entered: Entered, visit: MerchantVisit) => string | Promise<string>
  readonly uploadBytesMax?: number
  readonly stacked?: true
}

export interface Entered {
  readonly form: Readonly<Record<string, string>>
  readonly files: readonly UploadedFile[]
  readonly object: Json
}

export class WrongEntry extends Error {}

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
  { title: 'Amount', show: row => showMoney(row.amount), numeric: true },
  { title: 'Created', show: row => showTime(row.creationDate) },
]

const planColumns = (base: string): readonly Column[] => [
  {
    title: 'Plan',
    show: row =>
      html`<a href="${base}/plans/${String(row.paymentPlanId)}"><code>${String(row.paymentPlanId)}</code></a>`,
  },
  { title: 'Status', show: row => showState(row.status) },
  { title: 'Amount', show: row => showMoney(row.amount), numeric: true },
  { title: 'Created', show: row => showTime(row.createdAt) },
]

const disputeColumns: readonly Column[] = [
  { title: 'At', show: row => showTime(row.at) },
  { title: 'What happened', show: row => String(row.type) },
  { title: 'Stage', show: row => String(row.stage ?? '') },
  { title: 'Status', show: row => showState(row.status) },
]

/** As customers know it: visa •••• 1111. */
const nameOf = ({ type, brand, last4Digits }: Json): string =>
  [brand ?? type, last4Digits && `•••• ${String(last4Digits)}`].filter(Boolean).join(' ')

/** 203012 is 12/2030. */
const showExpiry = (value: unknown): string =>
  typeof value === 'string' ? `${value.slice(4)}/${value.slice(0, 4)}` : ''

const methodColumns: readonly Column[] = [
  { title: 'Method', show: nameOf },
  { title: 'Valid until', show: row => showExpiry(row.expiryDate) },
  { title: 'Id', show: row => html`<code>${String(row.id ?? row.paymentMethodId ?? '')}</code>` },
]

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

/** Undefined: the merchant reads too much at the moment (429), or the list took too long. It may have rows then. */
async function listRows(visit: MerchantVisit, path: string): Promise<Rows> {
  const answer = await visit.api({ verb: 'GET', path })
  if (answer.status === 429 || answer.status >= 500) return undefined
  return rowsOf(readAnswer(answer) ?? {})
}

type Rows = readonly Json[] | undefined

const unread: Part = html`<p class="note warn" role="status">They could not be read at the moment. Load this page again.</p>`

const showRows = (title: string, rows: Rows, columns: readonly Column[]): Part =>
  html`<h2>${title}</h2>${rows ? renderTable(rows, columns, 'None.', title) : unread}`

const showPayments = (visit: MerchantVisit, rows: Rows): Part =>
  showRows('Payments', rows, paymentColumns(baseOf(visit)))

const showBody = (event: Json): Part =>
  html`<h2>Attempts</h2>${renderTable(toRows(event.attempts), attemptColumns, 'Not tried yet.', 'Attempts')}<h2>Body</h2><pre tabindex="0"><code data-copy>${JSON.stringify(event.body, null, 2)}</code></pre>`

const showPaymentsOf = (visit: MerchantVisit, customerId: string, payments: Rows): Part =>
  html`${showPayments(visit, payments)}<p><a href="${baseOf(visit)}/payments?gatewayCustomerId=${customerId}">All payments</a></p>`

/** Payments and plans stay when their customer is deleted, and their pages lead here. */
async function showDeletedCustomer(id: string, visit: MerchantVisit): Promise<Html | undefined> {
  const of = `gatewayCustomerId=${encodeURIComponent(id)}`
  const [payments, plans] = await Promise.all([
    listRows(visit, `/payments?${of}&limit=20`),
    listRows(visit, `/payment-plans?page=1&${of}`),
  ])
  if (payments?.length === 0 && plans?.length === 0) return undefined
  if (!(payments?.length || plans?.length)) return html`<h2>Payments and plans</h2>${unread}`
  return html`<p>This customer was deleted, with all stored methods. Payments and plans are left.</p>${showPaymentsOf(visit, id, payments)}${showRows('Plans', plans, planColumns(baseOf(visit)))}`
}

async function showCustomer(customer: Json, visit: MerchantVisit): Promise<Part> {
  const id = String(customer.id)
  const [payments, methods] = await Promise.all([
    listRows(visit, `/payments?gatewayCustomerId=${id}&limit=20`),
    listRows(visit, `/customers/${id}/paymentMethods`),
  ])
  return html`${showPaymentsOf(visit, id, payments)}${showRows('Stored methods', methods, methodColumns)}`
}

/** The endpoint lists the newest twenty; the list of payments has all. */
async function showPlan({ paymentPlanId }: Json, visit: MerchantVisit): Promise<Part> {
  const id = String(paymentPlanId)
  const payments = await listRows(visit, `/payment-plans/${id}/payments`)
  return html`${showPayments(visit, payments)}<p><a href="${baseOf(visit)}/payments?paymentPlanId=${id}">All payments</a></p>`
}

/** States in which a plan can be changed. */
const changeable = ['ACTIVE', 'PAUSED', 'SUSPENDED']

const amountField = ({ value, currency }: Money): Field => ({
  name: 'amount',
  label: `New amount in ${currency}`,
  hint: amountHint,
  value: String(value),
  required: true,
})

function newAmount({ form, object }: Entered): Money {
  const { amount } = object
  const currency = isMoney(amount) ? amount.currency : ''
  const value = readAmount(form.amount ?? '', currency)
  if (value === undefined) throw new WrongEntry(amountProblem(form.amount ?? '', currency))
  return { value, currency }
}

const moneyText = (amount: unknown): string => (isMoney(amount) ? formatMoney(amount, 'en') : '')

const storedMethods = async (plan: Json, visit: MerchantVisit): Promise<readonly Json[]> =>
  (await listRows(visit, `/customers/${String(plan.gatewayCustomerId)}/paymentMethods`)) ?? []

/** " to visa •••• 1111"; empty if the customer has no such method any more. */
async function chargedMethod(plan: Json, visit: MerchantVisit): Promise<string> {
  if (plan.gatewayCustomerId === undefined) return ''
  const method = (await storedMethods(plan, visit)).find(({ id }) => id === plan.paymentMethodId)
  return method ? ` to ${nameOf(method)}` : ''
}

/** The stored methods of the plan's customer, except the one that is charged now. */
async function otherMethods(plan: Json, visit: MerchantVisit): Promise<readonly Field[]> {
  if (plan.gatewayCustomerId === undefined) return []
  const stored = await storedMethods(plan, visit)
  const others = stored.filter(({ id }) => id !== plan.paymentMethodId)
  if (others.length === 0) return []
  const names = Object.fromEntries(others.map(method => [String(method.id), nameOf(method)]))
  return [{ name: 'paymentMethodId', label: 'Method', choices: Object.keys(names), names }]
}

const evidenceTypes = ['application/pdf', 'image/png', 'image/jpeg']
/** 5 MB each, as the API allows. */
const fileBytesMax = 5_242_880
/** 16 MB: three files of the largest size, and the text. */
const evidenceBytesMax = 16_000_000

/** The API speaks of coded characters; people know their files by name and size. */
function checkFile({ name, bytes }: UploadedFile): void {
  if (bytes.length === 0) throw new WrongEntry(`The file ${name} is empty.`)
  if (bytes.length > fileBytesMax) {
    const size = (bytes.length / 1_000_000).toFixed(1)
    throw new WrongEntry(`The file ${name} has ${size} MB; allowed are 5 MB.`)
  }
}

function toEvidence({ form, files }: Entered): unknown {
  const { text = '' } = form
  if (text.trim() === '' && files.length === 0) throw new WrongEntry('Write something, or choose a file.')
  for (const file of files) checkFile(file)
  return {
    ...(text.trim() === '' ? {} : { text }),
    ...(files.length === 0
      ? {}
      : {
          files: files.map(({ name, type, bytes }) => ({ name, type, content: bytes.toString('base64') })),
        }),
  }
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
    parts: ['recurring'],
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
        name: 'charge',
        title: 'Resume and charge now',
        act: 'plans',
        done: 'saved',
        from: ['PAUSED', 'SUSPENDED'],
        endpoint: id => `/payment-plans/${id}/resume`,
        body: () => ({ chargeNow: true }),
        asks: async ({ object }, visit) =>
          `Resume this plan and charge ${moneyText(object.amount)}${await chargedMethod(object, visit)} at once?`,
      },
      {
        name: 'amount',
        title: 'Change the amount',
        act: 'plans',
        done: 'saved',
        from: changeable,
        when: ({ amount }) => isMoney(amount),
        verb: 'PATCH',
        endpoint: id => `/payment-plans/${id}`,
        fields: ({ amount }) => (isMoney(amount) ? [amountField(amount)] : []),
        body: entered => ({ amount: newAmount(entered) }),
        asks: entered =>
          `Charge ${moneyText(newAmount(entered))} instead of ${moneyText(entered.object.amount)} from the next time on?`,
      },
      {
        name: 'method',
        title: 'Charge another stored method',
        act: 'plans',
        done: 'saved',
        from: changeable,
        verb: 'PATCH',
        endpoint: id => `/payment-plans/${id}`,
        fields: otherMethods,
        body: ({ form }) => ({ paymentMethodId: form.paymentMethodId ?? '' }),
      },
      {
        name: 'cancel',
        title: 'Cancel the plan',
        act: 'plans',
        done: 'cancelled',
        from: ['ACTIVE', 'PAUSED', 'SUSPENDED'],
        endpoint: id => `/payment-plans/${id}/cancel`,
        body: () => ({ reason: 'Cancelled in the console' }),
        asks: () => 'Cancel this plan? It is never charged again.',
      },
    ],
    more: showPlan,
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
        fields: () => [
          { name: 'text', label: 'Evidence', long: true },
          {
            name: 'files',
            label: 'Files',
            type: 'file',
            accept: evidenceTypes.join(','),
            hint: 'PDF, PNG or JPEG, 5 MB each, 16 MB together',
          },
        ],
        body: toEvidence,
        sample: { text: '…', files: [{ name: 'receipt.pdf', type: 'application/pdf', content: 'BASE64' }] },
        uploadBytesMax: evidenceBytesMax,
        stacked: true,
      },
      {
        name: 'accept',
        title: 'Accept the loss',
        act: 'disputes',
        done: 'saved',
        from: ['OPEN'],
        endpoint: id => `/disputes/${id}/accept`,
        body: () => ({}),
        asks: ({ object }) =>
          `Accept this dispute of ${moneyText(object.amount)} (${String(object.stage)})? The money is lost, and no evidence can be sent any more.`,
      },
    ],
    more: dispute =>
      html`<h2>What happened</h2>${renderTable(toRows(dispute.events), disputeColumns, 'Nothing yet.', 'What happened')}`,
  },
  {
    path: '/customers',
    title: 'Customer',
    endpoint: id => `/customers/${id}`,
    acts: [],
    more: showCustomer,
    rest: showDeletedCustomer,
  },
]
