/** Unions of texts from the types of Stripe's own library, the newest description of its API that can be read offline. */
import { readFileSync } from 'node:fs'

const root = new URL('../../../node_modules/stripe/esm/resources/', import.meta.url)

/** The first union of that name after the given words. */
export function unionIn(file: string, name: string, after = ''): readonly string[] {
  const text = readFileSync(new URL(`${file}.d.ts`, root), 'utf8')
  const start = text.indexOf(`type ${name} =`, Math.max(0, text.indexOf(after)))
  const union = start === -1 ? '' : text.slice(start, text.indexOf(';', start))
  return [...union.matchAll(/'([^']+)'/g)].map(([, value]) => value ?? '')
}
