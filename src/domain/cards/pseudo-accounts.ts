/**
 * Pseudo bank account numbers, which represent an IBAN at one merchant: `ZZ00`, fourteen consonants, and the last four
 * characters of the IBAN. There is no country ZZ and there are no check digits 00, so none can pass for an IBAN, and
 * card number filters find no run of digits in them.
 */
import { strict as assert } from 'node:assert'

const shape = /^ZZ00[BCDFGHJKLMNPQRSTVWXZ]{14}[0-9A-Z]{4}$/

export const isPseudoAccountNumber = (text: string): boolean => shape.test(text)

/** Twenty consonants, so that no pseudo number spells a word. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const freeLetters = 14
const base = BigInt(alphabet.length)
/** 20^14, about 1.6 · 10^18. */
const pseudoCount = base ** BigInt(freeLetters)
/** A prime other than 2 and 5, so that successive attempts visit every pseudo number before one repeats. */
const attemptStep = 1_000_000_007_000_000_231n

/** Like toPseudoCardNumber: the digest selects a number, and the next attempt another one if that is taken. */
export function toPseudoAccountNumber(digest: Uint8Array, attempt: number, last4: string): string {
  assert(digest.length >= 16, 'the digest is too short')
  assert(/^[0-9A-Z]{4}$/.test(last4), 'the last four characters are not those of an IBAN')
  assert(Number.isSafeInteger(attempt) && attempt >= 0, 'attempts are counted from 0')
  const seed = BigInt(`0x${Buffer.from(digest).toString('hex')}`)
  let index = (seed + BigInt(attempt) * attemptStep) % pseudoCount
  let letters = ''
  for (let place = 0; place < freeLetters; place++) {
    letters += alphabet[Number(index % base)]
    index /= base
  }
  return `ZZ00${letters}${last4}`
}
