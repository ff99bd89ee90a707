/**
 * Turns the validator's errors into field errors for developers: the path, the given value if it may be shown, and what
 * is allowed. The many errors of alternatives and conditions are reduced to the one useful error.
 */

import type { ErrorObject } from 'ajv'
import { isRecord, type JsonObject, memberOf } from '#domain/json.ts'
import type { FieldError } from '#http/answers/refusal.ts'
import { joinPath, quoteValue } from '#http/body/json-text.ts'
import {
  describeAllowed,
  isHidden,
  type JsonSchema,
  knownNames,
  listValues,
  nearestNames,
  type SchemaBook,
  schemasAt,
} from '#http/body/schema-words.ts'

/** 20 errors: enough to correct a request in one go, few enough to read. */
const renderedMax = 20
/** More errors than this are not even sorted. They come from one broken list, and the first ones are enough. */
const consideredMax = 1_000

type Path = readonly (string | number)[]

interface Finding {
  readonly path: Path
  readonly text: string
}

export interface Explained {
  readonly schema: JsonSchema
  readonly value: unknown
  /** The name of the value as a whole: body, query or path. */
  readonly wholeName: string
  readonly book: SchemaBook
}

export function explainErrors(errors: readonly ErrorObject[], explained: Explained): FieldError[] {
  const placeOf = createPlaces(explained.value)
  const considered = errors.slice(0, consideredMax).filter(speaksForItself)
  const sorted = foldAlternatives(keepStrictest(withoutCountsOfUnknown(considered)))
    .map(error => ({ error, place: placeOf(pathOf(error, explained.value)) }))
    .sort((a, b) => comparePlaces(a.place, b.place))
  const unique = new Map<string, FieldError>()
  for (const { error } of sorted) {
    // Finding the words costs the most, so it is done only for the errors that are shown.
    if (unique.size >= renderedMax) break
    const { path, text } = explainError(error, explained)
    const field = path.length === 0 ? explained.wholeName : path.reduce<string>(joinPath, '')
    const end = text.endsWith('?') ? '' : '.'
    unique.set(`${field} ${text}`, { field, error: `${field} ${text}${end}` })
  }
  return [...unique.values()]
}

/** Excludes a condition whose consequence failed, and errors about a name, which `propertyNames` repeats. */
const speaksForItself = ({ keyword, propertyName }: ErrorObject): boolean =>
  keyword !== 'if' && (propertyName === undefined || keyword === 'propertyNames')

/** Excludes a count that is too high only together with unknown fields: those are named, and one may be all there is. */
function withoutCountsOfUnknown(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const unknown = errors.filter(({ keyword }) => keyword === 'additionalProperties')
  return errors.filter(
    error => error.keyword !== 'maxProperties' || !unknown.some(other => isSamePlace(other, error)),
  )
}

/** If a condition allows less of a number than the field itself, only the condition's error is reported. */
const keepStrictest = (errors: readonly ErrorObject[]): ErrorObject[] => {
  const strictest = new Map<string, number>()
  const placeOf = ({ keyword, instancePath }: ErrorObject) => `${keyword} ${instancePath}`
  for (const error of errors) {
    const minimum = minimumBeside(error)
    if (minimum === undefined) continue
    strictest.set(placeOf(error), Math.max(strictest.get(placeOf(error)) ?? minimum, minimum))
  }
  return errors.filter(error => {
    const minimum = minimumBeside(error)
    return minimum === undefined || minimum === strictest.get(placeOf(error))
  })
}

/** The minimum of the schema that a number violates; undefined: it is not about a number, or has none. */
function minimumBeside({ keyword, parentSchema }: ErrorObject): number | undefined {
  const isAboutNumber = keyword === 'minimum' || keyword === 'maximum' || keyword === 'type'
  const minimum = isAboutNumber ? parentSchema?.minimum : undefined
  return typeof minimum === 'number' ? minimum : undefined
}

/**
 * A failed union reports the errors of every branch. Keeps those of the closest branch: one whose type and fixed values
 * match, with the fewest errors. If none matches, the union's own error is kept, which says what is allowed.
 */
function foldAlternatives(errors: readonly ErrorObject[]): ErrorObject[] {
  let kept: ErrorObject[] = []
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') {
      kept.push(error)
      continue
    }
    const owner = error.schemaPath.slice(0, error.schemaPath.lastIndexOf('/'))
    // A branch behind a $ref has its own schema path. Any earlier error at this value belongs to a branch of the union.
    const isBranch = (other: ErrorObject) =>
      isAtOrBelow(other.instancePath, error.instancePath) &&
      (other.schemaPath.startsWith(`${error.schemaPath}/`) || !other.schemaPath.startsWith(`${owner}/`))
    const branches = Map.groupBy(kept.filter(isBranch), other => branchOf(other, error))
    kept = kept.filter(other => !isBranch(other))
    kept.push(...chooseBranch([...branches.values()], error))
  }
  return kept
}

