/** Provider accounts for tests that bring connectors of their own, which the command line does not know. */
import { randomBytes } from 'node:crypto'
import type { ConnectorDefinition } from '#connectors/contract.ts'
import {
  createProviderAdministration,
  type NewAccount,
  type ShownAccount,
} from '#providers/administration.ts'
import { type AccountDirectory, createDirectory } from '#providers/directory.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { masterKeyOf, type TestGateway } from '#test/support/gateway.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { toMasterKey } from '#vault/master-key.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

export interface AccountBench {
  readonly database: Database
  readonly directory: AccountDirectory
  add(merchantId: string, account: NewAccount): Promise<ShownAccount>
  close(): Promise<void>
}

export function openAccountBench(
  { databaseUrl, url }: Pick<TestGateway, 'databaseUrl' | 'url'>,
  definitions: readonly ConnectorDefinition[],
): AccountBench {
  const database = openDatabase(databaseUrl, () => undefined)
  const masterKey = toMasterKey(masterKeyOf(databaseUrl), 'the test key')
  const store = createProviderAccountStore(database)
  const vault = createRecordVault(createKeyRing(masterKey, createVaultStore(database)))
  const environment = 'test'
  const unreached = {
    exchange: async () => ({ kind: 'unreached' as const, reason: 'no network in this test' }),
  }
  return {
    database,
    directory: createDirectory({
      environment,
      definitions,
      store,
      vault,
      tools: () => ({ http: unreached, nowMs: Date.now }),
      nowMs: Date.now,
      clockMs: Date.now,
    }),
    add: (merchantId, account) =>
      createProviderAdministration({
        environment,
        definitions,
        store,
        vault,
        newId: () => randomBytes(16).toString('hex'),
        origin: () => url,
      }).add(merchantId, account),
    close: () => database.close(),
  }
}
