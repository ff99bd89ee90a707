/** Adds a provider account to the merchant of a test gateway, as the command line does. */
import { randomBytes } from 'node:crypto'
import type { ConnectorDefinition } from '#connectors/contract.ts'
import { createProviderAdministration, type NewRule } from '#providers/administration.ts'
import { openDatabase } from '#storage/database.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { masterKeyOf, type TestGateway } from '#test/support/gateway.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { toMasterKey } from '#vault/master-key.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

interface NewAccount {
  readonly settings?: Readonly<Record<string, string>>
  readonly secrets?: Readonly<Record<string, string>>
  readonly merchantId?: string
}

export const addProviderAccount = (
  gateway: TestGateway,
  definition: ConnectorDefinition,
  { settings = {}, secrets = {}, merchantId = gateway.merchantId }: NewAccount = {},
): Promise<string> =>
  administer(gateway, definition, async administration => {
    const account = { connector: definition.facts.name, name: 'Double', settings, secrets }
    return (await administration.add(merchantId, account)).accountId
  })

/** Changes settings of an account, as the command line does. */
export const setProviderAccount = (
  gateway: TestGateway,
  definition: ConnectorDefinition,
  { accountId, settings }: Required<Pick<NewAccount, 'settings'>> & { readonly accountId: string },
): Promise<unknown> =>
  administer(gateway, definition, administration => administration.set(accountId, { settings }))

/** Adds a routing rule, as the command line does. */
export const addRouteRule = (
  gateway: TestGateway,
  { merchantId, ...rule }: NewRule & { readonly merchantId: string },
): Promise<unknown> =>
  administer(gateway, undefined, administration => administration.addRule(merchantId, rule))

async function administer<T>(
  gateway: TestGateway,
  definition: ConnectorDefinition | undefined,
  act: (administration: ReturnType<typeof createProviderAdministration>) => Promise<T>,
): Promise<T> {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const masterKey = toMasterKey(masterKeyOf(gateway.databaseUrl), 'the test key')
  try {
    return await act(
      createProviderAdministration({
        environment: 'test',
        definitions: definition ? [definition] : [],
        store: createProviderAccountStore(database),
        vault: createRecordVault(createKeyRing(masterKey, createVaultStore(database))),
        newId: () => randomBytes(16).toString('hex'),
        origin: () => gateway.url,
      }),
    )
  } finally {
    await database.close()
  }
}
