/**
 * How a cell is named and reached. A cell is a schema: its address is that of its database with a search path, so that
 * whatever is handed the address works in that cell and knows nothing of the others.
 */

export interface CellAddress {
  readonly number: number
  readonly name: string
  /** For `pg`. */
  readonly url: string
  /** For people: where its rows lie. Holds no password. */
  readonly place: string
}

export const cellName = (number: number): string => `cell_${String(number).padStart(2, '0')}`

/** Undefined for what names no cell. Cell 0 is the schema public. */
export function parseCellName(text: string): number | undefined {
  if (text === 'public') return 0
  const [, digits] = /^(?:cell_)?(\d{1,3})$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Cell 0 is what the address names by itself. */
export function inCell(url: string, number: number): string {
  if (number === 0) return url
  const { address, options } = splitOptions(url)
  const settings = `-c search_path=${cellName(number)} -c tollgate.cell=${number}`
  const all = encodeURIComponent(options === '' ? settings : `${options} ${settings}`)
  return `${address}${address.includes('?') ? '&' : '?'}options=${all}`
}

/**
 * An address may carry settings for its connections. The driver lets them replace those that it is given beside the
 * address, so they are taken out and joined by whoever has settings of their own.
 */
export function splitOptions(url: string): { readonly address: string; readonly options: string } {
  const [base = '', query = ''] = url.split('?', 2)
  const parts = query.split('&').filter(part => part !== '')
  const kept = parts.filter(part => !part.startsWith('options='))
  const options = parts
    .filter(part => part.startsWith('options='))
    .map(part => decodeURIComponent(part.slice('options='.length).replaceAll('+', ' ')))
    .join(' ')
  return { address: kept.length === 0 ? base : `${base}?${kept.join('&')}`, options }
}

/**
 * Locks are those of a database, and several cells may lie in one: the number of the cell goes into the upper half. That
 * of cell 0 is the bare number, as in releases that know no cells.
 */
export const cellLock = (parameter: string): string =>
  `(${parameter}::bigint + (coalesce(nullif(current_setting('tollgate.cell', true), ''), '0')::bigint << 32))`
