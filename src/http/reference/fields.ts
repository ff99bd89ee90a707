/** Renders a schema as a list of fields with type, limits and whether they are required; nested objects unfold. */

import { type Html, html } from '#http/html.ts'
import type { OpenApiDocument, SchemaObject } from '#http/reference/document.ts'
import { renderInline } from '#http/reference/prose.ts'

export interface FieldView {
  readonly schemas: OpenApiDocument['components']['schemas']
  /** Objects with a section of their own; elsewhere a copy unfolds, or a link leads to it. */
  readonly shared: ReadonlySet<string>
  /** The label of a mandatory field: required in requests, always present in answers. */
  readonly present: 'required' | 'always'
}

/** An object with fewer fields than this is repeated wherever it is used, because following a link takes longer. */
const smallObject = 7

const schemaReference = /"#\/components\/schemas\/([^"]+)"/g

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1)

export const objectAnchor = (name: string): string => `object-${name}`

function resolve(
  schema: SchemaObject,
  view: FieldView,
): { readonly name?: string; readonly schema: SchemaObject } {
  if (schema.$ref === undefined) return { schema }
  const name = nameOf(schema.$ref)
  const { $ref: _, ...beside } = schema
  return { name, schema: { ...view.schemas[name], ...beside } }
}

/** The schema that unfolds below a field: the object itself, the items of an array, or the values of a map. */
function inside(schema: SchemaObject): SchemaObject | undefined {
  if (schema.items !== undefined) return schema.items
  if (typeof schema.additionalProperties === 'object') return schema.additionalProperties
  return schema
}

function countFields(schema: SchemaObject, view: FieldView): number {
  const resolved = resolve(schema, view).schema
  const fields = Object.values(resolved.properties ?? {})
  const hidden = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])]
  const below = inside(resolved)
  if (below !== undefined && below !== resolved) hidden.push(below)
  return [...fields, ...hidden].reduce((sum, child) => sum + countFields(child, view), fields.length)
}

/** The object has one member per method, hundreds of the same shape, so a sentence is clearer than a list. */
const isListByMethod = (schema: SchemaObject): boolean => schema['x-by-method'] === true

/** Objects that are used at least twice and are not small get a section of their own. */
export function chooseShared(document: OpenApiDocument): ReadonlySet<string> {
  const { schemas } = document.components
  const uses = new Map<string, number>()
  const text = JSON.stringify([document.paths, document.components.schemas, document.components.responses])
  for (const [, name = ''] of text.matchAll(schemaReference)) {
    uses.set(name, (uses.get(name) ?? 0) + 1)
  }
  const view: FieldView = { schemas, shared: new Set(), present: 'required' }
  return new Set(
    Object.keys(schemas).filter(
      name =>
        (uses.get(name) ?? 0) > 1 &&
        !isListByMethod(schemas[name] ?? {}) &&
        countFields(schemas[name] ?? {}, view) >= smallObject,
    ),
  )
}

/** Objects that occur in requests, directly or nested; all others occur only in answers. */
export function listSent(document: OpenApiDocument): ReadonlySet<string> {
  const { schemas } = document.components
  const sent = new Set<string>()
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(schemaReference)) {
      if (sent.has(name)) continue
      sent.add(name)
      visit(schemas[name] ?? {})
    }
  }
  for (const operations of Object.values(document.paths)) {
    for (const { requestBody, parameters } of Object.values(operations))
      visit([requestBody ?? {}, parameters ?? []])
  }
  return sent
}

export function describeType(schema: SchemaObject, view: FieldView): string {
  const { name, schema: resolved } = resolve(schema, view)
  if (resolved.items !== undefined) return `array of ${describeType(resolved.items, view)}`
  if (resolved.properties !== undefined) return name ?? 'object'
  if (typeof resolved.additionalProperties === 'object') {
    return `map of ${describeType(resolved.additionalProperties, view)}`
  }
  const options = resolved.anyOf ?? resolved.oneOf
  if (options !== undefined) return options.map(option => describeType(option, view)).join(' or ')
  const type = resolved.type ?? (resolved.const === undefined ? 'any' : typeof resolved.const)
  const types = typeof type === 'string' ? type : type.join(' or ')
  return resolved.format === undefined ? types : `${types} (${resolved.format})`
}

const showNumber = (value: number): string => value.toLocaleString('en-GB')

function showRange(low: number | undefined, high: number | undefined, unit: string): string | undefined {
  if (low !== undefined && high !== undefined) {
    return low === high
      ? `exactly ${showNumber(low)}${unit}`
      : `${showNumber(low)} to ${showNumber(high)}${unit}`
  }
  if (high !== undefined) return `at most ${showNumber(high)}${unit}`
  return low === undefined ? undefined : `at least ${showNumber(low)}${unit}`
}

