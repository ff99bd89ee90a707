/** Merchants and their credentials for those who administer them: the running gateway, and commands that need no server. */
import { randomUUIDv7 } from 'node:crypto'
import { createMerchantAdministration, type MerchantAdministration } from '#operations/merchants/merchants.ts'
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
        changes: new Set(),
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
  changes: Set<(merchantId: string) => void>
}): MerchantAdministration {
  return createMerchantAdministration({
    store: parts.merchants,
    endpointStore: parts.endpoints,
    apiKeyPepper: parts.keys.apiKey,
    webhookSecretKey: parts.keys.webhookSecret,
    newId,
    environment: parts.environment,
    onChange: merchantId => {
      for (const listener of parts.changes) listener(merchantId)
    },
  })
}
