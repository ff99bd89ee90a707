/** The chapters before the operations: getting started, authentication, errors, safe retries and limits. */

import { type Html, html } from '#http/html.ts'
import { renderCurl, variables } from '#http/reference/curl.ts'
import { listOperations, type OperationView, renderAnchor, renderStatus } from '#http/reference/operation.ts'

export interface Chapter {
  readonly id: string
  readonly title: string
  readonly render: (view: OperationView) => Html
}

export const chapters: readonly Chapter[] = [
  { id: 'getting-started', title: 'Getting started', render: renderStart },
  { id: 'authentication', title: 'Authentication', render: renderAuthentication },
  { id: 'errors', title: 'Errors', render: renderErrors },
  { id: 'idempotency', title: 'Idempotency', render: renderIdempotency },
  { id: 'rate-limits', title: 'Rate limits', render: renderRateLimits },
  { id: 'versioning', title: 'Versioning', render: renderVersioning },
]

export const renderChapter = ({ id, title, render }: Chapter, view: OperationView): Html =>
  html`<section class="chapter prose" id="${id}"><h2>${title}${renderAnchor(id)}</h2>${render(view)}</section>`

const codeBlock = (code: Html): Html => html`<pre data-copy tabindex="0"><code>${code}</code></pre>`

/**
 * The first request for readers to try: the first operation in the table that needs credentials and creates something.
 */
function renderFirstRequest(view: OperationView): Html | undefined {
  const first = listOperations(view.document).find(
    ({ verb, operation }) =>
      verb === 'POST' && operation.security.length > 0 && !operation['x-examples'][0]?.after,
  )
  const pair = first?.operation['x-examples'][0]
  if (first === undefined || pair === undefined) return undefined
  const { operation, verb } = first
  return html`<p>Then send your first request, <a href="#${operation.operationId}">${operation.summary}</a>:</p>
${codeBlock(renderCurl({ verb, operation, pair, credentials: view.credentials }))}`
}

function renderStart(view: OperationView): Html {
  const url = view.document.servers[0]?.url ?? ''
  return html`
<p>The examples on this page run as you paste them into a shell. They read three variables; the gateway prints the values of a demo merchant when it starts.</p>
${codeBlock(html`export ${variables.api}='${url}'
export ${variables.merchantId}='<span class="s">your merchant id</span>'
export ${variables.apiKey}='<span class="s">your API key</span>'`)}
${renderFirstRequest(view)}
<ul>
<li><strong>JSON in, JSON out.</strong> Only the token endpoint takes a form. Text is UTF-8.</li>
<li><strong>Nothing is guessed.</strong> A field the operation does not know, or a number sent as text, is refused with ${renderStatus('400')}; the answer names the field.</li>
<li><strong>Amounts are whole numbers</strong> in the smallest unit of their currency: <code>1999</code> with <code>EUR</code> is 19.99 euro, with <code>JPY</code> 1,999 yen.</li>
<li><strong>Test and live are separate worlds</strong>, each with its own address, credentials and data. Nothing done in test moves money.</li>
<li><strong>Sizes:</strong> a body holds at most 1 MiB and nests at most 20 levels deep.</li>
</ul>
<p>The same description for machines: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>`
}

function renderAuthentication(): Html {
  return html`
<p>A merchant has an id and one or more API keys. A key is shown once, when it is made; several may live side by side, so that you can change them without a gap. There are three ways to present it:</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Scheme</th><th scope="col">Header</th><th scope="col">Accepted</th></tr></thead>
<tbody>
<tr><td>Basic</td><td><code>Authorization: Basic base64(merchant id:API key)</code></td><td>everywhere</td></tr>
<tr><td>Bearer</td><td><code>Authorization: Bearer access token</code></td><td>everywhere</td></tr>
<tr><td>API key</td><td><code>X-API-Key: API key</code></td><td>customer endpoints only</td></tr>
</tbody></table></div>
<p>An access token comes from <code>POST /authorization/oauth/token</code> and lives 3,600 seconds (grant <code>client_credentials</code>). The grant <code>payment_intents</code> gives a token of 900 seconds that opens one payment intent and nothing else, so that it may be handed to an app. A token of one environment is worthless in the other.</p>
<ul>
<li>${renderStatus('401')} credentials are missing, malformed, wrong or expired. <code>WWW-Authenticate</code> lists the schemes.</li>
<li>${renderStatus('403')} the credentials are right, but do not reach this far.</li>
<li>${renderStatus('404')} the object belongs to another merchant. The answer is the same as for an id that never existed.</li>
</ul>`
}

