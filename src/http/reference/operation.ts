/** Renders one operation: its description, who may call it, examples, the request and the answers. */

import { type Html, html } from '#http/html.ts'
import { listPathVariables, renderCurl } from '#http/reference/curl.ts'
import type {
  ExamplePair,
  MediaObject,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from '#http/reference/document.ts'
import {
  type FieldView,
  objectAnchor,
  renderField,
  renderFields,
  renderPointer,
} from '#http/reference/fields.ts'
import { highlightJson, renderInline, renderProse } from '#http/reference/prose.ts'

export interface OperationView extends FieldView {
  readonly document: OpenApiDocument
  readonly credentials: { readonly merchantId: string; readonly apiKey: string }
}

export interface ListedOperation {
  readonly verb: string
  readonly path: string
  readonly operation: OperationObject
}

export function listOperations(document: OpenApiDocument): ListedOperation[] {
  return Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ verb: verb.toUpperCase(), path, operation })),
  )
}

const callers: Readonly<Record<string, string>> = {
  open: 'Anyone; the request carries no `Authorization` header',
  merchant: 'The merchant, with Basic or Bearer credentials',
  customer: 'The merchant, with Basic or Bearer credentials or with `X-API-Key`',
  intent: 'The merchant, or an app that holds the access token of this intent',
}

export const renderVerb = (verb: string): Html =>
  html`<span class="verb ${verb.toLowerCase()}">${verb}</span>`

export const renderAnchor = (id: string): Html =>
  html`<a class="anchor" href="#${id}" aria-label="Link to this place">#</a>`

export function renderOperation({ verb, path, operation }: ListedOperation, view: OperationView): Html {
  const id = operation.operationId
  const access = callers[operation['x-access']] ?? ''
  const repeatable = listParameters(operation, view).some(parameter => parameter.name === 'Idempotency-Key')
  return html`
<section class="operation" id="${id}">
<h3>${operation.summary}${renderAnchor(id)}</h3>
<div class="route">${renderVerb(verb)}<code data-copy>${path
    .split(/(\{[^}]+\})/)
    .map((piece, index) => (index % 2 === 1 ? html`<span class="v">${piece}</span>` : piece))}</code></div>
<div class="prose">${renderProse(operation.description)}</div>
<dl class="facts"><div><dt>Who may call</dt><dd>${renderInline(access)}</dd></div>${
    repeatable &&
    html`<div><dt>Safe to repeat</dt><dd>with <a href="#idempotency"><code>Idempotency-Key</code></a></dd></div>`
  }<div><dt>Version</dt><dd>${operation['x-version']}</dd></div></dl>
${operation['x-examples'].map((pair, index) => renderExample({ verb, operation, pair, open: index === 0 }, view))}
<div class="sides">
<div><h4 id="${id}-request">Request${renderAnchor(`${id}-request`)}</h4>${renderRequest(operation, view)}</div>
<div><h4 id="${id}-answers">Answers${renderAnchor(`${id}-answers`)}</h4>${renderAnswers(operation, view)}</div>
</div>
</section>`
}

interface ShownExample {
  readonly verb: string
  readonly operation: OperationObject
  readonly pair: ExamplePair
  readonly open: boolean
}

function renderExample({ verb, operation, pair, open }: ShownExample, view: OperationView): Html {
  const response = findResponse(operation, String(pair.status), view)
  const answer = firstMedia(response?.content)?.media.examples?.[pair.name]?.value
  const curl = renderCurl({ verb, operation, pair, credentials: view.credentials })
  const needed = listPathVariables(pair)
  return html`<details class="example"${open && html` open`}><summary>${renderStatus(String(pair.status))}${pair.summary}</summary>
<div class="sides"><figure><figcaption>Request</figcaption><pre data-copy tabindex="0"><code>${curl}</code></pre>${
    needed.length > 0 &&
    html`<p class="note">${needed.map(
      ({ name, field }) => html`<code>$${name}</code> is the <code>${field}</code> of an earlier answer. `,
    )}${renderOrigins(pair, view)}</p>`
  }</figure>
<figure><figcaption>Answer</figcaption><pre data-copy tabindex="0"><code>${
    answer === undefined ? '' : highlightJson(JSON.stringify(answer, null, 2))
  }</code></pre></figure></div></details>`
}

