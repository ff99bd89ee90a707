/**
 * Stripe's wire format: forms in requests, JSON in answers. A missing member of an answer is undefined and never
 * throws.
 */

import { foreignXId, parseXId, type XId } from '#domain/ids.ts'
import { isRecord } from '#domain/json.ts'

export type Wire = Readonly<Record<string, unknown>>

export const isWire = (value: unknown): value is Wire => isRecord(value)

/** Undefined for anything but a JSON object, such as an error page or a truncated or empty answer. */
export function parseWire(body: string): Wire | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return isWire(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function at(object: Wire | undefined, ...path: readonly string[]): unknown {
  let value: unknown = object
  for (const name of path) value = isWire(value) ? value[name] : undefined
  return value
}

export function textAt(object: Wire | undefined, ...path: readonly string[]): string | undefined {
  const value = at(object, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function numberAt(object: Wire | undefined, ...path: readonly string[]): number | undefined {
  const value = at(object, ...path)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function wireAt(object: Wire | undefined, ...path: readonly string[]): Wire | undefined {
  const value = at(object, ...path)
  return isWire(value) ? value : undefined
}

export function listAt(object: Wire | undefined, ...path: readonly string[]): readonly Wire[] {
  const value = at(object, ...path)
  return Array.isArray(value) ? value.filter(isWire) : []
}

/** Stripe represents a related object by its id or, if expanded, as the whole object. */
export const idAt = (object: Wire | undefined, name: string): string | undefined =>
  textAt(object, name) ?? textAt(object, name, 'id')

/**
 * The id of an intent's newest charge. Endpoints whose API version is older than 2022-11-15 name it in a list, newest
 * first.
 */
export const chargeIdOf = (intent: Wire): string | undefined =>
  idAt(intent, 'latest_charge') ?? textAt(listAt(intent, 'charges', 'data')[0], 'id')

/** Seconds since 1970. */
export function dateAt(object: Wire | undefined, ...path: readonly string[]): Date | undefined {
  const seconds = numberAt(object, ...path)
  return seconds === undefined ? undefined : new Date(seconds * 1000)
}

/** The metadata key of our reference, in every object that we create. */
export const referenceKey = 'tollgate'

/**
 * Marks intents of Checkout Sessions. After a failed try the customer can try again on Stripe's page, so the failure of
 * such an intent does not end the payment.
 */
export const pageKey = 'tollgate_page'

/** The metadata key of an automatic capture's reference, so that one notice settles authorisation and capture. */
export const captureKey = 'tollgate_capture'

/** An object with a reference that is not ours gets `foreignXId`, so that it is not mistaken for the requested one. */
export function referenceAt(object: Wire | undefined): XId | undefined {
  const text = textAt(object, 'metadata', referenceKey) ?? textAt(object, 'client_reference_id')
  return text === undefined ? undefined : (parseXId(text) ?? foreignXId)
}

export const captureReferenceAt = (object: Wire | undefined): XId | undefined =>
  parseXId(textAt(object, 'metadata', captureKey) ?? '')

export type FormValue = string | number | boolean | undefined | readonly FormValue[] | Form
export interface Form {
  readonly [name: string]: FormValue
}

/** `{a: {b: 1}, c: ['x']}` becomes `a[b]=1&c[0]=x`. Undefined members are left out. */
export function toForm(form: Form): string {
  const pairs: string[] = []
  const write = (name: string, value: FormValue): void => {
    if (value === undefined) return
    if (typeof value !== 'object')
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    else for (const [key, inner] of Object.entries(value)) write(`${name}[${key}]`, inner)
  }
  for (const [name, value] of Object.entries(form)) write(name, value)
  return pairs.join('&')
}
