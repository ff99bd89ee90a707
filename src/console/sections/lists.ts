/** Shows any list of the table beside this file: filters in the address, rows, the way on, and the export. */
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  readAnswer,
  readRefusal,
} from '#console/context.ts'
import { consoleHeaders, renderInside } from '#console/layout.ts'
import { type ListSection, listSections } from '#console/sections/list-sections.ts'
import { renderCurl, renderFilters, renderTable } from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'

/** What the console itself puts into the address; everything else is a filter of the endpoint. */
const ownParameters = ['done']

function toQuery(visit: MerchantVisit, { usual = {} }: ListSection): URLSearchParams {
  const given = Object.entries(visit.request.query).filter(
    ([name, value]) => value !== '' && !ownParameters.includes(name),
  )
  return new URLSearchParams({ ...usual, ...Object.fromEntries(given) })
}

/** Lists call their rows by different names. */
export function rowsOf(body: Json): readonly Json[] {
  const rows = Array.isArray(body) ? body : Object.values(body).find(Array.isArray)
  return (rows ?? []) as Json[]
}

/** The way on: lists go by a cursor or count their pages. */
function renderPager(body: Json, query: URLSearchParams): Part {
  const to = (name: string, value: string, title: string, rel: 'prev' | 'next'): Part => {
    const other = new URLSearchParams(query)
    other.set(name, value)
    return html`<a rel="${rel}" href="?${other.toString()}">${title}</a> `
  }
  if (typeof body.nextCursor === 'string')
    return html`<p class="pager">${to('cursor', body.nextCursor, 'Next page', 'next')}</p>`
  const [page, pages] = [Number(body.page), Number(body.totalNumberOfPages)]
  if (!(pages > 1)) return ''
  return html`<p class="pager">Page ${page} of ${pages} ${page > 1 && to('page', String(page - 1), 'Previous page', 'prev')}${
    page < pages && to('page', String(page + 1), 'Next page', 'next')
  }</p>`
}

async function showList(visit: MerchantVisit, section: ListSection) {
  const { title, endpoint, filters, columns, empty, exports, head } = section
  const { merchant, request, deps } = visit
  const base = `/console/m/${merchant.merchantId}`
  const query = toQuery(visit, section)
  const asked = query.size === 0 ? endpoint : `${endpoint}?${query.toString()}`
  const answer = await visit.api({ verb: 'GET', path: asked })
  const body = readAnswer(answer)
  const main = html`${head?.(visit)}${filters.length > 0 && renderFilters(filters, request.query)}${
    body
      ? renderTable(rowsOf(body), columns(base), empty, title)
      : html`<p class="note bad" role="alert">${readRefusal(answer)}</p>`
  }${body && renderPager(body, query)}${
    exports &&
    html`<p><a href="${base}${section.path}.${exports}?${query.toString()}" download>Export as ${exports.toUpperCase()}</a></p>`
  }${renderCurl('GET', `${deps.origin()}/api/v2${asked}`)}`
  return renderInside(loadConsoleAssets(), visit, {
    title,
    main,
    merchant,
    status: body ? 200 : answer.status,
  })
}

const exportTypes = { csv: 'text/csv', json: 'application/json' } as const

/** The answer of the API itself, byte by byte. */
async function exportList(visit: MerchantVisit, section: ListSection, type: keyof typeof exportTypes) {
  const query = toQuery(visit, section)
  // A file holds the whole range.
  if (type === 'csv') for (const name of ['limit', 'cursor']) query.delete(name)
  const { status, text: content } = await visit.api({
    verb: 'GET',
    path: `${section.endpoint}?${query.toString()}`,
    accept: exportTypes[type],
  })
  const disposition = `attachment; filename="${section.path.slice(1)}.${type}"`
  return {
    status,
    contentType: `${status === 200 ? exportTypes[type] : 'application/json'}; charset=utf-8`,
    body: content,
    headers: { ...consoleHeaders, 'content-disposition': disposition },
  }
}

function pagesOf(section: ListSection): readonly MerchantPage[] {
  const { path, exports } = section
  const list = {
    verb: 'GET',
    path,
    act: 'read',
    show: visit => showList(visit, section),
  } satisfies MerchantPage
  if (exports === undefined) return [list]
  const show = (visit: MerchantVisit) => exportList(visit, section, exports)
  return [list, { verb: 'GET', path: `${path}.${exports}`, act: 'read', show }]
}

export const listPages: readonly MerchantPage[] = listSections.flatMap(pagesOf)
