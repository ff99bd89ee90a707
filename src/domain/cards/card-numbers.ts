/**
 * Card numbers as text: checksum, masked form, pseudo card numbers, one-time card tokens, and the filter that keeps
 * card numbers out of logs and error texts. Nothing here stores or encrypts a number.
 */
import { strict as assert } from 'node:assert'

/** ISO/IEC 7812 allows 19 digits; the shortest numbers still in use (Maestro) have 12. */
const shortest = 12
const longest = 19

/** Arabic, Persian, Devanagari and full-width digits, which phones may offer. */
const foreignDigits = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]/g
const zeros = [0x660, 0x6f0, 0x966, 0xff10]

export const toPlainDigits = (text: string): string =>
  text.replace(foreignDigits, digit => {
    const code = digit.charCodeAt(0)
    const zero = zeros.findLast(one => one <= code) ?? code
    return String(code - zero)
  })

/** False for anything but digits, including the empty text. */
export function passesLuhn(digits: string): boolean {
  return /^[0-9]+$/.test(digits) && luhnSum(digits) % 10 === 0
}

function luhnSum(digits: string): number {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    sum += i % 2 === 0 ? digit : double(digit)
  }
  return sum
}

/** Doubles a digit and adds the digits of the result: 7 becomes 14 becomes 5. */
const double = (digit: number): number => (digit < 5 ? digit * 2 : digit * 2 - 9)

/** 12 to 19 digits with a valid checksum: a scheme may have issued it. */
export const isCardNumber = (text: string): boolean =>
  text.length >= shortest && text.length <= longest && passesLuhn(text)

/** The most that PCI DSS lets us show: the first six and the last four digits. */
export const maskCard = (number: string): { first6Digits: string; last4Digits: string } => ({
  first6Digits: number.slice(0, 6),
  last4Digits: number.slice(-4),
})

/**
 * No scheme issues numbers that begin with 0, and because of its wrong checksum ours never passes for a card number.
 */
export const isPseudoCardNumber = (text: string): boolean => /^0[0-9]{15}$/.test(text) && !passesLuhn(text)

/** 9 · 10^11: eleven free digits, and a twelfth that may be any but the one that makes the checksum valid. */
const pseudoCount = 900_000_000_000
/** A prime, so that successive attempts visit every pseudo number before one repeats, far apart from each other. */
const attemptStep = 556_230_589_961

/**
 * The pseudo card number for a card's keyed digest. The digest selects, uniformly, one of all pseudo numbers that end
 * with `last3`. If the merchant already uses that one for another card, the caller increments `attempt`.
 */
export function toPseudoCardNumber(digest: Uint8Array, attempt: number, last3: string): string {
  // 16 bytes have far more values than there are pseudo numbers, so the remainder is practically uniform.
  assert(digest.length >= 16, 'the digest is too short')
  assert(/^[0-9]{3}$/.test(last3), 'the last three digits are not three digits')
  assert(Number.isSafeInteger(attempt) && attempt >= 0, 'attempts are counted from 0')
  const index = (remainderOf(digest) + stepsOf(attempt)) % pseudoCount
  const free = String(Math.floor(index / 9)).padStart(11, '0')
  const nth = index % 9
  // Exactly one of the ten digits would make the checksum valid: it is skipped. Three digits follow it, so it counts
  // double.
  const others = luhnSum(`0${free}0${last3}`)
  let right = 0
  while ((others + double(right)) % 10 !== 0) right++
  return `0${free}${nth < right ? nth : nth + 1}${last3}`
}

/** The digest as one number, modulo the count of pseudo numbers. Every step stays below 2^48 and is exact. */
function remainderOf(digest: Uint8Array): number {
  let remainder = 0
  for (let at = 0; at < digest.length; at++) remainder = (remainder * 256 + (digest[at] ?? 0)) % pseudoCount
  return remainder
}

const stepsOf = (attempt: number): number =>
  attempt === 0 ? 0 : Number((BigInt(attempt) * BigInt(attemptStep)) % BigInt(pseudoCount))