const isAtOrBelow = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`)

const branchOf = (error: ErrorObject, union: ErrorObject): string =>
  error.schemaPath.startsWith(`${union.schemaPath}/`)
    ? (error.schemaPath.slice(union.schemaPath.length + 1).split('/')[0] ?? '')
    : error.schemaPath.split('/').slice(0, 2).join('/')

function chooseBranch(branches: readonly ErrorObject[][], union: ErrorObject): ErrorObject[] {
  if (
    branches.every(branch => branch.every(error => error.keyword === 'required' && isSamePlace(error, union)))
  ) {
    return [union]
  }
  const isWrongKind = (error: ErrorObject) =>
    (error.keyword === 'type' && isSamePlace(error, union)) ||
    error.keyword === 'const' ||
    error.keyword === 'enum'
  const fitting = branches.filter(branch => !branch.some(isWrongKind))
  const [best] = fitting.sort((a, b) => a.length - b.length)
  if (best) return best
  // No branch fits because the member that distinguishes them has an unknown value: that member is the error.
  const discriminators = branches.flatMap(branch =>
    branch.filter(error => isWrongKind(error) && !isSamePlace(error, union)),
  )
  const [discriminator] = discriminators
  const agreed =
    discriminator !== undefined &&
    discriminators.every(other => other.instancePath === discriminator.instancePath)
  return agreed && discriminators.length === branches.length ? [discriminator] : [union]
}

const isSamePlace = (a: ErrorObject, b: ErrorObject): boolean => a.instancePath === b.instancePath

function explainError(error: ErrorObject, explained: Explained): Finding {
  const path = readPointer(error.instancePath, explained.value)
  const special = specials[error.keyword]
  if (special) return special(error, path, explained)
  const stated = schemasAt(explained.schema, path, explained.book)
  const minimum = minimumBeside(error)
  const schemas = minimum === undefined ? stated : stated.map(schema => raiseMinimum(schema, minimum))
  const allowed = describeAllowed(schemas, explained.book) ?? 'something else'
  const known = error.keyword === 'type' ? namesBeside(path, explained) : []
  if (known.length > 0) {
    const names = `${listValues(known)}, and ${allowed} under any other name`
    return { path, text: `is not a field that is known here; known are ${names}` }
  }
  return { path, text: `${showValue(error.data, path, explained)}; allowed is ${allowed}` }
}

/**
 * The known names of the object, if the path leads to a member with another name. The error then lists them instead of
 * the member's type and value: the field does not belong there, and its value may be a misplaced security code.
 */
function namesBeside(path: Path, { schema, book }: Explained): string[] {
  const name = path.at(-1)
  const known = name === undefined ? [] : knownNames(schemasAt(schema, path.slice(0, -1), book))
  return known.some(other => other === name) ? [] : known
}

const raiseMinimum = (schema: JsonSchema, minimum: number): JsonSchema =>
  schema.minimum === undefined ? schema : { ...schema, minimum }

const explainMissing = (name: unknown, path: Path, explained: Explained): Finding => {
  const missing = [...path, String(name)]
  const allowed = describeAllowed(schemasAt(explained.schema, missing, explained.book), explained.book)
  return { path: missing, text: allowed === undefined ? 'is missing' : `is missing; allowed is ${allowed}` }
}

const explainUnknown = (name: unknown, path: Path, explained: Explained): Finding => {
  const known = knownNames(schemasAt(explained.schema, path, explained.book))
  const near = nearestNames(String(name), known)
  const hint =
    near.length > 0
      ? `; did you mean ${near.join(' or ')}?`
      : known.length > 0
        ? `; known are ${listValues(known)}`
        : ''
  return { path: [...path, String(name)], text: `is not a field that is known here${hint}` }
}

/** If the schema lists the fields, a wrong name is unknown; otherwise it violates the pattern for names. */
function explainName(error: ErrorObject, path: Path, explained: Explained): Finding {
  const name = String(error.params.propertyName)
  const known = knownNames(schemasAt(explained.schema, path, explained.book))
  if (known.length > 0) return explainUnknown(name, path, explained)
  const allowed = describeAllowed([error.schema].filter(isRecord), explained.book) ?? 'another'
  return { path: [...path, name], text: `is not a name that is allowed here; a name is ${allowed}` }
}

/** Errors that are not about the value at the path itself. */
const specials: Readonly<Record<string, (error: ErrorObject, path: Path, explained: Explained) => Finding>> =
  {
    required: (error, path, explained) => explainMissing(error.params.missingProperty, path, explained),
    dependentRequired: (error, path, explained) =>
      explainMissing(error.params.missingProperty, path, explained),
    additionalProperties: (error, path, explained) =>
      explainUnknown(error.params.additionalProperty, path, explained),
    unevaluatedProperties: (error, path, explained) =>
      explainUnknown(error.params.unevaluatedProperty, path, explained),
    propertyNames: explainName,
    minProperties: (error, path, { schema, book }) => {
      const known = knownNames(schemasAt(schema, path, book))
      return { path, text: `must have at least ${error.params.limit} of its fields: ${listValues(known)}` }
    },
    maxProperties: (error, path, { schema, book }) => {
      const known = knownNames(schemasAt(schema, path, book))
      const which = known.length > 0 ? `of its fields: ${listValues(known)}` : 'fields'
      return { path, text: `must have at most ${error.params.limit} ${which}` }
    },
    minItems: (error, path) => ({ path, text: `must have at least ${error.params.limit} entries` }),
    maxItems: (error, path) => ({ path, text: `must have at most ${error.params.limit} entries` }),
    uniqueItems: (error, path) => ({
      path,
      text: `has the same entry at ${error.params.j} and ${error.params.i}`,
    }),
    not: (_, path) => ({ path, text: 'is not allowed in this combination' }),
    'false schema': (_, path) => ({ path, text: 'is not taken in this combination; leave it out' }),
    anyOf: explainUnion,
    oneOf: explainUnion,
  }

/** If all branches only require names, the error says that one of these names must be present. */
function explainUnion(error: ErrorObject, path: Path, explained: Explained): Finding {
  const branches = Array.isArray(error.schema) ? error.schema.filter(isRecord) : []
  const required = branches.map(branch =>
    Array.isArray(branch.required) ? branch.required.join(' with ') : '',
  )
  const several = error.keyword === 'oneOf' && Array.isArray(error.params.passingSchemas)
  if (branches.length > 0 && required.every(names => names !== '') && isRecord(error.data)) {
    return { path, text: `must have ${several ? 'only one' : 'one'} of ${required.join(', ')}` }
  }
  if (several) return { path, text: 'fits more than one of the forms that are allowed here' }
  const allowed =
    describeAllowed(schemasAt(explained.schema, path, explained.book), explained.book) ?? 'one of its forms'
  return { path, text: `${showValue(error.data, path, explained)}; allowed is ${allowed}` }
}

/** Never shows the contents of an object or list, because they may include a field that must not be shown. */
function showValue(value: unknown, path: Path, { schema, book }: Explained): string {
  if (Array.isArray(value)) return 'is a list'
  if (isRecord(value)) return 'is an object'
  if (isHidden(schema, path, book)) return 'is not as it must be (the value is not shown)'
  return `is ${quoteValue(value)}`
}

/** Splits a JSON pointer into names and indexes; the value tells which is which. */
function readPointer(pointer: string, value: unknown): Path {
  let at = value
  return pointer
    .split('/')
    .slice(1)
    .map(part => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const segment = Array.isArray(at) ? Number(name) : name
      at = memberOf(at, segment)
      return segment
    })
}

/** For keywords whose error concerns a member of the value: the parameter that holds the member's name. */
const memberOfError: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
  propertyNames: 'propertyName',
}

/** The path that the explanation of an error names. */
function pathOf({ keyword, instancePath, params }: ErrorObject, value: unknown): Path {
  const path = readPointer(instancePath, value)
  const member = memberOfError[keyword]
  return member === undefined ? path : [...path, String(params[member])]
}

/** The position of a path in the document, as one number per step. Missing members come after all present ones. */
function createPlaces(value: unknown): (path: Path) => number[] {
  const places = new Map<object, ReadonlyMap<string, number>>()
  const placesIn = (owner: JsonObject): ReadonlyMap<string, number> => {
    const known = places.get(owner) ?? new Map(Object.keys(owner).map((name, index) => [name, index]))
    places.set(owner, known)
    return known
  }
  return path => {
    let at = value
    return path.map(segment => {
      const place =
        typeof segment === 'number' ? segment : isRecord(at) ? placesIn(at).get(segment) : undefined
      at = memberOf(at, segment)
      return place ?? Number.MAX_SAFE_INTEGER
    })
  }
}

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (let step = 0; step < Math.min(a.length, b.length); step++) {
    const difference = (a[step] ?? 0) - (b[step] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
