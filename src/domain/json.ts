/**
 * Reads JSON without a guaranteed shape: an unexpected value counts as absent and never throws. Also typed keys of
 * records whose shape is known.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The member of an object or the entry of a list; undefined if there is none. */
export const memberOf = (value: unknown, name: string | number): unknown =>
  isRecord(value) ? value[name] : Array.isArray(value) ? value[Number(name)] : undefined

/** Looks up a name from outside in one of our tables. Inherited members such as `constructor` are not entries. */
export const entryOf = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** Undefined for anything but text. */
export function textAt(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}

/** The members that are texts. Of a list of texts, as for a repeated parameter or header, the first one. */
export const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).flatMap(([name, member]) => {
      const first: unknown = Array.isArray(member) ? member[0] : member
      return typeof first === 'string' ? [[name, first]] : []
    }),
  )

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Typed Object.keys, for our own constants, which have exactly the keys of their type. */
export const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] =>
  Object.keys(record) as Key[]

/** Typed Object.entries, with the same restriction. */
export const entriesOf = <Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] => keysOf(record).map(key => [key, record[key]] as const)

/** Canonical JSON: the same data always gives the same text, whatever its key order and spacing were. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  return `{${members.join(',')}}`
}
