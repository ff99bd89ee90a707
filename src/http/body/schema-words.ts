/**
 * Describes schemas in words for error texts: what is allowed at a path, which names are known there, and whether the
 * value may be shown. Reads schemas only, never values.
 */
import { editDistance } from '#domain/edit-distance.ts'
export type JsonSchema = Readonly<Record<string, unknown>>
export type Formats = Readonly<Record<string, { check: (value: string) => boolean; allowed: string }>>

export interface SchemaBook {
  readonly formats: Formats
  /** The shared schemas by their $id. */
  readonly byId: ReadonlyMap<string, JsonSchema>
}

/** Longer lists are cut; the API reference has them in full. */
const listedMax = 12

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null

const asList = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]

function resolveReference(reference: unknown, root: JsonSchema, book: SchemaBook): unknown {
  if (typeof reference !== 'string') return undefined
  const known = book.byId.get(reference)
  if (known || !reference.startsWith('#/')) return known
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((at, part) => (isSchema(at) ? at[part] : undefined), root)
}

/**
 * The schema and all schemas that it applies to the same value (`allOf`, `$ref`, …). A condition (`if`) only tests the
 * value and is not included.
 */
function expand(start: readonly unknown[], root: JsonSchema, book: SchemaBook): JsonSchema[] {
  const seen = new Set<JsonSchema>()
  const waiting = [...start]
  for (const schema of waiting) {
    if (!isSchema(schema) || seen.has(schema)) continue
    seen.add(schema)
    waiting.push(
      resolveReference(schema.$ref, root, book),
      ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap(asList),
      schema.then,
      schema.else,
    )
  }
  return [...seen]
}

function childSchemas(schema: JsonSchema, segment: string | number): unknown[] {
  if (typeof segment === 'number') {
    const prefix = asList(schema.prefixItems)
    return segment < prefix.length ? [prefix[segment]] : [schema.items]
  }
  const { properties } = schema
  if (isSchema(properties) && Object.hasOwn(properties, segment)) return [properties[segment]]
  const patterns = Object.entries(isSchema(schema.patternProperties) ? schema.patternProperties : {})
  const matching = patterns
    .filter(([pattern]) => new RegExp(pattern, 'u').test(segment))
    .map(([, child]) => child)
  return matching.length > 0 ? matching : [schema.additionalProperties]
}

/** All schemas that apply to the value at each step of the path, the root first. */
function* walkSchemas(root: JsonSchema, path: readonly (string | number)[], book: SchemaBook) {
  let level = expand([root], root, book)
  yield level
  for (const segment of path) {
    level = expand(
      level.flatMap(schema => childSchemas(schema, segment)),
      root,
      book,
    )
    yield level
  }
}

export function schemasAt(
  root: JsonSchema,
  path: readonly (string | number)[],
  book: SchemaBook,
): JsonSchema[] {
  let last: JsonSchema[] = []
  for (const level of walkSchemas(root, path, book)) last = level
  return last
}

/** True if the value's schema or any above it is marked `sensitive`, or if no schema applies to the value at all. */
export function isHidden(root: JsonSchema, path: readonly (string | number)[], book: SchemaBook): boolean {
  let last: JsonSchema[] = []
  for (const level of walkSchemas(root, path, book)) {
    if (level.some(schema => schema.sensitive === true)) return true
    last = level
  }
  return last.length === 0
}

export const knownNames = (schemas: readonly JsonSchema[]): string[] => [
  ...new Set(schemas.flatMap(schema => Object.keys(isSchema(schema.properties) ? schema.properties : {}))),
]

function describeRange(lowest: unknown, highest: unknown, unit: string): string {
  if (lowest !== undefined && highest !== undefined) {
    return lowest === highest ? ` of ${lowest}${unit}` : ` of ${lowest} to ${highest}${unit}`
  }
  if (highest !== undefined) return ` of at most ${highest}${unit}`
  return lowest === undefined || lowest === 0 ? '' : ` of at least ${lowest}${unit}`
}

const describeText = (schema: JsonSchema, book: SchemaBook): string => {
  const format = typeof schema.format === 'string' ? book.formats[schema.format] : undefined
  const range = describeRange(schema.minLength, schema.maxLength, ' characters')
  if (format) return format.allowed + range.replace(' of', ',')
  return `text${range}${describePattern(schema)}`
}

/** Shows the field's description beside the pattern, because few developers read a regular expression at a glance. */
function describePattern({ pattern, description }: JsonSchema): string {
  if (pattern === undefined) return ''
  const meaning = typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
  return ` in the form ${pattern}${meaning}`
}

const describeNumber = (schema: JsonSchema, noun: string): string => {
  const lowest =
    schema.minimum ?? (schema.exclusiveMinimum === undefined ? undefined : `above ${schema.exclusiveMinimum}`)
  const highest =
    schema.maximum ?? (schema.exclusiveMaximum === undefined ? undefined : `below ${schema.exclusiveMaximum}`)
  return `${noun}${describeRange(lowest, highest, '')}`
}

/** One line per JSON type. */
const words: Readonly<Record<string, (schema: JsonSchema, book: SchemaBook) => string>> = {
  string: describeText,
  integer: schema => describeNumber(schema, 'a whole number'),
  number: schema => describeNumber(schema, 'a number'),
  boolean: () => 'true or false',
  array: schema => `a list${describeRange(schema.minItems, schema.maxItems, ' entries')}`,
  object: schema => `an object${describeRange(schema.minProperties, schema.maxProperties, ' fields')}`,
  null: () => 'null',
}

export function listValues(values: readonly unknown[]): string {
  const shown = values
    .slice(0, listedMax)
    .map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
  return values.length > listedMax ? `${shown.join(', ')}, … (${values.length} in all)` : shown.join(', ')
}

/** What these schemas allow together; undefined if they do not restrict the value. */
export function describeAllowed(schemas: readonly JsonSchema[], book: SchemaBook): string | undefined {
  const constants = schemas.flatMap(schema => (Object.hasOwn(schema, 'const') ? [schema.const] : []))
  const values = [...new Set([...constants, ...schemas.flatMap(schema => asList(schema.enum))])]
  if (values.length === 1) return JSON.stringify(values[0])
  if (values.length > 1) return `one of ${listValues(values)}`
  const spoken = schemas.flatMap(schema =>
    asList(schema.type).flatMap(type => {
      const describe = typeof type === 'string' ? words[type] : undefined
      return describe ? [describe(schema, book)] : []
    }),
  )
  const distinct = [...new Set(spoken)]
  return distinct.length > 0 ? distinct.join(' or ') : undefined
}

/** Names within typing-error distance: one change for short names, two for longer ones. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  if (name.length > 40) return []
  const most = name.length < 5 ? 1 : 2
  const lower = name.toLowerCase()
  return known
    .map(candidate => ({ candidate, distance: editDistance(lower, candidate.toLowerCase(), most) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}
