/**
 * Envelope encryption. The master key wraps two kinds of keys: the root secrets of the installation, from which the
 * keys for fingerprints, API keys and access tokens are derived, and data keys per merchant, which seal cards.
 * Changing the master key therefore re-wraps a few rows and leaves every sealed card and every fingerprint as it is.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import type { Peppers } from '#domain/api-key.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Installation } from '#storage/installation.ts'
import { rootSecretName, type VaultStore, type WrappedKey } from '#storage/vault/vault-store.ts'
import { type MasterKey, type MasterRing, toRing } from '#vault/master-key.ts'
import { makeFirstRoot, type RootSecrets, unwrapRoots, wrapRoots } from '#vault/root-secrets.ts'
import { seal, unseal } from '#vault/sealing.ts'

const keyBytes = 32

/** The newest first: it is used for new values, the others only to recognise existing ones. */
export type KeyVersions = readonly [KeyObject, ...KeyObject[]]

export interface PageKey {
  readonly key: KeyObject
  /** The key opens only addresses of payments created before this time; undefined: of all payments. */
  readonly beforeMs?: number
}

/** The keys derived from the root secrets. A new root secret takes effect after the next `refresh`. */
export interface DerivedKeys {
  /** Fingerprints of cards, accounts and request bodies. */
  readonly fingerprints: KeyVersions
  /** Hashes of API keys. */
  readonly peppers: Peppers
  /** Signatures of access tokens: of the newest root secret only. */
  readonly accessToken: KeyObject
  /** Seal webhook secrets. */
  readonly webhookSecrets: KeyVersions
  /** Signs the list of files that a payment page loads: of the newest root secret only. */
  readonly pageInventory: KeyObject
  /** Signs the challenges of passkeys: of the newest root secret only. */
  readonly consoleChallenge: KeyObject
  /** Seal the addresses of customers' pages. The newest first. */
  readonly pageTokens: readonly [PageKey, ...PageKey[]]
  /** Reads the root secrets again and derives the keys above anew if they have changed. Returns whether they have. */
  refresh(): Promise<boolean>
}

type Derived = Omit<DerivedKeys, 'refresh'>

/** Creates the root secret on the first start. On later starts this fails if the master key is the wrong one. */
export async function openDerivedKeys(
  master: MasterKey | MasterRing,
  installation: Installation,
): Promise<DerivedKeys> {
  const ring = toRing(master)
  const stored =
    (await installation.read(rootSecretName)) ??
    (await installation.readOrInsert(rootSecretName, wrapRoots(await ring.newest(), makeFirstRoot())))
  let known = { stored, derived: deriveAll(await unwrapRoots(stored, ring)) }
  let reading: Promise<boolean> | undefined

  async function readAgain(): Promise<boolean> {
    const current = await installation.read(rootSecretName)
    if (current === undefined || current === known.stored) return false
    known = { stored: current, derived: deriveAll(await unwrapRoots(current, ring)) }
    return true
  }

  return {
    get fingerprints() {
      return known.derived.fingerprints
    },
    get peppers() {
      return known.derived.peppers
    },
    get accessToken() {
      return known.derived.accessToken
    },
    get webhookSecrets() {
      return known.derived.webhookSecrets
    },
    get pageInventory() {
      return known.derived.pageInventory
    },
    get consoleChallenge() {
      return known.derived.consoleChallenge
    },
    get pageTokens() {
      return known.derived.pageTokens
    },
    refresh() {
      // Simultaneous failures share one read.
      reading ??= readAgain().finally(() => {
        reading = undefined
      })
      return reading
    },
  }
}

const derive = (root: Buffer, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `tollgate ${purpose}`, keyBytes)))

/** 60 s: for so long other processes may still seal addresses with the previous root secret. */
const lateMs = 60_000

/** The key of a root secret that was replaced by this one. */
const replacedKey = (key: KeyObject, by: RootSecrets[number] | undefined): PageKey =>
  by?.madeAtMs === undefined ? { key } : { key, beforeMs: by.madeAtMs + lateMs }

export function deriveAll(roots: RootSecrets): Derived {
  const [newest, ...older] = roots
  const versions = (purpose: string): KeyVersions => [
    derive(newest.secret, purpose),
    ...older.map(({ secret }) => derive(secret, purpose)),
  ]
  const [pageKey, ...olderPageKeys] = versions('page token')
  return {
    fingerprints: versions('fingerprint'),
    peppers: roots
      .filter(({ hashesKeys }) => hashesKeys)
      .map(({ secret }) => derive(secret, 'api key'))
      .reverse(),
    accessToken: derive(newest.secret, 'access token'),
    webhookSecrets: versions('webhook secret'),
    pageInventory: derive(newest.secret, 'page inventory'),
    consoleChallenge: derive(newest.secret, 'console challenge'),
    pageTokens: [{ key: pageKey }, ...olderPageKeys.map((key, index) => replacedKey(key, roots[index]))],
  }
}

export interface DataKey {
  readonly version: number
  readonly key: KeyObject
}

export interface KeyRing {
  /** The merchant's newest data key, created on first use. */
  current(merchantId: MerchantId): Promise<DataKey>
  byVersion(merchantId: MerchantId, version: number): Promise<DataKey>
}

/**
 * 60 s: how long a process may still seal with a data key that was replaced. Values sealed with older keys stay
 * readable.
 */
const freshMs = 60_000

/** 5 tries: the store refuses a data key only while the master key is being changed, which is rare. */
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
    // A failed look-up is not cached: the next payment tries again.
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

  /**
   * Wraps the first data key with the master key that seals the root secret. The store refuses any other master key,
   * because it may be about to be retired.
   */
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
        // Another process may have created the key since the cache was filled.
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
