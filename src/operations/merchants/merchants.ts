/**
 * Creates and changes merchants, their API keys and their secrets. A secret is returned only when it is created; hashes
 * and sealed values are stored. Every action is recorded in the audit trail.
 */
import { randomBytes } from 'node:crypto'
import { hashBoundKey, newestPepper, type Scope, writeApiKey } from '#domain/api-key.ts'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Audit } from '#operations/audit/audit.ts'
import {
  createEndpointAdministration,
  type EndpointAdministration,
} from '#operations/events/endpoint-administration.ts'
import { makeWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { ApiKeyStore, ListedKey } from '#storage/api-keys.ts'
import type { EndpointStore } from '#storage/events/endpoints.ts'
import type { MerchantSettings, MerchantStore } from '#storage/merchants.ts'
import type { DerivedKeys } from '#vault/key-ring.ts'

export interface KeyRequest {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly allowFrom: readonly string[]
  readonly expiresAt?: Date
}

export interface CreatedKey extends ListedKey {
  readonly apiKey: string
}

export interface MerchantAdministration {
  create(name: string): Promise<{ merchantId: MerchantId; apiKey: string; webhookSecret: string }>
  list: MerchantStore['list']
  set(merchantId: string, settings: MerchantSettings): Promise<boolean>
  /** Undefined, here and below: there is no such merchant or key. */
  createKey(merchantId: string, request: KeyRequest): Promise<CreatedKey | undefined>
  listKeys(merchantId: string): Promise<readonly ListedKey[] | undefined>
  revokeKey(keyId: string): Promise<{ readonly merchantId: string } | undefined>
  /** The old unnamed keys stay valid for the overlap, so that a shop can change over without an outage. */
  rotateKey(merchantId: string, overlapHours: number): Promise<string | undefined>
  /** During the overlap every message is signed with the old secret too. */
  rotateWebhookSecret(merchantId: string, overlapHours: number): Promise<string | undefined>
  readonly endpoints: EndpointAdministration
}

export interface MerchantDeps {
  readonly store: MerchantStore
  readonly endpointStore: EndpointStore
  readonly apiKeys: ApiKeyStore
  readonly keys: Pick<DerivedKeys, 'peppers' | 'webhookSecrets' | 'refresh'>
  readonly newId: () => string
  readonly environment: 'test' | 'live'
  readonly onChange: (merchantId: string) => void
  readonly audit: Audit
}

/** 32 bytes: far beyond guessing, which is why a fast keyed hash is enough to store them. */
const secretBytes = 32

interface MadeKey {
  readonly keyId: string
  readonly apiKey: string
  readonly keyHash: string
  readonly pepper: number
}

async function makeKey(
  merchantId: string,
  { environment, newId, keys }: Pick<MerchantDeps, 'environment' | 'newId' | 'keys'>,
): Promise<MadeKey> {
  // Another process may have added a pepper, and a hash made with an older one would never match.
  await keys.refresh()
  const { peppers } = keys
  const keyId = newId()
  const apiKey = writeApiKey(environment, keyId, randomBytes(secretBytes).toString('base64url'))
  const keyHash = hashBoundKey(peppers, { merchantId, apiKey })
  return { keyId, apiKey, keyHash, pepper: newestPepper(peppers) }
}

/**
 * Makes a new id with this prefix. Skips ids with digits that look like a card number (one in a few hundred): the log
 * would mask them, and no log line would name the merchant or account.
 */
export function drawId(prefix: 'mer' | 'acc', bytes: number): string {
  const id = `${prefix}_${randomBytes(bytes).toString('hex')}`
  return scrubCardNumbers(id) === id ? id : drawId(prefix, bytes)
}

export function createMerchantAdministration(deps: MerchantDeps): MerchantAdministration {
  const { store, audit } = deps
  return {
    ...createKeyAdministration(deps),
    async create(name) {
      // The cast is made only here: this is the one place that makes merchant ids.
      const merchantId = drawId('mer', 8) as MerchantId
      const { keyId, keyHash, pepper, apiKey } = await makeKey(merchantId, deps)
      const secret = makeWebhookSecret(deps.keys.webhookSecrets, { merchantId })
      const secretId = deps.newId()
      await store.insert({ merchantId, name, keyId, keyHash, pepper, secretId, sealedSecret: secret.sealed })
      await audit({ act: 'merchant.create', object: merchantId, after: { name, keyId } })
      return { merchantId, apiKey, webhookSecret: secret.shown }
    },
    list: merchantId => store.list(merchantId),
    endpoints: createEndpointAdministration({ ...deps, store: deps.endpointStore }),
    async set(merchantId, settings) {
      const changed = await store.update(merchantId, settings)
      deps.onChange(merchantId)
      if (!changed) return false
      await audit({ act: 'merchant.set', object: merchantId, ...pickChanges(changed) })
      return true
    },
    async rotateWebhookSecret(merchantId, overlapHours) {
      const { shown, sealed } = makeWebhookSecret(deps.keys.webhookSecrets, {
        // Unchecked input: the store changes nothing if no merchant has this id.
        merchantId: merchantId as MerchantId,
      })
      const secretId = deps.newId()
      if (!(await store.rotateSecret({ merchantId, secretId, sealed, overlapHours }))) return undefined
      await audit({
        act: 'webhook-secret.rotate',
        object: merchantId,
        after: { secretId, overlapHours },
      })
      return shown
    },
  }
}

type KeyAdministration = Pick<MerchantAdministration, 'createKey' | 'listKeys' | 'revokeKey' | 'rotateKey'>

function createKeyAdministration(deps: MerchantDeps): KeyAdministration {
  const { apiKeys, audit, onChange } = deps
  return {
    async createKey(merchantId, request) {
      const { apiKey, ...made } = await makeKey(merchantId, deps)
      const { keyId } = made
      const inserted = await apiKeys.insert({ merchantId, ...made, ...request })
      if (!inserted) return undefined
      onChange(merchantId)
      await audit({ act: 'key.create', object: keyId, after: { merchantId, ...request } })
      return { keyId, apiKey, ...request, createdAt: inserted.createdAt }
    },
    listKeys: merchantId => apiKeys.list(merchantId),
    async revokeKey(keyId) {
      const revoked = await apiKeys.revoke(keyId)
      if (!revoked) return undefined
      const { merchantId, name, scopes, allowFrom } = revoked
      onChange(merchantId)
      await audit({ act: 'key.revoke', object: keyId, before: { merchantId, name, scopes, allowFrom } })
      return { merchantId }
    },
    async rotateKey(merchantId, overlapHours) {
      const { apiKey, ...made } = await makeKey(merchantId, deps)
      const { keyId } = made
      const found = await apiKeys.rotate({ merchantId, ...made, overlapHours })
      onChange(merchantId)
      if (!found) return undefined
      await audit({ act: 'key.rotate', object: merchantId, after: { keyId, overlapHours } })
      return apiKey
    },
  }
}

/** Only the members that changed, so that an audit entry shows at a glance what was done. */
function pickChanges({ before, after }: { readonly before: object; readonly after: object }): {
  readonly before: Record<string, unknown>
  readonly after: Record<string, unknown>
} {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const changed = [...now.keys()].filter(
    name => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)),
  )
  const pick = (values: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(changed.map(name => [name, values.get(name) ?? null]))
  return { before: pick(old), after: pick(now) }
}
