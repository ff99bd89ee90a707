/**
 * Parses JSON without coercing or dropping anything. Values that could not be returned unchanged are refused with their
 * path. The common case is one parse and one walk; paths are built only for a refusal.
 */

import { isUtf8 } from 'node:buffer'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { addSuspect, mayHoldDigits, type Suspect } from '#domain/cards/stray-card-data.ts'
import { isRecord, type JsonObject } from '#domain/json.ts'
import { toVisible } from '#domain/text.ts'
import { type FieldError, type Refusal, refuseField } from '#http/answers/refusal.ts'
import { markLostNumbers } from '#http/body/json-numbers.ts'
import { bringsManyFields } from '#http/body/json-shapes.ts'

export interface ReadJson {
  readonly value: unknown
  /** The length of the text, which limits the work of a thorough validation. */
  readonly length: number
  /** Texts that may be card data outside the fields for it. */
  readonly suspects: readonly Suspect[]
}

/** 20: deeper than any object of the API (the deepest has 7 levels), and shallow enough for plain recursion. */
const nestingMax = 20
/** 1,000: a deeper body is not even parsed to find the path, because half a million brackets take too long. */
const parsedLevelsMax = 1_000
/** Longer names are cut in paths, which are for reading. */
const nameMax = 64

const unreadable = refuseField('body', 'The body is not readable as JSON; it must be one JSON object.')
const tooDeep = refuseField('body', `The body is nested too deep; at most ${nestingMax} levels are taken.`)
/**
 * 100,000: twice as many as in the longest request of the API (10,000 cards), and a tenth of what fits into the body.
 */
const valuesMax = 100_000
const tooMany = refuseField('body', `The body holds more than ${valuesMax} values; send fewer at once.`)
/** 1,000: ten times as many as in any object of the API. */
const membersMax = 1_000
const tooWide = refuseField('body', `The body holds an object of more than ${membersMax} fields; send fewer.`)
/** 2,000 take a millisecond or two to parse. A list of 10,000 entries has a handful, the same ones in each entry. */
const newFieldsMax = 2_000
const tooVaried = refuseField(
  'body',
  `The body holds more than ${newFieldsMax} different fields; send fewer at once.`,
)
/** 5,000: if a number may not be exact, the text is parsed again and every value in it is visited a second time. */
const valuesBesideOddMax = 5_000
const tooManyBesideOdd = refuseField(
  'body',
  `The body holds more than ${valuesBesideOddMax} values beside a number of more than 15 digits; send it as text.`,
)
const notUtf8 = refuseField('body', 'The body is not valid UTF-8; JSON is always sent as UTF-8.')

/** The state of the walk through a body. */
interface Walk {
  /** Whether strings may contain forbidden characters. */
  readonly readStrings: boolean
  readonly suspects: Suspect[]
}

/**
 * Counts the members of all objects. Returns NaN, which makes every sum NaN, if something must be refused. Also
 * collects texts that may be card data. `name` is the name of the member that has the value.
 */
function countMembers(value: unknown, name: string, level: number, walk: Walk): number {
  if (typeof value === 'string') {
    addSuspect(walk.suspects, value, name)
    return walk.readStrings && !isClean(value) ? Number.NaN : 0
  }
  if (typeof value === 'number') {
    if (mayHoldDigits(value)) addSuspect(walk.suspects, String(value), name)
    return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? 0 : Number.NaN
  }
  const isList = Array.isArray(value)
  if (!isList && !isRecord(value)) return 0
  if (level > nestingMax) return Number.NaN
  let count = 0
  if (isList) {
    for (const entry of value) count += countMembers(entry, name, level + 1, walk)
    return count
  }
  // Parsed JSON has only own members.
  for (const key in value) {
    if (isPoison(key, value) || (walk.readStrings && !isClean(key))) return Number.NaN
    addSuspect(walk.suspects, key, '')
    count += 1 + countMembers(value[key], key, level + 1, walk)
  }
  return count
}

