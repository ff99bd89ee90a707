/**
 * Alternative spellings of members: a schema names them in `alsoSpelt`, and handlers see only the documented one. If a
 * request has both, the alternative stays and is refused as unknown.
 */
import { isRecord } from '#domain/json.ts'

export interface Spelling {
  /** The keys that lead to the object. */
  readonly path: readonly string[]
  readonly name: string
  readonly other: string
}

const isNode = (value: unknown): value is Record<string, unknown> => isRecord(value)

export function listSpellings(schema: unknown, path: readonly string[] = []): Spelling[] {
  if (!isNode(schema) || !isNode(schema.properties)) return []
  return Object.entries(schema.properties).flatMap(([name, member]) => {
    if (!isNode(member)) return []
    const own = typeof member.alsoSpelt === 'string' ? [{ path, name, other: member.alsoSpelt }] : []
    return [...own, ...listSpellings(member, [...path, name])]
  })
}

/** Changes the body in place; no other code has a reference to it yet. */
export function unifySpellings(body: unknown, spellings: readonly Spelling[]): void {
  for (const { path, name, other } of spellings) {
    const object = path.reduce<unknown>((at, key) => (isNode(at) ? at[key] : undefined), body)
    if (!isNode(object) || !Object.hasOwn(object, other) || Object.hasOwn(object, name)) continue
    object[name] = object[other]
    delete object[other]
  }
}
