/**
 * Stripe's own document, the field probe and the recordings, which are kept beside the project and are not part of it.
 * Where they are absent, the tests that need them say so in one line and check nothing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../../../../shared/providers/stripe/', import.meta.url)
/** A work tree lies one folder deeper than the project itself. */
const deeper = new URL('../../../../../shared/providers/stripe/', import.meta.url)
const root = [folder, deeper].find(url => existsSync(url))

export const materialIsThere = root !== undefined

export const sayItIsAbsent = (): void =>
  console.info('../shared/providers/stripe is absent: these comparisons with Stripe are left out.')

export const readMaterial = (name: string): string => {
  if (root === undefined) throw new Error('the material is absent')
  return readFileSync(new URL(name, root), 'utf8')
}

export const listMaterial = (name: string): readonly string[] =>
  root === undefined ? [] : readdirSync(new URL(name, root)).sort()

export type JsonObject = Readonly<Record<string, unknown>>
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function parseObject(text: string): JsonObject {
  const value: unknown = JSON.parse(text)
  if (!isObject(value)) throw new Error('not a JSON object')
  return value
}
