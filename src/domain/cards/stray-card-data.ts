/**
 * Finds card data in the wrong fields: the card number or IBAN of a request in any other field of it, and any card
 * number in names, descriptions, reasons and comments. There it would be stored, shown and forwarded in clear text.
 * Pure.
 */

import { isKnownCardNumber } from '#domain/cards/card-brands.ts'
import { isCardNumber, toPlainDigits } from '#domain/cards/card-numbers.ts'
import { isRecord } from '#domain/json.ts'

export interface StrayCardData {
  /** Dotted path, for example metadata.note. */
  readonly field: string
  readonly error: string
}

/** The members for the number of a card or an account. */
const carriers: ReadonlySet<string> = new Set(['number', 'accountNumber'])

/** The merchant's own data, where order numbers often look like card numbers. */
const ownData = 'metadata'

/** Telephone numbers are in a member called `number` too, and may have a valid checksum by chance. */
const isPhone = (key: string): boolean => /phone$/i.test(key)

/**
 * firstName, cardholderName, additionalDescription, statementDescriptor, cancellationReason … Texts
 * that people write; `textfield1` is the cardholder's name of one method. Address lines are left out: the number of a
 * parcel locker and that of its customer are thirteen digits together, which may look like a card by chance.
 */
const isProse = (key: string): boolean =>
  /(?:name|description|descriptor|reason|comments|textfield1)$/i.test(key)

const ibanForm = /^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$/

/** The shortest number worth looking for: a card number of 12 digits. */
const shortest = 12

/** Replaces compatibility forms, such as full-width digits, and the digits of other scripts by ASCII. */
const plain = (text: string): string =>
  Number.isFinite(countDigits(text)) ? text : toPlainDigits(text.normalize('NFKC'))

/** Removes everything but letters and digits. */
const squeeze = (text: string): string =>
  squeezed.test(text)
    ? text
    : plain(text)
        .replace(/[^0-9A-Za-z]+/g, '')
        .toUpperCase()

/** Most numbers arrive in this form. */
const squeezed = /^[0-9A-Z]*$/

/** A text of a request that may hold card data. */
export interface Suspect {
  readonly text: string
  /** Whether it is the value of a member called `number`. */
  readonly isNumber: boolean
}

/** Whether a number has the digits of a card number: sign and point are separators like any other. */
export const mayHoldDigits = (value: number): boolean => Math.abs(value) >= 1e11 || !Number.isInteger(value)

/** 100: a request with more such texts is searched member by member. */
const suspectsMax = 100

/** Adds a text that may hold card data; `name` is that of its member. */
export function addSuspect(suspects: Suspect[], text: string, name: string): void {
  if (text.length < shortest || suspects.length > suspectsMax) return
  const isNumber = name === 'number'
  if (isNumber || countDigits(text) >= shortest) suspects.push({ text, isNumber })
}

/**
 * True if a request with these suspects cannot contain stray card data; false if it must be searched member by member.
 * The body reader walks through every request anyway, and a second walk took 2 % of the time of a payment. `key` as
 * below.
 */
export function isCertainlyClean(suspects: readonly Suspect[], key = ''): boolean {
  if (suspects.length > suspectsMax) return false
  let own: string | undefined
  const others = [key]
  for (const { text, isNumber } of suspects) {
    const number = isNumber ? squeeze(text) : ''
    if (isCardNumber(number) || ibanForm.test(number)) {
      // An IBAN with so few digits may be repeated in texts that were not collected as suspects.
      if (own !== undefined || countDigits(number) < shortest) return false
      own = number
    } else if (holdsCardNumber(plain(text))) return false
    else others.push(text)
  }
  return own === undefined || !others.some(other => holds(other, [own]))
}

/** `key`: the Idempotency-Key of the request, which is stored as received. */
export function findStrayCardData(body: unknown, key = ''): StrayCardData | undefined {
  const collected: Collected = { all: [], outside: [] }
  collectNumbers(body, collected, false)
  const { all: numbers, outside } = collected
  if (holds(key, numbers)) return describe({ what: 'own', path: 'Idempotency-Key' })
  const found = search(body, '', { numbers, isOwnData: false, inPhone: false, outside })
  return found && describe(found)
}

