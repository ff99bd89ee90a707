/**
 * Envelope encryption. The master key wraps two kinds of keys: one root secret of the installation, from which the
 * keys for fingerprints, API keys and access tokens are derived, and data keys per merchant, which seal cards.
 * Changing the master key therefore re-wraps a few rows and leaves every sealed card and every fingerprint as it is.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import type { Installation } from '#storage/installation.ts'
import type { VaultStore } from '#storage/vault-store.ts'
import { type MasterKey, MasterKeyError } from '#vault/master-key.ts'
import { seal, unseal } from '#vault/sealing.ts'

const keyBytes = 32
const rootSecretName = 'root_secret'

export interface DerivedKeys {
  /** Card and account fingerprints. */
  readonly fingerprint: KeyObject
  /** Hashes of API keys. */
  readonly apiKey: KeyObject
  /** Signatures of access tokens. */
  readonly accessToken: KeyObject
  /** Seals webhook secrets. */
  readonly webhookSecret: KeyObject
  /** Seals the addresses of customers' pages. */
  readonly pageToken: KeyObject
}

/** Makes the root secret on the first start; afterwards this proves that the master key is the right one. */
export async function openDerivedKeys(master: MasterKey, installation: Installation): Promise<DerivedKeys> {
  const fresh = seal(master.key, randomBytes(keyBytes), rootSecretName).toString('base64')
  const stored = await installation.readOrInsert(rootSecretName, `${master.id}:${fresh}`)
  const [masterKeyId, wrapped = ''] = stored.split(':')
  if (masterKeyId !== master.id) {
    throw new MasterKeyError(
      `this database was sealed with the master key ${masterKeyId}, but ${master.id} is configured; ` +
        'use the data folder or the key it was created with',
    )
  }
  const root = unseal(master.key, Buffer.from(wrapped, 'base64'), rootSecretName)
  const derive = (purpose: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `tollgate ${purpose}`, keyBytes)))
  return {
    fingerprint: derive('fingerprint'),
    apiKey: derive('api key'),
    accessToken: derive('access token'),
    webhookSecret: derive('webhook secret'),
    pageToken: derive('page token'),
  }
}

export interface DataKey {
  readonly version: number
  readonly key: KeyObject
}

export interface KeyRing {
  /** The merchant's newest data key, made on first use. */
  current(merchantId: MerchantId): Promise<DataKey>
  byVersion(merchantId: MerchantId, version: number): Promise<DataKey>
}

export function createKeyRing(master: MasterKey, store: VaultStore): KeyRing {
  const cache = new Map<MerchantId, Promise<readonly DataKey[]>>()

  function unwrapAll(merchantId: MerchantId): Promise<readonly DataKey[]> {
    const known = cache.get(merchantId)
    if (known) return known
    const loading = load(merchantId)
    cache.set(merchantId, loading)
    // A failed look-up is not remembered: the next payment asks again.
    loading.catch(() => cache.delete(merchantId))
    return loading
  }

  async function load(merchantId: MerchantId): Promise<readonly DataKey[]> {
    let wrapped = await store.findKeys(merchantId)
    if (wrapped.length === 0) {
      const bytes = seal(master.key, randomBytes(keyBytes), placeOf(merchantId, 1))
      await store.insertKey(merchantId, { keyVersion: 1, wrapped: bytes, masterKeyId: master.id })
      wrapped = await store.findKeys(merchantId)
    }
    return wrapped.map(row => ({
      version: row.keyVersion,
      key: createSecretKey(unseal(master.key, row.wrapped, placeOf(merchantId, row.keyVersion))),
    }))
  }

  return {
    async current(merchantId) {
      const newest = (await unwrapAll(merchantId)).at(-1)
      if (!newest) throw new Error(`merchant ${merchantId} has no data key`)
      return newest
    },
    async byVersion(merchantId, version) {
      const found = (await unwrapAll(merchantId)).find(key => key.version === version)
      if (!found) throw new Error(`merchant ${merchantId} has no data key of version ${version}`)
      return found
    },
  }
}

const placeOf = (merchantId: MerchantId, version: number): string => `data key ${merchantId} ${version}`
