/** Single objects besides payments: an event with its attempts, a plan, a dispute, a new link; and what can be done with them. */
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  may,
  readAnswer,
  readRefusal,
} from '#console/context.ts'
import { renderInside, seeOther } from '#console/layout.ts'
import {
  type Column,
  renderCurl,
  renderForm,
  renderPairs,
  renderTable,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import type { ConsoleAct } from '#domain/console-roles.ts'
import { html, type Part } from '#pages/html.ts'

interface Detail {
  /** Of the list it belongs to. */
  readonly path: string
  readonly title: string
  readonly endpoint: (id: string) => string
  readonly acts: readonly DetailAct[]
  readonly more?: (object: Json) => Part
}

interface DetailAct {
  readonly name: string
  readonly title: string
  readonly act: ConsoleAct
  readonly done: string
  /** States in which it makes sense; all unless given. */
  readonly from?: readonly string[]
  readonly endpoint: (id: string) => string
  readonly body?: (form: Readonly<Record<string, string>>) => unknown
  readonly field?: { readonly name: string; readonly label: string }
}

const attemptColumns: readonly Column[] = [
  { title: 'At', show: row => showTime(row.at) },
  { title: 'Answer', show: row => String(row.status ?? 'none') },
  { title: 'Took', show: row => `${String(row.durationMs)} ms`, numeric: true },
  { title: 'Text', show: row => html`<code>${String(row.answer ?? '').slice(0, 200)}</code>` },
]

const details: readonly Detail[] = [
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
        endpoint: id => `/events/${id}/replay`,
      },
    ],
    more: event =>
      html`<h2>Attempts</h2>${renderTable((event.attempts ?? []) as Json[], attemptColumns, 'Not tried yet.')}<h2>Body</h2><pre><code data-copy>${JSON.stringify(event.payload ?? event.body ?? event, null, 2)}</code></pre>`,
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
      },
    ],
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
        field: { name: 'text', label: 'Evidence' },
      },
      {
        name: 'accept',
        title: 'Accept the loss',
        act: 'disputes',
        done: 'saved',
        from: ['OPEN'],
        endpoint: id => `/disputes/${id}/accept`,
      },
    ],
  },
]

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

/** Every plain member of the object, amounts and times as people read them. */
const renderObject = (object: Json): Part =>
  renderPairs(
    Object.entries(object)
      .filter(([name, value]) => isScalar(value) || name === 'amount')
      .map(([name, value]) => [name, showValue(name, value)] as const),
  )

function showValue(name: string, value: unknown): Part {
  if (name === 'amount') return showMoney(value as never)
  if (name === 'status') return showState(value)
  if (/(Date|At|By|Time)$/.test(name) && typeof value === 'string' && value.includes('T'))
    return showTime(value)
  return String(value)
}

async function showDetail(visit: MerchantVisit, detail: Detail, problem?: string) {
  const { id = '' } = visit.request.params
  const object = readAnswer(await visit.api({ verb: 'GET', path: detail.endpoint(encodeURIComponent(id)) }))
  const { merchant } = visit
  if (!object) {
    const main = html`<p>This merchant has no such object.</p>`
    return renderInside(loadConsoleAssets(), visit, { title: 'Not found', main, merchant, status: 404 })
  }
  const base = `/console/m/${merchant.merchantId}${detail.path}/${id}`
  const acts = detail.acts.filter(
    act => may(visit, act.act) && (!act.from || act.from.includes(String(object.status))),
  )
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}${renderObject(object)}${acts.map(
    act =>
      renderForm({
        action: `${base}/${act.name}`,
        csrf: visit.csrf,
        hidden: { key: visit.deps.newId() },
        fields: act.field ? [{ ...act.field, required: true }] : [],
        button: act.title,
        tone: 'plain',
      }),
  )}${detail.more?.(object)}${renderCurl('GET', `${visit.deps.origin()}/api/v2${detail.endpoint(id)}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: `${detail.title} ${id}`, main, merchant, status })
}

async function doDetail(visit: MerchantVisit, detail: Detail, act: DetailAct) {
  const { id = '' } = visit.request.params
  const form = visit.request.form ?? {}
  const answer = await visit.api({
    verb: 'POST',
    path: act.endpoint(encodeURIComponent(id)),
    ...(act.body ? { body: act.body(form) } : {}),
    key: form.key ? `console-${form.key}` : undefined,
  })
  if (answer.status >= 300) return showDetail(visit, detail, readRefusal(answer))
  await visit.audit({ act: `${detail.title.toLowerCase()}.${act.name}`, object: id })
  return seeOther(`/console/m/${visit.merchant.merchantId}${detail.path}/${id}?done=${act.done}`)
}

/** A link for a customer, made by the same endpoint as the shop's. */
async function makeLink(visit: MerchantVisit) {
  const { merchant, deps } = visit
  const { amount = '', currency = 'EUR', description = '', key = '' } = visit.request.form ?? {}
  const body = {
    transId: `link-${key}`.slice(0, 64),
    amount: { value: Number(amount), currency },
    ...(description === '' ? {} : { description }),
    urls: { return: `${deps.origin()}/`, cancel: `${deps.origin()}/` },
  }
  const answer = await visit.api({ verb: 'POST', path: '/payments/links', body, key: `console-${key}` })
  if (answer.status >= 300) return showLinkForm(visit, readRefusal(answer))
  await visit.audit({ act: 'link.create', object: merchant.merchantId, after: { transId: body.transId } })
  return seeOther(`/console/m/${merchant.merchantId}/links?done=saved`)
}

async function showLinkForm(visit: MerchantVisit, problem?: string) {
  const { merchant, deps, request } = visit
  const { amount = '', currency = 'EUR', description = '' } = request.form ?? {}
  const main = html`${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}${renderForm(
    {
      action: `/console/m/${merchant.merchantId}/links/new`,
      csrf: visit.csrf,
      hidden: { key: deps.newId() },
      fields: [
        { name: 'amount', label: 'Amount in the smallest unit', value: amount, required: true },
        { name: 'currency', label: 'Currency', value: currency, required: true },
        { name: 'description', label: 'What it is for', value: description },
      ],
      button: 'Make a link',
    },
  )}`
  return renderInside(loadConsoleAssets(), visit, {
    title: 'New link',
    main,
    merchant,
    status: problem === undefined ? 200 : 422,
  })
}

export const detailPages: readonly MerchantPage[] = [
  { verb: 'GET', path: '/links/new', act: 'links', show: visit => showLinkForm(visit) },
  { verb: 'POST', path: '/links/new', act: 'links', show: makeLink },
  ...details.flatMap(detail => [
    {
      verb: 'GET',
      path: `${detail.path}/{id}`,
      act: 'read',
      show: (visit: MerchantVisit) => showDetail(visit, detail),
    } as const,
    ...detail.acts.map(
      act =>
        ({
          verb: 'POST',
          path: `${detail.path}/{id}/${act.name}`,
          act: act.act,
          show: (visit: MerchantVisit) => doDetail(visit, detail, act),
        }) as const,
    ),
  ]),
]