/** The card and account numbers in the proper fields of a request. */
interface Collected {
  readonly all: string[]
  /** Numbers outside lists. */
  readonly outside: string[]
}

function collectNumbers(value: unknown, found: Collected, inList: boolean): void {
  if (Array.isArray(value)) for (const item of value) collectNumbers(item, found, true)
  else if (isRecord(value))
    for (const key in value) {
      const member = value[key]
      if (typeof member === 'string') {
        if (key === 'number') pushNumber(member, found, inList)
      } else if (key !== ownData && !isPhone(key)) collectNumbers(member, found, inList)
    }
}

function pushNumber(text: string, { all, outside }: Collected, inList: boolean): void {
  const number = squeeze(text)
  // Pseudo numbers, which have a wrong checksum, may be anywhere.
  if (!isCardNumber(number) && !ibanForm.test(number)) return
  all.push(number)
  if (!inList) outside.push(number)
}

interface Place {
  readonly numbers: readonly string[]
  readonly isOwnData: boolean
  readonly inPhone: boolean
  /** Numbers outside lists. In a list of ten thousand cards each item is compared with these and its own. */
  readonly outside: readonly string[]
}

/** `path` is built on the way back up from the finding, so that a clean request builds no paths. */
interface Found {
  readonly what: 'own' | 'own-in-key' | 'likely'
  readonly path: string
}

function search(value: unknown, key: string, place: Place): Found | undefined {
  if (typeof value === 'string') return judge(value, key, place)
  if (typeof value === 'number') return mayHoldDigits(value) ? judge(String(value), key, place) : undefined
  if (Array.isArray(value)) return searchList(value, key, place)
  return isRecord(value) ? searchMembers(value, place) : undefined
}

function searchList(list: readonly unknown[], key: string, place: Place): Found | undefined {
  const ownNumbers = !place.isOwnData && place.numbers.length > place.outside.length
  for (const [index, item] of list.entries()) {
    const found = search(item, key, ownNumbers ? placeInList(item, place) : place)
    if (found) return below(`[${index}]`, found)
  }
  return undefined
}

function placeInList(item: unknown, place: Place): Place {
  const numbers = [...place.outside]
  collectNumbers(item, { all: numbers, outside: [] }, true)
  return { ...place, numbers }
}

function searchMembers(value: Readonly<Record<string, unknown>>, place: Place): Found | undefined {
  for (const key in value) {
    // The merchant chose the key too, so it is checked, but it is not repeated in the error.
    if (place.isOwnData && holds(key, place.numbers)) return { what: 'own-in-key', path: '' }
    const member = value[key]
    const found = search(member, key, typeof member === 'object' ? placeBelow(key, place) : place)
    if (found) return below(key, found)
  }
  return undefined
}

function placeBelow(key: string, place: Place): Place {
  const isOwnData = place.isOwnData || key === ownData
  const inPhone = place.inPhone || isPhone(key)
  return isOwnData === place.isOwnData && inPhone === place.inPhone ? place : { ...place, isOwnData, inPhone }
}

const below = (step: string, { what, path }: Found): Found => ({
  what,
  path: path === '' || path.startsWith('[') ? `${step}${path}` : `${step}.${path}`,
})

function judge(text: string, key: string, place: Place): Found | undefined {
  if (text.length < shortest) return undefined
  if (carriers.has(key) && !place.isOwnData && !place.inPhone) return undefined
  if (holds(text, place.numbers)) return { what: 'own', path: '' }
  if (place.isOwnData || !isProse(key) || countDigits(text) < fewest) return undefined
  return holdsCardNumber(plain(text)) ? { what: 'likely', path: '' } : undefined
}

const places = 'names, descriptions, statement descriptors, reasons and comments'

