/**
 * Turns our validation schemas into the schemas of the OpenAPI document: a PascalCase `title` makes a named component,
 * our own keywords become extensions, and shapes that code generators handle badly are simplified.
 */

import assert from 'node:assert/strict'
import { isRecord, textAt } from '#domain/json.ts'
import type { SchemaObject } from '#http/reference/document.ts'

/** Keywords of JSON Schema 2020-12 with the same meaning in OpenAPI 3.1. All others become `x-…`. */
const keywords = new Set(
  `$ref type title description default examples deprecated discriminator externalDocs readOnly
   writeOnly enum const format pattern
   minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems
   minProperties maxProperties required`.split(/\s+/),
)
const schemaMaps = new Set(['properties', 'patternProperties'])
const schemaLists = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const schemaSingles = new Set([
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
])

const pascalCase = /^[A-Z][A-Za-z0-9]+$/
/** TypeBox's pattern for a record with any key, which is equivalent to additionalProperties. */
const anyKey = '^.*$'

export interface SchemaComponents {
  render(schema: object): SchemaObject
  readonly schemas: Record<string, SchemaObject>
}

/** `describedAs`: schemas that replace those with the same title in the document. */
export function createSchemaComponents(
  describedAs: ReadonlyMap<string, object> = new Map(),
): SchemaComponents {
  const schemas: Record<string, SchemaObject> = {}
  const fingerprints = new Map<string, string>()

  const render = (given: object): SchemaObject => {
    const schema = describedAs.get(textAt(given, 'title') ?? '') ?? given
    const rendered = simplify(renderKeywords(schema, render))
    const { title, description, ...shape } = rendered
    if (title === undefined || !pascalCase.test(title)) return rendered

    // TypeBox copies a schema to mark it as optional, so the shapes are compared instead of the objects.
    const fingerprint = JSON.stringify(shape)
    const known = fingerprints.get(title)
    assert(
      known === undefined || known === fingerprint,
      `two different schemas have the title ${title}; a component needs a name of its own`,
    )
    const $ref = `#/components/schemas/${title}`
    if (known === undefined) {
      fingerprints.set(title, fingerprint)
      schemas[title] = description === undefined ? shape : { description, ...shape }
      return { $ref }
    }
    // A place may describe a shared object differently; OpenAPI 3.1 allows a description beside a reference.
    return description === schemas[title]?.description ? { $ref } : { $ref, description }
  }

  return { render, schemas }
}

function renderKeywords(schema: object, render: (schema: object) => SchemaObject): SchemaObject {
  const rendered: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || keyword === '$id' || keyword.startsWith('~')) continue
    // A property may have the schema `false`, which matches nothing.
    if (schemaMaps.has(keyword) && isRecord(value)) {
      rendered[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, child]) => [name, isRecord(child) ? render(child) : child]),
      )
    } else if (schemaLists.has(keyword) && Array.isArray(value)) {
      rendered[keyword] = value.map(child => (isRecord(child) ? render(child) : child))
    } else if (schemaSingles.has(keyword)) {
      rendered[keyword] = isRecord(value) ? render(value) : value
    } else if (keyword === 'example') {
      rendered.examples = [value]
    } else if (keywords.has(keyword) || keyword.startsWith('x-')) {
      rendered[keyword] = value
    } else {
      rendered[`x-${toKebab(keyword)}`] = value
    }
  }
  // Built keyword by keyword from a valid schema, which the compiler cannot follow.
  return rendered as SchemaObject
}

const toKebab = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/**
 * Writes closed lists as `enum` with a type and free maps as `additionalProperties`, which is equivalent and more
 * compact.
 */
function simplify(schema: SchemaObject): SchemaObject {
  const { anyOf, patternProperties, ...rest } = schema
  let simple: SchemaObject = rest
  if (anyOf !== undefined) {
    const constants = anyOf.map(option => option.const)
    if (constants.every(value => typeof value === 'string'))
      simple = { type: 'string', ...rest, enum: constants }
    else simple = { ...simple, anyOf }
  }
  if (patternProperties !== undefined) {
    const [pattern, value] = Object.entries(patternProperties)[0] ?? []
    if (
      pattern === anyKey &&
      Object.keys(patternProperties).length === 1 &&
      rest.additionalProperties === undefined
    ) {
      simple = {
        ...simple,
        additionalProperties: value === undefined || Object.keys(value).length === 0 ? true : value,
      }
    } else {
      simple = { ...simple, patternProperties }
    }
  }
  if (
    Array.isArray(simple.enum) &&
    simple.type === undefined &&
    simple.enum.every(value => typeof value === 'string')
  ) {
    simple = { type: 'string', ...simple }
  }
  return simple
}
