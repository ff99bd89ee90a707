/** Making merchants and their credentials. Secrets are returned once, to be shown once; only hashes and seals are kept. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { hashApiKey } from '#domain/api-key.ts'
import type { MerchantId } from '#domain/ids.ts'
import {
  createEndpointAdministration,
  type EndpointAdministration,
} from '#operations/events/endpoint-administration.ts'
import { makeWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { EndpointStore } from '#storage/events/endpoints.ts'
import type { MerchantSettings, MerchantStore } from '#storage/merchants.ts'

export interface MerchantAdministration {
  create(name: string): Promise<{ merchantId: MerchantId; apiKey: string; webhookSecret: string }>
  list: MerchantStore['list']
  set(merchantId: string, settings: MerchantSettings): Promise<boolean>
  /** The old keys stay valid for the overlap, so that a shop can change over without an outage. */
  rotateKey(merchantId: string, overlapHours: number): Promise<string | undefined>
  /** For the overlap every message carries a signature of the old secret, too. */
  rotateWebhookSecret(merchantId: string, overlapHours: number): Promise<string | undefined>
  readonly endpoints: EndpointAdministration
}

export interface MerchantDeps {
  readonly store: MerchantStore
  readonly endpointStore: EndpointStore
  readonly apiKeyPepper: KeyObject
  readonly webhookSecretKey: KeyObject
  readonly newId: () => string
  readonly environment: 'test' | 'live'
  readonly onChange: (merchantId: string) => void
}

/** 32 bytes: far beyond guessing, which is why a fast keyed hash is enough to store them. */
const secretBytes = 32

export function createMerchantAdministration(deps: MerchantDeps): MerchantAdministration {
  const newApiKey = (): string => `tg_${deps.environment}_${randomBytes(secretBytes).toString('base64url')}`
  return {
    async create(name) {
      const merchantId = `mer_${randomBytes(8).toString('hex')}` as MerchantId
      const apiKey = newApiKey()
      const secret = makeWebhookSecret(deps.webhookSecretKey, { merchantId })
      await deps.store.insert({
        merchantId,
        name,
        keyId: deps.newId(),
        keyHash: hashApiKey(deps.apiKeyPepper, apiKey),
        secretId: deps.newId(),
        sealedSecret: secret.sealed,
      })
      return { merchantId, apiKey, webhookSecret: secret.shown }
    },
    list: () => deps.store.list(),
    endpoints: createEndpointAdministration({ ...deps, store: deps.endpointStore }),
    async set(merchantId, settings) {
      const found = await deps.store.update(merchantId, settings)
      deps.onChange(merchantId)
      return found
    },
    async rotateKey(merchantId, overlapHours) {
      const apiKey = newApiKey()
      const keyHash = hashApiKey(deps.apiKeyPepper, apiKey)
      const found = await deps.store.rotateKey({ merchantId, keyId: deps.newId(), keyHash, overlapHours })
      deps.onChange(merchantId)
      return found ? apiKey : undefined
    },
    async rotateWebhookSecret(merchantId, overlapHours) {
      const { shown, sealed } = makeWebhookSecret(deps.webhookSecretKey, {
        merchantId: merchantId as MerchantId,
      })
      const secretId = deps.newId()
      return (await deps.store.rotateSecret({ merchantId, secretId, sealed, overlapHours }))
        ? shown
        : undefined
    },
  }
}
