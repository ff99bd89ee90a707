/** The small pieces that the console's pages are made of: tables, amounts, times, states, forms. */
import { randomBytes } from 'node:crypto'
import { isJson, type Json } from '#console/context.ts'
import { type Html, html, type Part } from '#http/html.ts'
import { formatMoney } from '#pages/money-text.ts'

/** A column of a table whose rows are typed. */
export interface TypedColumn<Row> {
  readonly title: string
  readonly show: (row: Row) => Part
  readonly numeric?: true
  /** Texts of merchants and customers, of any length: cut in the table, complete in the tooltip. */
  readonly clip?: true
}

/** A column of a table whose rows come from an endpoint. */
export type Column = TypedColumn<Json>

export const pick = (row: Json, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isJson(value) ? value[name] : undefined), row)

export const text =
  (path: string) =>
  (row: Json): Part => {
    const value = pick(row, path)
    return value === undefined || value === null ? '' : String(value)
  }

export const money =
  (path: string) =>
  (row: Json): Part =>
    showMoney(pick(row, path))

export interface Money {
  readonly value: number
  readonly currency: string
}

export const isMoney = (amount: unknown): amount is Money =>
  isJson(amount) && typeof amount.value === 'number' && typeof amount.currency === 'string'

export const showMoney = (amount: unknown): Part =>
  isMoney(amount) ? html`<span class="money">${formatMoney(amount, 'en')}</span>` : ''

export const time =
  (path: string) =>
  (row: Json): Part =>
    showTime(pick(row, path))

export function showTime(value: unknown): Part {
  if (value === undefined || value === null) return ''
  const iso = value instanceof Date ? value.toISOString() : String(value)
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 16).replace('T', ' ')}</time>`
}

/** A typed word may be the name of an inherited member, such as constructor. */
const lookUp = (table: Readonly<Record<string, string>>, word: string, otherwise = word): string =>
  Object.hasOwn(table, word) ? (table[word] ?? otherwise) : otherwise

const tones: Readonly<Record<string, string>> = {
  OK: 'good',
  DELIVERED: 'good',
  ACTIVE: 'good',
  WON: 'good',
  COMPLETED: 'good',
  AUTHORIZED: 'good',
  FAILED: 'bad',
  LOST: 'bad',
  SUSPENDED: 'bad',
  EXPIRED: 'bad',
  PENDING: 'warn',
  OPEN: 'warn',
  AUTHORIZE_REQUEST: 'warn',
  CAPTURE_REQUEST: 'warn',
}

export const state =
  (path: string) =>
  (row: Json): Part =>
    showState(pick(row, path))

export const showState = (value: unknown): Part =>
  value === undefined
    ? ''
    : html`<span class="badge ${lookUp(tones, String(value), 'quiet')}">${String(value)}</span>`

const clipText = (part: Part): Part =>
  typeof part === 'string' && part !== '' ? html`<span class="clip" title="${part}">${part}</span>` : part

/** The name distinguishes a page's tables for screen readers. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly TypedColumn<Row>[],
  empty: Part,
  name = 'Table',
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  const cells = (row: Row) =>
    columns.map(
      ({ show, numeric, title, clip }) =>
        html`<td${numeric ? html` class="number"` : ''} data-title="${title}">${clip ? clipText(show(row)) : show(row)}</td>`,
    )
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table><thead><tr>${columns.map(
    ({ title, numeric }) => html`<th scope="col"${numeric ? html` class="number"` : ''}>${title}</th>`,
  )}</tr></thead><tbody>${rows.map(row => html`<tr>${cells(row)}</tr>`)}</tbody></table></div>`
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'date' | 'datetime-local' | 'number' | 'password' | 'email' | 'search' | 'file'
  readonly value?: string | undefined
  readonly choices?: readonly string[]
  /** The labels of the choices. */
  readonly names?: Readonly<Record<string, string>>
  readonly hint?: string
  readonly required?: true
  /** Several lines. */
  readonly long?: true
  /** For addresses and other long texts. */
  readonly wide?: true
  readonly autocomplete?: string
  /** For file fields: the types that a browser offers, separated by commas. */
  readonly accept?: string
  /** For filters: converts what people type to the endpoint's format. */
  readonly read?: (typed: string, others: Readonly<Record<string, string>>) => string
}

export function renderField({
  name,
  label,
  type = 'text',
  value = '',
  choices,
  hint,
  required,
  long,
  wide,
  autocomplete,
  names = {},
  accept,
}: Field): Html {
  const described = hint && html` aria-describedby="hint-${name}"`
  const must = required ? html` required` : ''
  const control = choices
    ? html`<select id="f-${name}" name="${name}"${described}>${withValue(choices, value).map(
        choice =>
          html`<option value="${choice}"${choice === value ? html` selected` : ''}>${choice === '' ? 'any' : lookUp(names, choice)}</option>`,
      )}</select>`
    : long
      ? html`<textarea id="f-${name}" name="${name}" rows="4" cols="60"${must}${described}>${value}</textarea>`
      : type === 'file'
        ? html`<input id="f-${name}" name="${name}" type="file" multiple${must}${accept && html` accept="${accept}"`}${described}>`
        : html`<input id="f-${name}" name="${name}" type="${type}" value="${value}"${stepOf(type, value)}${must}${
            autocomplete && html` autocomplete="${autocomplete}"`
          }${described}>`
  return html`<div class="field${(wide || long) && ' wide'}"><label for="f-${name}">${label}</label>${control}${
    hint && html`<small id="hint-${name}">${hint}</small>`
  }</div>`
}

