/** Administers merchants and their credentials, for the running gateway and for commands that need no server. */
import { randomUUIDv7 } from 'node:crypto'
import { type Actor, type Audit, auditAs, gatewayActor } from '#operations/audit/audit.ts'
import { createMerchantAdministration, type MerchantAdministration } from '#operations/merchants/merchants.ts'
import { type ApiKeyStore, createApiKeyStore } from '#storage/api-keys.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { openDatabase } from '#storage/database.ts'
import { createEndpointStore, type EndpointStore } from '#storage/events/endpoints.ts'
import { createInstallation } from '#storage/installation.ts'
import { createMerchantStore, type MerchantStore } from '#storage/merchants.ts'
import { type DerivedKeys, openDerivedKeys } from '#vault/key-ring.ts'

export const newId = (): string => randomUUIDv7().replaceAll('-', '')

export async function openMerchants(options: {
  readonly environment: 'test' | 'live'
  readonly databaseUrl: string
  readonly masterKey: Parameters<typeof openDerivedKeys>[0]
  /** Whose name stands in the audit trail; the gateway's own unless given. */
  readonly actor?: Actor
}): Promise<{ merchants: MerchantAdministration; close(): Promise<void> }> {
  const { environment } = options
  let broken: Error | undefined
  const database = openDatabase(options.databaseUrl, error => {
    broken = error
  })
  try {
    const keys = await openDerivedKeys(options.masterKey, createInstallation(database))
    const merchants = createMerchantStore(database)
    return {
      merchants: createAdministration({
        environment,
        keys,
        merchants,
        endpoints: createEndpointStore(database),
        apiKeys: createApiKeyStore(database),
        changes: new Set(),
        audit: auditAs(options.actor ?? gatewayActor, createAuditStore(database)),
      }),
      async close() {
        await database.close()
        if (broken) throw broken
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

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
    keys: parts.keys,
    newId,
    environment: parts.environment,
    onChange: merchantId => {
      for (const listener of parts.changes) listener(merchantId)
    },
  })
}
