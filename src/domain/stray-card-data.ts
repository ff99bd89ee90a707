/**
 * Finds card data where it does not belong: the card number or IBAN of a request in any other field of it, and any card
 * number in names and descriptions. Whatever lies there would be stored, shown and sent on in clear. Pure.
 */
import { isKnownCardNumber } from '#domain/card-brands.ts'
import { isCardNumber } from '#domain/card-numbers.ts'

export interface StrayCardData {
  /** Dotted path, for example metadata.note. */
  readonly field: string
  readonly error: string
}

/** Members that are meant for the number of a card or an account. */
const carriers: ReadonlySet<string> = new Set(['number', 'accountNumber'])

/** The merchant's own data: order numbers in there often look like card numbers. */
const ownData = 'metadata'

/** A telephone number lies in a member called number as well, and may pass a checksum by chance. */
const isPhone = (key: string): boolean => /phone$/i.test(key)

/** firstName, cardholderName, description, additionalDescription … */
const isNameOrDescription = (key: string): boolean => /(?:name|description)$/i.test(key)

const ibanForm = /^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$/

/** The shortest number worth looking for: a card number of 12 digits. */
const shortest = 12

/** Compatible forms become plain ones, such as digits of double width; then everything between letters and digits goes. */
const squeeze = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[^0-9A-Za-z]+/g, '')
    .toUpperCase()

const isMember = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `key`: the Idempotency-Key of the request, which is stored as it came. */
export function findStrayCardData(body: unknown, key = ''): StrayCardData | undefined {
  const numbers = collectNumbers(body, true)
  if (holds(key, numbers)) return describeOwn('Idempotency-Key', 'Idempotency-Key')
  return search(body, {
    path: '',
    key: '',
    numbers,
    isOwnData: false,
    inPhone: false,
    outside: collectNumbers(body, false),
  })
}

/** Numbers that the request carries where they belong; those within lists only where asked for. */
function collectNumbers(value: unknown, withLists: boolean, found: string[] = []): readonly string[] {
  if (Array.isArray(value)) {
    if (withLists) for (const item of value) collectNumbers(item, withLists, found)
    return found
  }
  if (!isMember(value)) return found
  for (const key in value) {
    const member = value[key]
    if (typeof member === 'string') {
      if (key === 'number') pushNumber(member, found)
    } else if (key !== ownData && !isPhone(key)) collectNumbers(member, withLists, found)
  }
  return found
}

function pushNumber(text: string, found: string[]): void {
  const squeezed = squeeze(text)
  // Pseudo numbers have a wrong checksum: they are made to be passed around.
  if (isCardNumber(squeezed) || ibanForm.test(squeezed)) found.push(squeezed)
}

interface Place {
  readonly path: string
  readonly key: string
  readonly numbers: readonly string[]
  readonly isOwnData: boolean
  readonly inPhone: boolean
  /** Numbers that stand in no list. In a list of ten thousand cards each item is compared with these and its own. */
  readonly outside: readonly string[]
}

function search(value: unknown, place: Place): StrayCardData | undefined {
  if (typeof value === 'string') return judge(value, place)
  if (typeof value === 'number') return value >= 1e11 ? judge(String(value), place) : undefined
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const numbers = place.isOwnData ? place.numbers : [...place.outside, ...collectNumbers(item, true)]
      const found = search(item, { ...place, path: `${place.path}[${index}]`, numbers })
      if (found) return found
    }
    return undefined
  }
  if (!isMember(value)) return undefined
  for (const key in value) {
    const inOwnData = place.isOwnData || key === ownData
    // A key is text that the merchant chose, too. It is not repeated.
    if (place.isOwnData && holds(key, place.numbers)) return describeOwn(`a key of ${place.path}`, place.path)
    const path = place.path === '' ? key : `${place.path}.${key}`
    const found = search(value[key], {
      ...place,
      path,
      key,
      isOwnData: inOwnData,
      inPhone: place.inPhone || isPhone(key),
    })
    if (found) return found
  }
  return undefined
}

function judge(text: string, { path, key, numbers, isOwnData, inPhone }: Place): StrayCardData | undefined {
  if (text.length < shortest) return undefined
  if (carriers.has(key) && !isOwnData && !inPhone) return undefined
  if (holds(text, numbers)) return describeOwn(path, path)
  if (isOwnData || !isNameOrDescription(key) || !holdsCardNumber(text.normalize('NFKC'))) return undefined
  const error = `${path} holds what looks like a card number; card numbers must not stand in names and descriptions.`
  return { field: path, error }
}

const describeOwn = (subject: string, field: string): StrayCardData => ({
  field,
  error: `${subject} holds the card number or IBAN of this request; it must stand in its own field only.`,
})

function holds(text: string, numbers: readonly string[]): boolean {
  if (numbers.length === 0 || text.length < shortest) return false
  const squeezed = squeeze(text)
  return numbers.some(number => squeezed.includes(number))
}

/** 13 to 19 digits: shorter numbers of cards in use are too much like telephone numbers. */
const [fewest, most] = [13, 19]

const groupsOfDigits = /[0-9]+/g
const isWordCharacter = /[\p{L}\p{N}]/u

/**
 * Groups of digits with single characters between them; every series of whole groups may be a number, so that one behind
 * a house number is found too. A group that touches a letter is a part of a word.
 */
function holdsCardNumber(text: string): boolean {
  let series: string[] = []
  let end = -2
  for (const { 0: digits, index } of text.matchAll(groupsOfDigits)) {
    const after = text.charAt(index + digits.length)
    const isWord = isWordCharacter.test(text.charAt(index - 1)) || isWordCharacter.test(after)
    const goesOn = index === end + 1
    series = isWord ? [] : goesOn ? [...series, digits].slice(-most) : [digits]
    end = isWord ? -2 : index + digits.length
    if (endsWithCardNumber(series)) return true
  }
  return false
}

function endsWithCardNumber(series: readonly string[]): boolean {
  let number = ''
  for (let at = series.length - 1; at >= 0 && number.length < most; at -= 1) {
    number = `${series[at]}${number}`
    if (number.length >= fewest && number.length <= most && isCardNumber(number) && isKnownCardNumber(number))
      return true
  }
  return false
}
