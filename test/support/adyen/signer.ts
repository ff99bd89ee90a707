/** Signs notices with Adyen's own library, so that our check is held against a signer that is not ours. */
import { createRequire } from 'node:module'
import type { AnyJson } from '#test/support/any-json.ts'

/** The file alone: the library as a whole takes seconds to load. */
const { default: HmacValidator }: AnyJson = createRequire(import.meta.url)(
  '@adyen/api-library/lib/src/utils/hmacValidator.js',
)
const validator = new HmacValidator()

/** Puts the signature where Adyen puts it, and returns the item. */
export function signItem(item: AnyJson, hmacKey: string): AnyJson {
  item.additionalData = { ...item.additionalData, hmacSignature: validator.calculateHmac(item, hmacKey) }
  return item
}

export const isSignedByLibrary = (item: AnyJson, hmacKey: string): boolean =>
  validator.validateHMAC(item, hmacKey)
