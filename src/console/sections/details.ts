/** Single objects besides payments and links: an event with its attempts, a plan, a dispute, a customer; and what can be done with them. */
import { loadConsoleAssets } from '#console/assets.ts'
import { confirmationStatus, readConfirmation, renderConfirmation } from '#console/confirmation.ts'
import {
  auditInStory,
  isJson,
  type Json,
  type MerchantPage,
  type MerchantVisit,
  may,
  readAnswer,
  readOutcome,
  readRefusal,
} from '#console/context.ts'
import { renderInside, renderNotFound, seeOther } from '#console/layout.ts'
import { type Detail, type DetailAct, details, WrongEntry } from '#console/sections/detail-sections.ts'
import { actAlone, busyProblem } from '#console/sent-forms.ts'
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
import type { Act } from '#operations/audit/audit.ts'

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

/** Every plain member of the object, amounts and times as people read them. */
const renderObject = (object: Json, base: string): Part =>
  renderPairs(
    Object.entries(object)
      .filter(([name, value]) => (isScalar(value) || name === 'amount') && name !== 'merchantId')
      .map(([name, value]) => [name, showValue(name, value, base)] as const),
  )

/** The terms of a plan are an object within it; people look for them beside its amount. */
const withParts = (object: Json, parts: readonly string[] = []): Json => ({
  ...object,
  ...Object.assign({}, ...parts.map(part => object[part])),
})

/** Our ids: all of one length, and easier to compare in a monospaced font. */
const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^(?:[a-z]+_)?[0-9a-f]{32}$/.test(value)

function showValue(name: string, value: unknown, base: string): Part {
  if (name === 'amount') return showMoney(value)
  if (name === 'status') return showState(value)
  const shown = isId(value) ? html`<code>${String(value)}</code>` : String(value)
  if (/^(payId|initialPayId)$/.test(name))
    return html`<a href="${base}/payments/${String(value)}">${shown}</a>`
  if (name === 'gatewayCustomerId') return html`<a href="${base}/customers/${String(value)}">${shown}</a>`
  if (/(Date|At|By|Time)$/.test(name) && typeof value === 'string' && value.includes('T'))
    return showTime(value)
  return shown
}

const apiOf = ({ deps }: MerchantVisit): string => `${deps.origin()}/api/v2`

/** The form of an action, with a key of its own: submitted twice, it takes effect once. */
async function renderAct(visit: MerchantVisit, act: DetailAct, { object, address }: Shown): Promise<Part> {
  const { id = '' } = visit.request.params
  const fields = (await act.fields?.(object, visit)) ?? []
  if (act.fields && fields.length === 0) return ''
  const typed = visit.request.form ?? {}
  const form = Object.fromEntries(
    fields.map(({ name, value, choices }) => [name, value ?? choices?.[0] ?? '…']),
  )
  const body = act.sample ?? act.body?.({ form, files: [], object })
  const key = visit.deps.newId()
  return html`<div class="panel">${renderForm({
    action: `${address}/${act.name}`,
    csrf: visit.csrf,
    hidden: { key },
    fields: fields.map(field => ({ ...field, value: typed[field.name] ?? field.value })),
    button: act.asks === undefined ? act.title : `${act.title} …`,
    tone: 'plain',
    ...(act.stacked ? { stacked: true } : {}),
  })}${renderCurl(act.verb ?? 'POST', `${apiOf(visit)}${act.endpoint(id)}`, body, `console-${key}`)}</div>`
}

interface Shown {
  readonly object: Json
  readonly address: string
}

const findObject = async (visit: MerchantVisit, detail: Detail): Promise<Json | undefined> =>
  readAnswer(
    await visit.api({
      verb: 'GET',
      path: detail.endpoint(encodeURIComponent(visit.request.params.id ?? '')),
    }),
  )

async function showDetail(visit: MerchantVisit, detail: Detail, problem?: string) {
  const { id = '' } = visit.request.params
  const object = await findObject(visit, detail)
  const { merchant } = visit
  if (!object) return showRest(visit, detail)
  const base = `/console/m/${merchant.merchantId}`
  const shown = { object, address: `${base}${detail.path}/${id}` }
  const acts = detail.acts.filter(act => may(visit, act.act) && isOpen(act, object))
  const forms = await Promise.all(acts.map(act => renderAct(visit, act, shown)))
  const main = html`${renderProblem(problem)}${renderObject(withParts(object, detail.parts), base)}${forms}${await detail.more?.(object, visit)}${renderCurl('GET', `${apiOf(visit)}${detail.endpoint(id)}`)}`
  const status = problem === undefined ? 200 : 422
  return renderInside(loadConsoleAssets(), visit, { title: `${detail.title} ${id}`, main, merchant, status })
}

