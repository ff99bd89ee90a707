/** Shows any list of the table beside this file: filters in the address, rows, paging, and the export. */
import { Readable } from 'node:stream'
import { loadConsoleAssets } from '#console/assets.ts'
import {
  type Json,
  type MerchantPage,
  type MerchantVisit,
  readAnswer,
  readRefusal,
  toRows,
} from '#console/context.ts'
import { consoleHeaders, renderInside } from '#console/layout.ts'
import { type ListSection, listSections } from '#console/sections/list-sections.ts'
import { renderCurl, renderFilters, renderTable } from '#console/views/parts.ts'
import { html, type Part } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'

/** What the console itself puts into the address; everything else is a filter of the endpoint. */
const ownParameters = ['done']

/** Converts the value of a browser's date and time field for the API: the page says that it means UTC. */
function toMoment(name: string, value: string, filters: ListSection['filters']): string {
  const [, time, seconds = ':00'] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?$/.exec(value) ?? []
  const isMoment = filters.some(field => field.name === name && field.type === 'datetime-local')
  return isMoment && time !== undefined ? `${time}${seconds}Z` : value
}

/** The filters in the address as people typed them, so that the form shows the current search. */
function readFilters({ request }: MerchantVisit, { filters }: Pick<ListSection, 'filters'>): Filters {
  const typed: Filters = Object.fromEntries(
    Object.entries(request.query)
      .filter(([name]) => !ownParameters.includes(name))
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''),
  )
  const read = ([name, value]: readonly [string, string]) =>
    [name, filters.find(field => field.name === name)?.read?.(value, typed) ?? value] as const
  return Object.fromEntries(Object.entries(typed).map(read))
}

type Filters = Readonly<Record<string, string>>

function toQuery(visit: MerchantVisit, { usual = {}, filters }: ListSection): URLSearchParams {
  const given = Object.entries(readFilters(visit, { filters })).map(
    ([name, value]) => [name, toMoment(name, value, filters)] as const,
  )
  return new URLSearchParams({ ...usual, ...Object.fromEntries(given) })
}

/** Lists call their rows by different names. */
export function rowsOf(body: Json): readonly Json[] {
  return toRows(Array.isArray(body) ? body : Object.values(body).find(Array.isArray))
}

/** Paging: lists use a cursor or count their pages. */
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

/** Exports every row that matches the filters, not only those of this page. */
function exportAddress(path: string, query: URLSearchParams): string {
  const filters = new URLSearchParams(query)
  for (const name of ['limit', 'cursor']) filters.delete(name)
  return filters.size === 0 ? path : `${path}?${filters.toString()}`
}

const nothingMatches: Part = html`Nothing matches these filters. <a href="?">Show all</a>`

async function showList(visit: MerchantVisit, section: ListSection) {
  const { title, endpoint, filters, columns, empty, exports, head } = section
  const { merchant, deps } = visit
  const shown = readFilters(visit, section)
  const base = `/console/m/${merchant.merchantId}`
  const query = toQuery(visit, section)
  const asked = query.size === 0 ? endpoint : `${endpoint}?${query.toString()}`
  const quick = await section.quickRows?.(visit, query)
  const answer = quick ? undefined : await visit.api({ verb: 'GET', path: asked })
  const body = quick ?? (answer && readAnswer(answer))
  const main = html`${head?.(visit)}${filters.length > 0 && renderFilters(filters, shown, section.tabbed)}${
    body
      ? renderTable(
          rowsOf(body),
          columns(base),
          Object.keys(shown).length > 0 ? nothingMatches : empty(visit),
          title,
        )
      : answer && html`<p class="note bad" role="alert">${readRefusal(answer)}</p>`
  }${body && renderPager(body, query)}${
    exports &&
    html`<p><a href="${exportAddress(`${base}${section.path}.${exports}`, query)}" download>Export all as ${exports.toUpperCase()}</a></p>`
  }${renderCurl('GET', `${deps.origin()}/api/v2${asked}`)}`
  return renderInside(loadConsoleAssets(), visit, {
    title,
    main,
    merchant,
    status: body ? 200 : (answer?.status ?? 200),
  })
}

const exportTypes = { csv: 'text/csv', json: 'application/json' } as const

/**
 * Streams the answer of the API unchanged, byte by byte; for JSON without `limit` and `cursor` all pages as one list.
 */
async function exportList(
  visit: MerchantVisit,
  section: ListSection,
  type: keyof typeof exportTypes,
): Promise<PageAnswer> {
  const { usual: _, ...asked } = section
  const query = toQuery(visit, asked)
  const isWhole = type === 'csv' || !(query.has('limit') || query.has('cursor'))
  if (isWhole) for (const name of ['limit', 'cursor']) query.delete(name)
  const { status, stream } =
    isWhole && type === 'json'
      ? await streamPages(visit, section.endpoint, query)
      : await visit.stream({
          verb: 'GET',
          path: `${section.endpoint}?${query.toString()}`,
          accept: exportTypes[type],
        })
  const disposition = `attachment; filename="${section.path.slice(1)}.${type}"`
  return {
    status,
    contentType: `${status === 200 ? exportTypes[type] : 'application/json'}; charset=utf-8`,
    body: stream,
    headers: { ...consoleHeaders, ...(status === 200 ? { 'content-disposition': disposition } : {}) },
  }
}

/** 100: the largest page of the API. */
const exportedAtOnce = '100'

/** Page after page of the list, written as one: only the current page is in memory. */
async function streamPages(visit: MerchantVisit, endpoint: string, filters: URLSearchParams) {
  const read = (cursor: string | undefined) => {
    const query = new URLSearchParams(filters)
    query.set('limit', exportedAtOnce)
    if (cursor !== undefined) query.set('cursor', cursor)
    return visit.api({ verb: 'GET', path: `${endpoint}?${query.toString()}` })
  }
  const first = await read(undefined)
  if (first.status !== 200) return { status: first.status, stream: Readable.from([first.text]) }
  async function* pieces() {
    let page = readAnswer(first) ?? {}
    yield '{"data":['
    let isFirst = true
    for (;;) {
      const rows = rowsOf(page).map(row => JSON.stringify(row))
      if (rows.length > 0) yield `${isFirst ? '' : ','}${rows.join(',')}`
      isFirst = false
      if (typeof page.nextCursor !== 'string') break
      const answer = await read(page.nextCursor)
      const next = readAnswer(answer)
      if (!next) throw new Error(`a page of an export answered ${answer.status}`)
      page = next
    }
    yield ']}'
  }
  return { status: 200, stream: Readable.from(pieces(), { objectMode: false }) }
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