/** A value in the address that is not a choice, such as a comma list, is kept. */
const withValue = (choices: readonly string[], value: string): readonly string[] =>
  value === '' || choices.includes(value) ? choices : [...choices, value]

export interface Form {
  readonly action: string
  readonly csrf: string
  readonly fields?: readonly Field[]
  readonly hidden?: Readonly<Record<string, string>>
  readonly button: string
  readonly tone?: 'plain' | 'danger'
  /** One field below the other, for long forms. */
  readonly stacked?: true
}

const sendsFiles = (fields: readonly Field[]): boolean => fields.some(({ type }) => type === 'file')

/** A value unique to a form: submitted twice, the form takes effect once. */
export const newOnce = (): string => randomBytes(12).toString('base64url')

export const renderForm = ({ action, csrf, fields = [], hidden = {}, button, tone, stacked }: Form): Html =>
  html`<form method="post" action="${action}" class="act${stacked ? ' stacked' : fields.length > 2 && ' many'}"${sendsFiles(fields) && html` enctype="multipart/form-data"`}><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="once" value="${newOnce()}">${Object.entries(
    hidden,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${fields.map(renderField)}<button${tone ? html` class="${tone}"` : ''}>${button}</button></form>`

export const renderProblem = (problem: string | undefined): Part =>
  problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`

/** Names the unreachable cells, which are missing from a page about all merchants. */
export const renderAway = (cells: readonly string[]): Part =>
  cells.length > 0 &&
  html`<p class="note warn" role="status">${cells.join(', ')} cannot be reached at the moment: merchants and payments there are missing here.</p>`

/**
 * A browser's field for a date and time has no zone. Ours are labelled UTC, so a time of another zone is converted: the digits of
 * the other zone would be searched as UTC when the form is sent again. Seconds are shown where there are any.
 */
function toFieldTime(value: string): string {
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/i.test(value)
  const ms = hasZone ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? value : new Date(ms).toISOString().replace(/(?:\.000|:00\.000)?Z$/, '')
}

const shownValue = ({ type }: Field, value: string): string =>
  type === 'datetime-local' ? toFieldTime(value) : value

/** Browsers count in steps of a minute, and refuse to send other times, unless told otherwise. */
const stepOf = (type: Field['type'], value: string): Part =>
  type === 'datetime-local' && value.length > 'YYYY-MM-DDThh:mm'.length && html` step="any"`

/** Filters as a form that ends in the address, so that a list can be sent to a colleague. */
export function renderFilters(
  fields: readonly Field[],
  query: Readonly<Record<string, string>>,
  shownElsewhere?: string,
): Html {
  const isUsed = fields.some(({ name }) => name !== shownElsewhere && query[name])
  return html`<details class="filters"${isUsed ? html` open` : ''}><summary>Filters</summary><form>${fields.map(
    field => renderField({ ...field, value: shownValue(field, query[field.name] ?? '') }),
  )}<p class="send"><button>Show</button> <a href="?">Clear</a></p></form></details>`
}

export const renderPairs = (pairs: readonly (readonly [title: string, value: Part])[]): Html =>
  html`<dl class="pairs">${pairs
    .filter(([, value]) => value !== '' && value !== undefined && value !== false)
    .map(([title, value]) => html`<div><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>`

/** A sentence of ours with `names` in it. */
export const renderProse = (sentence: string): Html =>
  html`${sentence.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`

/**
 * The request that a form makes, to be pasted into a terminal. With the key of the form, the two together take effect
 * once.
 */
export const renderCurl = (verb: string, url: string, body?: unknown, key?: string): Html =>
  renderCommand(
    'Send as curl',
    [
      `curl -u "$TOLLGATE_MERCHANT:$TOLLGATE_KEY" -X ${verb}`,
      ...(key === undefined ? [] : [`-H ${quote(`Idempotency-Key: ${key}`)}`]),
      ...(body === undefined
        ? []
        : [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`]),
      quote(url),
    ].join(' '),
  )

/** The equivalent command, for actions that the API does not have. Texts in it that somebody chose must be quoted. */
export const renderTerminal = (...commands: readonly string[]): Html =>
  renderCommand(
    'On the command line',
    commands.map(words => `npm run --silent tollgate -- ${words}`).join('\n'),
  )

const renderCommand = (title: string, command: string): Html =>
  html`<details class="curl"><summary>${title}</summary><pre tabindex="0"><code data-copy>${command}</code></pre></details>`

/**
 * A text in a command, quoted where a shell would read more into it than one word: an address of the console that somebody
 * sends to an owner could otherwise show a command of their own to be copied.
 */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : quote(text))

/** Quotes any text as one shell word. */
const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