function renderLimits(schema: SchemaObject): Html {
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  const limits = [
    showRange(schema.minimum, schema.maximum, ''),
    showRange(schema.minLength, schema.maxLength, ' characters'),
    showRange(schema.minItems, schema.maxItems, ' items'),
    showRange(undefined, schema.maxProperties, ' keys'),
  ].filter(limit => limit !== undefined)
  const parts = [
    values && values.length <= shownValues && html`${values.length > 1 && 'one of '}${showValues(values)}`,
    values &&
      values.length > foldedValues &&
      `one of ${showNumber(values.length)} values, all in /openapi.json`,
    ...limits,
    schema.pattern && html`matches <code>${schema.pattern}</code>`,
    schema.default !== undefined && html`default <code>${JSON.stringify(schema.default)}</code>`,
    schema['x-sensitive'] && 'kept out of logs and error texts',
  ].filter(part => part !== undefined && part !== false)
  const folded = values && values.length > shownValues && values.length <= foldedValues && values
  return html`${
    parts.length > 0 && html`<small>${parts.map((part, index) => [index > 0 && ' · ', part])}</small>`
  }${folded && html`<details><summary>One of ${folded.length} values</summary><p>${showValues(folded)}</p></details>`}`
}

/** More values than this are folded, because they would hide the fields around them. */
const shownValues = 12
/** More than this are not listed on the page. */
const foldedValues = 300

const showValues = (values: readonly unknown[]): Html[] =>
  values.map((value, index) => html`${index > 0 && ' '}<code>${String(value)}</code>`)

/**
 * The fields of an object, as compact HTML, because there are hundreds. With a path the script gives every field its
 * own address, so that readers can link to it.
 */
export function renderFields(schema: SchemaObject, view: FieldView, path?: string): Html {
  const { schema: resolved } = resolve(schema, view)
  const options = resolved.anyOf ?? resolved.oneOf
  if (resolved.properties === undefined && options !== undefined) {
    const alternatives = options.map(
      option => html`<p class="option">Either ${describeType(option, view)}</p>${renderFields(option, view)}`,
    )
    return html`${alternatives}`
  }
  const below = inside(resolved)
  if (resolved.properties === undefined && below !== undefined && below !== resolved) {
    return renderFields(below, view, path)
  }
  const entries = Object.entries(resolved.properties ?? {})
  if (entries.length === 0) return html`<p class="none">${describeType(resolved, view)}</p>`
  const required = new Set(resolved.required)
  const conditional = listConditional(resolved)
  const fields = entries.map(([name, field]) =>
    renderField({ name, field, required: required.has(name), requiredWhen: conditional.get(name) }, view),
  )
  const kind = view.present === 'always' ? 'fields got' : 'fields'
  return html`<ul class="${kind}"${path && html` data-path="${path}"`}>${fields}</ul>${renderLists(resolved, view)}`
}

function renderLists({ allOf = [] }: SchemaObject, view: FieldView): Html[] {
  return allOf
    .map(part => resolve(part, view).schema)
    .filter(isListByMethod)
    .map(({ description = '', properties = {} }) => {
      const [member] = Object.values(properties)
      const type = member && describeType(member, view)
      return html`<p>And one of ${Object.keys(properties).length} others (${type}): ${renderInline(description)}</p>`
    })
}

export interface NamedField {
  readonly name: string
  readonly field: SchemaObject
  readonly required: boolean
  /** The case in which the field is required, in words. */
  readonly requiredWhen?: string | undefined
}

export function renderField({ name, field, required, requiredWhen }: NamedField, view: FieldView): Html {
  const { schema } = resolve(field, view)
  const mark = required ? view.present : requiredWhen
  return html`<li><b>${name}</b> <i>${describeType(field, view)}</i>${mark && html` <em>${mark}</em>`}${
    schema.description && html`<p>${renderInline(schema.description)}</p>`
  }${renderLimits(schema)}${renderNested(field, view)}</li>`
}

/** The value that a condition requires, with its path: `type is DELAYED`. */
function describeCondition(condition: SchemaObject, path = ''): string | undefined {
  for (const [name, property] of Object.entries(condition.properties ?? {})) {
    const below = path === '' ? name : `${path}.${name}`
    if (property.const !== undefined) return `${below} is ${property.const}`
    const deeper = describeCondition(property, below)
    if (deeper !== undefined) return deeper
  }
  return undefined
}

/** Fields that a conditional rule of the object requires, with the case in words. */
function listConditional(schema: SchemaObject): Map<string, string> {
  const found = new Map<string, string>()
  for (const rule of [schema, ...(schema.allOf ?? [])]) {
    const condition = rule.if && describeCondition(rule.if)
    const words = condition === undefined ? 'sometimes required' : `required if ${condition}`
    for (const name of rule.then?.required ?? []) found.set(name, words)
  }
  return found
}

function renderNested(field: SchemaObject, view: FieldView): Html | undefined {
  let target = field
  for (;;) {
    const { name, schema } = resolve(target, view)
    if (name !== undefined && view.shared.has(name)) return renderShared(name)
    const below = inside(schema)
    if (schema.properties !== undefined || schema.anyOf !== undefined || schema.oneOf !== undefined) break
    if (below === undefined || below === schema) return undefined
    target = below
  }
  if (countFields(target, view) === 0) return undefined
  const { schema } = resolve(target, view)
  const count = Object.keys(schema.properties ?? {}).length
  const label = count === 0 ? 'Alternatives' : count === 1 ? '1 field' : `${count} fields`
  return html`<details><summary>${label}</summary>${renderFields(target, view)}</details>`
}

/** The script replaces the link by a copy of the fields; without the script the link leads to them. */
const renderShared = (name: string): Html =>
  html`<details data-object="${objectAnchor(name)}"><summary>Fields of ${name}</summary>${renderPointer(name)}</details>`

export const renderPointer = (name: string): Html =>
  html`<p class="pointer"><a href="#${objectAnchor(name)}">${name}</a> is described among the objects.</p>`
