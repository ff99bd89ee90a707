/** Wires the console: people, passkeys, figures, and the ways in which it reads and acts. */
import { definitions as registered } from '#connectors/registry.ts'
import { toConsoleOrigin } from '#console/address.ts'
import type { ConsoleDeps } from '#console/context.ts'
import { createOverviews } from '#console/overviews.ts'
import { createPasskeys } from '#console/passkeys.ts'
import { createPaymentRows } from '#console/payment-rows.ts'
import { createPeople } from '#console/people.ts'
import { createConsoleRoutes } from '#console/routes.ts'
import type { TestTools } from '#endpoints/services.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'
import type { CallInside } from '#http/server/inside-call.ts'
import type { PageRoute } from '#http/server/page-routes.ts'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import { createAdministration, newId } from '#operations/merchants/open-merchants.ts'
import { createProviderAdministration } from '#providers/administration.ts'
import { auditProviders } from '#providers/audited.ts'
import { createApiKeyStore } from '#storage/api-keys.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createFigureStore } from '#storage/console/figures.ts'
import { createPeopleStore } from '#storage/console/people.ts'
import { createPaymentSearch } from '#storage/console/search.ts'
import { createStoryStore } from '#storage/console/story.ts'
import { createEndpointStore } from '#storage/events/endpoints.ts'
import type { MerchantStore } from '#storage/merchants.ts'
import { createPaymentFinder } from '#storage/payments/finding.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { createRecordVault } from '#vault/sealed-records.ts'
import type { Parts } from '#wiring/parts.ts'

interface ConsoleParts extends Pick<Parts, 'database' | 'keys' | 'options' | 'counts'> {
  readonly merchants: MerchantStore
  readonly changes: Set<(merchantId: string) => void>
  readonly testTools: TestTools
  readonly callInside: CallInside
  readonly origin: () => string
}

export function createConsole(parts: ConsoleParts): readonly PageRoute[] {
  const { database, keys, options, merchants, changes, testTools, callInside, origin } = parts
  const { environment } = options
  // People, codes and sessions live in real time, whatever a test clock says.
  const nowMs = Date.now
  const vault = createRecordVault(createKeyRing(options.masterKey, createVaultStore(database)))
  const peopleStore = createPeopleStore(database)
  const auditStore = createAuditStore(database)
  const failedLogins = createFailedLogins({ nowMs, shared: parts.counts.scope('console') })
  const deps: ConsoleDeps = {
    environment,
    people: createPeople({ store: peopleStore, vault, newId, nowMs }),
    peopleStore,
    passkeys: createPasskeys({ store: peopleStore, key: () => keys.consoleChallenge, nowMs }),
    overviews: createOverviews(createFigureStore(database), nowMs),
    search: createPaymentSearch(database),
    paymentRows: createPaymentRows(createPaymentFinder(database)),
    story: createStoryStore(database),
    settlements: createSettlementStore(database),
    openWebhookSecret: (merchantId, sealed) => openWebhookSecret(keys.webhookSecrets, { merchantId }, sealed),
    auditStore,
    listMerchants: () => merchants.list(),
    callInside,
    merchantsAs: audit =>
      createAdministration({
        ...{ environment, keys, merchants, changes, audit },
        apiKeys: createApiKeyStore(database),
        endpoints: createEndpointStore(database),
      }),
    providersAs: audit =>
      auditProviders(
        createProviderAdministration({
          ...{ environment, vault, newId, origin },
          definitions: options.definitions ?? registered,
          store: createProviderAccountStore(database),
        }),
        audit,
      ),
    testTools,
    isGuessing: (email, address) =>
      failedLogins.count(`console ${email.toLowerCase()}`, address) !== undefined,
    origin,
    consoleOrigin: () =>
      toConsoleOrigin(origin(), options.publicUrl === undefined ? options.consolePort : undefined),
    newId,
    nowMs,
  }
  return createConsoleRoutes(deps)
}