const errorRows: readonly {
  readonly statuses: readonly string[]
  readonly body: Html
  readonly meaning: string
}[] = [
  {
    statuses: ['400'],
    body: html`<code>field</code>, <code>error</code>`,
    meaning:
      'On operations that create or advance a payment: the path of the first wrong field, and what is allowed.',
  },
  {
    statuses: ['400'],
    body: html`problem details with <code>errors</code>`,
    meaning: 'On reversals, refunds, customers, lists and services: every wrong path with its messages.',
  },
  {
    statuses: ['401', '403', '404', '405', '409', '413', '415', '429', '503'],
    body: html`problem details`,
    meaning:
      'The request did not get as far as the operation. 405 carries Allow, 429 and 503 carry Retry-After.',
  },
  {
    statuses: ['422'],
    body: html`the result, with <code>status</code> <code>FAILED</code>`,
    meaning:
      'Understood, but declined or against a rule. responseCode says why; services answer with problem details.',
  },
  {
    statuses: ['500'],
    body: html`<code>responseCode</code>, <code>responseDescription</code>`,
    meaning:
      'Our fault. Customer endpoints answer with problem details. Repeat with the same Idempotency-Key.',
  },
]

function renderErrors(): Html {
  return html`
<p>The status tells what kind of no it is; the body tells which. Problem details are <code>application/problem+json</code> with <code>type</code>, <code>title</code>, <code>status</code>, <code>traceId</code> and, where they help, <code>detail</code> and <code>errors</code>.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Status</th><th scope="col">Body</th><th scope="col">Meaning</th></tr></thead>
<tbody>${errorRows.map(
    ({ statuses, body, meaning }) =>
      html`<tr><td>${statuses.map(status => html`${renderStatus(status)} `)}</td><td>${body}</td><td>${meaning}</td></tr>`,
  )}</tbody></table></div>
<p>A field path is dotted, with indexes in brackets: <code>amount.value</code>, <code>order.items[0].quantity</code>; <code>body</code> stands for JSON that cannot be read. The token endpoint speaks OAuth: <code>error</code>, and on ${renderStatus('401')} also <code>error_description</code> and <code>error_uri</code>.</p>
<p>Every answer has a <code>traceparent</code> header. Its trace id is the <code>traceId</code> of problem details and stands in the gateway's logs: quote it when you ask for help.</p>
<p><strong>A missing answer is not a no.</strong> If the provider's answer is lost, the result is <code>PENDING</code>, never <code>FAILED</code>, until the gateway has asked the provider. If our answer to you is lost, repeat the request with its key.</p>`
}

function renderIdempotency(): Html {
  return html`
<p>Networks fail between the request and the answer. Send <code>Idempotency-Key</code> with a value of your own (1 to 255 visible ASCII characters; a UUID serves well) on any POST or PATCH but the token request, keep it with your order, and repeat the request as often as you need: it is done at most once.</p>
<ul>
<li><strong>Same key, same body:</strong> the first answer again, status and body alike, with <code>Idempotent-Replayed: true</code>. Order of keys and white space do not matter.</li>
<li><strong>Same key, other body:</strong> ${renderStatus('422')} with <code>responseCode</code> <code>20170002</code>; nothing of the first call is shown.</li>
<li><strong>Still running:</strong> the gateway waits up to 5 seconds, then answers ${renderStatus('409')}; ask again.</li>
<li><strong>Kept 30 days:</strong> the outcomes 200, 201 and 422. Other answers do not use the key up.</li>
<li><strong>Belongs to</strong> the merchant, the verb and the path; a renewed access token finds it again.</li>
</ul>
<p>The key is stored in the same commit as the operation. After a crash it still points to that operation, which is settled and never run again.</p>`
}

function renderRateLimits(): Html {
  return html`
<p>A merchant may send 1,000 requests a second unless its operator has set another limit. Failed logins and failed token requests are limited to 10 a minute for one pair of client and address; successful ones never count.</p>
<p>Answers carry <code>RateLimit</code> (what is left, and when all of it is back) and <code>RateLimit-Policy</code> (the limit), so that you see the edge before you reach it. Beyond it the answer is ${renderStatus('429')} with problem details and <code>Retry-After</code> in seconds. Nothing was done: wait that long and send the same request again.</p>`
}

function renderVersioning(view: OperationView): Html {
  return html`
<p>The path prefix <code>/api/v2</code> is the only selector. The header <code>X-Api-Version: ${view.document.info.version}</code> on every answer tells which edition answered; each operation below shows its own version number too.</p>
<p>Within a major version answers may gain fields and lists may gain values, so ignore what you do not know. A breaking change means a new prefix; the old one then carries <code>Deprecation</code>, <code>Sunset</code> and <code>Link: rel="deprecation"</code> for at least 12 months.</p>`
}
