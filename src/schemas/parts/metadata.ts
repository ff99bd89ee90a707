/**
 * The merchant's own key/value data. It is returned unchanged, so values that cannot be are refused: the schema counts
 * keys, and `checkMetadata` checks what a schema cannot express.
 */
import type { Static } from 'typebox'
import { Type } from '#schemas/parts/type.ts'

/** 16 KiB as JSON text: plenty for references, too little for documents. */
const metadataBytesMax = 16 * 1024

const metadataKeysMax = 50

export const metadata = Type.Record(Type.String(), Type.Unknown(), {
  title: 'Metadata',
  description:
    "The merchant's own data, returned unchanged. At most 50 keys of at most 40 characters, 16 KiB in all.",
  maxProperties: metadataKeysMax,
  propertyNames: { type: 'string', maxLength: 40 },
})
export type Metadata = Static<typeof metadata>

/** The error text, or undefined if the metadata is valid. */
export function checkMetadata(value: unknown): string | undefined {
  const path = findInexactNumber(value, '')
  if (path !== undefined)
    return `the number at ${path} cannot be kept exactly; send it as text or stay within ±9007199254740991`
  // The schema counts the keys of a request; those of an update are counted together with the stored ones.
  const keys = Object.keys(Object(value)).length
  if (keys > metadataKeysMax) return `has ${keys} keys in all; at most ${metadataKeysMax} are allowed`
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > metadataBytesMax) return `has ${bytes} bytes as JSON; at most ${metadataBytesMax} are allowed`
  return undefined
}

/** The JSON parser has already rounded such a number, so it is detected by its size. */
function findInexactNumber(value: unknown, path: string): string | undefined {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    const found = findInexactNumber(inner, step)
    if (found !== undefined) return found
  }
  return undefined
}
