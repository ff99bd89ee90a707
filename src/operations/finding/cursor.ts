/**
 * Cursors of lists: the position of the last item, bound to the merchant and the filters. A cursor with another
 * merchant or other filters, or a made-up one, is refused. A cursor is no secret: a position in another merchant's list
 * is of no use.
 */
import { createHash } from 'node:crypto'
import { parsePayId } from '#domain/ids.ts'
import { latestMs } from '#domain/time/dates.ts'

/** 12 bytes: a forged cursor does not pass by chance, and passing would gain nothing. */
const checkBytes = 12

/** The largest value of the database's integer type. */
const countMax = 2_147_483_647

/** What a cursor is bound to; undefined filters are ignored. */
export interface CursorScope {
  readonly list: string
  readonly merchantId: string
  readonly filters: Readonly<Record<string, unknown>>
}

export type Place = readonly (string | number)[]

/** The filters that are comma lists, in every list that has them. */
const commaLists: readonly string[] = ['status', 'type']

/** The filters that were given, in one order; so are the values of comma lists, whose order means nothing. */
export const sortFilters = (filters: CursorScope['filters']): readonly (readonly [string, unknown])[] =>
  Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, commaLists.includes(name) ? sortList(String(value)) : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))

const sortList = (list: string): string =>
  [...new Set(list.split(',').map(value => value.trim()))].sort().join(',')

function checkOf({ list, merchantId, filters }: CursorScope, place: string): string {
  const given = sortFilters(filters)
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

const fits = {
  /** Milliseconds since 1970. */
  moment: (item: unknown) => Number.isSafeInteger(item) && Number(item) >= 0 && Number(item) <= latestMs,
  payId: (item: unknown) => typeof item === 'string' && parsePayId(item) !== undefined,
  count: (item: unknown) => Number.isSafeInteger(item) && Number(item) >= 0 && Number(item) <= countMax,
}

/** The types of a position's parts, in order. */
export type PlaceForm = readonly (keyof typeof fits)[]

/**
 * Undefined: not a cursor of this merchant and these filters. The check value is not secret, so the position is
 * validated as well.
 */
export function readCursor(scope: CursorScope, cursor: string, form: PlaceForm): Place | undefined {
  const check = cursor.slice(0, (checkBytes * 4) / 3)
  const text = Buffer.from(cursor.slice(check.length), 'base64url').toString()
  const place = checkOf(scope, text) === check ? readPlace(text) : undefined
  if (!Array.isArray(place) || place.length !== form.length) return undefined
  return form.every((kind, index) => fits[kind](place[index])) ? place : undefined
}

function readPlace(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
