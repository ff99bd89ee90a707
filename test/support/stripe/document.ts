/**
 * Checks requests against Stripe's document of 2023: path, verb, and every field down to the last, with objects closed that
 * the document leaves open. Fields and codes that are newer, or given on request only, are named one by one.
 */
import { Ajv, type ValidateFunction } from 'ajv'
import type { HttpRequest } from '#connectors/contract.ts'
import { compiledPlainly } from '#test/support/docs/check-schema.ts'
import { type FormTree, parseForm } from '#test/support/stripe/form.ts'
import { isObject, type JsonObject, parseObject, readMaterial } from '#test/support/stripe/material.ts'

/** Newer than the document: named in the types of the npm package `stripe`, or in Stripe's guides. */
export const newerFields: readonly string[] = [
  'final_capture',
  // Level 2 and 3; the test of the order's lines holds them against the library's types.
  'amount_details',
  'payment_details',
  'payment_method_options.card.request_multicapture',
  'payment_method_options.card.request_incremental_authorization',
  'payment_method_options.card.three_d_secure',
  // Of sessions; the document has it for intents, without the value `challenge`.
  'payment_method_options.card.request_three_d_secure',
  // On request only: card numbers, and the scheme's reference of an earlier payment.
  'payment_method_data.card',
  'payment_method_options.card.mit_exemption',
]

type Tree = { [name: string]: unknown }

export interface StripeDocument {
  /** Empty: the document allows the request. */
  check(request: HttpRequest): readonly string[]
  /** The exceptions that were needed so far. */
  readonly used: ReadonlySet<string>
  /** The values of an enumeration within the schemas of answers. */
  enumAt(schema: string, property: string): readonly string[]
  propertiesOf(schema: string): readonly string[]
}

export function openDocument(newerCodes: ReadonlySet<string>): StripeDocument {
  const document = parseObject(readMaterial('openapi-2023-09-12.json'))
  // Forms are text: numbers and booleans are read out of it, as Stripe does.
  const ajv = new Ajv({
    strict: false,
    coerceTypes: true,
    allErrors: true,
    validateFormats: false,
    ...compiledPlainly,
  })
  const compiled = new Map<string, ValidateFunction>()
  const used = new Set<string>()
  const paths = Object.keys(part(document, 'paths'))

  const validatorOf = (path: string, verb: string): ValidateFunction | undefined => {
    const name = `${verb} ${path}`
    const known = compiled.get(name)
    if (known) return known
    const operation = part(document, 'paths', path, verb)
    if (Object.keys(operation).length === 0) return undefined
    const validate = ajv.compile(closed(verb === 'get' ? querySchema(operation) : bodySchema(operation)))
    compiled.set(name, validate)
    return validate
  }

  return {
    used,
    check(request) {
      const url = new URL(request.url)
      const path = matchPath(paths, url.pathname)
      const verb = request.verb.toLowerCase()
      const validate = path === undefined ? undefined : validatorOf(path, verb)
      if (validate === undefined) return [`no ${verb} ${url.pathname}`]
      const text = verb === 'get' ? url.search.slice(1) : String(request.body ?? '')
      const tree = withoutNewer(parseForm(text), { newerCodes, used })
      return validate(tree) ? [] : (validate.errors ?? []).map(e => `${e.instancePath} ${e.message}`)
    },
    enumAt: (schema, property) => {
      const { enum: values } = part(document, 'components', 'schemas', schema, 'properties', property)
      return Array.isArray(values) ? values.map(String) : []
    },
    propertiesOf: schema => Object.keys(part(document, 'components', 'schemas', schema, 'properties')),
  }
}

function part(object: JsonObject, ...path: readonly string[]): JsonObject {
  let value: unknown = object
  for (const name of path) value = isObject(value) ? value[name] : undefined
  return isObject(value) ? value : {}
}

function bodySchema(operation: JsonObject): JsonObject {
  return part(operation, 'requestBody', 'content', 'application/x-www-form-urlencoded', 'schema')
}

function querySchema({ parameters }: JsonObject): JsonObject {
  const named = (Array.isArray(parameters) ? parameters : []).filter(isObject)
  const query = named.filter(parameter => parameter.in === 'query')
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(query.map(({ name, schema }) => [String(name), schema])),
    required: query.filter(({ required }) => required === true).map(({ name }) => name),
  }
}

/** The document closes the outermost object only. Where no other member is allowed, a misspelt one cannot hide. */
function closed(schema: unknown): JsonObject {
  if (!isObject(schema)) return {}
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close)
    if (!isObject(value)) return value
    const inner = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, close(member)]))
    return isObject(inner.properties) && inner.additionalProperties === undefined
      ? { ...inner, additionalProperties: false }
      : inner
  }
  const whole = close(schema)
  return isObject(whole) ? whole : {}
}

function matchPath(paths: readonly string[], pathname: string): string | undefined {
  const fits = paths.filter(path => new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(pathname))
  return fits.find(path => !path.includes('{')) ?? fits[0]
}

function withoutNewer(
  form: Readonly<Record<string, FormTree>>,
  { newerCodes, used }: { readonly newerCodes: ReadonlySet<string>; readonly used: Set<string> },
): Tree {
  const tree: Tree = structuredClone(form)
  for (const field of newerFields) if (remove(tree, field.split('.'))) used.add(field)
  const types = tree.payment_method_types
  const [code] = Array.isArray(types) ? types : []
  if (typeof code === 'string' && newerCodes.has(code)) {
    used.add(code)
    tree.payment_method_types = ['card']
  }
  // The document has no card numbers, so its list of types lacks the card as well.
  const data = tree.payment_method_data
  if (isObject(data) && data.type === 'card') tree.payment_method_data = { ...data, type: 'link' }
  return tree
}

function remove(tree: Tree, [name = '', ...rest]: readonly string[]): boolean {
  const inner = tree[name]
  if (rest.length > 0) return isObject(inner) && remove(inner as Tree, rest)
  if (inner === undefined) return false
  delete tree[name]
  return true
}