function renderOrigins(pair: ExamplePair, view: OperationView): Html | undefined {
  const origins = listOperations(view.document).filter(({ operation }) =>
    pair.after?.includes(operation.operationId),
  )
  if (origins.length === 0) return undefined
  const linked = origins.map(
    ({ operation: { operationId, summary } }, index) =>
      html`${index > 0 && ', '}<a href="#${operationId}">${summary}</a>`,
  )
  return html`First: ${linked}.`
}

const nameOf = ({ $ref }: Reference): string => $ref.slice($ref.lastIndexOf('/') + 1)

function listParameters(operation: OperationObject, view: OperationView): ParameterObject[] {
  return (operation.parameters ?? []).flatMap(parameter => {
    if (!('$ref' in parameter)) return [parameter]
    const shared = view.document.components.parameters[nameOf(parameter)]
    return shared === undefined ? [] : [shared]
  })
}

const places = { path: 'In the path', query: 'In the query', header: 'Headers' } as const

function renderRequest(operation: OperationObject, view: OperationView): Html {
  const parameters = listParameters(operation, view)
  const body = firstMedia(operation.requestBody?.content)
  if (parameters.length === 0 && body === undefined) return html`<p class="none">Nothing to send.</p>`
  const groups = (['path', 'query', 'header'] as const).map(place => {
    const own = parameters.filter(parameter => parameter.in === place)
    if (own.length === 0) return undefined
    return html`<h5>${places[place]}</h5><ul class="fields">${own.map(
      ({ name, required, schema, description }) =>
        renderField(
          { name, required, field: description === undefined ? schema : { ...schema, description } },
          view,
        ),
    )}</ul>`
  })
  return html`${groups}${
    body &&
    html`<h5>Body <i>${body.type}</i></h5>${renderFields(body.media.schema, view, operation.operationId)}`
  }`
}

function renderAnswers(operation: OperationObject, view: OperationView): Html {
  return html`<div class="answers">${Object.keys(operation.responses).map(status => {
    const response = findResponse(operation, status, view)
    if (response === undefined) return undefined
    const body = firstMedia(response.content)
    const shared = body && sharedName(body.media, view)
    return html`<details${shared && html` data-object="${objectAnchor(shared)}"`}><summary>${renderStatus(status)}<span>${renderInline(response.description)}</span></summary>${renderHeaders(response)}${
      body &&
      html`<h5>Body <i>${body.type}</i></h5>${
        shared ? renderPointer(shared) : renderFields(body.media.schema, { ...view, present: 'always' })
      }`
    }</details>`
  })}</div>`
}

function sharedName({ schema: { $ref } }: MediaObject, view: OperationView): string | undefined {
  const name = $ref === undefined ? undefined : nameOf({ $ref })
  return name !== undefined && view.shared.has(name) ? name : undefined
}

/** Headers of every answer, which the guide describes once. */
const describedInGuide = new Set(['traceparent', 'X-Api-Version'])

function renderHeaders(response: ResponseObject): Html | undefined {
  const names = Object.keys(response.headers ?? {}).filter(name => !describedInGuide.has(name))
  if (names.length === 0) return undefined
  return html`<h5>Headers</h5><p class="names">${names.map(name => html`<code>${name}</code> `)}</p>`
}

function findResponse(
  operation: OperationObject,
  status: string,
  view: OperationView,
): ResponseObject | undefined {
  const response = operation.responses[status]
  if (response === undefined || !('$ref' in response)) return response
  return view.document.components.responses[nameOf(response)]
}

function firstMedia(
  content: Readonly<Record<string, MediaObject>> | undefined,
): { readonly type: string; readonly media: MediaObject } | undefined {
  const [type, media] = Object.entries(content ?? {})[0] ?? []
  return type === undefined || media === undefined ? undefined : { type, media }
}

export const renderStatus = (status: string): Html =>
  html`<span class="status s${status.slice(0, 1)}">${status}</span>`
