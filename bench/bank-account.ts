/** An account at a bank for the merchant of the bench. */
import type { Stage } from '#bench/stage.ts'
import { openProviders } from '#providers/open-providers.ts'
import { creditorIban, creditorId } from '#test/support/bank/debits.ts'
import { toMasterKey } from '#vault/master-key.ts'

export async function addBankAccount(stage: Stage): Promise<string> {
  const { providers, close } = await openProviders({
    environment: 'test',
    databaseUrl: stage.gatewayUrl,
    masterKey: toMasterKey(stage.environment.TOLLGATE_MASTER_KEY ?? '', 'the bench'),
    origin: 'http://localhost',
    actor: { actor: 'bench', from: 'bench' },
  })
  try {
    const settings = { creditorName: 'Bench GmbH', creditorIban, creditorId }
    const account = { connector: 'bank', name: 'House bank', settings, secrets: {} }
    return (await providers.add(stage.merchantId, account)).accountId
  } finally {
    await close()
  }
}