function describe({ what, path }: Found): StrayCardData {
  if (what === 'likely') {
    const error = `${path} holds what looks like a card number; card numbers must not stand in ${places}.`
    return { field: path, error }
  }
  const subject = what === 'own' ? path : `a key of ${path}`
  const error = `${subject} holds the card number or IBAN of this request; it must stand in its own field only.`
  return { field: path, error }
}

function holds(text: string, numbers: readonly string[]): boolean {
  if (numbers.length === 0 || text.length < shortest) return false
  const digits = countDigits(text)
  if (!numbers.some(number => countDigits(number) <= digits)) return false
  if (includesOne(squeeze(text), numbers)) return true
  return mayBeEscaped(text) && includesOne(squeeze(unescaped(text)), numbers)
}

const includesOne = (text: string, numbers: readonly string[]): boolean =>
  numbers.some(number => text.includes(number))

/** Longer texts than 16 KiB are too long for every field, so the request is refused without a look at their escapes. */
const mayBeEscaped = (text: string): boolean => text.length <= 16_384 && text.includes('%')

/** In URLs a space is `%20`, whose digits would stand between those of the number; digits may be escaped too. */
const unescaped = (text: string): string =>
  text.replace(/(?:%[0-9A-Fa-f]{2})+/g, escapes => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return ' '
    }
  })

/**
 * Infinite if a character is not ASCII, because normalisation may turn it into a digit. Cheap, because it is the only
 * check for most texts.
 */
function countDigits(text: string): number {
  let digits = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code > 0x7f) return Number.POSITIVE_INFINITY
    if (code >= 0x30 && code <= 0x39) digits += 1
  }
  return digits
}

/** 13 to 19 digits: shorter card numbers look too much like telephone numbers. */
const [fewest, most] = [13, 19]

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const wordCharacter = /[\p{L}\p{N}]/u

function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code > 0x7f) return wordCharacter.test(text.charAt(at))
  return isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)
}

/**
 * Looks for groups of digits with single characters between them. Every series of whole groups may be a card number, so
 * that one after a house number is found too. A group that touches a letter is part of a word. Written without regular
 * expressions, which took twice as long (measured), because the order numbers of many requests are read here.
 */
function holdsCardNumber(text: string): boolean {
  let digits: string | undefined
  let digitsRead = 0
  let seriesStart = 0
  let end = -2
  const isKnown = (length: number): boolean => {
    digits ??= text.replace(/[^0-9]+/g, '')
    return isKnownCardNumber(digits.slice(digitsRead - length, digitsRead))
  }
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text.charCodeAt(at))) continue
    const start = at
    while (isDigit(text.charCodeAt(at + 1))) at += 1
    digitsRead += at + 1 - start
    if (isWordAt(text, start - 1) || isWordAt(text, at + 1)) continue
    if (start !== end + 1) seriesStart = start
    end = at + 1
    if (endsWithCardNumber(text, { seriesStart, end, isKnown })) return true
  }
  return false
}

interface Series {
  readonly seriesStart: number
  readonly end: number
  /** Whether the last digits, this many, are a number of a known brand. */
  readonly isKnown: (length: number) => boolean
}

/**
 * Walks back from the end with the sum of the checksum, without a text for each candidate: this runs for every group, and
 * a customer's device may send thousands of single digits.
 */
function endsWithCardNumber(text: string, { seriesStart, end, isKnown }: Series): boolean {
  let length = 0
  let sum = 0
  for (let at = end - 1; at >= seriesStart && length < most; at -= 1) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) continue
    sum += (length % 2 === 0 ? code - zero : doubled[code - zero]) ?? 0
    length += 1
    const isWhole = at === seriesStart || !isDigit(text.charCodeAt(at - 1))
    // No scheme issues numbers that begin with 0.
    if (isWhole && length >= fewest && sum % 10 === 0 && code !== zero && isKnown(length)) return true
  }
  return false
}

const zero = 0x30

/** Every digit doubled, with the digits of the result added. */
const doubled: readonly number[] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
