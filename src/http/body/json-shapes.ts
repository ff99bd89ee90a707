/**
 * Counts the distinct fields of a JSON text. Objects with the same names in the same order share a hidden class; each
 * new name or order takes a hundred times as long to parse, and so does every field of a very wide object.
 */

/** 100: objects of the API have fewer fields. Wider objects become dictionaries, which share nothing. */
const sharedFieldsMax = 100

const quote = 34
const colon = 58
/** `[` and `{` differ in one bit only, and so do `]` and `}`. */
const caseBit = 32
const opening = 123
const closing = 125

/** Random per process, so that an attacker cannot construct names with equal hashes. */
const seed = (Math.random() * 2 ** 31) | 1

/** Keeps hashes within V8's small integers, which are not allocated on the heap. */
const smallBits = 0x3fff_ffff

interface FieldCount {
  /** The nesting depth of the text. */
  readonly levels: number
  readonly max: number
  /** The position of the closing quote of the string that begins at `start`. */
  readonly endOfString: (text: string, start: number) => number
}

/** Whether the text has more than `max` distinct fields, or fields of very wide objects. */
export function bringsManyFields(text: string, { levels, max, endOfString }: FieldCount): boolean {
  const known = new Set<number>()
  // Indexed by level. A field's hash includes the fields before it, because the same names in another order are another
  // shape.
  const shapes = new Int32Array(levels + 1)
  const fields = new Int32Array(levels + 1)
  let level = 0
  let wide = 0
  let nameFrom = 0
  let nameTo = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      nameFrom = at + 1
      at = endOfString(text, at)
      nameTo = at
    } else if ((code | caseBit) === opening) {
      level++
      shapes[level] = seed
      fields[level] = 0
    } else if ((code | caseBit) === closing) level--
    else if (code === colon) {
      const shape = hashOn(shapes[level] ?? 0, text, nameFrom, nameTo)
      const count = (fields[level] ?? 0) + 1
      shapes[level] = shape
      fields[level] = count
      known.add(shape & smallBits)
      if (count > sharedFieldsMax) wide++
      if (known.size > max || wide > max) return true
    }
  }
  return false
}

function hashOn(start: number, text: string, from: number, to: number): number {
  // An empty name changes the hash as well.
  let hash = Math.imul(start ^ (to - from), seed)
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}
