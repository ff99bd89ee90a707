/** Signs the list of files that a payment page loads: Ed25519, so that anyone with the public key can verify it. */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** The prefix of the 32 bytes of an Ed25519 key in PKCS 8 (RFC 8410). */
const keyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export interface InventorySignature {
  readonly algorithm: 'Ed25519'
  /** Base64. */
  readonly publicKey: string
  readonly value: string
}

const toPrivateKey = (secret: KeyObject): KeyObject =>
  createPrivateKey({ key: Buffer.concat([keyPrefix, secret.export()]), format: 'der', type: 'pkcs8' })

/** `secret`: 32 bytes. */
export function signInventory(secret: KeyObject, text: string): InventorySignature {
  const key = toPrivateKey(secret)
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64')
  return { algorithm: 'Ed25519', publicKey, value: sign(null, Buffer.from(text), key).toString('base64') }
}

export const isSigned = (secret: KeyObject, text: string, value: string): boolean =>
  verify(null, Buffer.from(text), createPublicKey(toPrivateKey(secret)), Buffer.from(value, 'base64'))
