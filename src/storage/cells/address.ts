/**
 * Names and addresses of cells. A cell is a schema: its address is that of its database with a search path, so that
 * code with that address works in that cell and does not see the others.
 */

export interface CellAddress {
  readonly number: number
  readonly name: string
  /** The connection string for `pg`. */
  readonly url: string
  /** The location of its rows as shown to operators, without a password. */
  readonly place: string
}

export const cellName = (number: number): string => `cell_${String(number).padStart(2, '0')}`

/** Undefined for text that does not name a cell. Cell 0 is the schema public. */
export function parseCellName(text: string): number | undefined {
  if (text === 'public') return 0
  const [, digits] = /^(?:cell_)?(\d{1,3})$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** The address of cell 0 is the plain address of its database. */
export function inCell(url: string, number: number): string {
  if (number === 0) return url
  const { address, options } = splitOptions(url)
  const settings = `-c search_path=${cellName(number)} -c tollgate.cell=${number}`
  const all = encodeURIComponent(options === '' ? settings : `${options} ${settings}`)
  return `${address}${address.includes('?') ? '&' : '?'}options=${all}`
}

/**
 * Splits the connection options from an address. The driver would let them replace options passed in the configuration,
 * so callers with options of their own merge the two.
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
 * The number of an advisory lock in this cell. Advisory locks belong to a database, which several cells may share, so
 * the upper half holds the number of the cell. Cell 0 uses the bare number, like releases without cells.
 */
export const cellLock = (parameter: string): string =>
  `(${parameter}::bigint + (coalesce(nullif(current_setting('tollgate.cell', true), ''), '0')::bigint << 32))`
