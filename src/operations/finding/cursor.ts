/**
 * Cursors of lists: the place of the last item, bound to the merchant and the filters it was given for. A cursor
 * used with others, or made up, is refused. They hide nothing: a place in another merchant's list leads nowhere.
 */
import { createHash } from 'node:crypto'

/** 12 bytes: a made-up cursor does not pass by chance, and passing gains nothing. */
const checkBytes = 12

/** What a cursor belongs to; undefined filters do not count. */
export interface CursorScope {
  readonly list: string
  readonly merchantId: string
  readonly filters: Readonly<Record<string, unknown>>
}

export type Place = readonly (string | number)[]

function checkOf({ list, merchantId, filters }: CursorScope, place: string): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([list, merchantId, given, place]))
    .digest()
    .subarray(0, checkBytes)
    .toString('base64url')
}

export function writeCursor(scope: CursorScope, place: Place): string {
  const text = JSON.stringify(place)
  return `${checkOf(scope, text)}${Buffer.from(text).toString('base64url')}`
}

/** Undefined: not a cursor of this merchant and these filters. */
export function readCursor(scope: CursorScope, cursor: string): Place | undefined {
  const check = cursor.slice(0, (checkBytes * 4) / 3)
  const text = Buffer.from(cursor.slice(check.length), 'base64url').toString()
  return checkOf(scope, text) === check ? (JSON.parse(text) as Place) : undefined
}
