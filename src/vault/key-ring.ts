/**
 * Envelope encryption. The master key wraps two kinds of keys: the root secrets of the installation, from which the
 * keys for fingerprints, API keys and access tokens are derived, and data keys per merchant, which seal cards.
 * Changing the master key therefore re-wraps a few rows and leaves every sealed card and every fingerprint as it is.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import type { Installation } from '#storage/installation.ts'
import { rootSecretName, type VaultStore, type WrappedKey } from '#storage/vault/vault-store.ts'
import { type MasterKey, type MasterRing, toRing } from '#vault/master-key.ts'
import { seal, unseal } from '#vault/sealing.ts'

const keyBytes = 32

export interface DerivedKeys {
  /** Card and account fingerprints. */
  readonly fingerprint: KeyObject
  /** Hashes of API keys. */
  readonly apiKey: KeyObject
  /** Signatures of access tokens: of the newest root secret only. */
  readonly accessToken: KeyObject
  /** Seals webhook secrets. */
  readonly webhookSecret: KeyObject
  /** Signs the list of what a payment page loads. */
  readonly pageInventory: KeyObject
  /** Seals the addresses of customers' pages; older ones only open what they sealed. The newest first. */
  readonly pageTokens: readonly [KeyObject, ...KeyObject[]]
  /** Takes over a root secret that was made since; the getters above then give what is derived from it. */
  refresh(): Promise<void>
}

/** The stored form: the id of the master key, and what it wraps. */
export const wrapRoot = (master: MasterKey, root: Buffer): string =>
  `${master.id}:${seal(master.key, root, rootSecretName).toString('base64')}`

export async function unwrapRoot(stored: string, ring: MasterRing): Promise<Buffer> {
  const [masterKeyId = '', wrapped = ''] = stored.split(':')
  const { key } = await ring.find(masterKeyId)
  return unseal(key, Buffer.from(wrapped, 'base64'), rootSecretName)
}

/** Makes the root secret on the first start; afterwards this proves that the master key is the right one. */
export async function openDerivedKeys(
  master: MasterKey | MasterRing,
  installation: Installation,
): Promise<DerivedKeys> {
  const ring = toRing(master)
  const stored =
    (await installation.read(rootSecretName)) ??
    (await installation.readOrInsert(rootSecretName, wrapRoot(await ring.newest(), randomBytes(keyBytes))))
  const roots = splitRoots(await unwrapRoot(stored, ring))
  // What is kept for good stays with the first: hashes of API keys and fingerprints cannot be made anew.
  const first = roots.at(-1) ?? Buffer.alloc(0)
  let known = { stored, tokens: deriveTokenKeys(roots) }
  return {
    fingerprint: derive(first, 'fingerprint'),
    apiKey: derive(first, 'api key'),
    webhookSecret: derive(first, 'webhook secret'),
    pageInventory: derive(first, 'page inventory'),
    get accessToken() {
      return known.tokens.accessToken
    },
    get pageTokens() {
      return known.tokens.pageTokens
    },
    async refresh() {
      const current = await installation.read(rootSecretName)
      if (current === undefined || current === known.stored) return
      known = { stored: current, tokens: deriveTokenKeys(splitRoots(await unwrapRoot(current, ring))) }
    },
  }
}

const derive = (root: Buffer, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `tollgate ${purpose}`, keyBytes)))

function deriveTokenKeys(roots: readonly Buffer[]): Pick<DerivedKeys, 'accessToken' | 'pageTokens'> {
  const [newest = Buffer.alloc(0), ...older] = roots
  const pageKey = (root: Buffer) => derive(root, 'page token')
  return {
    accessToken: derive(newest, 'access token'),
    pageTokens: [pageKey(newest), ...older.map(pageKey)],
  }
}

/** Root secrets lie side by side under one seal, the newest first, so that a change of the master key wraps all of them. */
const splitRoots = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: bytes.length / keyBytes }, (_, index) =>
    bytes.subarray(index * keyBytes, (index + 1) * keyBytes),
  )

/** 5: the first one, which never goes, and those of four later changes, for addresses of pages that are still open. */
const rootsMax = 5

/** A new root secret in front of the others. */
export function addRoot(bytes: Buffer): Buffer {
  const roots = splitRoots(bytes)
  const kept = roots.length < rootsMax ? roots : [...roots.slice(0, rootsMax - 2), ...roots.slice(-1)]
  return Buffer.concat([randomBytes(keyBytes), ...kept])
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

/** 60 s: how long a process may go on sealing with a data key that has a successor. Older ones stay readable. */
const freshMs = 60_000

/** 5: a key is refused only while the master key is being changed, and that happens once in a long while. */
const maximumTries = 5

interface Loaded {
  readonly keys: Promise<readonly DataKey[]>
  readonly untilMs: number
}

export function createKeyRing(
  master: MasterKey | MasterRing,
  store: VaultStore,
  nowMs: () => number = Date.now,
): KeyRing {
  const ring = toRing(master)
  const cache = new Map<MerchantId, Loaded>()

  function unwrapAll(merchantId: MerchantId): Promise<readonly DataKey[]> {
    const known = cache.get(merchantId)
    if (known && known.untilMs > nowMs()) return known.keys
    const keys = load(merchantId)
    cache.set(merchantId, { keys, untilMs: nowMs() + freshMs })
    // A failed look-up is not remembered: the next payment asks again.
    keys.catch(() => cache.delete(merchantId))
    return keys
  }

  async function load(merchantId: MerchantId): Promise<readonly DataKey[]> {
    let rows = await store.findKeys(merchantId)
    for (let tries = 0; rows.length === 0 && tries < maximumTries; tries += 1) {
      await insertFirst(merchantId)
      rows = await store.findKeys(merchantId)
    }
    return Promise.all(
      rows.map(async row => ({ version: row.keyVersion, key: await unwrapKey(merchantId, row, ring) })),
    )
  }

  /** Wrapped with the key that seals the root secret: the store refuses any other, which might be about to be retired. */
  async function insertFirst(merchantId: MerchantId): Promise<void> {
    const current = await ring.find(await store.findMasterKeyId())
    await store.insertKey(
      merchantId,
      wrapKey(merchantId, { version: 1, bytes: randomBytes(keyBytes) }, current),
    )
  }

  return {
    async current(merchantId) {
      const newest = (await unwrapAll(merchantId)).at(-1)
      if (!newest) throw new Error(`merchant ${merchantId} has no data key`)
      return newest
    },
    async byVersion(merchantId, version) {
      const find = async () => (await unwrapAll(merchantId)).find(key => key.version === version)
      let found = await find()
      if (!found) {
        // Made by another process since we looked.
        cache.delete(merchantId)
        found = await find()
      }
      if (!found) throw new Error(`merchant ${merchantId} has no data key of version ${version}`)
      return found
    },
  }
}

export function wrapKey(
  merchantId: MerchantId,
  { version, bytes }: { version: number; bytes: Uint8Array },
  master: MasterKey,
): WrappedKey {
  const wrapped = seal(master.key, bytes, placeOf(merchantId, version))
  return { keyVersion: version, wrapped, masterKeyId: master.id }
}

export async function unwrapKey(
  merchantId: MerchantId,
  row: WrappedKey,
  ring: MasterRing,
): Promise<KeyObject> {
  const { key } = await ring.find(row.masterKeyId)
  return createSecretKey(unseal(key, row.wrapped, placeOf(merchantId, row.keyVersion)))
}

const placeOf = (merchantId: MerchantId, version: number): string => `data key ${merchantId} ${version}`
