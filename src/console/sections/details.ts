/** Single objects besides payments and links: an event with its attempts, a plan, a dispute, a customer; and what can be done with them. */
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
import { type Detail, type DetailAct, details } from '#console/sections/detail-sections.ts'
import {
  renderCurl,
  renderForm,
  renderPairs,
  renderProblem,
  showMoney,
  showState,
  showTime,
} from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

/** Every plain member of the object, amounts and times as people read them. */
const renderObject = (object: Json, base: string): Part =>
  renderPairs(
    Object.entries(object)
      .filter(([name, value]) => (isScalar(value) || name === 'amount') && name !== 'merchantId')
      .map(([name, value]) => [name, showValue(name, value, base)] as const),
  )

function showValue(name: string, value: unknown, base: string): Part {
  if (name === 'amount') return showMoney(value as never)
  if (name === 'status') return showState(value)
  if (/^(payId|initialPayId)$/.test(name))
    return html`<a href="${base}/payments/${String(value)}">${String(value)}</a>`
  if (name === 'gatewayCustomerId')
    return html`<a href="${base}/customers/${String(value)}">${String(value)}</a>`
  if (/(Date|At|By|Time)$/.test(name) && typeof value === 'string' && value.includes('T'))
    return showTime(value)
  return String(value)
}

const apiOf = ({ deps }: MerchantVisit): string => `${deps.origin()}/api/v2`

/** The form of an act, with a key of its own: sent twice, it acts once. */
function renderAct(visit: MerchantVisit, act: DetailAct, address: string): Part {
  const { id = '' } = visit.request.params
  const typed = act.field && visit.request.form?.[act.field.name]
  return html`<div class="panel">${renderForm({
    action: `${address}/${act.name}`,
    csrf: visit.csrf,
    hidden: { key: visit.deps.newId() },
    fields: act.field ? [{ ...act.field, value: typed, required: true }] : [],
    button: act.asks === undefined ? act.title : `${act.title} …`,
    tone: 'plain',
  })}${renderCurl('POST', `${apiOf(visit)}${act.endpoint(id)}`, act.body?.(act.field ? { [act.field.name]: '…' } : {}))}</div>`
}

async function showDetail(visit: MerchantVisit, detail: Detail, problem?: string) {
  const { id = '' } = visit.request.params
  const object = readAnswer(await visit.api({ verb: 'GET', path: detail.endpoint(encodeURIComponent(id)) }))
  const { merchant } = visit
  if (!object) {
    const main = html`<p>This merchant has no such object.</p>`
    return renderInside(loadConsoleAssets(), visit, { title: 'Not found', main, merchant, status: 404 })
  }
  const base = `/console/m/${merchant.merchantId}`
  const acts = detail.acts.filter(
    act => may(visit, act.act) && (!act.from || act.from.includes(String(object.status))),
  )
  const main = html`${renderProblem(problem)}${renderObject(object, base)}${acts.map(act =>
    renderAct(visit, act, `${base}${detail.path}/${id}`),
  )}${await detail.more?.(object, visit)}${renderCurl('GET', `${apiOf(visit)}${detail.endpoint(id)}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: `${detail.title} ${id}`, main, merchant, status })
}

/** What cannot be taken back is asked once more. */
function askOnceMore(visit: MerchantVisit, detail: Detail, act: DetailAct) {
  const { id = '' } = visit.request.params
  const { csrf: _, ...typed } = visit.request.form ?? {}
  const address = `/console/m/${visit.merchant.merchantId}${detail.path}/${id}`
  const main = html`<p>${act.asks}</p>${renderForm({
    action: `${address}/${act.name}`,
    csrf: visit.csrf,
    hidden: { ...typed, sure: 'yes' },
    button: `Yes: ${act.title.toLowerCase()}`,
    tone: 'danger',
  })}<p><a href="${address}">No, go back</a></p>`
  return renderInside(loadConsoleAssets(), visit, { title: act.title, main, merchant: visit.merchant })
}

async function doDetail(visit: MerchantVisit, detail: Detail, act: DetailAct) {
  const { id = '' } = visit.request.params
  const form = visit.request.form ?? {}
  if (act.asks !== undefined && form.sure !== 'yes') return askOnceMore(visit, detail, act)
  const answer = await visit.api({
    verb: 'POST',
    path: act.endpoint(encodeURIComponent(id)),
    ...(act.body ? { body: act.body(form) } : {}),
    key: form.key ? `console-${form.key}` : undefined,
  })
  if (answer.status === 404) return showDetail(visit, detail)
  if (answer.status >= 300) return showDetail(visit, detail, readRefusal(answer))
  await visit.audit({ act: `${detail.title.toLowerCase()}.${act.name}`, object: id })
  return seeOther(`/console/m/${visit.merchant.merchantId}${detail.path}/${id}?done=${act.done}`)
}

export const detailPages: readonly MerchantPage[] = details.flatMap(detail => [
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
])
