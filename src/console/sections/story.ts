/**
 * The history of a payment as one timeline: operations, notices, disputes, events with their attempts, and people's
 * actions.
 */
import { isJson, type Json, type MerchantVisit, readAnswer, toRows } from '#console/context.ts'
import { attemptColumns } from '#console/sections/detail-sections.ts'
import { rowsOf } from '#console/sections/lists.ts'
import { renderProse, renderTable, showMoney, showState, showTime } from '#console/views/parts.ts'
import { adviceMeanings, describe, success } from '#domain/response-codes.ts'
import { type Html, html, type Part } from '#http/html.ts'

interface Moment {
  readonly at: string
  readonly title: Part
  readonly detail: Part
}

const baseOf = ({ merchant }: MerchantVisit): string => `/console/m/${merchant.merchantId}`

/** The meaning of the code, with the advice unless no action is needed. */
function explain(code: string): Part {
  const { description, advice } = describe(code)
  return html`<p>${code} ${description}</p>${code !== success && html`<p class="quiet">What to do: ${renderProse(adviceMeanings[advice])}</p>`}`
}

const momentsOfOperations = (operations: readonly Json[]): readonly Moment[] =>
  operations.map(operation => ({
    at: String(operation.creationDate ?? ''),
    title: html`${String(operation.type)} ${showState(operation.status)} ${showMoney(operation.amount)}`,
    detail: html`${explain(String(operation.responseCode ?? ''))}<p class="quiet">xId <code>${String(operation.xId ?? '')}</code></p>${
      operation.providerTransactionId !== undefined &&
      html`<p class="quiet">provider <code>${String(operation.providerTransactionId)}</code></p>`
    }`,
  }))

async function momentsOfNotices(
  visit: MerchantVisit,
  operations: readonly Json[],
): Promise<readonly Moment[]> {
  const references = operations
    .flatMap(({ xId, providerTransactionId }) => [xId, providerTransactionId])
    .filter(reference => typeof reference === 'string')
  const notices = await visit.deps.story.notices(visit.merchant.merchantId, references)
  return notices.map(({ receivedAt, kind, state, account, detail }) => ({
    at: receivedAt.toISOString(),
    title: html`Notice ${kind} ${showState(state)}`,
    detail: html`<p>from ${account}</p>${detail !== null && html`<p class="quiet">${detail}</p>`}`,
  }))
}

/** What a list holds, and whether all of it could be read: lists of a busy merchant are refused at times. */
interface Listed {
  readonly rows: readonly Json[]
  readonly isWhole: boolean
}

async function listDisputes(visit: MerchantVisit, payId: string): Promise<Listed> {
  const path = `/disputes?payId=${payId}&limit=100`
  const body = readAnswer(await visit.api({ verb: 'GET', path }))
  return { rows: rowsOf(body ?? {}), isWhole: body !== undefined }
}

const momentsOfDisputes = (visit: MerchantVisit, disputes: readonly Json[]): readonly Moment[] =>
  disputes.flatMap(dispute =>
    toRows(dispute.events).map(event => ({
      at: String(event.at),
      title: html`Dispute ${String(event.type)} ${showState(event.status)} ${showMoney(dispute.amount)}`,
      detail: html`<a href="${baseOf(visit)}/disputes/${String(dispute.disputeId)}">${String(dispute.stage)}, ${String(dispute.reasonGroup)}</a>`,
    })),
  )

/** 25 pages, 500 events: a payment with many partial captures has more events than one page of the API lists. */
const eventPagesMax = 25

async function listEvents(visit: MerchantVisit, payId: string): Promise<Listed> {
  const found: Json[] = []
  for (let page = 1, pages = 1; page <= Math.min(pages, eventPagesMax); page += 1) {
    const path = `/events?payId=${payId}&page=${page}`
    const body = readAnswer(await visit.api({ verb: 'GET', path }))
    if (!body) return { rows: found, isWhole: false }
    found.push(...rowsOf(body))
    pages = Number(body.totalNumberOfPages ?? 1)
  }
  return { rows: found, isWhole: true }
}

const momentsOfEvents = (visit: MerchantVisit, events: readonly Json[]): readonly Moment[] =>
  events.map(event => {
    const attempts = toRows(event.attempts)
    return {
      at: String(event.creationDate ?? ''),
      title: html`Event ${String(event.type ?? '')} ${showState(event.status)}`,
      detail: html`<details><summary>${attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}</summary>${renderTable(attempts, attemptColumns, 'Not tried yet.', `Attempts of event ${String(event.sequence)}`)}</details><a href="${baseOf(visit)}/events/${String(event.id)}">Body and replay</a>`,
    }
  })

/** 100: more than people do to one payment. */
const actsMax = 100

/** Actions of people on the payment itself, its disputes and its events. */
async function momentsOfActs(visit: MerchantVisit, objects: readonly string[]): Promise<readonly Moment[]> {
  const rows = await visit.deps.auditStore.list({ objects, limit: actsMax })
  return rows.map(({ at, actor, act, after }) => {
    const { amount: value, currency, status, testClock, page } = isJson(after) ? after : {}
    return {
      at: typeof testClock === 'string' ? testClock : at.toISOString(),
      title: html`${act} ${showMoney({ value, currency })}${status !== undefined && html` ${showState(status)}`}`,
      detail: html`<p>by ${actor}</p>${page !== undefined && html`<p class="quiet">${String(page)}</p>`}`,
    }
  })
}

export async function renderStory(visit: MerchantVisit, payment: Json): Promise<Html> {
  const payId = String(payment.payId)
  const operations = toRows(payment.operations)
  const [disputes, events] = await Promise.all([listDisputes(visit, payId), listEvents(visit, payId)])
  const objects = [
    payId,
    ...disputes.rows.map(({ disputeId }) => disputeId),
    ...events.rows.map(({ id }) => id),
  ]
  const sources = await Promise.all([
    momentsOfOperations(operations),
    momentsOfNotices(visit, operations),
    momentsOfDisputes(visit, disputes.rows),
    momentsOfEvents(visit, events.rows),
    momentsOfActs(visit, objects.map(String)),
  ])
  const moments = sources.flat().toSorted((a, b) => a.at.localeCompare(b.at))
  const missing = [disputes.isWhole ? '' : 'disputes', events.isWhole ? '' : 'events'].filter(Boolean)
  return html`${
    missing.length > 0 &&
    html`<p class="note warn" role="status">The ${missing.join(' and ')} could not be read at the moment, so some may be missing here. Load this page again.</p>`
  }<ol class="timeline">${moments.map(
    ({ at, title, detail }) => html`<li>${showTime(at)}<div><h3>${title}</h3>${detail}</div></li>`,
  )}</ol>`
}
