/**
 * API keys: their text, what they may do, and how they are remembered: as a keyed hash, never themselves. Pure; the key
 * of the hash is handed in.
 */
import { createHmac, type KeyObject } from 'node:crypto'

/** What a key may do. `read` is every GET; a right to write does not include it. */
export const scopes = ['read', 'payments', 'refunds', 'payouts', 'test'] as const

export type Scope = (typeof scopes)[number]

/** What a request that presents the key may do, and from where. */
export interface KeyRights {
  readonly keyId: string
  readonly scopes: readonly Scope[]
  /** Networks in CIDR notation; empty: from everywhere. */
  readonly allowFrom: readonly string[]
}

/** A key that is neither revoked nor expired, as the store keeps it. */
export interface LiveKey extends KeyRights {
  readonly keyHash: string
  /** Whether the hash covers merchant and key id too. Those of keys made by earlier releases cover the text alone. */
  readonly bound: boolean
  /** Real time; undefined: it does not expire. */
  readonly expiresAtMs: number | undefined
}

const boundForm = /^tg_(?:test|live)_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$/

/** The key's text carries its id, so that the row is found before the hash, which covers the merchant, can be made. */
export const writeApiKey = (environment: 'test' | 'live', keyId: string, secret: string): string =>
  `tg_${environment}_${keyId}_${secret}`

/** Undefined for keys of earlier releases, which carry no id, and for everything that is no key. */
export function readApiKey(apiKey: string): { readonly keyId: string } | undefined {
  const [, keyId] = boundForm.exec(apiKey) ?? []
  return keyId === undefined ? undefined : { keyId }
}

/**
 * HMAC-SHA-256 in hex. An API key is 32 random bytes, so a fast hash is enough (a slow one on every request would be
 * a self-made denial of service); the pepper makes a stolen table useless by itself.
 * The pepper is a KeyObject because recent Node 24 takes five times as long with a Buffer.
 */
export const hashApiKey = (pepper: KeyObject, apiKey: string): string =>
  createHmac('sha256', pepper).update(apiKey, 'utf8').digest('hex')

/** Covers the merchant and, as a part of its text, the key id: a row copied to another merchant opens nothing there. */
export const hashBoundKey = (pepper: KeyObject, merchantId: string, apiKey: string): string =>
  hashApiKey(pepper, `${merchantId}\n${apiKey}`)
