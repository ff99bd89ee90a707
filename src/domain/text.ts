/** The characters that texts of the API may contain. The schemas check lengths. */

/**
 * PostgreSQL cannot store U+0000, and half a surrogate pair cannot be written as UTF-8. Neither could be returned
 * unchanged, so both are refused everywhere.
 */
export const isStorable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** For texts of others that must be stored all the same: what cannot be stored becomes U+FFFD, the sign for a lost character. */
export const toStorable = (text: string): string => text.replaceAll('\u0000', '\ufffd').toWellFormed()

/** Control and format characters, line and paragraph separators, which readers do not see. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Identifiers are read aloud, pasted and searched for, so their characters must be visible or spaces. */
export const isPrintable = (text: string): boolean => !invisible.test(text)

const eachInvisible = new RegExp(invisible, 'gu')

/**
 * Invisible characters as their codes, in the way of JSON: shown to somebody, a text of others must neither control the
 * terminal nor look like another text.
 */
export const toVisible = (text: string): string =>
  text.replace(eachInvisible, character =>
    // By units, because JSON has no other way to write a character above U+FFFF.
    character.replace(/./gs, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )

/** 128: the width of the columns for names. */
export const nameMax = 128

/** A name chosen by a user. Undefined unless it has 1 to 128 visible characters. */
export function readName(text: string): string | undefined {
  const name = text.trim()
  const { length } = [...name]
  return length >= 1 && length <= nameMax && isPrintable(name) ? name : undefined
}

/**
 * Checks the form of an email address, in any script: a local part, an at sign, a domain with at least one dot. 64 and
 * 254 are the limits of RFC 5321.
 */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || at > 64 || text.length > 254) return false
  const local = text.slice(0, at)
  if (!/^[^\s@"(),:;<>[\\\]]+$/u.test(local) || local.startsWith('.') || local.includes('..')) return false
  if (local.endsWith('.') || !isPrintable(text)) return false
  const labels = text.slice(at + 1).split('.')
  return labels.length > 1 && labels.every(label => domainLabel.test(label))
}

/** Letters and digits of any script, hyphens inside; 63 characters by RFC 1035. */
const domainLabel = /^(?!-)[\p{L}\p{M}\p{N}-]{1,63}(?<!-)$/u

/** 2,048: the longest address of the contract, in the form in which it is stored and called: é is %C3%A9 there. */
export const addressMax = 2_048

/** What `isWebAddress` demands, for error texts. */
export const webAddressForm =
  'http or https address without credentials, whose host has letters, digits, dots and hyphens'

/** An absolute http(s) address. Credentials in an address end up in logs and histories, so they are not accepted. */
export function isWebAddress(text: string): boolean {
  // The URL parser would silently trim and repair these, but the stored address must be the one that is called.
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\\\p{Cc}]/u.test(text) || !text.isWellFormed()) return false
  if (/^https?:\/\/[^/?#]*@/i.test(text) || !URL.canParse(text)) return false
  const { href, hostname } = new URL(text)
  return href.length <= addressMax && isPlainHost(hostname)
}

/** URL schemes that a browser would handle itself instead of passing them to an app. */
const runningSchemes = /^(?:javascript|data|file|vbscript|about|blob):/i

/** A web address, or one with the scheme of an app. */
export function isAppAddress(text: string): boolean {
  if (/^https?:/i.test(text)) return isWebAddress(text)
  if (!/^[a-z][a-z0-9+.-]*:[^\s\\\p{Cc}]+$/iu.test(text) || runningSchemes.test(text) || !text.isWellFormed())
    return false
  return URL.canParse(text) && new URL(text).href.length <= addressMax
}

/**
 * The characters of a parsed host; names in other scripts are in their ASCII form by then. The URL standard also allows
 * `;`, `'` and `,`, with which a host could inject rules into a page's content security policy.
 */
export const isPlainHost = (hostname: string): boolean => /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)

/** The normalised address, in which it is stored and called, so that equivalent addresses are equal. */
export const normalizeAddress = (address: string): string =>
  URL.canParse(address) ? new URL(address).href : address

/** The addresses of a request in the form in which they are stored. */
export const normalizeAddresses = <Urls extends Readonly<Record<string, string | undefined>>>(
  urls: Urls,
): Urls =>
  // Object.fromEntries loses the names, which are unchanged.
  Object.fromEntries(
    Object.entries(urls).map(([name, address]) => [name, address && normalizeAddress(address)]),
  ) as Urls

/** A well-formed BCP 47 language tag: `de`, `pt-BR`, `zh-Hant-TW`. */
export function isLanguageTag(text: string): boolean {
  // Most tags are a language with or without a region; they need no call to Intl.
  if (/^[a-z]{2,3}(-[A-Z]{2})?$/.test(text)) return true
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    // Intl throws for a malformed tag, which is an ordinary answer here.
    return false
  }
}

/** The card schemes' limit for descriptors on statements. */
const descriptorMax = 22

/** Letters and marks that do not decompose into a letter and an accent. */
const replacements: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ ß: 'ss', ẞ: 'SS', Æ: 'AE', æ: 'ae', Œ: 'OE', œ: 'oe', Ø: 'O', ø: 'o', Þ: 'Th', þ: 'th' },
    ...{ Đ: 'D', đ: 'd', Ð: 'D', ð: 'd', Ł: 'L', ł: 'l', Ħ: 'H', ħ: 'h', ı: 'i' },
    ...{ '’': "'", '‘': "'", '“': '"', '”': '"', '–': '-', '—': '-' },
  }),
)

/**
 * A descriptor for statements of account: without accents, other alphabets and characters that the provider refuses,
 * because a payment must not fail because of its descriptor. Undefined: nothing is left.
 */
export function toStatementText(descriptor: string | undefined, refused: RegExp): string | undefined {
  const plain = (descriptor ?? '').normalize('NFKD').replace(/[^ -~]/gu, toPlain)
  const text = plain.replace(refused, '').replace(/ {2,}/g, ' ').trim()
  return text.slice(0, descriptorMax).trimEnd() || undefined
}

/** After decomposition accents are separate characters, which are dropped. */
function toPlain(letter: string): string {
  return replacements.get(letter) ?? ''
}
