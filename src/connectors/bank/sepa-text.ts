/**
 * Text in bank files. First the characters that every SEPA bank accepts: Latin letters, digits and ten marks (EPC217-08);
 * other letters are written with these, as the European Payments Council recommends, so that no bank rejects a file for a
 * customer's name. Then XML: elements as text, with everything escaped that could be read as markup.
 */

/** Pairs without spaces: the character, then its replacement. */
const readTable = (table: string): ReadonlyMap<string, string> =>
  new Map(
    table
      .trim()
      .split(/\s+/)
      .map(pair => [String.fromCodePoint(pair.codePointAt(0) ?? 0), [...pair].slice(1).join('')]),
  )

/** Letters that lose more than an accent. Accents are removed by Unicode decomposition. */
const latin = readTable(`
  ÄAe ÖOe ÜUe äae öoe üue ßss ẞSS ÆAE æae ŒOE œoe ØO øo ĐD đd ÐD ðd ÞTh þth ŁL łl ĦH ħh ıi ŊN ŋn ŦT ŧt ĸk ŉ'n ſs
`)

/** ISO 843. */
const greek = readTable(`
  ΑA ΒV ΓG ΔD ΕE ΖZ ΗI ΘTh ΙI ΚK ΛL ΜM ΝN ΞX ΟO ΠP ΡR ΣS ΤT ΥY ΦF ΧCh ΨPs ΩO
  αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo
`)

/** The official Bulgarian form, with the letters of its neighbours. */
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

/** One letter at a time, whatever its length in memory. */
const notAllowed = /[^A-Za-z0-9/\-?:().,'+ ]/gu

/** Whether banks accept the text unchanged. */
export const isSepaText = (text: string): boolean => /^[A-Za-z0-9/\-?:().,'+ ]*$/.test(text)

/**
 * At most `length` characters of the allowed set; spaces are single, and a character without an equivalent becomes a
 * dot.
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
  // A letter with an accent: the letter, then the accent as a mark of its own, which is dropped.
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

/** One element with text inside. */
export const leaf = (name: string, text: string): string => `<${name}>${escapeXml(text)}</${name}>`

/** One element around others. */
export const element = (name: string, ...children: readonly string[]): string =>
  `<${name}>${children.join('')}</${name}>`

/** 1234 is 12.34, without passing through a fraction. */
export function toDecimal(cents: number | bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

export const euroAmount = (name: string, cents: number | bigint): string =>
  `<${name} Ccy="EUR">${toDecimal(cents)}</${name}>`
