/**
 * Passes rows to a statement: many as one JSON array, or a single one with a parameter per column. The same list of
 * columns, declared `as const`, defines the SQL and the type of the rows.
 */

/** The TypeScript type of each PostgreSQL type in the JSON that carries rows to the database. */
export interface ValueOf {
  text: string
  'text[]': readonly string[]
  uuid: string
  boolean: boolean
  smallint: number
  integer: number
  bigint: number
  timestamptz: Date
  /** YYYY-MM-DD. */
  date: string
  json: unknown
  /** In PostgreSQL's hexadecimal spelling, `\\x00ff`. */
  bytea: string
}

/** Column name and type, in the order of the table. */
export type Columns = readonly (readonly [name: string, type: keyof ValueOf])[]

/**
 * A row with exactly these columns, so that a misspelt, forgotten or superfluous column fails the type check. Undefined
 * members are left out of the JSON and become NULL.
 */
export type RowOf<C extends Columns> = {
  readonly [Column in C[number] as Column[0]]: ValueOf[Column[1]] | undefined
}

/** A table expression that selects the rows of a parameter. */
export const recordset = (parameter: string, columns: Columns, alias = 'r'): string =>
  `json_to_recordset(${parameter}::json) AS ${alias}(${columns.map(([name, type]) => `${name} ${type}`).join(', ')})`

/** The value of that parameter. */
export const toRecordset = <C extends Columns>(_columns: C, rows: readonly RowOf<C>[]): string =>
  JSON.stringify(rows)

/** At least one chunk, which may be empty: rows that one statement can handle well within its time limit. */
export function chunksOf<T>(rows: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.max(1, Math.ceil(rows.length / size))
  return Array.from({ length: count }, (_, index) => rows.slice(index * size, (index + 1) * size))
}

/** Separate parameters can hold values that JSON cannot, without a text form. */
type ParameterOf = Omit<ValueOf, 'bytea' | 'bigint'> & { bytea: Buffer; bigint: number | bigint }

/** One row with exactly these columns. */
export type ParametersOf<C extends Columns> = {
  readonly [Column in C[number] as Column[0]]: ParameterOf[Column[1]] | undefined
}

/** Inserts the row that `toParameters` makes. */
export const insertOne = (table: string, columns: Columns): string =>
  `INSERT INTO ${table} (${columns.map(([name]) => name).join(', ')})
   VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})`

export function toParameters<C extends Columns>(columns: C, row: ParametersOf<C>): unknown[] {
  const values: ReadonlyMap<string, unknown> = new Map(Object.entries(row))
  return columns.map(([name]) => values.get(name))
}
