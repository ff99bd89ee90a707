/**
 * JSON without a guaranteed shape: an unexpected value is an absent one, never an exception. And the keys of records
 * whose shape is known.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The member of an object, or the entry of a list; undefined where there is neither. */
export const memberOf = (value: unknown, name: string | number): unknown =>
  isRecord(value) ? value[name] : Array.isArray(value) ? value[Number(name)] : undefined

/** Undefined for anything but text. */
export function textAt(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}

/** The members that are text; of a list of texts the first, as where a parameter or a header is given twice. */
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

/** Object.keys forgets the type of the keys. For constants of ours, which have no other keys than their type says. */
export const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] =>
  Object.keys(record) as Key[]

/** Object.entries, with the same limit. */
export const entriesOf = <Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
): readonly (readonly [Key, Value])[] => keysOf(record).map(key => [key, record[key]] as const)

/** JSON text in which key order and spacing do not matter: the same data gives the same text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  return `{${members.join(',')}}`
}