/** Twelve digits with at most one separator between neighbours. Text without such a run holds no card number. */
const suspicious = /[0-9](?:(?:[ .+-]|%20)?[0-9]){11}/
/**
 * Our own ids, trace ids and hashes, and the client's address in a log line. They often contain a dozen digits in a
 * row, but logs are useless without them, so they are not masked.
 */
const ownToken =
  /(?<![0-9A-Za-z])(?=[0-9]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{32})(?![0-9A-Za-z])|(?<!\\)"address":"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"/g

/**
 * The last line of defence for logs and error texts: every run of digits that contains a possible card number becomes
 * `411111******1111`. It rather masks an innocent number than lets a card number pass.
 */
export function scrubCardNumbers(text: string): string {
  if (!suspicious.test(text)) return text
  let scrubbed = ''
  let from = 0
  for (const token of text.matchAll(ownToken)) {
    scrubbed += scrubPart(text.slice(from, token.index)) + token[0]
    from = token.index + token[0].length
  }
  return scrubbed + scrubPart(text.slice(from))
}

/** Masking closes gaps between digits, so the result is searched again. */
function scrubPart(text: string): string {
  const scrubbed = scrubRuns(text)
  return scrubbed === text ? text : scrubPart(scrubbed)
}

/** A loop, because a regular expression for runs of any length can exhaust the stack on hostile text. */
function scrubRuns(text: string): string {
  let scrubbed = ''
  let copied = 0
  let at = 0
  while (at < text.length) {
    if (!isDigit(text, at)) {
      at++
      continue
    }
    const start = at
    let digits = ''
    for (let next = at; next !== -1; next = nextDigit(text, at)) {
      digits += text[next]
      at = next + 1
    }
    if (!holdsCardNumber(text.slice(start, at))) continue
    scrubbed += text.slice(copied, start) + maskRun(digits)
    copied = at
  }
  return scrubbed + text.slice(copied)
}

const isDigit = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** The next digit of a run at or after `at`, past at most one separator, or -1. */
function nextDigit(text: string, at: number): number {
  if (isDigit(text, at)) return at
  if (' .+-'.includes(text.charAt(at)) && isDigit(text, at + 1)) return at + 1
  if (text.startsWith('%20', at) && isDigit(text, at + 3)) return at + 3
  return -1
}

/** Tries every digit as the first of a number, even those of `%20`, which may be a literal percent sign. */
function holdsCardNumber(run: string): boolean {
  if (run.length < shortest) return false
  for (let start = 0; start < run.length; start++)
    if (isDigit(run, start) && startsCardNumber(run, start)) return true
  return false
}

/** Keeps two checksums of the digits so far: one in which the last digit counts once, one in which it counts double. */
function startsCardNumber(run: string, start: number): boolean {
  let once = 0
  let twice = 0
  let length = 0
  for (let at = start; at !== -1 && length < longest; at = nextDigit(run, at + 1)) {
    const digit = run.charCodeAt(at) - 48
    const previousOnce = once
    once = twice + digit
    twice = previousOnce + double(digit)
    length++
    // Zeros alone have a valid checksum, but they are no card number and are common at the end of round amounts.
    if (length >= shortest && once % 10 === 0 && once > 0) return true
  }
  return false
}

/** One star per omitted digit, but at most as many as in the longest card number. */
function maskRun(digits: string): string {
  const { first6Digits, last4Digits } = maskCard(digits)
  return first6Digits + '*'.repeat(Math.min(digits.length, longest) - 10) + last4Digits
}

/** The prefix of one-time card tokens. */
const tokenPrefix = 'ott_'

/**
 * 80 to 600 characters after the prefix: an id, a nonce and a tag of 44 bytes, and a card of 20 to 400 bytes, the longest with
 * a name of 45 characters of four bytes each.
 */
const tokenForm = /^ott_[A-Za-z0-9_-]{80,600}$/

export const isOneTimeToken = (text: string): boolean => tokenForm.test(text)

export const writeOneTimeToken = (bytes: Buffer): string => `${tokenPrefix}${bytes.toString('base64url')}`

export const readOneTimeToken = (token: string): Buffer =>
  Buffer.from(token.slice(tokenPrefix.length), 'base64url')