const isClean = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** Names that pollute the prototype when an object is copied carelessly. */
function isPoison(key: string, owner: JsonObject): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor') return false
  const value = owner[key]
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** Card numbers are filtered before the name is cut, because the filter would miss a number that was cut in two. */
export function cutName(name: string): string {
  // An empty name would be invisible.
  if (name === '') return '""'
  if (name.length <= nameMax) return toVisible(name)
  return `${toVisible(scrubCardNumbers(startOf(name, nameMax)).slice(0, nameMax).toWellFormed())}…`
}

/**
 * The beginning of a long text: four times as much as is shown, instead of up to a megabyte. Digits at the cut are
 * removed, because they may begin a card number, and masking of earlier digits may move them into the shown part.
 */
const startOf = (text: string, shownMax: number): string =>
  text.length <= shownMax * 4 ? text : text.slice(0, shownMax * 4).replace(/[0-9 .+%-]+$/, '')

/** Values are shown only so that the reader recognises them. */
const shownMax = 64

/** The value as JSON, without card numbers and invisible characters, and cut if it is long. */
export const quoteValue = (value: unknown): string => toVisible(quoteAsSent(value))

function quoteAsSent(value: unknown): string {
  // Filtered before it is cut, because the filter would miss half a card number.
  const start = typeof value === 'string' ? startOf(value, shownMax) : value
  const whole = scrubCardNumbers(JSON.stringify(start))
  if (whole.length <= shownMax) return start === value ? whole : `${whole.slice(0, -1)}…"`
  return `${whole.slice(0, shownMax).toWellFormed()}…${typeof value === 'string' ? '"' : ''}`
}

export const joinPath = (parent: string, name: string | number): string => {
  if (typeof name === 'number') return `${parent}[${name}]`
  const short = cutName(name)
  return parent === '' ? short : `${parent}.${short}`
}

/** The first value or name, in document order, that must be refused, with its path. Only called if there is one. */
export function findFlaw(value: unknown, path = '', level = 1): FieldError | undefined {
  const field = path === '' ? 'body' : path
  if (typeof value === 'string' && !isClean(value)) {
    return { field, error: `${field} holds U+0000 or half a surrogate pair; it must be well-formed text.` }
  }
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    return {
      field,
      error: `${field} is a number that could not be kept exactly; send it as text, or within 2^53 and with 15 digits at most.`,
    }
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (level > nestingMax) {
    return { field, error: `${field} is nested too deep; at most ${nestingMax} levels are taken.` }
  }
  const members = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [name, member] of members) {
    const flaw =
      (isRecord(value) ? findKeyFlaw(String(name), value, path) : undefined) ??
      findFlaw(member, joinPath(path, name), level + 1)
    if (flaw) return flaw
  }
  return undefined
}

function findKeyFlaw(key: string, owner: JsonObject, path: string): FieldError | undefined {
  if (isPoison(key, owner)) {
    const field = joinPath(path, key === 'constructor' ? 'constructor.prototype' : key)
    return { field, error: `${field} is a name that is never taken.` }
  }
  if (isClean(key)) return undefined
  // The name cannot be repeated as it is, so its invalid characters are replaced.
  const field = joinPath(path, key.replaceAll('\u0000', '\u2400').toWellFormed())
  return {
    field,
    error: `${field} is a name with U+0000 or half a surrogate pair; it must be well-formed text.`,
  }
}

const quote = 34
const colon = 58
const comma = 44
const backslash = 92
/** `[` and `{` differ in one bit only, and so do `]` and `}`. */
const caseBit = 32
const opening = 123
const closing = 125

const zero = 48
const nine = 57
const point = 46
const exponent = 101
/** A double represents every number of up to 15 digits exactly; longer ones may not be exact. */
const exactDigitsMax = 15

interface Scan {
  /** Colons outside of strings: in valid JSON one per member of an object, before duplicates are dropped. */
  readonly members: number
  /** The most members of one object. */
  readonly mostMembers: number
  readonly levels: number
  /** Commas, lists and objects, which is about the number of values. */
  readonly values: number
  /** Some number is so long, or has an exponent, that a double may not represent it exactly. */
  readonly odd: boolean
}

