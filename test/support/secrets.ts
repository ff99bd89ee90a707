/** Every form in which a secret could leak: as text, grouped, encoded, packed. */
import type { Buffer } from 'node:buffer'

export interface Needle {
  readonly name: string
  readonly bytes: Buffer
}

const asBytes = (text: string): Buffer => globalThis.Buffer.from(text, 'latin1')

/** In Base64 a text looks different at each of three offsets; its first and last characters depend on neighbours. */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].map(offset =>
    asBytes(`${'\0'.repeat(offset)}${text}`)
      .toString('base64')
      .slice(offset + 1, -4),
  )

export function formsOfText(label: string, text: string): Needle[] {
  const encoded = base64Forms(text)
  return [
    { name: `${label} as text`, bytes: asBytes(text) },
    { name: `${label} as UTF-16`, bytes: globalThis.Buffer.from(text, 'utf16le') },
    { name: `${label} as hex`, bytes: asBytes(asBytes(text).toString('hex')) },
    ...encoded.map((form, offset) => ({ name: `${label} as Base64 at ${offset}`, bytes: asBytes(form) })),
  ]
}

/** A card number also in groups, as packed digits, and any part of it longer than may be shown. */
export function formsOfCard(number: string): Needle[] {
  const groups = (size: number) => number.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
  const packed = globalThis.Buffer.from(number.length % 2 ? `0${number}` : number, 'hex')
  return [
    ...formsOfText(number, number),
    ...[' ', '-', '.', '%20', '+'].map(gap => ({
      name: `${number} in groups of four with ${JSON.stringify(gap)}`,
      bytes: asBytes(groups(4).join(gap)),
    })),
    { name: `${number} packed`, bytes: packed },
    // Nine digits: the first six may be shown, these may not.
    { name: `the first nine digits of ${number}`, bytes: asBytes(number.slice(0, 9)) },
    { name: `the last nine digits of ${number}`, bytes: asBytes(number.slice(-9)) },
  ]
}

/** The names of those that are found. */
export const findNeedles = (haystack: Buffer, needles: readonly Needle[]): string[] =>
  needles.filter(({ bytes }) => haystack.includes(bytes)).map(({ name }) => name)