async function showRest(visit: MerchantVisit, { title, rest }: Detail) {
  const { merchant, request } = visit
  const { id = '' } = request.params
  const main = await rest?.(id, visit)
  if (main) return renderInside(loadConsoleAssets(), visit, { title: `${title} ${id}`, main, merchant })
  const none = html`<p>This merchant has no such object.</p>`
  return renderNotFound(loadConsoleAssets(), visit, { main: none, merchant })
}

const isOpen = ({ from, when = () => true }: DetailAct, object: Json): boolean =>
  (!from || from.includes(String(object.status))) && when(object)

/** Asks for confirmation of actions that cannot be undone. */
function askOnceMore(visit: MerchantVisit, detail: Detail, { act, question, body }: Question) {
  const { name, title } = act
  const { id = '' } = visit.request.params
  const { form: entries = {} } = visit.request
  const key = entries.key ? `console-${entries.key}` : undefined
  const address = `/console/m/${visit.merchant.merchantId}${detail.path}/${id}`
  const main = html`${renderConfirmation({
    question,
    action: `${address}/${name}`,
    csrf: visit.csrf,
    entries,
    button: `Yes: ${title.toLowerCase()}`,
  })}<p><a href="${address}">No, go back</a></p>${renderCurl(act.verb ?? 'POST', `${apiOf(visit)}${act.endpoint(id)}`, body, key)}`
  const status = confirmationStatus(entries, question)
  return renderInside(loadConsoleAssets(), visit, { title, main, merchant: visit.merchant, status })
}

interface Question {
  readonly act: DetailAct
  readonly question: string
  readonly body: unknown
}

async function doDetail(visit: MerchantVisit, detail: Detail, act: DetailAct) {
  const { form = {}, files = [] } = visit.request
  const object = await findObject(visit, detail)
  if (!object) return showDetail(visit, detail)
  const entered = { form, files, object }
  try {
    const body = act.body?.(entered)
    const question = await act.asks?.(entered, visit)
    if (question !== undefined && readConfirmation(form, question) !== 'given')
      return askOnceMore(visit, detail, { act, body, question })
    return await sendDetail(visit, { detail, act, body, object })
  } catch (error) {
    if (error instanceof WrongEntry) return showDetail(visit, detail, error.message)
    throw error
  }
}

async function doDetailAlone(visit: MerchantVisit, detail: Detail, act: DetailAct) {
  const done = await actAlone(visit, visit.request.params.id ?? '', () => doDetail(visit, detail, act))
  return done ?? showDetail(visit, detail, busyProblem)
}

interface Sending {
  readonly detail: Detail
  readonly act: DetailAct
  readonly body: unknown
  readonly object: Json
}

/** The old and new values of a change. Evidence is not repeated here: it is stored sealed with its dispute. */
function describeChange({ act, body, object }: Sending, outcome: Json): Pick<Act, 'before' | 'after'> {
  if (act.verb !== 'PATCH' || !isJson(body)) return { after: outcome }
  const before = Object.fromEntries(Object.keys(body).map(name => [name, object[name] ?? null]))
  return { before, after: { ...body, ...outcome } }
}

async function sendDetail(visit: MerchantVisit, sending: Sending) {
  const { detail, act, body } = sending
  const { id = '' } = visit.request.params
  const { key } = visit.request.form ?? {}
  const answer = await visit.api({
    verb: act.verb ?? 'POST',
    path: act.endpoint(encodeURIComponent(id)),
    ...(body === undefined ? {} : { body }),
    key: key ? `console-${key}` : undefined,
  })
  if (answer.status === 404) return showDetail(visit, detail)
  const outcome = readOutcome(answer)
  if (outcome)
    await auditInStory(visit, {
      act: `${detail.title.toLowerCase()}.${act.name}`,
      object: id,
      ...describeChange(sending, outcome),
    })
  if (answer.status >= 300) return showDetail(visit, detail, readRefusal(answer))
  const done = answer.isReplay ? 'once' : act.done
  return seeOther(`/console/m/${visit.merchant.merchantId}${detail.path}/${id}?done=${done}`)
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
        ...(act.uploadBytesMax === undefined ? {} : { uploadBytesMax: act.uploadBytesMax }),
        show: (visit: MerchantVisit) => doDetailAlone(visit, detail, act),
      }) as const,
  ),
])
