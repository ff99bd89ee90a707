/** Reads JSON without a guaranteed shape: an unexpected value counts as absent and never throws. */
import { isRecord, type JsonObject } from '#domain/json.ts'

export { isRecord, parseJson } from '#domain/json.ts'

export type Loose = JsonObject

export function recordAt(source: unknown, name: string): Loose | undefined {
  const value = isRecord(source) ? source[name] : undefined
  return isRecord(value) ? value : undefined
}

export function listAt(source: unknown, name: string): readonly unknown[] {
  const value = isRecord(source) ? source[name] : undefined
  return Array.isArray(value) ? value : []
}

/** A non-empty text. */
export function textAt(source: unknown, name: string): string | undefined {
  const value = isRecord(source) ? source[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function integerAt(source: unknown, name: string): number | undefined {
  const value = isRecord(source) ? source[name] : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}

export function flagAt(source: unknown, name: string): boolean | undefined {
  const value = isRecord(source) ? source[name] : undefined
  return typeof value === 'boolean' ? value : undefined
}

export function dateAt(source: unknown, name: string): Date | undefined {
  const date = new Date(textAt(source, name) ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Drops undefined members; undefined if none remains. */
export function present<T extends object>(members: T): T | undefined {
  const known = Object.entries(members).filter(([, value]) => value !== undefined)
  // Object.fromEntries loses the member names. The cast is safe, because only undefined members were dropped.
  return known.length > 0 ? (Object.fromEntries(known) as T) : undefined
}
