/** Administers merchants and their credentials, for the running gateway and for commands that need no server. */
import { randomUUIDv7 } from 'node:crypto'
import type { Audit } from '#operations/audit/audit.ts'
import { createMerchantAdministration, type MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { ApiKeyStore } from '#storage/api-keys.ts'
import type { EndpointStore } from '#storage/events/endpoints.ts'
import type { MerchantStore } from '#storage/merchants.ts'
import type { DerivedKeys } from '#vault/key-ring.ts'

export const newId = (): string => randomUUIDv7().replaceAll('-', '')

export function createAdministration(parts: {
  environment: 'test' | 'live'
  keys: DerivedKeys
  merchants: MerchantStore
  endpoints: EndpointStore
  apiKeys: ApiKeyStore
  changes: Set<(merchantId: string) => void>
  audit: Audit
}): MerchantAdministration {
  return createMerchantAdministration({
    store: parts.merchants,
    endpointStore: parts.endpoints,
    apiKeys: parts.apiKeys,
    audit: parts.audit,
    apiKeyPepper: parts.keys.apiKey,
    webhookSecretKey: parts.keys.webhookSecret,
    newId,
    environment: parts.environment,
    onChange: merchantId => {
      for (const listener of parts.changes) listener(merchantId)
    },
  })
}
