/**
 * Builds HTML from templates in which everything is escaped unless it is already HTML. Values belong between tags or
 * into quoted attributes, nowhere else; addresses are checked by the code that inserts them.
 */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Part = Html | string | number | false | undefined | readonly Part[]

const needsEscape = /[&<>"']/
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Most texts contain none of the five characters: testing first is several times faster than replacing. */
export const escapeHtml = (text: string): string =>
  needsEscape.test(text) ? text.replace(/[&<>"']/g, character => entities[character] ?? '') : text

function toText(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part)
  if (part instanceof Html) return part.text
  if (part === undefined || part === false) return ''
  if (typeof part === 'number') return String(part)
  let text = ''
  for (const one of part) text += toText(one)
  return text
}

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? ''
  for (let index = 0; index < parts.length; index++) text += toText(parts[index]) + (strings[index + 1] ?? '')
  return new Html(text)
}

/** Only for constants in our own code, never for input. */
export const raw = (text: string): Html => new Html(text)

/** Puts values into a text of a language; the result is still text and is escaped where it is shown. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{([a-z]+)\}/gi, (mark, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? mark) : mark,
  )
