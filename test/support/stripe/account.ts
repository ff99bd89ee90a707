/** A gateway whose merchant has an account at the double of Stripe. */
import { randomBytes } from 'node:crypto'
import { definitions } from '#connectors/registry.ts'
import { createProviderAdministration } from '#providers/administration.ts'
import { openDatabase } from '#storage/database.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import {
  masterKeyOf,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '#test/support/gateway.ts'
import { StripeDouble } from '#test/support/stripe/double.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { toMasterKey } from '#vault/master-key.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

export interface StripeShop {
  readonly gateway: TestGateway
  readonly double: StripeDouble
  readonly accountId: string
  readonly noticeUrl: string
  stop(): Promise<void>
}

const keys = { secretKey: 'sk_test_double', webhookSecret: 'whsec_double' }

export async function openStripeShop(
  options: TestGatewayOptions & { readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<StripeShop> {
  const double = await StripeDouble.start(keys)
  const gateway = await startTestGateway(options)
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const masterKey = toMasterKey(masterKeyOf(gateway.databaseUrl), 'the test key')
  const { accountId } = await createProviderAdministration({
    environment: 'test',
    definitions,
    store: createProviderAccountStore(database),
    vault: createRecordVault(createKeyRing(masterKey, createVaultStore(database))),
    newId: () => randomBytes(16).toString('hex'),
    origin: () => gateway.url,
  }).add(gateway.merchantId, {
    connector: 'stripe',
    name: 'Double',
    settings: { baseUrl: double.origin, ...options.settings },
    secrets: keys,
  })
  await database.close()
  return {
    gateway,
    double,
    accountId,
    noticeUrl: `${gateway.url}/providers/${accountId}/notices`,
    async stop() {
      await gateway.stop()
      await double.stop()
    },
  }
}
