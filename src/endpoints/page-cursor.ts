/**
 * Cursors of lists: where the next page begins, tied to the merchant and the filters of the list, so that a cursor used
 * elsewhere is refused instead of giving a wrong page.
 */
import { createHash } from 'node:crypto'
import { isStorable } from '#domain/text.ts'
import { InvalidField } from '#http/server/ports.ts'
import { sortFilters } from '#operations/finding/cursor.ts'

export interface CursorScope {
  readonly merchantId: string
  /** The list, and the query without limit and cursor. */
  readonly list: string
  readonly query: Readonly<Record<string, unknown>>
}

/**
 * 16 of 64 hex digits: against mistakes, not against attacks. A cursor gives access to nothing that its merchant may
 * not see.
 */
function digest({ merchantId, list, query }: CursorScope, position: readonly string[]): string {
  const { limit: _limit, cursor: _cursor, ...filters } = query
  const text = JSON.stringify([merchantId, list, sortFilters(filters), position])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

export const writeCursor = (scope: CursorScope, position: readonly string[]): string =>
  Buffer.from(JSON.stringify([digest(scope, position), ...position])).toString('base64url')

/** Undefined: the first page. The digest is not secret, so the values are validated as well. */
export function readCursor(
  scope: CursorScope,
  fits: readonly ((word: string) => boolean)[],
): readonly string[] | undefined {
  const { cursor } = scope.query
  if (cursor === undefined) return undefined
  const words = readWords(String(cursor))
  const [mark, ...position] = words ?? []
  const isOurs = position.length === fits.length && mark === digest(scope, position)
  if (isOurs && position.every((word, index) => isStorable(word) && fits[index]?.(word))) return position
  throw new InvalidField('cursor', 'cursor must be the nextCursor of a page with the same filters.')
}

function readWords(cursor: string): readonly string[] | undefined {
  try {
    const words: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(words) && words.every(word => typeof word === 'string') ? words : undefined
  } catch {
    // We did not issue this cursor.
    return undefined
  }
}

/** One page: the requested rows, and one more that shows whether there is a next page. */
export function toPage<Row, Shown>(
  rows: readonly Row[],
  limit: number,
  { show, positionOf, scope }: PageShape<Row, Shown>,
): { readonly data: readonly Shown[]; readonly nextCursor?: string } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const more = rows.length > limit && last !== undefined
  return {
    data: page.map(show),
    ...(more ? { nextCursor: writeCursor(scope, positionOf(last)) } : {}),
  }
}

export interface PageShape<Row, Shown> {
  readonly show: (row: Row) => Shown
  readonly positionOf: (row: Row) => readonly string[]
  readonly scope: CursorScope
}
