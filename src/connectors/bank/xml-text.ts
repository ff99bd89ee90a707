/** Writing XML: elements as text, with everything escaped that could be read as markup. Amounts come from integers. */

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
