/**
 * API keys: their text, their scopes, and the keyed hash as which they are stored. Pure; the caller passes the hash
 * keys.
 */
import { createHmac, type KeyObject } from 'node:crypto'

/** The scopes of keys. `read` allows every GET; scopes for writing do not include it. */
export const scopes = ['read', 'payments', 'refunds', 'payouts', 'test'] as const

export type Scope = (typeof scopes)[number]

/** What requests with this key may do, and from which addresses. */
export interface KeyRights {
  readonly keyId: string
  readonly scopes: readonly Scope[]
  /** Networks in CIDR notation; an empty list allows every address. */
  readonly allowFrom: readonly string[]
}

/** A key that is neither revoked nor expired, as the store keeps it. */
export interface LiveKey extends KeyRights {
  readonly keyHash: string
  /** Whether the hash covers merchant and key id too. The hashes of keys from earlier releases cover the text alone. */
  readonly bound: boolean
  /** The number of the pepper that was the newest when the key was made: see `hashApiKey`. */
  readonly pepper: number
  /** Real time; undefined if the key does not expire. */
  readonly expiresAtMs: number | undefined
}

const boundForm = /^tg_(?:test|live)_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$/

/** The key's text contains its id, so that its row can be found first: the hash also covers the row's merchant. */
export const writeApiKey = (environment: 'test' | 'live', keyId: string, secret: string): string =>
  `tg_${environment}_${keyId}_${secret}`

/** Undefined for keys of earlier releases, which contain no id, and for any other text. */
export function readApiKey(apiKey: string): { readonly keyId: string } | undefined {
  const [, keyId] = boundForm.exec(apiKey) ?? []
  return keyId === undefined ? undefined : { keyId }
}

/**
 * The keys of the hashes, oldest first. Each change of the root secret adds one, and every stored hash is hashed again
 * with it, so that stolen older peppers are not enough to forge a hash. They are KeyObjects, because recent Node 24
 * takes five times as long with a Buffer.
 */
export type Peppers = readonly KeyObject[]

/** The number of the pepper that new hashes begin with. */
export const newestPepper = (peppers: Peppers): number => peppers.length

/**
 * HMAC-SHA-256 in hex. An API key is 32 random bytes, so a fast hash is enough (a slow one on every request would
 * invite denial of service); the pepper makes a stolen table useless by itself. `since`: the number of the pepper that
 * was the newest when the key was made.
 */
export const hashApiKey = (peppers: Peppers, apiKey: string, since = newestPepper(peppers)): string =>
  peppers.slice(since - 1).reduce((text, pepper) => rehash(pepper, text), apiKey)

/**
 * Covers the merchant and, as part of the key's text, the key id: a row copied to another merchant is invalid there.
 */
export const hashBoundKey = (
  peppers: Peppers,
  { merchantId, apiKey, since }: { merchantId: string; apiKey: string; since?: number },
): string => hashApiKey(peppers, `${merchantId}\n${apiKey}`, since)

/** Hashes a key's text, or the hash made with the earlier peppers, with one more pepper. */
export const rehash = (pepper: KeyObject, text: string): string =>
  createHmac('sha256', pepper).update(text, 'utf8').digest('hex')
