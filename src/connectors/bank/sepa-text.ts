/**
 * Text in bank files. Every SEPA bank accepts only Latin letters, digits and ten punctuation marks (EPC217-08). Other
 * characters are transliterated as the European Payments Council recommends, so that no bank rejects a file because of
 * a customer's name. Also writes XML elements with escaped text.
 */

/** Parses a table of pairs: a character, followed by its replacement. */
const readTable = (table: string): ReadonlyMap<string, string> =>
  new Map(
    table
      .trim()
      .split(/\s+/)
      .map(pair => [String.fromCodePoint(pair.codePointAt(0) ?? 0), [...pair].slice(1).join('')]),
  )

/** Letters that Unicode decomposition, which removes accents, cannot reduce to plain letters. */
const latin = readTable(`
  ÄAe ÖOe ÜUe äae öoe üue ßss ẞSS ÆAE æae ŒOE œoe ØO øo ĐD đd ÐD ðd ÞTh þth ŁL łl ĦH ħh ıi ŊN ŋn ŦT ŧt ĸk ŉ'n ſs
`)

/** Greek, by ISO 843. */
const greek = readTable(`
  ΑA ΒV ΓG ΔD ΕE ΖZ ΗI ΘTh ΙI ΚK ΛL ΜM ΝN ΞX ΟO ΠP ΡR ΣS ΤT ΥY ΦF ΧCh ΨPs ΩO
  αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo
`)

/** Cyrillic, by the official Bulgarian transliteration, with the letters of neighbouring languages. */
const cyrillic = readTable(`
  АA БB ВV ГG ДD ЕE ЖZh ЗZ ИI ЙY КK ЛL МM НN ОO ПP РR СS ТT УU ФF ХH ЦTs ЧCh ШSh ЩSht ЪA ЬY ЮYu ЯYa ЫY ЭE ІI ҐG ЄYe
  ЂDj ЈJ ЉLj ЊNj ЋC ЏDz аa бb вv гg дd еe жzh зz иi йy кk лl мm нn оo пp рr сs тt уu фf хh цts чch шsh щsht ъa ьy
  юyu яya ыy эe іi ґg єye ђdj јj љlj њnj ћc џdz
`)

/** Punctuation with a close equivalent in the allowed set. */
const marks = readTable(`
  &+ "' ’' ‘' ‚' \`' ´' “' ”' „' «' »' –- —- ‐- ‑- −- _- ~- *. !. ;, @(at) €EUR %. $. #. =. <. >. [( ]) {( }) \\/ |/ ·.
  •. …... №No
`)

const allowed = /^[A-Za-z0-9/\-?:().,'+ ]$/

/** With the flag `u`, so that each match is one whole character, even one made of two UTF-16 units. */
const notAllowed = /[^A-Za-z0-9/\-?:().,'+ ]/gu

/** Whether banks accept the text unchanged. */
export const isSepaText = (text: string): boolean => /^[A-Za-z0-9/\-?:().,'+ ]*$/.test(text)

/**
 * At most `length` characters of the allowed set. Runs of spaces become one, a character without an equivalent becomes
 * a dot.
 */
export function toSepaText(text: string, length: number): string {
  const written = isSepaText(text) ? text : text.normalize('NFC').replace(notAllowed, toAllowed)
  return written.replace(/ {2,}/g, ' ').trim().slice(0, length).trimEnd()
}

function toAllowed(character: string): string {
  if (allowed.test(character)) return character
  const known =
    latin.get(character) ?? marks.get(character) ?? greek.get(character) ?? cyrillic.get(character)
  if (known !== undefined) return known
  if (/\s/u.test(character)) return ' '
  // Decomposes an accented letter into letter and accent, and drops the accent.
  const bare = character.normalize('NFKD').replace(/\p{M}/gu, '')
  if (bare === '') return ''
  return bare === character ? '.' : [...bare].map(toAllowed).join('')
}

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, mark => escapes[mark] ?? mark)

/** An element with text. */
export const leaf = (name: string, text: string): string => `<${name}>${escapeXml(text)}</${name}>`

/** An element with child elements. */
export const element = (name: string, ...children: readonly string[]): string =>
  `<${name}>${children.join('')}</${name}>`

/** 1234 becomes 12.34, without floating point. */
export function toDecimal(cents: number | bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

export const euroAmount = (name: string, cents: number | bigint): string =>
  `<${name} Ccy="EUR">${toDecimal(cents)}</${name}>`
