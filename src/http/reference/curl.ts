/**
 * Writes an example as a curl command that runs as pasted, once the variables of "Getting started" are set.
 */

import { isRecord } from '#domain/json.ts'
import { type Html, html } from '#http/html.ts'
import type { ExamplePair, OperationObject } from '#http/reference/document.ts'
import { highlightJson } from '#http/reference/prose.ts'

/** The variables every command uses: base URL, merchant id, API key. */
export const variables = {
  api: 'TOLLGATE_API',
  merchantId: 'TOLLGATE_MERCHANT',
  apiKey: 'TOLLGATE_KEY',
} as const

export interface CurlOptions {
  readonly verb: string
  readonly operation: OperationObject
  readonly pair: ExamplePair
  /** Placeholders for the reader's credentials in example bodies. */
  readonly credentials: { readonly merchantId: string; readonly apiKey: string }
}

const placeholder = /\{([A-Za-z_][\w.]*)\}/g

/** payId → PAY_ID: a shell variable that the reader fills from an earlier answer. */
const toVariable = (field: string): string =>
  field
    .replace(/\.(\w)/g, '_$1')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()

const showVariable = (name: string): Html => html`<span class="v">$${name}</span>`

/** The shell variables an example's path needs, with the fields they come from. */
export const listPathVariables = (pair: ExamplePair): { readonly name: string; readonly field: string }[] =>
  [...pair.path.matchAll(placeholder)].map(([, field = '']) => ({ name: toVariable(field), field }))

function showUrl(pair: ExamplePair): Html {
  const pieces = pair.path.split(placeholder)
  const path = pieces.map((piece, index) => (index % 2 === 1 ? showVariable(toVariable(piece)) : piece))
  const query = pair.query ? `?${new URLSearchParams(pair.query)}` : ''
  return html`"${showVariable(variables.api)}${path}${query}"`
}

/** A single quote ends a shell string, so it is closed, escaped and opened again. */
const quoteShell = (text: string): string => text.replaceAll("'", `'\\''`)

function listBodyLines(media: string, body: unknown, credentials: CurlOptions['credentials']): Html[] {
  if (media === 'application/json') {
    const text = quoteShell(JSON.stringify(body, null, 2))
    return [html`-H 'Content-Type: application/json'`, html`-d '${highlightJson(text)}'`]
  }
  return Object.entries(isRecord(body) ? body : {}).map(([name, field]) => {
    const value = String(field)
    if (value === credentials.merchantId) return html`-d "${name}=${showVariable(variables.merchantId)}"`
    if (value === credentials.apiKey) return html`-d "${name}=${showVariable(variables.apiKey)}"`
    return html`--data-urlencode '${name}=${quoteShell(value)}'`
  })
}

export function renderCurl({ verb, operation, pair, credentials }: CurlOptions): Html {
  const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const body = content?.examples?.[pair.name]?.value
  const keyed = operation.parameters?.some(
    parameter => '$ref' in parameter && parameter.$ref.endsWith('Idempotency-Key'),
  )
  const impliedVerb = body === undefined ? 'GET' : 'POST'
  const lines = [
    html`curl ${verb === impliedVerb ? '' : `-X ${verb} `}${showUrl(pair)}`,
    ...(operation.security.length > 0
      ? [html`-u "${showVariable(variables.merchantId)}:${showVariable(variables.apiKey)}"`]
      : []),
    ...(keyed ? [html`-H "Idempotency-Key: $(uuidgen)"`] : []),
    ...(body === undefined || media === undefined ? [] : listBodyLines(media, body, credentials)),
  ]
  return html`${lines.map((line, index) => (index === 0 ? line : html` \\\n  ${line}`))}`
}
