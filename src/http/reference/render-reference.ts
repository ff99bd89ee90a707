/**
 * The API reference as one page, rendered once from the OpenAPI document. It is readable without script and makes no
 * request to another origin: style and script are separate files, so that the strictest content security policy
 * applies.
 */
import { readFileSync } from 'node:fs'
import { type Html, html } from '#http/html.ts'
import type { OpenApiDocument } from '#http/reference/document.ts'
import { chooseShared, listSent, objectAnchor, renderFields } from '#http/reference/fields.ts'
import { chapters, renderChapter } from '#http/reference/guide.ts'
import { exampleCredentials } from '#http/reference/openapi.ts'
import {
  type ListedOperation,
  listOperations,
  type OperationView,
  renderAnchor,
  renderOperation,
  renderVerb,
} from '#http/reference/operation.ts'
import { renderInline, renderProse } from '#http/reference/prose.ts'
import { finishInSteps, mapInSteps, type Steps } from '#http/reference/steps.ts'
import type { Page } from '#http/server/send.ts'

export interface ReferencePage {
  readonly html: string
  readonly css: string
  readonly js: string
}

const readBeside = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

/** In this order, because later styles refine earlier ones. */
const styles = ['base', 'navigation', 'content', 'fields', 'media']

const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0a6b5d"/>' +
      '<path d="M4 12V4M4 5.5l8.5 3" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>',
  )

export function* renderReference(document: OpenApiDocument): Steps<ReferencePage> {
  const view: OperationView = {
    document,
    schemas: document.components.schemas,
    shared: chooseShared(document),
    present: 'required',
    credentials: exampleCredentials,
  }
  return {
    html: (yield* renderPage(view)).text,
    css: styles.map(name => readBeside(`./style/${name}.css`)).join('\n'),
    js: readBeside('./script.js'),
  }
}

interface TagGroup {
  readonly name: string
  readonly description: string
  readonly anchor: string
  readonly operations: readonly ListedOperation[]
}

function groupByTag(document: OpenApiDocument): TagGroup[] {
  const operations = listOperations(document)
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    anchor: `tag-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }))
}

function* renderPage(view: OperationView): Steps<Html> {
  const { info } = view.document
  const groups = groupByTag(view.document)
  const guide = yield* mapInSteps(chapters, chapter => renderChapter(chapter, view))
  const operations: Html[] = []
  for (const group of groups) operations.push(yield* renderGroup(group, view))
  const objects = yield* renderObjects(view)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} reference</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/docs/reference.css">
<script src="/docs/reference.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><a class="brand" href="#top">${info.title}</a><a class="menu" href="#navigation">Menu</a></header>
${renderNavigation(groups, view)}
<main id="content" tabindex="-1">
<header class="hero" id="top">
<h1>${info.title}</h1>
<div class="prose">${renderProse(info.description)}</div>
<dl class="facts"><div><dt>Base URL</dt><dd><code data-copy>${view.document.servers[0]?.url}</code></dd></div><div><dt>Version</dt><dd>${info.version}</dd></div><div><dt>For machines</dt><dd><a href="/openapi.json">OpenAPI 3.1</a></dd></div></dl>
</header>
${guide}
${operations}
${objects}
</main>
</body>
</html>
`
}

function renderNavigation(groups: readonly TagGroup[], view: OperationView): Html {
  return html`<nav id="navigation" aria-label="Reference">
<div class="top"><a class="brand" href="#top">${view.document.info.title}</a><a class="close" href="#content">Close</a></div>
<search hidden><label for="filter">Filter</label><input id="filter" type="search" placeholder="Name, path or field" autocomplete="off" spellcheck="false" aria-describedby="found"><kbd aria-hidden="true">/</kbd><p id="found" role="status"></p></search>
<div class="group"><h2>Guide</h2><ul>${chapters.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></div>
${groups.map(
  ({ name, anchor, operations }) =>
    html`<div class="group"><h2><a href="#${anchor}">${name}</a></h2><ul>${operations.map(
      ({ verb, operation }) =>
        html`<li><a href="#${operation.operationId}"><span>${operation.summary}</span>${renderVerb(verb)}</a></li>`,
    )}</ul></div>`,
)}
${
  view.shared.size > 0 &&
  html`<div class="group"><h2><a href="#objects">Objects</a></h2><ul>${[...view.shared].map(
    name => html`<li><a href="#${objectAnchor(name)}">${name}</a></li>`,
  )}</ul></div>`
}
</nav>`
}

function* renderGroup({ name, description, anchor, operations }: TagGroup, view: OperationView): Steps<Html> {
  const rendered = yield* mapInSteps(operations, operation => renderOperation(operation, view))
  return html`
<section class="tag" id="${anchor}"><h2>${name}${renderAnchor(anchor)}</h2><div class="prose">${renderProse(description)}</div></section>
${rendered}`
}

/**
 * Objects that several operations share are described once; the script copies them to the places where they are opened.
 */
function* renderObjects(view: OperationView): Steps<Html | undefined> {
  if (view.shared.size === 0) return undefined
  const sent = listSent(view.document)
  yield
  const objects = yield* mapInSteps(view.shared, name => renderObject(name, sent, view))
  return html`
<section class="tag" id="objects"><h2>Objects${renderAnchor('objects')}</h2><div class="prose"><p>Shapes that several operations send or answer with.</p></div></section>
${objects}`
}

function renderObject(name: string, sent: ReadonlySet<string>, view: OperationView): Html {
  const schema = view.schemas[name] ?? {}
  const anchor = objectAnchor(name)
  return html`<section class="object" id="${anchor}"><h3>${name}${renderAnchor(anchor)}</h3>${
    schema.description && html`<div class="prose"><p>${renderInline(schema.description)}</p></div>`
  }${renderFields(schema, { ...view, present: sent.has(name) ? 'required' : 'always' }, anchor)}</section>`
}

/** Allows only the page's own style and script, so that it cannot make any other request. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * The OpenAPI document and the reference page as the server serves them. Rendered on the first request, in steps,
 * because both take a tenth of a second or more and can be requested without credentials.
 */
export function referencePages(describe: () => Steps<OpenApiDocument>): Record<string, () => Promise<Page>> {
  const describeOnce = makeOnce(() => finishInSteps(describe()))
  const reference = makeOnce(async () => finishInSteps(renderReference(await describeOnce())))
  return {
    '/openapi.json': async () => ({
      contentType: 'application/json',
      body: JSON.stringify(await describeOnce()),
    }),
    '/docs': async () => ({
      contentType: 'text/html; charset=utf-8',
      body: (await reference()).html,
      headers: { 'content-security-policy': contentSecurityPolicy },
    }),
    '/docs/reference.css': async () => ({
      contentType: 'text/css; charset=utf-8',
      body: (await reference()).css,
    }),
    '/docs/reference.js': async () => ({
      contentType: 'text/javascript; charset=utf-8',
      body: (await reference()).js,
    }),
  }
}

/** Concurrent requests share one result. */
function makeOnce<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined
  return () => {
    made ??= make()
    return made
  }
}