/**
 * One pass over the text before it is parsed, which stops as soon as a limit is exceeded. For text that is not JSON the
 * result does not matter.
 */
function scanText(text: string): Scan {
  let members = 0
  let mostMembers = 0
  /** Member counts of the open objects, by level. */
  const open: number[] = [0]
  let level = 0
  let levels = 0
  let values = 0
  let digits = 0
  let odd = false
  for (let at = 0; at < text.length; at++) {
    if (values > valuesMax || levels > parsedLevelsMax || mostMembers > membersMax) break
    const code = text.charCodeAt(at)
    if (code >= zero && code <= nine) {
      if (++digits > exactDigitsMax) odd = true
      continue
    }
    if (digits > 0 && code === point) continue
    if (digits > 0 && (code | caseBit) === exponent) odd = true
    digits = 0
    if (code === quote) at = endOfString(text, at)
    else if (code === colon) {
      members++
      const own = (open[level] ?? 0) + 1
      open[level] = own
      if (own > mostMembers) mostMembers = own
    } else if (code === comma) values++
    else if ((code | caseBit) === opening) {
      values++
      levels = Math.max(levels, ++level)
      open[level] = 0
    } else if ((code | caseBit) === closing) level--
  }
  return { members, mostMembers, levels, values, odd }
}

/** The place of the closing quote, or the end of a text that lacks it. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return text.length
}

/** The path of the first duplicate name. The text must be valid JSON with a duplicate name in it. */
function findDuplicate(text: string): string {
  const open: { path: string; names: Set<string> | undefined; index: number; name: string }[] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    const top = open.at(-1)
    if (char === '{' || char === '[') {
      const path = top === undefined ? '' : joinPath(top.path, top.names ? top.name : top.index)
      open.push({ path, names: char === '{' ? new Set() : undefined, index: 0, name: '' })
    } else if (char === '}' || char === ']') open.pop()
    else if (char === ',' && top) top.index++
    else if (char === '"') {
      const end = endOfString(text, at)
      const isName = top?.names !== undefined && /^\s*:/.test(text.slice(end + 1, end + 64))
      if (isName && top?.names) {
        top.name = String(JSON.parse(text.slice(at, end + 1)))
        if (top.names.has(top.name)) return joinPath(top.path, top.name)
        top.names.add(top.name)
      }
      at = end
    }
  }
  return 'body'
}

export function readJson(bytes: Buffer): ReadJson | Refusal {
  const text = bytes.toString('utf8')
  // Decoding replaces invalid UTF-8 by U+FFFD. Only then is the slower check needed whether the character itself was
  // sent.
  if (text.includes('\ufffd') && !isUtf8(bytes)) return notUtf8
  const written = scanText(text)
  if (written.levels > parsedLevelsMax) return tooDeep
  if (written.values > valuesMax) return tooMany
  if (written.mostMembers > membersMax) return tooWide
  const { levels, members: named } = written
  if (named > newFieldsMax && bringsManyFields(text, { levels, max: newFieldsMax, endOfString }))
    return tooVaried
  if (written.odd && written.values > valuesBesideOddMax) return tooManyBesideOdd
  let value: unknown
  try {
    value = written.odd ? markLostNumbers(text) : JSON.parse(text)
  } catch {
    return unreadable
  }
  // In valid UTF-8 only an escape can produce U+0000 or half a surrogate pair.
  const suspects: Suspect[] = []
  const members = countMembers(value, '', 1, { readStrings: text.includes('\\u'), suspects })
  if (Number.isNaN(members)) {
    const flaw = findFlaw(value)
    return flaw ? refuseField(flaw.field, flaw.error) : unreadable
  }
  if (written.members !== members) {
    const field = findDuplicate(text)
    return refuseField(field, `${field} is given twice in the same object; give it once.`)
  }
  return { value, length: text.length, suspects }
}
